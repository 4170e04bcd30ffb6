// The form: what it holds, as a request; kept across reloads.
import * as over from "./over.js";

const STATE = "gesso.form";
const TEXTS = ["prompt", "negative_prompt"];
const CHOICES = ["model", "vae", "sampling_method", "scheduler"];
const NUMBERS = ["width", "height", "steps", "cfg_scale", "batch_count"];
const OVER = ["strength", "resize_mode", "mask_blur", "inpaint_area"]; // only with a picture to paint over
const RECIPE = [...TEXTS, ...CHOICES, ...NUMBERS, "seed"];
const ALL = [...RECIPE, ...OVER];
const KEPT = [...ALL, "x-axis", "x-values", "y-axis", "y-values", "brush"];

const field = (name) => document.getElementById(name);

function fill(select, names, first) {
  const before = select.value;
  select.replaceChildren(...[first, ...names].map((name, i) => new Option(name, i ? name : "")));
  select.value = before;
  if (select.selectedIndex < 0) select.value = "";
}

export function offerModels(models) {
  const standard = models.find((model) => model.default);
  const main = models.filter((model) => ["checkpoint", "unknown", ""].includes(model.kind));
  fill(field("model"), main.map((model) => model.name), standard ? `${standard.name} (default)` : "no model");
  fill(field("vae"), models.filter((model) => model.kind === "vae").map((model) => model.name), "built in");
}

export function offer(capabilities) {
  fill(field("sampling_method"), capabilities.samplers, "auto");
  fill(field("scheduler"), capabilities.schedulers, "auto");
  field("steps").max = capabilities.limits.steps;
  field("batch_count").max = capabilities.limits.batch_count;
}

function readNumber(name, request) {
  if (field(name).value !== "") request[name] = Number(field(name).value);
}

/** The request that the form stands for, with its pictures; a seed is drawn where none is locked. */
export async function read() {
  if (!field("lock").checked || field("seed").value === "") randomise();
  const request = {};
  for (const name of [...TEXTS, ...CHOICES]) if (field(name).value !== "") request[name] = field(name).value;
  for (const name of [...NUMBERS, "seed"]) readNumber(name, request);
  const pictures = await over.read();
  if (!pictures.init_image) return request;
  readNumber("strength", request);
  request.resize_mode = field("resize_mode").value;
  if (pictures.mask_image) {
    readNumber("mask_blur", request);
    request.inpaint_area = field("inpaint_area").value;
  }
  return Object.assign(request, pictures);
}

/** What names of samplers have in common, whoever writes them: "DPM++ 2M" and "dpm++2m". */
const plain = (name) => String(name).toLowerCase().replace(/[ _-]/g, "").replace(/^k(?=euler|heun|dpm|lms)/, "");

function choose(select, value) {
  const known = [...select.options].find((option) => option.value === value || plain(option.value) === plain(value));
  select.value = known ? known.value : "";
}

/** Shows a picture's settings; its seed is locked, so that it can be painted again. What it does not say is auto. */
export function write(request) {
  const shown = { ...request };
  const two = /^(.*) (karras|exponential)$/i.exec(shown.sampling_method ?? ""); // A1111's "DPM++ 2M Karras"
  if (two) [shown.sampling_method, shown.scheduler] = [two[1], two[2]];
  for (const name of RECIPE) {
    const value = shown[name] ?? "";
    if (field(name).tagName === "SELECT") choose(field(name), value);
    else field(name).value = value;
  }
  field("batch_count").value = 1;
  for (const name of OVER) if (shown[name] !== undefined && shown.init_image) field(name).value = shown[name];
  field("lock").checked = true;
  changed();
}

export function randomise() {
  field("seed").value = crypto.getRandomValues(new Uint32Array(1))[0];
  save();
}

/** Tells everybody that the form holds something else. */
export function changed() {
  field("form").dispatchEvent(new Event("input"));
}

export function save() {
  const state = { lock: field("lock").checked };
  for (const name of KEPT) state[name] = field(name).value;
  for (const name of ["over", "grid"]) state[`${name}-open`] = field(name).open;
  localStorage.setItem(STATE, JSON.stringify(state));
}

export function restore() {
  let state;
  try {
    state = JSON.parse(localStorage.getItem(STATE)) ?? {};
  } catch {
    return;
  }
  for (const name of KEPT) {
    if (typeof state[name] !== "string") continue;
    field(name).value = state[name];
    if (field(name).selectedIndex === -1) field(name).selectedIndex = 0;
  }
  for (const name of ["over", "grid"]) field(name).open = state[`${name}-open`] === true;
  field("lock").checked = state.lock === true;
}

/** Points at the field that the server objects to. */
export function mark(name) {
  for (const each of ALL) field(each).removeAttribute("aria-invalid");
  const culprit = ALL.includes(name) ? field(name) : null;
  culprit?.setAttribute("aria-invalid", "true");
  culprit?.focus();
}
