// Talks to the server this page came from.
const KEY = "gesso.key";

/** What the server said was wrong; `field` names the culprit where it knows one. */
export class ApiError extends Error {
  constructor(status, error, retryAfter = 0) {
    super(error?.message ?? `the server answered ${status}`);
    this.status = status;
    this.field = error?.field ?? null;
    this.retryAfter = retryAfter; // seconds; 0: not worth trying again
  }
}

export function setKey(key) {
  localStorage.setItem(KEY, key);
}

async function send(path, options = {}) {
  const headers = { ...options.headers };
  const key = localStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { message: "the server does not answer" });
  }
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  throw new ApiError(answer.status, error, Number(answer.headers.get("Retry-After") ?? 0));
}

export async function get(path) {
  return (await send(path)).json();
}

export async function blob(path) {
  return (await send(path)).blob();
}

export async function remove(path) {
  await send(path, { method: "DELETE" });
}

export async function post(path, body = {}) {
  const headers = { "Content-Type": "application/json" };
  return (await send(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/** A Blob's bytes in base64. */
export function base64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

/** Calls back with (name, data) for every event of a job until it is over. */
export async function follow(id, onEvent) {
  const answer = await send(`/api/v1/jobs/${id}/events`);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const event = Object.fromEntries(text.slice(0, end).split("\n").map((line) => line.split(/: (.*)/s, 2)));
      text = text.slice(end + 2);
      if (event.event) onEvent(event.event, JSON.parse(event.data));
    }
  }
}
