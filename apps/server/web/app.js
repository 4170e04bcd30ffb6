import * as api from "./api.js";
import * as form from "./form.js";
import * as gallery from "./gallery.js";

const element = (id) => document.getElementById(id);
let current = null; // the job that this page waits for

function say(text) {
  element("status").textContent = text;
}

function complain(error) {
  if (error?.status === 401) return askForKey();
  element("error").textContent = error ? error.message : "";
  element("error").hidden = !error;
  form.mark(error?.field);
}

function askForKey() {
  element("gate").showModal();
}

function duration(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.round(seconds) % 60).padStart(2, "0")} s`;
}

function working(job) {
  current = job;
  element("work").hidden = !job;
  element("cancel").disabled = !job;
  element("generate").disabled = Boolean(job);
  element("preview").hidden = true;
  if (job) {
    sessionStorage.setItem("gesso.job", job.id); // a reloaded page waits for it again
    element("bar").removeAttribute("value");
    element("what").textContent = "waiting";
  }
}

function preview(data) {
  element("preview").src = data.image;
  element("preview").hidden = false;
  element("empty").hidden = true;
}

function progress(name, data) {
  if (name === "message") return say(data.text);
  if (name === "preview") return preview(data);
  if (name === "queued") {
    element("what").textContent = data.position === 1 ? "1 job before this one" : `${data.position} jobs before this one`;
    return;
  }
  element("bar").value = data.fraction;
  const steps = data.steps > 1 ? ` ${data.step} of ${data.steps}` : "";
  const eta = data.eta_seconds === null ? "" : `, ${duration(data.eta_seconds)} left`;
  element("what").textContent = `${data.stage || "starting"}${steps}${eta}`;
}

function ended(name, job) {
  if (name === "completed") {
    gallery.show(job);
    say(`painted in ${duration(job.ended - job.started)}`);
  } else if (name === "failed") {
    complain(new api.ApiError(500, job.error));
  } else {
    say("cancelled");
  }
}

async function wait(job) {
  working(job);
  let over = false;
  try {
    await api.follow(job.id, (name, data) => {
      over = ["completed", "failed", "cancelled"].includes(name);
      if (over) ended(name, data);
      else progress(name, data);
    });
    if (!over) complain(new Error("the connection broke; the picture will be in the history"));
  } catch (error) {
    complain(error);
  }
  working(null);
}

async function generate() {
  if (current) return;
  complain(null);
  say("");
  const request = { ...form.read(), preview: "proj" };
  try {
    await wait(await api.submit(request));
  } catch (error) {
    complain(error);
  }
}

async function cancel() {
  if (!current) return;
  element("what").textContent = "cancelling";
  await api.remove(`/api/v1/jobs/${current.id}`).catch(complain);
}

async function open() {
  try {
    const [list, capabilities] = await Promise.all([api.get("/api/v1/models"), api.get("/api/v1/capabilities")]);
    form.offer(list.models, capabilities);
    form.restore();
    if (list.models.length === 0) complain(new Error("this server has no model: start it with -m FILE or --models FOLDER"));
    const jobs = await gallery.load();
    const mine = jobs.find((job) => job.id === sessionStorage.getItem("gesso.job"));
    if (mine && ["queued", "running"].includes(mine.state)) await wait(mine);
  } catch (error) {
    complain(error);
  }
}

element("form").addEventListener("submit", (event) => {
  event.preventDefault();
  generate();
});
element("form").addEventListener("input", form.save);
element("cancel").addEventListener("click", cancel);
element("random").addEventListener("click", form.randomise);
element("swap").addEventListener("click", () => {
  const [width, height] = [element("width"), element("height")];
  [width.value, height.value] = [height.value, width.value];
  form.save();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) generate();
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) cancel();
});
element("gate-form").addEventListener("submit", () => {
  api.setKey(element("key").value);
  open();
});
gallery.start(form.write, complain);
open();
