// Draws the state machine: its states in a row, or in a column if a row does not fit; transitions
// as arcs between them.

import { make } from "./elements.js";

const RADIUS = 30;
const ROW = { gap: 104, middle: 94, highest: 80 };
const COLUMN = { gap: 76, middle: 140, highest: 140 };

// With more states, only transitions from the first state and between neighbours are drawn. Others
// are drawn in cycles in which they happen.
const MAX_STATES_WITH_ALL_EDGES = 5;

// The element's `dataset.hides` is set if some transitions are hidden.
export function drawMachine(element, names, edges) {
  const states = Object.entries(names);
  const numberOf = new Map(states.map(([value], n) => [+value, n]));
  const lengthOf = ({ gap }) => 2 * (RADIUS + 26) + gap * (states.length - 1);
  const isColumn = lengthOf(ROW) > element.parentElement.clientWidth;
  const shape = isColumn ? COLUMN : ROW;
  const at = (along, across) => (isColumn ? [across, along] : [along, across]);
  const along = (value) => RADIUS + 26 + shape.gap * numberOf.get(value);
  const hides = states.length > MAX_STATES_WITH_ALL_EDGES;
  const arcs = [...edges].map((edge) => {
    const [from, to] = edge.split(" ").map(Number);
    const isUsual = numberOf.get(from) === 0 || Math.abs(numberOf.get(from) - numberOf.get(to)) < 2;
    const d = arc(along(from), along(to), shape, at);
    return make("path", {
      class: `edge${hides && !isUsual ? " rare" : ""}`, "data-edge": edge, d,
      "marker-end": "url(#arrow)",
    });
  });
  const nodes = states.map(([value, name]) => {
    const [x, y] = at(along(+value), shape.middle);
    return make("g", { "data-state": name, "data-value": value },
      make("circle", { cx: x, cy: y, r: RADIUS }), make("text", { x, y: y + 4 }, name));
  });
  const [width, height] = at(lengthOf(shape), 2 * shape.middle);
  element.dataset.hides = hides;
  element.setAttribute("viewBox", `0 0 ${width} ${height}`);
  element.setAttribute("width", width);
  element.setAttribute("height", height);
  element.replaceChildren(...element.querySelectorAll("defs"), ...arcs, ...nodes);
}

function arc(from, to, { gap, middle, highest }, at) {
  if (from === to) {
    const top = middle - RADIUS - 31;
    return `M${at(from - 12, middle - 27)} C${at(from - 26, top)} ${at(from + 26, top)} ` +
      at(from + 12, middle - 27);
  }
  const [side, far] = [Math.sign(to - from), Math.abs(to - from)];
  if (side > 0 && far <= gap) return `M${at(from + 30, middle)} L${at(to - 33, middle)}`;
  const height = Math.min(highest, 22 + far / 6);
  const [begin, end, edge] = [from + 18 * side, to - 20 * side, middle - 24 * side];
  return `M${at(begin, edge)} C${at(begin + 20 * side, edge - height * side)} ` +
    `${at(end - 20 * side, edge - height * side)} ${at(end, edge - 3 * side)}`;
}

// Mark the state in a cycle, the transition into it, and the transition at its end. The result is
// a sentence about the first transition.
export function showMachine(element, view, cycle) {
  const { trace, stages } = view;
  const state = (at) => trace.level("state", at);
  for (const node of element.querySelectorAll("[data-state]"))
    node.classList.toggle("current", +node.dataset.value === state(cycle));
  const edgeAt = (at) => (stages.steps(at) ? `${state(at)} ${state(at + 1)}` : null);
  const [taken, next] = [edgeAt(cycle - 1), edgeAt(cycle)];
  for (const edge of element.querySelectorAll(".edge")) {
    edge.classList.toggle("taken", edge.dataset.edge === taken);
    edge.classList.toggle("next", edge.dataset.edge === next);
  }
  const now = view.stateName(cycle);
  if (!taken) return `${now}, no step before this cycle`;
  const item = view.stepItem(cycle - 1);
  return `${view.stateName(cycle - 1)} → ${now}${item < 0 ? "" : ` on ${view.nameOfItem(item)}`}`;
}
