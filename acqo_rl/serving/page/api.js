// Calls the service. Errors become a Problem with a message for the user.

export class Problem extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

/** Sends a request; returns the response, or throws a Problem if its status is an error. */
export async function call(path, { body, key, signal } = {}) {
  const headers = { ...(body && { "Content-Type": "application/json" }), ...(key && { "X-API-Key": key }) };
  const request = { method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body) };
  const response = await reach(fetch(path, request));
  if (!response.ok) throw new Problem(await sentence(response), response.status);
  return response;
}

/** A response as JSON. */
export async function json(path, options) {
  const response = await call(path, options);
  try {
    return JSON.parse(await reach(response.text()));
  } catch (error) {
    if (error instanceof SyntaxError) throw new Problem("The response does not come from this service. Check what runs at this address.");
    throw error;
  }
}

/** Name and data of each server-sent event of a response. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reach(reader.read());
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = block.match(/^event: ([^\n]*)\ndata: ([^\n]*)$/) ?? [];
      if (name) yield [name, JSON.parse(data)];
    }
  }
}

async function reach(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The service cannot be reached. Check that it runs and that you are online, then try again.");
  }
}

async function sentence(response) {
  const detail = await detailOf(response);
  const wait = response.headers.get("Retry-After");
  switch (response.status) {
    case 401:
      return "This service requires a valid API key. Enter it under “API key”, then search again.";
    case 413:
      return `The question and its earlier turns are too long. ${detail}`;
    case 422:
      return `The service does not accept this request. ${detail}`;
    case 429:
      return `The service is busy, or you sent too many requests. Try again in ${wait ?? "a few"} ${wait === "1" ? "second" : "seconds"}.`;
    case 503:
      return `The search failed. ${detail}`;
  }
  if (response.status < 500) return detail || `The service rejected the request (${response.status}).`;
  const id = response.headers.get("X-Request-ID");
  return `The service failed (${response.status})${id ? `; search its log for ${id}` : ""}. Try again.`;
}

async function detailOf(response) {
  try {
    const { detail } = await response.json();
    return typeof detail === "string" ? detail : detail.map((d) => `${d.loc.slice(1).join(" ")}: ${d.msg}.`).join(" ");
  } catch {
    return "";
  }
}
