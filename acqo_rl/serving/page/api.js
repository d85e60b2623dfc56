// Calls the service. Errors become a Problem with a message for the user.

export class Problem extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

/** Sends a request; returns its response as JSON, or throws a Problem if the status is an error. */
export async function json(path, { body, key, signal }) {
  const headers = { ...(body && { "Content-Type": "application/json" }), ...(key && { "X-API-Key": key }) };
  const request = { method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body) };
  const response = await reach(fetch(path, request));
  if (!response.ok) throw new Problem(await sentence(response), response.status);
  return reach(response.json());
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
