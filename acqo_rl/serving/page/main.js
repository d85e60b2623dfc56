// The form, and the address of the page that contains its values.

import { showAnswer } from "./answer.js";
import { json, Problem } from "./api.js";
import { $, h } from "./dom.js";
import { showResults, summary } from "./results.js";
import { plural } from "./words.js";

let current = new AbortController(); // aborts the latest request; results of older requests are never shown
let offered = false; // whether strategies and collections have been loaded

/** Sends the request of the form: a search, and then an answer if wanted. */
async function ask(wantsAnswer) {
  current.abort();
  const mine = (current = new AbortController());
  const options = { key: $("key").value, signal: mine.signal };
  for (const id of ["problem", "welcome", "answer"]) $(id).hidden = true;
  document.title = `${$("question").value} · acqo_rl`;
  busy(true);
  try {
    await offer(options);
    if (!boxes().some((box) => box.checked)) throw new Problem("No collection is selected. Select at least one, then search again.");
    const body = { query: $("question").value.trim(), history: turns(), knowledge_pool_ids: chosenCollections(),
      rewriting_strategy: $("strategy").value };
    const how = { limit: Number($("limit").value), include_rankings: true };
    const found = await json("v1/search", { body: { ...body, ...how }, ...options });
    mine.signal.throwIfAborted();
    showResults(found);
    $("status").replaceChildren(summary(found));
    busy(false);
    if (wantsAnswer) await showAnswer(body, options);
  } catch (error) {
    if (!mine.signal.aborted) showProblem(error, () => ask(wantsAnswer));
  } finally {
    if (!mine.signal.aborted) busy(false);
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

/** Loads the strategies and collections, once. */
async function offer(options) {
  if (offered) return;
  const [strategies, { collections }] = await Promise.all([
    json("v1/strategies", options), json("v1/collections", options)]);
  const wanted = $("strategy").value || strategies.default;
  const names = [...new Set([...strategies.strategies, wanted])];
  $("strategy").replaceChildren(...names.map((name) => h("option", { value: name }, name)));
  $("strategy").value = wanted;
  const linked = new URLSearchParams(location.hash.slice(1)).getAll("collection");
  $("collections").replaceChildren(h("legend", {}, "Collections"), ...collections.map(({ name, documents, retrievers }) => {
    const box = h("input", { type: "checkbox", value: name, checked: !linked.length || linked.includes(name) ? "" : null });
    const what = `${plural(documents, "document")}, ${retrievers.join(" and ")}`;
    return h("label", { title: what }, box, ` ${name}`);
  }));
  offered = true;
}

const turns = () => $("turns").value.split("\n").map((turn) => turn.trim()).filter(Boolean);

const boxes = () => [...$("collections").querySelectorAll("input")];

/** The names of the selected collections; empty (which means all) if all are selected. */
function chosenCollections() {
  const names = boxes().filter((box) => box.checked).map((box) => box.value);
  return names.length === boxes().length ? [] : names;
}

/** The address fragment with the values of the form, without the API key. */
function address() {
  const parts = new URLSearchParams({ q: $("question").value.trim(), strategy: $("strategy").value });
  if ($("limit").value !== "10") parts.set("limit", $("limit").value);
  for (const name of chosenCollections()) parts.append("collection", name);
  for (const turn of turns()) parts.append("turn", turn);
  return `#${parts}`;
}

/** Fills the form from the address, and searches. */
function read() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const strategy = parts.get("strategy") ?? "";
  if (![...$("strategy").options].some((option) => option.value === strategy)) {
    $("strategy").append(h("option", { value: strategy }, strategy));
  }
  $("strategy").value = strategy || $("strategy").options[0].value;
  $("question").value = parts.get("q") ?? "";
  $("limit").value = ["5", "20"].includes(parts.get("limit")) ? parts.get("limit") : "10";
  $("turns").value = parts.getAll("turn").join("\n");
  $("turns-fold").open = parts.has("turn");
  const linked = parts.getAll("collection");
  for (const box of boxes()) box.checked = !linked.length || linked.includes(box.value);
  if (parts.get("q")) ask(false);
  else begin();
}

/** Shows the empty page, and loads the strategies and collections. */
function begin() {
  current.abort();
  for (const id of ["results", "problem", "answer"]) $(id).hidden = true;
  $("welcome").hidden = false;
  $("status").replaceChildren();
  offer({ key: $("key").value }).catch((error) => showProblem(error, begin));
}

function submit(wantsAnswer) {
  if (!$("ask").reportValidity()) return;
  if (location.hash !== address()) history.pushState(null, "", address());
  ask(wantsAnswer);
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  submit(false);
});
$("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit(false);
});
$("ask-answer").addEventListener("click", () => submit(true));
$("example").addEventListener("click", (event) => {
  $("question").value = event.target.textContent;
  submit(false);
});
$("strategy").addEventListener("change", () => $("results").hidden || submit(false));
window.addEventListener("popstate", read);

read();
