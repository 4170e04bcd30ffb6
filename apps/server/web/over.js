// The picture to paint over, and the mask that a brush paints on it.
import * as api from "./api.js";
import { settingsOf } from "./settings.js";
import { keep, recall } from "./store.js";

const LARGEST = 4096; // pixels along a side; larger pictures are made smaller before they are sent
const AS_IS = ["image/png", "image/jpeg", "image/webp"];
const COLOUR = "#ff3b5c";
const element = (id) => document.getElementById(id);

let picture = null; // a Blob
let strokes = []; // { erase, size, points: [x, y, x, y, ...] } in pixels of the picture
let stroke = null; // the one that is being painted
let hand = null; // where the keyboard holds the brush
let onUse = () => {};
let onError = () => {};

const mask = () => element("mask");
const brushSize = () => (Number(element("brush").value) / 400) * Math.max(mask().width, mask().height);

async function normalised(blob) {
  const bitmap = await createImageBitmap(blob);
  const scale = Math.min(1, LARGEST / Math.max(bitmap.width, bitmap.height));
  if (scale === 1 && AS_IS.includes(blob.type)) return blob;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(bitmap.width * scale);
  canvas.height = Math.round(bitmap.height * scale);
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function paint(context, { erase, size, points }) {
  context.globalCompositeOperation = erase ? "destination-out" : "source-over";
  context.lineWidth = size;
  context.lineCap = context.lineJoin = "round";
  context.strokeStyle = COLOUR;
  context.beginPath();
  context.moveTo(points[0], points[1]);
  for (let i = 0; i < points.length; i += 2) context.lineTo(points[i] + 0.01, points[i + 1]); // a line of no length is none
  context.stroke();
}

function redraw() {
  const context = mask().getContext("2d");
  context.clearRect(0, 0, mask().width, mask().height);
  for (const each of strokes) paint(context, each);
  element("undo").disabled = element("clear").disabled = strokes.length === 0;
  element("mask-note").textContent = strokes.some((each) => !each.erase)
    ? "Only the painted part changes."
    : "Paint on the picture to change only a part of it.";
}

function finish(one) {
  strokes.push(one);
  redraw();
  keep("strokes", strokes);
}

function place(event) {
  const box = mask().getBoundingClientRect();
  const at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  return [at[0] * mask().width, at[1] * mask().height];
}

/** Shows the brush's size where it is. */
function showCursor(at) {
  const cursor = element("cursor");
  cursor.hidden = !at;
  if (!at) return;
  const scale = mask().getBoundingClientRect().width / mask().width;
  cursor.style.width = cursor.style.height = `${brushSize() * scale}px`;
  cursor.style.left = `${at[0] * scale}px`;
  cursor.style.top = `${at[1] * scale}px`;
}

const newStroke = (at) => ({ erase: element("erase").checked, size: brushSize(), points: [...at] });

function pointer() {
  mask().addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    mask().setPointerCapture(event.pointerId);
    stroke = newStroke(place(event));
    paint(mask().getContext("2d"), stroke);
  });
  mask().addEventListener("pointermove", (event) => {
    const at = place(event);
    showCursor(at);
    if (!stroke) return;
    stroke.points.push(...at);
    paint(mask().getContext("2d"), { ...stroke, points: stroke.points.slice(-4) });
  });
  const up = () => {
    if (stroke) finish(stroke);
    stroke = null;
  };
  mask().addEventListener("pointerup", up);
  mask().addEventListener("pointercancel", up);
  mask().addEventListener("pointerleave", () => showCursor(null));
}

function keyboard() {
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  mask().addEventListener("keydown", (event) => {
    const by = step[event.key];
    if (!by && event.key !== " ") return;
    event.preventDefault();
    hand ??= [mask().width / 2, mask().height / 2];
    if (by) hand = hand.map((v, i) => Math.min(Math.max(v + (by[i] * brushSize()) / 2, 0), [mask().width, mask().height][i]));
    else finish(newStroke(hand));
    showCursor(hand);
  });
  mask().addEventListener("blur", () => showCursor(null));
}

async function show(blob) {
  picture = blob;
  element("drop").hidden = Boolean(blob);
  element("easel").hidden = !blob;
  element("picture-settings").hidden = true;
  if (!blob) return;
  const image = element("init");
  URL.revokeObjectURL(image.src);
  image.src = URL.createObjectURL(blob);
  await image.decode();
  mask().width = image.naturalWidth;
  mask().height = image.naturalHeight;
  hand = null;
  redraw();
}

async function offerSettings(blob) {
  const settings = settingsOf(await api.post("/api/v1/pictures/info", { image: await api.base64(blob) }));
  if (blob !== picture || !settings) return;
  element("picture-settings").hidden = false;
  element("picture-settings").onclick = () => onUse(settings);
}

/** Takes a Blob of any picture format that the browser reads; null takes the picture away. */
export async function set(blob) {
  try {
    strokes = [];
    const taken = blob && (await normalised(blob));
    await show(taken);
    keep("picture", taken);
    keep("strokes", null);
    if (!blob) return;
    element("over").open = true;
    element("canvas").scrollIntoView({ block: "nearest" });
    await offerSettings(taken);
  } catch (error) {
    onError(error instanceof api.ApiError ? error : new Error("this file is no picture that the browser can read"));
  }
}

export async function restore() {
  const blob = await recall("picture");
  if (!blob) return show(null);
  strokes = (await recall("strokes")) ?? [];
  await show(blob).catch(() => show(null));
}

/** White where the brush was, black elsewhere. */
function maskBlob() {
  const layer = document.createElement("canvas");
  layer.width = mask().width;
  layer.height = mask().height;
  const context = layer.getContext("2d");
  context.drawImage(mask(), 0, 0);
  context.globalCompositeOperation = "source-in";
  context.fillStyle = "white";
  context.fillRect(0, 0, layer.width, layer.height);
  context.globalCompositeOperation = "destination-over";
  context.fillStyle = "black";
  context.fillRect(0, 0, layer.width, layer.height);
  return new Promise((resolve) => layer.toBlob(resolve, "image/png"));
}

/** The fields of a request that hold pictures: none, one, or with a mask two. */
export async function read() {
  if (!picture) return {};
  const fields = { init_image: await api.base64(picture) };
  if (strokes.some((each) => !each.erase)) fields.mask_image = await api.base64(await maskBlob());
  return fields;
}

const pictureIn = (transfer) => [...(transfer?.files ?? [])].find((file) => file.type.startsWith("image/"));

export function start(use, error) {
  [onUse, onError] = [use, error];
  element("file").addEventListener("change", (event) => {
    if (event.target.files[0]) set(event.target.files[0]);
    event.target.value = "";
  });
  document.addEventListener("paste", (event) => {
    const file = pictureIn(event.clipboardData);
    if (!file) return;
    event.preventDefault();
    set(file);
  });
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("dragging");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dragging");
  });
  document.addEventListener("drop", (event) => {
    document.body.classList.remove("dragging");
    const file = pictureIn(event.dataTransfer);
    if (!file) return;
    event.preventDefault();
    set(file);
  });
  element("undo").addEventListener("click", () => {
    strokes.pop();
    redraw();
    keep("strokes", strokes);
  });
  element("clear").addEventListener("click", () => {
    strokes = [];
    redraw();
    keep("strokes", null);
  });
  element("remove").addEventListener("click", () => set(null));
  pointer();
  keyboard();
}
