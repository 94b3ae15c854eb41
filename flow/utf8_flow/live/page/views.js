// Shows one cycle of a run. Each function fills one element of the page.

import { bitsOf } from "./bits.js";
import { make } from "./elements.js";
import { codePoint, hex, isDontCare, levelText, pinsOf } from "./pins.js";
import { meaningOf } from "./sentence.js";
import { hexOf } from "./settings.js";
import { visible } from "./view.js";

const BYTES_SHOWN = 512;
const TOKENS_SHOWN = 512;

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
      "data-link": offset, title: `offset ${offset}`,
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

const SEQUENCES_SHOWN = 16;

// Show the bits of the sequences of this cycle's input, and of one before and one after them.
export function showBits(element, view, cycle) {
  const begin = view.accepted[cycle];
  const end = begin + (view.sizes[view.items[cycle]] ?? 1);
  const numbers = [begin, end - 1].map((offset) => view.numberOfSequence(offset));
  const first = Math.max(0, numbers[0] - 1);
  const shown = view.sequences.slice(first, Math.min(numbers[1] + 2, first + SEQUENCES_SHOWN));
  element.replaceChildren(...shown.map((sequence) => sequenceElement(sequence, view, begin, end)));
  const now = element.querySelector("li:has(.current)");
  if (now) element.scrollLeft = now.offsetLeft - element.firstElementChild.offsetLeft;
}

function sequenceElement(sequence, view, begin, end) {
  const { offset, bytes, length } = sequence;
  const isByte = view.width === 2;
  const byteElements = bytes.map((byte, n) => {
    const at = isByte ? offset + n : offset;
    const where = at < begin ? "" : at < end ? "current" : "waiting";
    return byteElement(hexOf([byte]), bitsOf(byte), where, at);
  });
  for (let n = bytes.length; n < length; ++n)
    byteElements.push(byteElement("··", ["10", "······"], "missing"));
  const payload = bytes.map((byte) => bitsOf(byte)[1]).filter(Boolean);
  return make("li", { "data-offset": offset },
    make("div", { class: "sequence" }, ...byteElements),
    make("span", { class: "payload" }, payload.join(" ")),
    make("b", {}, meaningOf(sequence, view.rules)));
}

const byteElement = (name, [prefix, payload], where, at) => make("span", {
  class: `byte ${where}`, "data-link": at,
}, make("b", {}, name), make("span", {},
  make("span", { class: "prefix" }, prefix), make("span", { class: "payload" }, payload)));

// Show the tokens of the output so far.
export function showTokens(element, view, cycle) {
  const { tokens } = view;
  let count = tokens.length;
  while (count && tokens[count - 1].shown > cycle) --count;
  const begin = Math.max(0, count - TOKENS_SHOWN);
  const shown = tokens.slice(begin, count);
  element.replaceChildren(...shown.map((token, n) => tokenElement(token, begin + n, view)));
  element.lastElementChild?.classList.toggle("new", tokens[count - 1].shown === cycle);
  element.scrollTop = element.scrollHeight;
}

function tokenElement(token, number, view) {
  const { offset, length, kind } = token;
  const isCharacter = token.codePoint !== undefined;
  const text = token.text ?? hexOf(token.bytes);
  const about = [isCharacter && codePoint(token.codePoint), kind !== "none" && kind,
    `${offset}+${length}`];
  return make("li", {
    class: `hue-${number % 4}${kind === "none" ? "" : " error"}`,
    "data-offset": offset, "data-length": length, "data-kind": kind, "data-text": text,
    "data-link": view.isTraced && view.linkOf(offset, length),
  }, make("b", {}, isCharacter ? visible(text) : text),
  make("span", {}, about.filter(Boolean).join(" ")));
}

export function showPins(element, { trace, description }, cycle) {
  const pins = pinsOf(description);
  element.replaceChildren(...pins.map((pin) => {
    const text = levelText(pin, trace.level(pin.name, cycle));
    const name = isDontCare(pin, trace, cycle) && "dont-care";
    return make("tr", { "data-pin": pin.name, class: name },
      make("th", { scope: "row" }, pin.name), make("td", { class: "level" }, text),
      make("td", { class: "axi" }, pin.axi ?? ""));
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
      "data-link": view.linkOfStage(stage, cycle),
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
