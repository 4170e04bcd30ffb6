// X/Y grids: a job for each combination of values, its picture in a table.
import * as api from "./api.js";
import * as work from "./work.js";

const AXES = {
  "": "nothing",
  steps: "steps",
  cfg_scale: "CFG scale",
  seed: "seed",
  strength: "strength",
  sampling_method: "sampler",
  scheduler: "scheduler",
  prompt: "text in the prompt",
};
const NUMBERS = ["steps", "cfg_scale", "seed", "strength"];
const MOST = 100; // pictures
const AT_ONCE = 8; // jobs in the queue, which others use too
const element = (id) => document.getElementById(id);

/** "1, 3-9 (+2)" becomes [1, 3, 5, 7, 9]. */
export function values(text, numeric) {
  const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
  if (!numeric) return parts;
  return parts.flatMap((part) => {
    const range = /^([\d.]+)\s*-\s*([\d.]+)(?:\s*\(\+\s*([\d.]+)\))?$/.exec(part);
    if (!range) {
      if (part === "" || !Number.isFinite(Number(part))) throw new Error(`the grid wants numbers, found ${part}`);
      return [Number(part)];
    }
    const [from, to, by] = [Number(range[1]), Number(range[2]), Number(range[3] ?? 1)];
    const count = Math.floor((to - from) / by + 1e-9) + 1;
    if (!(by > 0) || !(count > 0) || count > MOST) throw new Error(`the range ${part} has no values, or too many`);
    return Array.from({ length: count }, (_, i) => Number((from + i * by).toFixed(6)));
  });
}

function axis(letter) {
  const field = element(`${letter}-axis`).value;
  if (!field) return { field, values: [null] };
  const list = values(element(`${letter}-values`).value, NUMBERS.includes(field));
  if (list.length === 0) throw new Error(`the grid needs values of ${AXES[field]}`);
  return { field, values: list };
}

function apply(request, { field, values: [first] }, value) {
  if (!field) return;
  if (field !== "prompt") request[field] = value;
  else if (!(request.prompt ?? "").includes(first)) throw new Error(`the prompt does not hold “${first}”`);
  else request.prompt = request.prompt.replaceAll(first, value);
}

function heading(axis, value) {
  const cell = document.createElement("th");
  cell.textContent = value === null ? "" : axis.field === "prompt" ? value : `${AXES[axis.field]} ${value}`;
  return cell;
}

function table(x, y) {
  const grid = document.createElement("table");
  grid.className = "grid";
  const head = grid.createTHead().insertRow();
  head.append(document.createElement("td"), ...x.values.map((value) => heading(x, value)));
  const body = grid.createTBody();
  const cells = y.values.map((value) => {
    const row = body.insertRow();
    row.append(heading(y, value));
    return x.values.map(() => row.insertCell());
  });
  return { grid, cells };
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** Submits when there is room in the queue. */
async function submit(request) {
  for (;;) {
    while (work.waiting() >= AT_ONCE) await pause(0.2);
    try {
      return await api.post("/api/v1/jobs", request);
    } catch (error) {
      if (error.status !== 429) throw error;
      await pause(Math.max(1, error.retryAfter));
    }
  }
}

let stopped = false;

/** No more cells are asked for. */
export function stop() {
  stopped = true;
}

/** Paints the grid of the request; `button` makes of a job and its picture what is put into a cell. */
export async function paint(request, show, button) {
  const [x, y] = [axis("x"), axis("y")];
  const count = x.values.length * y.values.length;
  if (count < 2) throw new Error("the grid has one picture; choose what its columns or rows are");
  if (count > MOST) throw new Error(`the grid has ${count} pictures where at most ${MOST} are painted`);
  const requests = y.values.map((row) =>
    x.values.map((column) => {
      const one = { ...request, batch_count: 1 };
      apply(one, x, column);
      apply(one, y, row);
      return one;
    }),
  );
  const { grid, cells } = table(x, y);
  show(grid);
  stopped = false;
  for (const [row, all] of requests.entries())
    for (const [column, one] of all.entries()) {
      if (stopped) return;
      const job = await submit(one);
      work.add(job.id, (name, done) => {
        const cell = cells[row][column];
        if (name === "completed") cell.replaceChildren(button(done, done.pictures[0]));
        else cell.textContent = done.error?.message ?? name;
      });
    }
}

export function start() {
  for (const letter of ["x", "y"])
    element(`${letter}-axis`).replaceChildren(...Object.entries(AXES).map(([value, name]) => new Option(name, value)));
}
