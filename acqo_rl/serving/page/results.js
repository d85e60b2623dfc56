// What a search found, from the decision to the trace.

import { draw, home } from "./chart.js";
import { $, h, hue, mark } from "./dom.js";
import { ahead, comparable, deciding, decision, duration, firstKey, formulas, KINDS, ordinal, plural, precise } from "./words.js";

let shown = null; // the response, and the index of the document that is looked at

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

/** One sentence for those who cannot see the page. */
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
    const marks = lists.length ? lists.map(mark) : h("span", { class: "lost" }, "did not come back");
    const weight = variant.weight === 1 ? "" : `, weight ${variant.weight}`;
    const lead = variant.lead === null ? "" : `, where it leads by ${variant.lead}`;
    return h("li", {}, h("span", { class: "marks" }, marks), h("span", { class: "text" }, variant.text),
      h("span", { class: "kind" }, (KINDS[variant.kind] ?? variant.kind) + weight + lead));
  }));
}

function showNotices({ query_rewrite_info: { problem }, failures, notes }) {
  const lost = failures.filter((failure) => failure.step === "retrieval");
  const notices = [];
  if (problem) notices.push(h("p", {}, h("strong", {}, "Searched as it stands, which was not wanted. "), problem));
  notices.push(...notes.map((note) => h("p", {}, note)));
  if (lost.length) {
    notices.push(h("p", {}, h("strong", {}, "These results are partial. "),
      `${plural(lost.length, "search", "searches")} did not come back:`));
    notices.push(h("ul", {}, lost.map((f) => h("li", {}, `“${f.sub_query}” at ${f.retriever}: ${f.reason}`))));
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
    ? ["Lines lead from the ranks of a document to its merged rank, thicker from higher ranks; hollow ones are not kept. ",
      `Ordered by ${key.name}, then ${comparable(rankings) ? "by S" : "by list, since S compares within one retriever only"}; `,
      "the key in ", h("b", {}, "bold"), " puts a document before the next."]
    : ["There is one list, so there was nothing to merge."]));
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

/** Looks at one document: its line stands out, and the panel says why it is where it is. */
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
    h("p", {}, "It is ", places, "."),
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
  const leads = new Map(variants.map((variant) => [variant.text, variant.lead]));
  const empty = ({ query }) => (leads.get(query) == null ? "Nothing was found." : "Left out: its best score does not lead.");
  const merged = new Map(results.flatMap((r) => r.places.map((p) => [`${p.ranking} ${p.rank}`, r.rank])));
  $("lists").replaceChildren(...rankings.map((list, number) => h("article", {},
    h("h3", {}, mark(number), " ", list.query),
    h("p", { class: "note" }, [...new Set(list.documents.map((d) => d.knowledge_pool)), list.retriever].join(" · ")),
    list.documents.length ? null : h("p", { class: "note" }, empty(list)),
    h("ol", {}, list.documents.slice(0, Math.max(results.length, 5)).map((document, i) => {
      const to = merged.get(`${number} ${i + 1}`);
      return h("li", { class: to ? "kept" : null }, h("span", { class: "title" }, name(document)),
        h("span", { class: "number" }, precise(document.score)),
        h("span", { class: "number to" }, to ? `→ ${to}` : h("span", { class: "unseen" }, "not kept")));
    })))));
}

function showTrace({ trace, processing_time_ms: ms, cached }) {
  $("time-note").replaceChildren(cached
    ? `${duration(ms)}, from the cache; the steps are those of the first time.`
    : `${duration(ms)} in the service.`);
  const longest = Math.max(...trace.map((step) => step.ms));
  $("trace").replaceChildren(...trace.map((step) => bar(step, longest)));
}

/** A step of a trace, its bar as long as its time. */
export function bar(step, longest) {
  const length = h("span", { class: "length" });
  length.style.inlineSize = `${(100 * step.ms) / longest || 0}%`;
  return h("li", {}, h("span", { class: "name" }, step.name), h("span", { class: "bar", "aria-hidden": "true" }, length),
    h("span", { class: "number" }, duration(step.ms)), h("span", { class: "note" }, step.detail));
}

const name = (document) => document.title || document.text?.slice(0, 80) || document.document_id;
