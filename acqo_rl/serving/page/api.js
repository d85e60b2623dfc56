// Calls the service. Errors become a Problem with a message for the user.

export class Problem extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

/** Sends a request; returns the response, or throws a Problem if its status is an error. */
export async function call(path, { body, key, signal }) {
  const headers = { ...(body && { "Content-Type": "application/json" }), ...(key && { "X-API-Key": key }) };
  const request = { method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body) };
  const response = await reach(fetch(path, request));
  if (!response.ok) throw new Problem(await sentence(response), response.status);
  return response;
}

/** A response as JSON. */
export const json = async (path, options) => reach((await call(path, options)).json());

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
  if (response.status === 401) return "This service requires a valid API key. Enter it under “API key”, then search again.";
  const { detail } = await response.json().catch(() => ({}));
  if (Array.isArray(detail)) return detail.map((d) => `${d.loc.slice(1).join(" ")}: ${d.msg}.`).join(" ");
  return detail ?? `The service rejected the request (${response.status}).`;
}
