// The form, and the address of the page that contains its values.

import { showAnswer } from "./answer.js";
import { json } from "./api.js";
import { $, h, plural } from "./dom.js";
import { showResults } from "./results.js";

const form = $("ask");
let current = new AbortController(); // aborts the latest request; results of older requests are never shown
let offered = false; // whether strategies and collections have been loaded
let said = []; // the latest question and its answer, as turns

/** The values of the form; the API key has no name, so that it is not among them. */
const values = () => new URLSearchParams([...new FormData(form)].filter(([, value]) => value));

/** Sends the request of the form: a search, and then an answer if wanted. */
function ask(wantsAnswer) {
  return run(async (options) => {
    const given = values();
    const history = (given.get("turns") ?? "").split("\n").map((turn) => turn.trim()).filter(Boolean);
    const body = { query: given.get("q"), history, knowledge_pool_ids: given.getAll("collection"),
      rewriting_strategy: given.get("strategy") };
    const how = { limit: Number(given.get("limit")), include_rankings: true };
    const found = await json("v1/search", { body: { ...body, ...how }, ...options });
    options.signal.throwIfAborted();
    showResults(found);
    busy(false);
    keep(`U: ${body.query}`);
    if (wantsAnswer) keep(`U: ${body.query}`, `S: ${await showAnswer(body, options)}`);
  });
}

/** Keeps turns for a follow-up, each on one line. */
function keep(...turns) {
  said = turns.map((turn) => turn.replace(/\s+/g, " ").trim());
  $("follow-up").disabled = false;
}

/** Moves the latest question and its answer to the earlier turns; turns without a speaker alternate. */
function followUp() {
  const turns = $("turns").value.split("\n").filter((turn) => turn.trim())
    .map((turn, i) => (/^\s*(U|S|user|assistant)\s*:/i.test(turn) ? turn : `${i % 2 ? "S" : "U"}: ${turn}`));
  $("turns").value = [...turns, ...said].join("\n");
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
  for (const id of ["problem", "answer"]) $(id).hidden = true;
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

/** Loads the strategies and collections, and then fills the form from the address. */
async function offer(options) {
  const [strategies, { collections }] = await Promise.all([json("v1/strategies", options), json("v1/collections", options)]);
  $("strategy").replaceChildren(...strategies.strategies.map((name) => h("option", { value: name }, name)));
  $("strategy").value = strategies.default;
  $("collections").append(...collections.map(({ name, documents, retrievers }) =>
    h("label", { title: `${plural(documents, "document")}, ${retrievers.join(" and ")}` },
      h("input", { type: "checkbox", name: "collection", value: name }), ` ${name}`)));
  offered = true;
  if (location.hash) fill();
}

/** Fills the form from the address. */
function fill() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const field of form.elements) {
    if (field.type === "checkbox") field.checked = given.getAll(field.name).includes(field.value);
    else if (given.has(field.name) || field.name === "turns") field.value = given.get(field.name) ?? "";
  }
  $("turns-fold").open ||= given.has("turns");
}

/** Repeats the search of the address, if it has one. */
function open() {
  if (offered) fill();
  if (new URLSearchParams(location.hash.slice(1)).has("q")) ask(false);
  else run(async () => {
    $("results").hidden = true;
    $("status").replaceChildren();
  });
}

function submit(wantsAnswer) {
  if (!form.reportValidity()) return;
  if (location.hash !== `#${values()}`) history.pushState(null, "", `#${values()}`);
  ask(wantsAnswer);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  submit(false);
});
$("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit(false);
});
$("ask-answer").addEventListener("click", () => submit(true));
$("follow-up").addEventListener("click", followUp);
window.addEventListener("popstate", open);

open();
