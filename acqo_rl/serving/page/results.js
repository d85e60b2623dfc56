// Shows the result of a search.

import { $, duration, fold, h, mark, partOf, plural, step } from "./dom.js";

const KINDS = {
  original: "as typed",
  reading: "reading",
  part: "part",
  variant: "paraphrase",
  hypothetical: "invented passage",
  step_back: "more general question",
  expansion: "with added words",
  hop: "name in the results",
};

/** Shows a response of /v1/search. */
export function showResults(found) {
  const info = found.query_rewrite_info;
  for (const result of found.results) result.places = placesOf(result, found.rankings);
  const head = headline(info);
  const time = duration(found.processing_time_ms);
  $("decision-title").replaceChildren(head);
  $("decision-note").replaceChildren([info.route, info.strategy, plural(info.model_calls, "model call"), time].join(" · "));
  $("reasoning").replaceChildren([info.reasoning, ...found.notes].filter(Boolean).join(" · "));
  $("sub-queries").replaceChildren(...info.variants.map((variant) => subQuery(variant, found.rankings)));
  $("notices").replaceChildren(...notices(found));
  $("nothing").hidden = found.results.length > 0;
  $("fusion").hidden = !found.results.length;
  $("scored-by").replaceChildren(found.scored_by);
  $("documents").replaceChildren(...found.results.map((result) => row(result, found.scored_by)));
  $("lists").replaceChildren(...found.rankings.map((ranking, number) => list(ranking, number, found.results)));
  $("trace").replaceChildren(...found.trace.map(step));
  $("status").replaceChildren(`${head}: ${plural(found.total_results, "document")} in ${duration(found.processing_time_ms)}.`);
  $("results").hidden = false;
}

/** The ranks of a result in the rankings before fusion. */
const placesOf = (result, rankings) => rankings.flatMap(({ documents }, ranking) => documents.flatMap((d, i) =>
  d.document_id === result.document_id && d.knowledge_pool === result.knowledge_pool
    ? [{ ranking, rank: i + 1, score: d.score }] : []));

function headline({ route, variants }) {
  const written = variants.filter((variant) => variant.kind !== "original").length;
  const original = written < variants.length && written ? ", plus the original question" : "";
  return {
    pass: "Searched unchanged",
    disambiguate: written === 1 ? "Rewritten as a standalone question" : `Searched in ${written} readings`,
    decompose: `Split into ${plural(variants.filter((variant) => variant.kind === "part").length, "part")}`,
    expand: `Expanded with ${plural(written, "other wording")}`,
  }[route] + original;
}

function subQuery({ text, kind, weight, min_margin: margin }, rankings) {
  const marks = rankings.flatMap((ranking, number) => (ranking.query === text ? [mark(number), " "] : []));
  const facts = [KINDS[kind] ?? kind, weight === 1 ? null : `weight ${weight}`,
    margin === null ? null : `used only if its top cosine is higher by ${margin}`].filter(Boolean).join(", ");
  return h("li", {}, marks.length ? marks : h("b", { class: "lost" }, "failed "),
    h("span", { class: "text" }, text), " ", h("span", { class: "note" }, facts));
}

function notices({ query_rewrite_info: { problem }, failures }) {
  const lost = failures.filter((failure) => failure.step === "retrieval");
  const lines = [
    ...(problem ? [`Reformulation problem: ${problem}`] : []),
    ...(lost.length ? [`These results are partial. ${plural(lost.length, "search", "searches")} failed:`] : []),
    ...lost.map((f) => `“${f.sub_query}” in ${f.retriever}: ${f.reason}`)];
  return lines.length ? [h("div", { class: "problem" }, lines.map((line) => h("p", {}, line)))] : [];
}

function row(result, scoredBy) {
  const places = result.places.map((place) => h("span", { class: "place" }, mark(place.ranking), ` ${place.rank}`));
  return h("tr", {},
    h("td", {}, String(result.rank)),
    h("td", {}, fold(name(result), h("p", { class: "note" }, `${result.knowledge_pool} · ${result.document_id}`),
      formulas(result, scoredBy).map((text) => h("p", { class: "formula" }, text)), h("p", {}, partOf(result)))),
    h("td", { class: "places" }, places),
    h("td", { class: "number" }, scored(result.score)),
    h("td", { class: "number" }, scored(result.similarity)));
}

/** Score and similarity, with the numbers of the lists where these give them. */
function formulas({ places, score, similarity }, scoredBy) {
  const holds = (value, number) => places.length > 1 && scored(value) === scored(number);
  const from = (terms, value, number) => (holds(value, number) ? `${terms} = ` : "") + scored(number);
  const sum = places.reduce((total, place) => total + 1 / place.rank, 0);
  const terms = places.map((place) => `1/${place.rank}`).join(" + ");
  const scores = places.map((place) => place.score);
  return [`Score of ${scoredBy}: ${scoredBy === "rsf" ? from(terms, sum, score) : scored(score)}`,
    `Similarity: ${from(`max(${scores.map(scored).join(", ")})`, Math.max(...scores), similarity)}`];
}

const scored = (number) => number.toFixed(3);

function list({ query, retriever, documents }, number, results) {
  const merged = new Map(results.flatMap((r) => r.places.filter((p) => p.ranking === number).map((p) => [p.rank, r.rank])));
  return h("article", {}, h("h3", {}, mark(number), " ", query), h("p", { class: "note" }, retriever),
    documents.length ? null : h("p", { class: "note" }, "No documents, or not used: see its sub-query."),
    h("ol", {}, documents.slice(0, 20).map((document, i) => h("li", {}, name(document), h("span", { class: "note" },
      ` ${scored(document.score)}${merged.has(i + 1) ? ` → ${merged.get(i + 1)}` : ""}`)))));
}

const name = (document) => document.title || document.text?.slice(0, 80) || document.document_id;
