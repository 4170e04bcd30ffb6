// How long the prompts are for the chosen model, while they are typed.
import * as api from "./api.js";

const PAUSE = 300; // milliseconds without a key
const FIELDS = ["prompt", "negative_prompt"];
const element = (id) => document.getElementById(id);
let timer = 0;
let asked = "";

/** "12 / 75 tokens" of the encoder that is fullest. */
function describe(lengths) {
  const [worst] = [...lengths].sort((a, b) => b.tokens / (b.room * b.chunks) - a.tokens / (a.room * a.chunks));
  if (!worst || worst.tokens === 0) return "";
  if (worst.chunks > 1) return `${worst.tokens} tokens, ${worst.chunks} × ${worst.room}`;
  if (worst.tokens > worst.room) return `${worst.tokens} tokens, ${worst.room} are read`;
  return `${worst.tokens} / ${worst.room} tokens`;
}

async function count() {
  const request = {};
  for (const name of [...FIELDS, "model"]) if (element(name).value !== "") request[name] = element(name).value;
  const question = JSON.stringify(request);
  if (question === asked) return;
  asked = question;
  let counts = {};
  try {
    if (FIELDS.some((name) => request[name])) counts = await api.post("/api/v1/tokens", request);
  } catch {
    // a prompt that is only half typed may be wrong; what is wrong with it is said when it is painted
  }
  if (question !== asked) return; // somebody typed on
  for (const name of FIELDS) element(`${name}-count`).textContent = describe(counts[name] ?? []);
}

export function start() {
  element("form").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(count, PAUSE);
  });
}
