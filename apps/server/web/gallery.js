// Pictures: the latest, the history, one alone.
import * as api from "./api.js";

const element = (id) => document.getElementById(id);
let next = null;
let shown = null;
let on = { use() {}, over() {}, error() {} };

function describe(job, picture) {
  return `${job.request.prompt ?? "picture"}, seed ${picture.seed}`;
}

export function button(job, picture) {
  const image = new Image(picture.width, picture.height);
  image.src = picture.url;
  image.alt = describe(job, picture);
  image.loading = "lazy";
  const open = document.createElement("button");
  open.type = "button";
  open.className = "picture";
  open.dataset.job = job.id;
  open.append(image);
  open.addEventListener("click", () => view(job, picture));
  open.view = () => view(job, picture);
  return open;
}

function items(job) {
  return job.pictures.map((picture) => {
    const item = document.createElement("li");
    item.dataset.url = picture.url;
    item.append(button(job, picture));
    return item;
  });
}

function view(job, picture) {
  shown = { job, picture };
  element("large").src = picture.url;
  element("large").alt = describe(job, picture);
  element("recipe").textContent = picture.parameters || job.request.prompt;
  element("save").href = picture.url;
  element("save").download = `gesso-${picture.seed}.${job.format}`;
  element("previous").disabled = !beside(-1);
  element("next").disabled = !beside(1);
  if (!element("viewer").open) element("viewer").showModal();
}

/** The picture of the history that many places after the one shown. */
function beside(by) {
  const all = [...element("pictures").querySelectorAll("li")];
  const at = all.findIndex((item) => item.dataset.url === shown.picture.url);
  return at < 0 ? undefined : all[at + by]?.querySelector("button");
}

function counted() {
  element("no-history").hidden = element("pictures").children.length > 0;
}

export function stage(...children) {
  element("empty").hidden = true;
  element("latest").replaceChildren(...children);
}

export function remember(job) {
  if (element("pictures").querySelector(`[data-job="${job.id}"]`)) return;
  element("pictures").prepend(...items(job));
  counted();
}

/** Puts a finished job on the stage and in front of the history. */
export function show(job) {
  stage(...job.pictures.map((picture) => button(job, picture)));
  remember(job);
}

export async function load(fresh = false) {
  if (fresh) next = null;
  const older = next;
  const page = await api.get(`/api/v1/jobs?limit=40${older ? `&before=${older}` : ""}`);
  const done = page.jobs.filter((job) => job.state === "completed");
  if (!older) element("pictures").replaceChildren();
  element("pictures").append(...done.flatMap(items));
  if (!older && done.length > 0 && element("latest").children.length === 0)
    stage(...done[0].pictures.map((picture) => button(done[0], picture)));
  next = page.next;
  element("more").hidden = next === null;
  counted();
  return page.jobs;
}

async function removeShown() {
  const { job } = shown;
  if (job.pictures.length > 1 && !confirm(`Delete all ${job.pictures.length} pictures of this job?`)) return;
  try {
    await api.remove(`/api/v1/jobs/${job.id}`);
  } catch (error) {
    return on.error(error);
  }
  const neighbour = beside(1) ?? beside(-1);
  for (const each of document.querySelectorAll(`[data-job="${job.id}"]`)) (each.closest("li") ?? each).remove();
  counted();
  if (neighbour?.isConnected) neighbour.view();
  else element("viewer").close();
}

export function start(listeners) {
  on = listeners;
  element("more").addEventListener("click", () => load().catch(on.error));
  element("close").addEventListener("click", () => element("viewer").close());
  element("previous").addEventListener("click", () => beside(-1)?.view());
  element("next").addEventListener("click", () => beside(1)?.view());
  element("viewer").addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") beside(-1)?.view();
    if (event.key === "ArrowRight") beside(1)?.view();
  });
  element("use").addEventListener("click", () => {
    on.use({ ...shown.job.request, seed: shown.picture.seed });
    element("viewer").close();
  });
  element("paint-over").addEventListener("click", async () => {
    element("viewer").close();
    await api.blob(shown.picture.url).then(on.over, on.error);
  });
  element("delete").addEventListener("click", removeShown);
}
