// The answer panel.

import { call, events, Problem } from "./api.js";
import { $, h } from "./dom.js";
import { bar } from "./results.js";
import { duration, plural } from "./words.js";

/** Streams an answer into the panel, or shows why there is none. */
export async function showAnswer(body, options) {
  const steps = h("ol", { class: "trace" });
  $("answer").hidden = false;
  $("answer").ariaBusy = "true";
  $("answer-state").replaceChildren("Answering …");
  $("answer-text").replaceChildren();
  $("answer-more").replaceChildren(steps);
  try {
    const response = await call("v1/answer", { body, ...options });
    const seen = [];
    for await (const [event, data] of events(response)) {
      options.signal.throwIfAborted();
      if (event === "step") {
        seen.push(data);
        const longest = Math.max(...seen.map((step) => step.ms));
        steps.replaceChildren(...seen.map((step) => bar(step, longest)));
        $("answer-state").replaceChildren(`${plural(seen.length, "step")} done (last: ${data.name}) …`);
      }
      if (event === "token") $("answer-text").append(data.text);
      if (event === "error") throw new Problem(data.detail);
      if (event === "result") return finish(data, steps);
    }
    throw new Problem("The answer is incomplete, because the connection ended. Try again.");
  } catch (error) {
    options.signal.throwIfAborted();
    $("answer-state").replaceChildren("No answer was written.");
    $("answer-more").prepend(h("p", { class: "problem", role: "alert" }, error.message));
  } finally {
    $("answer").ariaBusy = "false";
  }
}

function finish(result, steps) {
  const facts = [`${result.confidence_label} confidence (${result.confidence.toFixed(2)})`,
    plural(result.model_calls, "model call"), result.cached ? "from the cache" : duration(result.processing_time_ms)];
  $("answer-state").replaceChildren(result.answer ? facts.join(" · ") : "No answer was written.");
  $("answer-text").replaceChildren(result.answer);
  $("answer-more").replaceChildren(
    ...listed("problem", "Failed calls:", result.failures),
    ...listed("skipped", "Skipped steps:", result.skipped),
    fold(plural(result.passages.length, "passage"), h("ul", { class: "passages" }, result.passages.map((passage) =>
      h("li", {}, h("b", {}, passage.title || passage.document_id), ` ${passage.text}`)))),
    fold(plural(steps.children.length, "step"), steps));
}

const listed = (kind, head, items) =>
  (items.length ? [h("div", { class: kind }, h("p", {}, head), h("ul", {}, items.map((item) => h("li", {}, item))))] : []);

const fold = (head, content) => h("details", {}, h("summary", {}, head), content);
