// The answer panel.

import { call, events, Problem } from "./api.js";
import { $, duration, fold, h, partOf, plural, step } from "./dom.js";

/** Streams an answer into the panel, or shows why there is none; returns its text. */
export async function showAnswer(body, options) {
  const steps = h("ol", { class: "trace" });
  $("answer").hidden = false;
  $("answer").ariaBusy = "true";
  $("answer-state").replaceChildren("Answering …");
  $("answer-text").replaceChildren();
  $("answer-more").replaceChildren(steps);
  try {
    for await (const [event, data] of events(await call("v1/answer", { body, ...options }))) {
      options.signal.throwIfAborted();
      if (event === "step") steps.append(step(data));
      if (event === "token") $("answer-text").append(data.text);
      if (event === "error") throw new Problem(data.detail);
      if (event === "result") return finish(data, steps);
    }
    throw new Problem("The answer is incomplete, because the connection ended. Try again.");
  } catch (error) {
    options.signal.throwIfAborted();
    $("answer-state").replaceChildren("No answer was written.");
    $("answer-more").prepend(h("p", { class: "problem", role: "alert" }, error.message));
    return "";
  } finally {
    $("answer").ariaBusy = "false";
  }
}

function finish(result, steps) {
  const facts = [`${result.confidence_label} confidence (${result.confidence.toFixed(2)})`,
    plural(result.model_calls, "model call"), result.cached ? "from the cache" : duration(result.processing_time_ms)];
  $("answer-state").replaceChildren(result.answer ? facts.join(" · ") : "No answer was written.");
  $("answer-text").replaceChildren(result.answer);
  const list = (items) => h("ul", {}, items.map((item) => h("li", {}, item)));
  const passages = result.passages.map((passage) => [h("b", {}, passage.title || passage.document_id), ` ${partOf(passage)}`]);
  $("answer-more").replaceChildren(
    ...(result.failures.length ? [h("div", { class: "problem" }, "Failed calls:", list(result.failures))] : []),
    ...(result.skipped.length ? [h("div", { class: "note" }, "Skipped steps:", list(result.skipped))] : []),
    fold(plural(passages.length, "passage"), list(passages)), fold(plural(steps.children.length, "step"), steps));
  return result.answer;
}
