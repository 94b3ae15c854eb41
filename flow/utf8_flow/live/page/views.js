// Draws one cycle of a run. Each function fills one element of the page.

import { hexOf } from "./settings.js";
import { visible } from "./view.js";

const SVG = "http://www.w3.org/2000/svg";
const BYTES_SHOWN = 512;
const TOKENS_SHOWN = 512;

// Create an element with attributes and children.
export function make(tag, attributes = {}, ...children) {
  const isSvg = ["svg", "g", "path", "circle", "rect", "text", "line", "title"].includes(tag);
  const element = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const hex = (value) => value.toString(16).toUpperCase();
const codePoint = (value) => `U+${hex(value).padStart(4, "0")}`;

// Format the value of a pin: its name if it has one, else in hexadecimal; lane 0 first.
export function levelText(pin, level) {
  const digits = pin.widths[0] > 4 ? 2 : 1;
  if (pin.widths.length > 1)
    return pin.widths[0] === 1 ? [...level].join("") : hexOf(level, digits);
  const name = pin.names[level];
  const number = hex(level).padStart(digits, "0");
  return name === undefined ? number : pin.name === "state" ? name : `${number} ${name}`;
}

// Show the input values around the cursor, coloured by token.
export function showBytes(element, view, cycle) {
  const { values, owners, wrong, width } = view;
  const [accepted, done] = view.progress(cycle);
  const columns = 16;
  const middle = Math.max(0, accepted - BYTES_SHOWN / 2);
  const begin = Math.min(middle, Math.max(0, values.length - BYTES_SHOWN));
  const first = begin - (begin % columns);
  const shown = values.slice(first, first + BYTES_SHOWN).map((value, n) => {
    const offset = first + n;
    const where = offset < done ? "out" : offset < accepted ? "inside" : "waiting";
    const isError = where === "out" && wrong[offset];
    const classes = [where, `hue-${owners[offset] % 4}`, isError && "error",
      offset === accepted && "current", offset && owners[offset] !== owners[offset - 1] && "first"];
    return make("span", {
      class: classes.filter(Boolean).join(" "), "data-offset": offset, "data-token": owners[offset],
      title: `offset ${offset}`,
    }, hex(value).padStart(width, "0"));
  });
  element.replaceChildren(...shown);
  const before = first ? `from offset ${first}; ` : "";
  element.dataset.count = `${before}${values.length} in all`;
  scrollTo(element, element.querySelector(".current") ?? element.lastElementChild);
}

// Scroll an element, but not the page, so that a child is in view.
function scrollTo(element, child) {
  if (!child) return;
  const [top, bottom] = [child.offsetTop, child.offsetTop + child.offsetHeight];
  if (top < element.scrollTop || bottom > element.scrollTop + element.clientHeight)
    element.scrollTop = (top + bottom - element.clientHeight) / 2;
}

// Show the tokens of the output so far.
export function showTokens(element, { tokens }, cycle) {
  let count = tokens.length;
  while (count && tokens[count - 1].shown > cycle) --count;
  const begin = Math.max(0, count - TOKENS_SHOWN);
  const shown = tokens.slice(begin, count);
  element.replaceChildren(...shown.map((token, n) => tokenElement(token, begin + n)));
  element.lastElementChild?.classList.toggle("new", tokens[count - 1].shown === cycle);
  element.scrollTop = element.scrollHeight;
}

function tokenElement(token, number) {
  const { offset, length, kind } = token;
  const isCharacter = token.codePoint !== undefined;
  const text = token.text ?? hexOf(token.bytes);
  const about = [isCharacter && codePoint(token.codePoint), kind !== "none" && kind,
    `${offset}+${length}`];
  return make("li", {
    class: `hue-${number % 4}${kind === "none" ? "" : " error"}`,
    "data-offset": offset, "data-length": length, "data-kind": kind, "data-text": text,
  }, make("b", {}, isCharacter ? visible(text) : text),
  make("span", {}, about.filter(Boolean).join(" ")));
}

// The pins, without registers that are only observed like pins. A register may also be a pin.
const pinsOf = (description) =>
  description.pins.filter((pin) => pin.name === "state" || /^[io]\./.test(pin.name));

// A payload pin is a don't care while `valid` is low.
const isPayload = ({ name }) => /^[io]\.(?!valid|ready)/.test(name);
const isDontCare = (pin, trace, cycle) =>
  isPayload(pin) && !trace.isSet(`${pin.name[0]}.valid`, cycle);

export function showPins(element, { trace, description }, cycle) {
  const pins = pinsOf(description);
  element.replaceChildren(...pins.map((pin) => {
    const text = levelText(pin, trace.level(pin.name, cycle));
    const name = isDontCare(pin, trace, cycle) && "dont-care";
    return make("tr", { "data-pin": pin.name, class: name },
      make("th", { scope: "row" }, pin.name), make("td", { class: "level" }, text));
  }));
}

// Show the stages, each with its content and its registers.
export function showStages(element, view, cycle) {
  const { stages, trace } = view;
  const opened = [...element.querySelectorAll("details[open]")];
  const open = new Set(opened.map((each) => each.dataset.name));
  const focused = element.contains(document.activeElement) &&
    document.activeElement.closest("details").dataset.name;
  element.replaceChildren(...stages.stages.map((stage) => {
    const thing = view.thing(stage, cycle);
    const [, short, what] = /^((?:\w+: )?[^:]*)(?:: (.*))?$/.exec(stage.name);
    const rows = stage.registers.flatMap((register) => registerRows(register, trace, cycle));
    const details = make("details", { "data-name": stage.name, open: open.has(stage.name) },
      make("summary", {}, what ?? "registers"), make("dl", {}, ...rows));
    return make("li", {
      "data-stage": short, "data-thing": thing, class: thing ? "full" : "empty",
    }, make("b", {}, short), stage.valid ? make("output", {}, thing || "–") : "", details);
  }));
  for (const details of focused ? element.querySelectorAll("details") : [])
    if (details.dataset.name === focused) details.firstChild.focus({ preventScroll: true });
}

function registerRows(register, trace, cycle) {
  const pin = trace.pins.get(register.name);
  const level = trace.level(register.name, cycle);
  const row = (name, text) => [make("dt", {}, name), make("dd", {}, text)];
  if (!register.fields.length) return row(register.name, levelText(pin, level));
  const whole = [...(pin.widths.length > 1 ? level : [level])].reduce((sum, part, n) =>
    sum | BigInt(part) << BigInt(64 * n), 0n);
  return register.fields.flatMap(([name, lowest, width]) => {
    const part = (whole >> BigInt(lowest)) & ((1n << BigInt(width)) - 1n);
    return row(`${register.name}.${name}`, hex(part));
  });
}

// Draw the state machine: states in a row, transitions as arcs between them.
export function drawMachine(element, names, edges) {
  const states = Object.entries(names);
  const [gap, y] = [104, 94];
  const place = new Map(states.map(([value], n) => [+value, 56 + gap * n]));
  const arcs = [...edges].map((edge) => {
    const [from, to] = edge.split(" ").map(Number);
    const d = arc(place.get(from), place.get(to), y);
    return make("path", { class: "edge", "data-edge": edge, d, "marker-end": "url(#arrow)" });
  });
  const nodes = states.map(([value, name]) => make("g", { "data-state": name, "data-value": value },
    make("circle", { cx: place.get(+value), cy: y, r: 30 }),
    make("text", { x: place.get(+value), y: y + 4 }, name)));
  element.setAttribute("viewBox", `0 0 ${112 + gap * (states.length - 1)} ${2 * y}`);
  element.replaceChildren(element.querySelector("defs"), ...arcs, ...nodes);
}

function arc(from, to, y) {
  if (from === to) return `M${from - 12} ${y - 27} c-14 -34 38 -34 24 0`;
  const [side, far] = [Math.sign(to - from), Math.abs(to - from)];
  if (side > 0 && far < 105) return `M${from + 30} ${y} L${to - 33} ${y}`;
  const height = Math.min(80, 22 + far / 6);
  const [x1, x2, edge] = [from + 18 * side, to - 20 * side, y - 24 * side];
  return `M${x1} ${edge} C${x1 + 20 * side} ${edge - height * side} ` +
    `${x2 - 20 * side} ${edge - height * side} ${x2} ${edge - 3 * side}`;
}

export function showMachine(element, view, cycle) {
  const { trace, stages } = view;
  const state = trace.level("state", cycle);
  for (const node of element.querySelectorAll("[data-state]"))
    node.classList.toggle("current", +node.dataset.value === state);
  const steps = stages.steps(cycle - 1);
  const taken = steps && `${trace.level("state", cycle - 1)} ${state}`;
  for (const edge of element.querySelectorAll(".edge"))
    edge.classList.toggle("taken", edge.dataset.edge === taken);
  const name = (level) => trace.pins.get("state").names[level] ?? `illegal ${level}`;
  if (!steps) return `${name(state)}, no step`;
  return [name(trace.level("state", cycle - 1)), "→", name(state), view.causeOf(cycle)].join(" ");
}

// Show the cycles around the cursor: one-bit pins as lines, other pins as boxes with their value.
export function showWave(element, { trace, description }, cycle) {
  const [left, step, height] = [104, 46, 26];
  const width = Math.max(element.parentElement.clientWidth, 280);
  const count = Math.min(trace.cycles, Math.max(4, Math.floor((width - left - 4) / step)));
  const begin = Math.max(0, Math.min(cycle - Math.floor(count / 2), trace.cycles - count));
  const rows = pinsOf(description);
  const [x, whole] = [left + (cycle - begin) * step, height * (rows.length + 1)];
  const parts = [make("rect", { class: "cursor", x, y: 0, width: step, height: whole })];
  for (let n = 0; n < count; ++n) {
    const place = { x: left + (n + 0.5) * step, y: 17, "data-goto": begin + n };
    parts.push(make("text", { class: "time", ...place }, `${begin + n}`));
  }
  rows.forEach((pin, row) => {
    const y = height * (row + 1);
    const isLine = pin.widths.length === 1 && pin.widths[0] === 1;
    parts.push(make("text", { class: "name", x: left - 8, y: y + 17 }, pin.name));
    parts.push(...(isLine ? line : boxes)(pin, trace, begin, count, left, step, y));
    if (["i.valid", "o.ready"].includes(pin.name))
      for (let n = 0; n < count; ++n) parts.push(make("rect", {
        class: "hit", "data-row": pin.name, "data-cycle": begin + n, x: left + n * step, y,
        width: step, height }, make("title", {}, `stall here in cycle ${begin + n}`)));
  });
  element.setAttribute("viewBox", `0 0 ${left + count * step + 4} ${whole}`);
  element.setAttribute("width", left + count * step + 4);
  element.setAttribute("height", whole);
  element.replaceChildren(...parts);
}

function line(pin, trace, begin, count, left, step, y) {
  let path = "";
  for (let n = 0, isDrawn = false; n < count; ++n) {
    const wasDrawn = isDrawn;
    isDrawn = !isDontCare(pin, trace, begin + n);
    const level = y + (trace.level(pin.name, begin + n) ? 5 : 21);
    if (isDrawn) path +=
      `${wasDrawn ? "L" : "M"}${left + n * step} ${level} L${left + (n + 1) * step} ${level} `;
  }
  return [make("path", { class: "line", "data-pin": pin.name, d: path })];
}

// A transfer ends the box of a payload, so a box over several cycles shows a stall.
function boxes(pin, trace, begin, count, left, step, y) {
  const found = [];
  const shown = (at) =>
    (isDontCare(pin, trace, at) ? null : levelText(pin, trace.level(pin.name, at)));
  const ends = (at) => isPayload(pin) && trace.isSet(`${pin.name[0]}.ready`, at);
  for (let n = 0, to; n < count; n = to) {
    const text = shown(begin + n);
    for (to = n + 1; to < count && shown(begin + to) === text && !ends(begin + to - 1);) ++to;
    if (text === null) continue;
    const [x, wide] = [left + n * step, (to - n) * step];
    const most = Math.floor((wide - 6) / 6.6);
    const box = { x: x + 1, y: y + 4, width: wide - 2, height: 18, rx: 3 };
    found.push(make("rect", { class: "box", ...box }),
      make("text", { class: "value", x: x + wide / 2, y: y + 17 },
        text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text,
        make("title", {}, text)));
  }
  return found;
}
