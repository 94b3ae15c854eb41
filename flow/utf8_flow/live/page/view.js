// The data that the page displays: the input, the token of each value, and the contents of stages.

import { hexOf } from "./settings.js";
import { itemsOf, run, Stages, tokensOf } from "./run.js";

// A visible form of a character.
export function visible(character) {
  if (character === " ") return "␣";
  const code = character.codePointAt(0);
  if (code > 0x20 && (code < 0x7F || code > 0x9F)) return character;
  return code === 10 ? "\\n" : `\\x${code.toString(16).toUpperCase().padStart(2, "0")}`;
}

export class View {
  constructor(simulation, texts, gaps, stalls) {
    this.description = simulation.description;
    const stimulus = itemsOf(texts, simulation.inputs);
    this.trace = run(simulation, stimulus, gaps, stalls);
    this.stages = new Stages(this.trace, this.description.stages);
    const pin = (name) => this.description.pins.find((each) => each.name === name);
    this.kinds = pin("o.kind")?.names ?? {};
    this.tokens = tokensOf(this.trace, texts, this.kinds);
    this.values = texts.flatMap((text) => [...text]);
    this.width = pin("i.code_point") ? 4 : 2;
    this.#itemSizes(stimulus, pin("i.keep"));
    this.#owners();
    this.#count();
  }

  // Count the values in each item.
  #itemSizes({ items, count }, keep) {
    const lanes = keep?.widths.length ?? 1;
    this.sizes = Array.from({ length: count }, (_, n) => (keep
      ? items["i.keep"].slice(n * lanes, (n + 1) * lanes).reduce((sum, bit) => sum + bit, 0) : 1));
    let begin = 0;
    this.begins = this.sizes.map((size) => (begin += size) - size);
  }

  // Find the token of each value, and mark errors. A transcoder's output does not identify input
  // values, so its beats are used instead. A validator's output has the offset of the first error.
  #owners() {
    const { tokens, values } = this;
    this.owners = new Int32Array(values.length);
    this.wrong = new Uint8Array(values.length);
    this.isTraced = !tokens.length || !("isLast" in tokens[0]);
    if (this.isTraced)
      tokens.forEach(({ offset, length, kind, at }, n) => {
        this.owners.fill(n, offset, offset + length);
        if (kind === "none") return;
        if (at === undefined) this.wrong.fill(1, offset, offset + length);
        else this.wrong[offset + at] = 1;
      });
    else this.begins.forEach((begin, n) => this.owners.fill(n, begin, begin + this.sizes[n]));
  }

  // Count, for each cycle, the items and values accepted and the outputs taken before it.
  #count() {
    const { trace } = this;
    [this.items, this.accepted, this.outputs] =
      [0, 1, 2].map(() => new Int32Array(trace.cycles));
    let [items, values, outputs] = [0, 0, 0];
    const moves = (side, cycle) =>
      trace.isSet(`${side}.valid`, cycle) && trace.isSet(`${side}.ready`, cycle);
    for (let cycle = 0; cycle < trace.cycles; ++cycle) {
      this.items[cycle] = items;
      this.accepted[cycle] = values;
      this.outputs[cycle] = outputs;
      if (moves("i", cycle)) values += this.sizes[items++];
      if (moves("o", cycle)) ++outputs;
    }
    this.taken = trace.moves("o");
  }

  // The number of values accepted before a cycle, and the number covered by the output so far.
  progress(cycle) {
    if (!this.isTraced) return [this.accepted[cycle], 0];
    const last = this.tokens.findLast((token) => token.shown <= cycle);
    return [this.accepted[cycle], last ? last.offset + last.length : 0];
  }

  // The name of the content of a stage in a cycle; empty if the stage is.
  thing(stage, cycle) {
    if (!stage.valid || !this.trace.isSet(stage.valid, cycle)) return "";
    if (stage.of === "newest") return this.#nameOfItem(this.items[cycle] - 1);
    if (stage.of === "oldest") return this.#nameOfOutput(this.outputs[cycle]);
    const number = stage.numbers[cycle];
    if (stage.of === "input") return this.#nameOfItem(number);
    return stage.of === "output" ? this.#nameOfOutput(number) : "•";
  }

  #nameOfItem(number) {
    const begin = this.begins[number];
    const values = this.values.slice(begin, begin + this.sizes[number]);
    return values.length > 4 ? `beat ${number}` : hexOf(values, this.width) || `beat ${number}`;
  }

  #nameOfOutput(number) {
    const { trace } = this;
    if (trace.pins.has("o.keep") || trace.pins.get("o.length")?.widths.length > 1)
      return `beat ${number}`;
    if (trace.pins.has("i.code_point")) return hexOf([trace.level("o.data", this.taken[number])]);
    const { kind, text } = this.tokens[number];
    return kind === "none" ? visible(text) : kind;
  }

  // The input that caused the transition of the state machine into a cycle.
  causeOf(cycle) {
    const { withState } = this.stages;
    if (withState?.numbers) return `on ${this.thing(withState, cycle)}`;
    const number = this.items[cycle];
    return number === this.items[cycle - 1] ? "" : `on ${this.#nameOfItem(number - 1)}`;
  }

  // The cycle of the next error after a cycle, or undefined.
  nextError(cycle) {
    return this.tokens.find((token) => token.kind !== "none" && token.shown > cycle)?.shown;
  }
}

// The transitions of a state machine: found by simulating prefixes of sequences, followed by each
// kind of byte or by the end of the text.
export function stepsOf(simulation) {
  const isEncoder = simulation.inputs.some((pin) => pin.name === "i.code_point");
  const leads = [0xC2, 0xE1, 0xF1, 0xF9, 0xFD, 0xFE, 0xFF];
  const texts = [];
  if (isEncoder) {
    const forms = [0x41, 0x80, 0x800, 0x10000, 0x200000, 0x4000000];
    for (const one of forms) for (const other of forms) texts.push([one, other, one]);
  } else {
    for (const lead of leads) for (let more = 0; more < 8; ++more)
      for (const next of [0x41, 0x80, 0xBF, ...leads]) {
        const beginning = [lead, ...Array(more).fill(0xBF), next];
        texts.push(beginning, [...beginning, 0x41, 0x42]);
      }
  }
  const none = new Set();
  const trace = run(simulation, itemsOf(texts, simulation.inputs), none, none);
  const stages = new Stages(trace, simulation.description.stages);
  const steps = new Set();
  for (let cycle = 0; cycle + 1 < trace.cycles; ++cycle)
    if (stages.steps(cycle))
      steps.add(`${trace.level("state", cycle)} ${trace.level("state", cycle + 1)}`);
  return steps;
}
