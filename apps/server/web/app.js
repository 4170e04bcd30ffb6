import * as api from "./api.js";
import * as form from "./form.js";
import * as gallery from "./gallery.js";
import * as grid from "./grid.js";
import * as over from "./over.js";
import * as tokens from "./tokens.js";
import * as work from "./work.js";

const element = (id) => document.getElementById(id);
let models = [];

function say(text) {
  element("status").textContent = text;
}

function complain(error) {
  if (error?.status === 401) return element("gate").showModal();
  element("error").textContent = error ? error.message : "";
  element("error").hidden = !error;
  form.mark(error?.field);
}

// ---- models ----

function showModel() {
  const name = element("model").value;
  const model = models.find((each) => (name ? each.name === name : each.default));
  const memory = model?.memory_bytes ? `, ${Math.round(model.memory_bytes / 1048576)} MiB` : "";
  element("model-state").textContent = !model ? "" : model.loaded ? `loaded${memory}` : "loaded when it is needed";
  element("unload").hidden = !model?.loaded;
  element("unload").dataset.model = model?.name ?? "";
}

async function lookAtModels() {
  models = (await api.get("/api/v1/models")).models;
  form.offerModels(models);
  showModel();
}

async function unload() {
  const name = element("unload").dataset.model;
  await api.post(`/api/v1/models/${encodeURIComponent(name)}/unload`).catch(complain);
  say(`${name} gave its memory back`);
  await lookAtModels().catch(complain);
}

// ---- painting ----

function ended(name, job) {
  if (name === "completed") {
    gallery.show(job);
    say(`painted in ${work.duration(job.ended - job.started)}`);
  } else if (name === "failed") {
    complain(new api.ApiError(500, job.error));
  } else {
    say("cancelled");
  }
  lookAtModels().catch(() => {});
}

async function generate() {
  complain(null);
  say("");
  try {
    const job = await api.post("/api/v1/jobs", { ...(await form.read()), preview: "proj" });
    work.add(job.id, ended);
  } catch (error) {
    complain(error);
  }
}

async function paintGrid() {
  complain(null);
  const button = (job, picture) => {
    gallery.remember(job);
    return gallery.button(job, picture);
  };
  try {
    await grid.paint(await form.read(), gallery.stage, button);
  } catch (error) {
    complain(error);
  }
}

// ---- the page ----

async function open() {
  try {
    form.offer(await api.get("/api/v1/capabilities"));
    await lookAtModels();
    form.restore();
    showModel();
    form.changed();
    if (models.length === 0) complain(new Error("this server has no model: start it with -m FILE or --models FOLDER"));
    const before = work.remembered();
    await gallery.load(true);
    for (const id of before) work.add(id, ended);
  } catch (error) {
    complain(error);
  }
}

function keys(event) {
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    generate();
  }
  if (event.key === "Escape") work.cancel();
}

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  generate();
});
element("form").addEventListener("input", form.save);
for (const id of ["over", "grid"]) element(id).addEventListener("toggle", form.save);
element("model").addEventListener("change", showModel);
element("unload").addEventListener("click", unload);
element("random").addEventListener("click", form.randomise);
element("paint-grid").addEventListener("click", paintGrid);
element("cancel-all").addEventListener("click", grid.stop);
element("swap").addEventListener("click", () => {
  const [width, height] = [element("width"), element("height")];
  [width.value, height.value] = [height.value, width.value];
  form.changed();
});
element("theme").value = document.documentElement.dataset.theme;
element("theme").addEventListener("change", (event) => {
  document.documentElement.dataset.theme = event.target.value;
  localStorage.setItem("gesso.theme", event.target.value);
});
document.addEventListener("keydown", keys);
element("gate-form").addEventListener("submit", () => {
  api.setKey(element("key").value);
  open();
});
gallery.start({ use: form.write, over: over.set, error: complain });
over.start(form.write, complain);
work.start({ message: say, failed: complain });
grid.start();
tokens.start();
over.restore();
open();
