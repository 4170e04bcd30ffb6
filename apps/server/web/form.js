// The form: what it holds, as a request; kept across reloads.
const STATE = "gesso.form";
const TEXTS = ["prompt", "negative_prompt"];
const CHOICES = ["model", "sampling_method", "scheduler"];
const NUMBERS = ["width", "height", "steps", "cfg_scale", "batch_count"];
const ALL = [...TEXTS, ...CHOICES, ...NUMBERS, "seed"];

const field = (name) => document.getElementById(name);

function fill(select, names, first) {
  select.replaceChildren(...[first, ...names].map((name, i) => new Option(name, i ? name : "")));
}

export function offer(models, capabilities) {
  const standard = models.find((model) => model.default);
  fill(field("model"), models.map((model) => model.name), standard ? `${standard.name} (default)` : "no model");
  fill(field("sampling_method"), capabilities.samplers, "auto");
  fill(field("scheduler"), capabilities.schedulers, "auto");
  field("steps").max = capabilities.limits.steps;
  field("batch_count").max = capabilities.limits.batch_count;
}

/** The request that the form stands for; a seed is drawn where none is locked. */
export function read() {
  if (!field("lock").checked || field("seed").value === "") randomise();
  const request = {};
  for (const name of [...TEXTS, ...CHOICES]) if (field(name).value !== "") request[name] = field(name).value;
  for (const name of [...NUMBERS, "seed"]) if (field(name).value !== "") request[name] = Number(field(name).value);
  return request;
}

/** Shows a picture's settings; its seed is locked, so that it can be painted again. */
export function write(request) {
  for (const name of ALL) {
    const input = field(name);
    const value = String(request[name] ?? "");
    const known = input.tagName !== "SELECT" || [...input.options].some((option) => option.value === value);
    input.value = known ? value : "";
  }
  field("batch_count").value = 1;
  field("lock").checked = true;
  save();
}

export function randomise() {
  field("seed").value = crypto.getRandomValues(new Uint32Array(1))[0];
  save();
}

export function save() {
  const state = { lock: field("lock").checked };
  for (const name of ALL) state[name] = field(name).value;
  localStorage.setItem(STATE, JSON.stringify(state));
}

export function restore() {
  let state;
  try {
    state = JSON.parse(localStorage.getItem(STATE)) ?? {};
  } catch {
    return;
  }
  for (const name of ALL) {
    if (typeof state[name] !== "string") continue;
    field(name).value = state[name];
    if (field(name).selectedIndex === -1) field(name).value = "";
  }
  field("lock").checked = state.lock === true;
}

export function mark(name) {
  for (const each of ALL) field(each).removeAttribute("aria-invalid");
  const culprit = ALL.includes(name) ? field(name) : null;
  culprit?.setAttribute("aria-invalid", "true");
  culprit?.focus();
}
