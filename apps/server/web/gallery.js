// Pictures: the latest, the history, one alone.
import * as api from "./api.js";

const element = (id) => document.getElementById(id);
let next = null;
let shown = null;
let useSettings = () => {};

function describe(job, picture) {
  return `${job.request.prompt ?? "picture"}, seed ${picture.seed}`;
}

function button(job, picture) {
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
  return open;
}

function items(job) {
  return job.pictures.map((picture) => {
    const item = document.createElement("li");
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
  element("viewer").showModal();
}

/** Puts a finished job on the stage and in front of the history. */
export function show(job) {
  element("empty").hidden = true;
  element("latest").replaceChildren(...job.pictures.map((picture) => button(job, picture)));
  element("pictures").prepend(...items(job));
}

export async function load() {
  const older = next;
  const page = await api.get(`/api/v1/jobs?limit=40${older ? `&before=${older}` : ""}`);
  const done = page.jobs.filter((job) => job.state === "completed");
  if (!older) element("pictures").replaceChildren();
  element("pictures").append(...done.flatMap(items));
  next = page.next;
  element("more").hidden = next === null;
  return page.jobs;
}

export function start(onUse, onError) {
  useSettings = onUse;
  element("more").addEventListener("click", () => load().catch(onError));
  element("close").addEventListener("click", () => element("viewer").close());
  element("use").addEventListener("click", () => {
    useSettings({ ...shown.job.request, seed: shown.picture.seed });
    element("viewer").close();
  });
  element("delete").addEventListener("click", async () => {
    const { job } = shown;
    if (job.pictures.length > 1 && !confirm(`Delete all ${job.pictures.length} pictures of this job?`)) return;
    try {
      await api.remove(`/api/v1/jobs/${job.id}`);
    } catch (error) {
      return onError(error);
    }
    for (const each of document.querySelectorAll(`[data-job="${job.id}"]`)) (each.closest("li") ?? each).remove();
    element("viewer").close();
  });
}
