// The jobs that this page waits for: one is followed, the others wait behind it. A browser has few connections to one
// server, so that following all of them would leave none for anything else.
import * as api from "./api.js";

const KEY = "gesso.jobs"; // a reloaded page waits for them again
const STAGES = { load: "opening the model", text: "reading the prompt", encode: "reading the picture", denoise: "painting, step", decode: "developing" };
const ATTEMPTS = 30; // at following a job
const PAUSE = 1000; // milliseconds between them
const OVER = ["completed", "failed", "cancelled"];
const element = (id) => document.getElementById(id);

const jobs = []; // { id, ended(name, job) }
let tell = { message() {}, failed() {} };
let running = false;

export function start(listeners) {
  tell = listeners;
  element("cancel").addEventListener("click", cancel);
  element("cancel-all").addEventListener("click", cancelAll);
}

/** The ids of jobs that the page waited for before it was reloaded. */
export function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? [];
  } catch {
    return [];
  }
}

export const waiting = () => jobs.length;

export function duration(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.round(seconds) % 60).padStart(2, "0")} s`;
}

function write(ids) {
  sessionStorage.setItem(KEY, JSON.stringify(ids));
}

function draw() {
  element("work").hidden = jobs.length === 0;
  element("cancel").disabled = jobs.length === 0;
  element("cancel-all").hidden = jobs.length < 2;
  element("cancel-all").textContent = `Cancel all ${jobs.length}`;
}

function say(text) {
  const behind = jobs.length - 1;
  element("what").textContent = behind > 0 ? `${text} · ${behind} more behind it` : text;
}

function preview(image) {
  element("preview").hidden = !image;
  if (!image) return element("preview").removeAttribute("src");
  element("preview").src = image;
  element("empty").hidden = true;
}

function progress(name, data) {
  if (name === "message") return tell.message(data.text);
  if (name === "preview") return preview(data.image);
  if (name === "queued") {
    element("bar").removeAttribute("value");
    return say(data.position === 1 ? "1 job before this one" : `${data.position} jobs before this one`);
  }
  if (name !== "progress") return;
  element("bar").value = data.fraction;
  const steps = data.steps > 1 ? ` ${data.step} of ${data.steps}` : "";
  const eta = data.eta_seconds === null ? "" : `, ${duration(data.eta_seconds)} left`;
  say(`${STAGES[data.stage] ?? (data.stage || "starting")}${steps}${eta}`);
}

/** Follows a job until it is over, again where the connection breaks. */
async function follow(job) {
  for (let attempt = 1; attempt <= ATTEMPTS; ++attempt) {
    let over = false;
    try {
      await api.follow(job.id, (name, data) => {
        if (!OVER.includes(name)) return progress(name, data);
        over = true;
        job.ended(name, data);
      });
    } catch (error) {
      if (error.status === 404) return; // it is long over
      if (error.status > 0) return tell.failed(error);
    }
    if (over) return;
    say("the connection broke; trying again");
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  tell.failed(new Error("the server does not answer any more"));
}

async function followFirst() {
  element("bar").removeAttribute("value");
  say("waiting");
  await follow(jobs[0]);
  preview(null);
  const { id } = jobs.shift();
  write(remembered().filter((each) => each !== id));
  draw();
}

/** Waits for a job; `ended` hears how it ended: ("completed" | "failed" | "cancelled", the job). */
export async function add(id, ended) {
  jobs.push({ id, ended });
  write([...new Set([...remembered(), id])]);
  draw();
  if (running) return;
  running = true;
  while (jobs.length > 0) await followFirst();
  running = false;
}

export async function cancel() {
  if (jobs.length === 0) return;
  say("cancelling");
  await api.remove(`/api/v1/jobs/${jobs[0].id}`).catch(tell.failed);
}

export async function cancelAll() {
  const all = jobs.map((job) => job.id).reverse(); // those that wait first, so that none begins meanwhile
  for (const id of all) await api.remove(`/api/v1/jobs/${id}`).catch(() => {});
}
