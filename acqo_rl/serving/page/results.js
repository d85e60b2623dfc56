// Shows the result of a search.

import { draw, home } from "./chart.js";
import { $, h, hue, mark } from "./dom.js";
import { ahead, comparable, deciding, decision, duration, firstKey, formulas, KINDS, ordinal, plural, precise } from "./words.js";

let shown = null; // the response, and the index of the selected document

/** Shows a response of /v1/search. */
export function showResults(found) {
  shown = { found, chosen: 0 };
  showDecision(found);
  showNotices(found);
  showDocuments(found);
  showLists(found);
  showTrace(found);
  $("results").hidden = false;
  choose(0);
}

/** One sentence for screen readers. */
export function summary(found) {
  const { headline } = decision(found.query_rewrite_info);
  return `${headline}: ${plural(found.total_results, "document")} in ${duration(found.processing_time_ms)}.`;
}

function showDecision({ query_rewrite_info: info, rankings, processing_time_ms: ms, cached }) {
  const { headline, reason } = decision(info);
  $("decision-title").replaceChildren(headline);
  const facts = [info.route, info.strategy, plural(info.model_calls, "model call"), cached ? "from the cache" : duration(ms)];
  $("decision-note").replaceChildren(reason, h("span", { class: "facts" }, facts.join(" · ")));
  $("sub-queries").replaceChildren(...info.variants.map((variant) => {
    const lists = rankings.flatMap((list, number) => (list.query === variant.text ? [number] : []));
    const marks = lists.length ? lists.map(mark) : h("span", { class: "lost" }, "failed");
    const weight = variant.weight === 1 ? "" : `, weight ${variant.weight}`;
    const margin = variant.min_margin === null ? "" : `, used only if its top cosine is higher by ${variant.min_margin}`;
    return h("li", {}, h("span", { class: "marks" }, marks), h("span", { class: "text" }, variant.text),
      h("span", { class: "kind" }, (KINDS[variant.kind] ?? variant.kind) + weight + margin));
  }));
}

function showNotices({ query_rewrite_info: { problem }, failures, notes }) {
  const lost = failures.filter((failure) => failure.step === "retrieval");
  const notices = [];
  if (problem) notices.push(h("p", {}, h("strong", {}, "Reformulation problem: "), problem));
  notices.push(...notes.map((note) => h("p", {}, note)));
  if (lost.length) {
    notices.push(h("p", {}, h("strong", {}, "These results are partial. "),
      `${plural(lost.length, "search", "searches")} failed:`));
    notices.push(h("ul", {}, lost.map((f) => h("li", {}, `“${f.sub_query}” in ${f.retriever}: ${f.reason}`))));
  }
  $("notices").replaceChildren(...(notices.length ? [h("div", { class: "problem" }, notices)] : []));
}

function showDocuments({ results, rankings, fusion }) {
  const key = firstKey(fusion);
  const used = rankings.filter((list) => list.documents.length).length;
  $("nothing").hidden = results.length > 0;
  $("fusion").hidden = results.length === 0;
  $("first-key").replaceChildren(h("abbr", { title: key.help }, key.name));
  $("fusion-note").replaceChildren(...(used > 1
    ? ["Lines connect the ranks of a document in the lists to its merged rank; better ranks have thicker lines. ",
      "Hollow dots are documents that are not among the results. ",
      `Sorted by ${key.name}, then ${comparable(rankings) ? "by S" : "by list, because S is not comparable between retrievers"}; `,
      "the value in ", h("b", {}, "bold"), " ranks a document above the next one."]
    : ["There is only one list, so there is nothing to merge."]));
  const several = new Set(results.map((result) => result.knowledge_pool)).size > 1;
  $("chart").style.setProperty("--lists", rankings.length);
  $("documents").replaceChildren(...results.map((result, i) => row(result, i, several)));
}

function row(result, index, several) {
  const { found: { results, rankings, fusion } } = shown;
  const next = results[index + 1];
  const decides = next && deciding(result, next, rankings);
  const radio = h("input", { type: "radio", name: "document", id: `document-${index + 1}`, class: "unseen" });
  radio.addEventListener("change", () => choose(index));
  const element = h("tr", { class: hue(home(result)) },
    h("td", { class: "rank" }, radio, h("label", { for: radio.id }, String(result.rank))),
    h("th", { scope: "row" }, h("label", { for: radio.id, class: "title" }, name(result)),
      h("span", { class: "glimpse" }, several ? h("b", {}, `${result.knowledge_pool} `) : null, result.text)),
    h("td", { class: "places" }, result.places.map((p) => h("span", { class: "place" }, mark(p.ranking), ` ${p.rank} `))),
    h("td", { class: decides === "first" ? "number decides" : "number" }, precise(firstKey(fusion).of(result))),
    h("td", { class: decides === "similarity" ? "number decides" : "number" }, precise(result.similarity)));
  element.addEventListener("click", (event) => event.target.closest("label, input") || choose(index));
  return element;
}

/** Selects a document: highlights its lines, and explains its rank in the panel. */
function choose(index) {
  const { results, rankings, fusion } = shown.found;
  if (!results.length) return;
  shown.chosen = index;
  [...$("documents").rows].forEach((element, i) => {
    element.classList.toggle("chosen", i === index);
    element.querySelector("input").checked = i === index;
  });
  const result = results[index];
  const places = result.places.map((p, i) => [i ? ", " : "", `${ordinal(p.rank)} in `, mark(p.ranking)]).flat();
  $("document-rank").replaceChildren(`Number ${result.rank}`);
  $("document-title").replaceChildren(name(result));
  $("document-id").replaceChildren(`${result.knowledge_pool} · ${result.document_id}`);
  $("why").replaceChildren(
    h("p", {}, "Ranks: ", places, "."),
    ...formulas(result, fusion).map((text) => h("p", { class: "formula" }, text)),
    ...(results[index + 1] ? [h("p", {}, ahead(result, results[index + 1], rankings, fusion))] : []));
  $("document-text").replaceChildren(result.text);
  redraw();
}

function redraw() {
  const rows = [...$("documents").rows];
  if (!rows.length) return;
  const { found: { rankings, results }, chosen } = shown;
  draw($("lines"), rows, { lists: rankings, results, chosen, choose });
}

new ResizeObserver(redraw).observe($("documents"));

function showLists({ rankings, results, query_rewrite_info: { variants } }) {
  const margins = new Map(variants.map((variant) => [variant.text, variant.min_margin]));
  const empty = ({ query }) => (margins.get(query) == null ? "No documents." : "Not used: its best score does not exceed the others by enough.");
  const merged = new Map(results.flatMap((r) => r.places.map((p) => [`${p.ranking} ${p.rank}`, r.rank])));
  $("lists").replaceChildren(...rankings.map((list, number) => h("article", {},
    h("h3", {}, mark(number), " ", list.query),
    h("p", { class: "note" }, [...new Set(list.documents.map((d) => d.knowledge_pool)), list.retriever].join(" · ")),
    list.documents.length ? null : h("p", { class: "note" }, empty(list)),
    h("ol", {}, list.documents.slice(0, Math.max(results.length, 5)).map((document, i) => {
      const to = merged.get(`${number} ${i + 1}`);
      return h("li", { class: to ? "kept" : null }, h("span", { class: "title" }, name(document)),
        h("span", { class: "number" }, precise(document.score)),
        h("span", { class: "number to" }, to ? `→ ${to}` : h("span", { class: "unseen" }, "not among the results")));
    })))));
}

function showTrace({ trace, processing_time_ms: ms, cached }) {
  $("time-note").replaceChildren(cached
    ? `${duration(ms)}, from the cache; the steps are those of the first request.`
    : `${duration(ms)} in the service.`);
  const longest = Math.max(...trace.map((step) => step.ms));
  $("trace").replaceChildren(...trace.map((step) => bar(step, longest)));
}

/** A step of a trace; the length of the bar is proportional to its time. */
export function bar(step, longest) {
  const length = h("span", { class: "length" });
  length.style.inlineSize = `${(100 * step.ms) / longest || 0}%`;
  return h("li", {}, h("span", { class: "name" }, step.name), h("span", { class: "bar", "aria-hidden": "true" }, length),
    h("span", { class: "number" }, duration(step.ms)), h("span", { class: "note" }, step.detail));
}

const name = (document) => document.title || document.text?.slice(0, 80) || document.document_id;
