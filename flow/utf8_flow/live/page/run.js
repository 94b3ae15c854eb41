// Simulates a whole run of a design, with every pin in every cycle, and extracts tokens and stages.

import { MAX_CYCLES } from "./settings.js";

const REPLACEMENT = "\uFFFD";

// Pack texts, which are lists of values, into items: a column for each input pin, by name.
export function itemsOf(texts, pins) {
  const pin = (name) => pins.find((each) => each.name === name);
  const keep = pin("i.keep");
  const first = pin("i.data") ?? pin("i.code_point");
  const lanes = keep ? keep.widths.length : 1;
  // An empty text is a beat without a byte. Without beats, an empty text has no item.
  const beats = (text) => (keep ? Math.max(1, Math.ceil(text.length / lanes)) : text.length);
  const count = texts.reduce((sum, text) => sum + beats(text), 0);
  const column = (lanes_of) => new Array(count * lanes_of).fill(0);
  const items = { [first.name]: column(lanes), "i.last": column(1) };
  if (keep) items["i.keep"] = column(lanes);
  let item = 0;
  for (const text of texts) {
    text.forEach((value, place) => {
      items[first.name][item * lanes + place] = value;
      if (keep) items["i.keep"][item * lanes + place] = 1;
    });
    item += beats(text);
    if (beats(text)) items["i.last"][item - 1] = 1;
  }
  if (first.bytes === 8) items[first.name] = items[first.name].map(BigInt);
  return { items, count };
}

const CYCLES_BEHIND = 4;

// Simulate until all input is accepted and all output is taken, and for at least `least` cycles.
// `gaps` and `stalls` are sets of cycles.
export function run(simulation, { items, count }, gaps, stalls, least = 0) {
  const { pins, description } = simulation;
  const parts = [];
  let [accepted, quiet, cycles, moved, size] = [0, 0, 0, 0, 64];
  const isGoing = (cycle) => quiet <= description.longest_gap || cycle < least;
  simulation.restart();
  while (isGoing(cycles) && cycles < MAX_CYCLES) {
    const side = (set) => Array.from({ length: size }, (_, n) => set.has(cycles + n));
    const rest = Object.fromEntries(simulation.inputs.map((pin) =>
      [pin.name, items[pin.name].slice(accepted * pin.widths.length,
        (accepted + size) * pin.widths.length)]));
    const { columns } = simulation.run(rest, side(gaps), side(stalls));
    let n = 0;
    for (; n < size && isGoing(cycles + n); ++n) {
      const moves = (name) => columns[`${name}.valid`][n] && columns[`${name}.ready`][n];
      if (moves("i")) ++accepted;
      if (moves("i") || moves("o")) [quiet, moved] = [0, cycles + n];
      else if (accepted === count && columns["o.ready"][n] && !columns["o.valid"][n]) ++quiet;
    }
    parts.push({ columns, rows: n });
    cycles += n;
    size = Math.min(4096, 2 * size);
  }
  const shown = Math.min(cycles, Math.max(least, moved + 1 + CYCLES_BEHIND));
  return new Trace(pins, parts, shown, accepted === count);
}

export class Trace {
  constructor(pins, parts, cycles, isWhole) {
    this.pins = new Map(pins.map((pin) => [pin.name, pin]));
    this.cycles = cycles;
    this.isWhole = isWhole;
    this.columns = Object.fromEntries(pins.map((pin) => {
      const width = pin.widths.length;
      const Type = parts[0].columns[pin.name].constructor;
      const column = new Type(cycles * width);
      let at = 0;
      for (const { columns, rows } of parts) {
        const shown = columns[pin.name].subarray(0, Math.min(rows * width, column.length - at));
        column.set(shown, at);
        at += shown.length;
      }
      return [pin.name, column];
    }));
  }

  // The value of a pin in a cycle: a number, or an array with a number for each lane.
  level(name, cycle) {
    const { widths } = this.pins.get(name);
    const column = this.columns[name];
    if (widths.length === 1) return column[cycle];
    return column.subarray(cycle * widths.length, (cycle + 1) * widths.length);
  }

  isSet(name, cycle) {
    return cycle >= 0 && cycle < this.cycles && !!this.columns[name][cycle];
  }

  // The cycles with a transfer at `i` or at `o`.
  moves(side) {
    const [valid, ready] = [this.columns[`${side}.valid`], this.columns[`${side}.ready`]];
    const found = [];
    for (let cycle = 0; cycle < this.cycles; ++cycle)
      if (valid[cycle] && ready[cycle]) found.push(cycle);
    return found;
  }
}

// The tokens of the output, with the offset and the number of their values in the input, the first
// cycle in which they were valid, and the cycle in which they were taken. For components without
// tokens, these are an encoder's characters, a validator's texts, or a transcoder's beats.
export function tokensOf(trace, texts, kinds) {
  const has = (name) => trace.pins.has(name);
  const read = has("o.length") ? readTokens : has("o.offset") ? readVerdicts :
    has("i.code_point") ? readCharacters : readBeats;
  const tokens = [];
  let before = -1;
  for (const taken of trace.moves("o")) {
    let shown = taken;
    while (shown - 1 > before && trace.isSet("o.valid", shown - 1)) --shown;
    before = taken;
    read(trace, taken, tokens, { shown, taken }, kinds, texts);
  }
  return tokens;
}

export const characterOf = (codePoint) =>
  codePoint > 0x10FFFF || (codePoint >= 0xD800 && codePoint < 0xE000)
    ? REPLACEMENT : String.fromCodePoint(Number(codePoint));

const endOf = (tokens) => (tokens.length ? tokens.at(-1).offset + tokens.at(-1).length : 0);

function readTokens(trace, cycle, tokens, when, kinds) {
  const fields = ["code_point", "kind", "length"].map((name) =>
    [trace.level(`o.${name}`, cycle)].flatMap((level) => (level.length ? [...level] : [level])));
  fields[2].forEach((length, slot) => {
    if (!length) return;
    const [codePoint, kind] = [fields[0][slot], kinds[fields[1][slot]]];
    const text = characterOf(codePoint);
    tokens.push({ ...when, offset: endOf(tokens), length, kind, codePoint, text });
  });
}

function readCharacters(trace, cycle, tokens, when) {
  const byte = trace.level("o.data", cycle);
  if ((byte & 0xC0) === 0x80) {
    Object.assign(tokens.at(-1), { taken: when.taken });
    tokens.at(-1).bytes.push(byte);
  } else {
    const kind = trace.level("o.error", cycle) ? "refused" : "none";
    tokens.push({ ...when, offset: tokens.length, length: 1, kind, bytes: [byte] });
  }
}

function readVerdicts(trace, cycle, tokens, when, kinds, texts) {
  if (!trace.level("o.last", cycle)) return;
  const length = texts[tokens.length]?.length ?? 0;
  const kind = kinds[trace.level("o.kind", cycle)];
  const at = trace.level("o.offset", cycle);
  const verdict = kind === "none" ? "well-formed" : `${kind} at ${at}`;
  tokens.push({ ...when, offset: endOf(tokens), length, kind, at, text: verdict });
}

function readBeats(trace, cycle, tokens, when) {
  const keep = trace.level("o.keep", cycle);
  const bytes = [...trace.level("o.data", cycle)].filter((_, lane) => keep[lane]);
  const isLast = !!trace.level("o.last", cycle);
  const kind = isLast && trace.level("o.error", cycle) ? "replaced" : "none";
  tokens.push({ ...when, offset: endOf(tokens), length: bytes.length, kind, bytes, isLast });
}

// Stages whose content is not found by counting: the skid register holds the newest accepted input,
// and the output buffer the oldest output not taken.
const PLACES = { skid_taken: "newest", "o.valid": "oldest" };

// The content of each stage in each cycle. The contents of a stage are numbered in order. If their
// total equals the number of inputs, they are the inputs; if it equals the number of outputs, they
// are the outputs. Otherwise, a stage is only known to be occupied.
export class Stages {
  constructor(trace, stages) {
    this.trace = trace;
    const [inputs, outputs] = ["i", "o"].map((side) => trace.moves(side).length);
    this.stages = stages.map((stage) => {
      if (!stage.valid) return { ...stage, of: null };
      if (stage.valid in PLACES) return { ...stage, of: PLACES[stage.valid] };
      const numbers = new Int32Array(trace.cycles).fill(-1);
      let number = -1;
      for (let cycle = 0; cycle < trace.cycles; ++cycle) {
        if (!trace.isSet(stage.valid, cycle)) continue;
        if (!stage.enable || trace.isSet(stage.enable, cycle - 1)) ++number;
        numbers[cycle] = number;
      }
      const of = number + 1 === inputs ? "input" : number + 1 === outputs ? "output" : "something";
      return { ...stage, numbers, of };
    });
    this.withState = this.stages.find((stage) =>
      stage.registers.some((register) => register.name === "state")) ?? null;
  }

  // True if the state machine makes a transition at the end of a cycle.
  steps(cycle) {
    const { trace, withState } = this;
    if (!trace.pins.has("state") || cycle < 0 || cycle + 1 >= trace.cycles) return false;
    if (trace.level("state", cycle) !== trace.level("state", cycle + 1)) return true;
    if (!withState?.numbers) return trace.isSet("i.valid", cycle) && trace.isSet("i.ready", cycle);
    return withState.numbers[cycle + 1] !== withState.numbers[cycle] &&
      withState.numbers[cycle + 1] >= 0;
  }
}
