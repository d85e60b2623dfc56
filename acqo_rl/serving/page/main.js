// The form.

import { json } from "./api.js";
import { $, h, plural } from "./dom.js";
import { showResults } from "./results.js";

const form = $("ask");
let current = new AbortController(); // aborts the latest request; results of older requests are never shown
let offered = false; // whether strategies and collections have been loaded
let asked = ""; // the latest question

/** Searches with the values of the form. */
function search() {
  return run(async (options) => {
    const given = new FormData(form);
    const body = { query: given.get("q"), history: turns(), knowledge_pool_ids: given.getAll("collection"),
      rewriting_strategy: given.get("strategy"), limit: Number(given.get("limit")), include_rankings: true };
    const found = await json("v1/search", { body, ...options });
    options.signal.throwIfAborted();
    showResults(found);
    asked = body.query.replace(/\s+/g, " ").trim();
    $("follow-up").disabled = false;
  });
}

const turns = () => $("turns").value.split("\n").map((turn) => turn.trim()).filter(Boolean);

/** Moves the latest question to the earlier turns; turns without a speaker alternate. */
function followUp() {
  const earlier = turns().map((turn, i) => (/^(U|S|user|assistant)\s*:/i.test(turn) ? turn : `${i % 2 ? "S" : "U"}: ${turn}`));
  $("turns").value = [...earlier, `U: ${asked}`].join("\n");
  $("turns-fold").open = true;
  $("question").value = "";
  $("question").focus();
  $("follow-up").disabled = true;
}

/** Runs a task in place of the current one; shows its error with a button that repeats it. */
async function run(task) {
  current.abort();
  const { signal } = (current = new AbortController());
  const options = { key: $("key").value, signal };
  $("problem").hidden = true;
  busy(true);
  try {
    if (!offered) await offer(options);
    await task(options);
  } catch (error) {
    if (!signal.aborted) showProblem(error, () => run(task));
  } finally {
    if (!signal.aborted) busy(false);
  }
}

function busy(yes) {
  document.body.classList.toggle("busy", yes);
  $("results").ariaBusy = String(yes);
  if (yes) $("status").replaceChildren("Searching …");
}

function showProblem(error, retry) {
  $("status").replaceChildren();
  $("results").hidden = true;
  const again = h("button", { type: "button" }, "Try again");
  again.addEventListener("click", retry);
  $("problem").replaceChildren(h("p", {}, error.message), again);
  $("problem").hidden = false;
  if (error.status === 401) {
    $("key-fold").open = true;
    $("key").focus();
  }
}

/** Loads the strategies and collections. */
async function offer(options) {
  const [strategies, { collections }] = await Promise.all([json("v1/strategies", options), json("v1/collections", options)]);
  $("strategy").replaceChildren(...strategies.strategies.map((name) => h("option", { value: name }, name)));
  $("strategy").value = strategies.default;
  $("collections").append(...collections.map(({ name, documents, retrievers }) =>
    h("label", { title: `${plural(documents, "document")}, ${retrievers.join(" and ")}` },
      h("input", { type: "checkbox", name: "collection", value: name }), ` ${name}`)));
  offered = true;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
$("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
$("follow-up").addEventListener("click", followUp);

run(async () => $("status").replaceChildren());
