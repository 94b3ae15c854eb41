// Draws the waveform of some cycles: one-bit pins as lines, other pins as boxes with their value.

import { make } from "./elements.js";
import { isDontCare, isPayload, levelText, pinsOf } from "./pins.js";

const [LEFT, HEIGHT] = [104, 26];

// Widths of a cycle, for each zoom; the widest cycles show whole names.
const STEPS = [6, 12, 24, 46, 92];
export const INITIAL_LOOK = { zoom: 3, begin: null };

export const zoomed = ({ zoom, begin }, by) =>
  ({ zoom: Math.max(0, Math.min(STEPS.length - 1, zoom + by)), begin });

// The cycles in view: those around the cursor, or those from `begin` if the waveform was moved.
function rangeOf(element, trace, cycle, { zoom, begin }) {
  const step = STEPS[zoom];
  const width = Math.max(element.parentElement.clientWidth, 280);
  const count = Math.min(trace.cycles, Math.max(4, Math.floor((width - LEFT - 4) / step)));
  const wanted = begin ?? cycle - Math.floor(count / 2);
  return { step, count, begin: Math.max(0, Math.min(wanted, trace.cycles - count)) };
}

export function showWave(element, view, cycle, look) {
  const { trace, description } = view;
  const { step, count, begin } = rangeOf(element, trace, cycle, look);
  const rows = pinsOf(description);
  const whole = HEIGHT * (rows.length + 1);
  const parts = [];
  if (begin <= cycle && cycle < begin + count) parts.push(make("rect", {
    class: "cursor", x: LEFT + (cycle - begin) * step, y: 0, width: step, height: whole }));
  const every = Math.ceil(30 / step);
  for (let n = 0; n < count; ++n) {
    if ((begin + n) % every) continue;
    const place = { x: LEFT + (n + 0.5) * step, y: 17, "data-goto": begin + n };
    parts.push(make("text", { class: "time", ...place }, `${begin + n}`));
  }
  rows.forEach((pin, row) => {
    const y = HEIGHT * (row + 1);
    const isLine = pin.widths.length === 1 && pin.widths[0] === 1;
    const place = { begin, count, step, y };
    parts.push(make("text", { class: "name", x: LEFT - 8, y: y + 17 }, pin.name));
    parts.push(...(isLine ? line(pin, trace, place) : boxes(pin, view, place)));
    if (["i.valid", "o.ready"].includes(pin.name))
      for (let n = 0; n < count; ++n) parts.push(make("rect", {
        class: "hit", "data-row": pin.name, "data-cycle": begin + n, x: LEFT + n * step, y,
        width: step, height: HEIGHT }, make("title", {}, `stall here in cycle ${begin + n}`)));
  });
  element.setAttribute("viewBox", `0 0 ${LEFT + count * step + 4} ${whole}`);
  element.setAttribute("width", LEFT + count * step + 4);
  element.setAttribute("height", whole);
  Object.assign(element.dataset, { begin, count, step, cycles: trace.cycles });
  element.replaceChildren(...parts);
}

function line(pin, trace, { begin, count, step, y }) {
  let path = "";
  for (let n = 0, isDrawn = false; n < count; ++n) {
    const wasDrawn = isDrawn;
    isDrawn = !isDontCare(pin, trace, begin + n);
    const level = y + (trace.level(pin.name, begin + n) ? 5 : 21);
    if (isDrawn) path +=
      `${wasDrawn ? "L" : "M"}${LEFT + n * step} ${level} L${LEFT + (n + 1) * step} ${level} `;
  }
  return [make("path", { class: "line", "data-pin": pin.name, d: path })];
}

// A transfer ends the box of a payload, so a box over several cycles shows a stall.
function boxes(pin, view, { begin, count, step, y }) {
  const { trace } = view;
  const found = [];
  const shown = (at) =>
    (isDontCare(pin, trace, at) ? null : levelText(pin, trace.level(pin.name, at)));
  const ends = (at) => isPayload(pin) && trace.isSet(`${pin.name[0]}.ready`, at);
  for (let n = 0, to; n < count; n = to) {
    const text = shown(begin + n);
    for (to = n + 1; to < count && shown(begin + to) === text && !ends(begin + to - 1);) ++to;
    if (text === null) continue;
    const [x, wide] = [LEFT + n * step, (to - n) * step];
    const most = Math.floor((wide - 6) / 6.6);
    const box = { x: x + 1, y: y + 4, width: wide - 2, height: 18, rx: 3 };
    const link = isPayload(pin) && view.linkAt(pin.name[0], begin + n);
    found.push(make("rect", { class: "box", "data-link": link, ...box },
      make("title", {}, `${pin.name} ${text}`)));
    if (text.length > most && most < 2) continue;
    found.push(make("text", { class: "value", x: x + wide / 2, y: y + 17 },
      text.length > most ? `${text.slice(0, most - 1)}…` : text, make("title", {}, text)));
  }
  return found;
}

// A look that is moved by a share of the cycles in view.
export function moved(look, { dataset }, share) {
  const begin = +dataset.begin + Math.round(share * dataset.count);
  return { ...look, begin: Math.max(0, Math.min(begin, dataset.cycles - dataset.count)) };
}

// Zoom with the wheel and Control; move with a horizontal wheel or by dragging. `lookOf` returns
// the look of the waveform, and `change` is called with a new one.
export function listenToWave(element, lookOf, change) {
  let drag = null;
  element.addEventListener("wheel", (event) => {
    const by = event.deltaX || (event.shiftKey && event.deltaY);
    if (!by && !(event.ctrlKey && event.deltaY)) return;
    event.preventDefault();
    if (event.ctrlKey) change(zoomed(lookOf(), event.deltaY < 0 ? 1 : -1));
    else change(moved(lookOf(), element, Math.sign(by) / 8));
  }, { passive: false });
  element.addEventListener("pointerdown", ({ clientX }) => {
    drag = { x: clientX, begin: +element.dataset.begin, isMoved: false };
  });
  element.addEventListener("pointermove", ({ clientX, buttons }) => {
    if (!drag || !buttons) return;
    const { begin, count, step } = element.dataset;
    const cycles = Math.round((drag.x - clientX) / step);
    drag.isMoved ||= cycles !== 0;
    if (drag.isMoved) change(moved(lookOf(), element, (drag.begin + cycles - begin) / count));
  });
  // A drag is not a click.
  element.addEventListener("click", (event) => {
    if (drag?.isMoved) event.stopImmediatePropagation();
    drag = null;
  }, true);
}
