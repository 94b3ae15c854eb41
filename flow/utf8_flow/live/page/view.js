// The data that the page displays: the input, the token of each value, and the contents of stages.

import { encoded, sequencesOf, valueOf } from "./bits.js";
import { hexOf } from "./settings.js";
import { itemsOf, run, Stages, tokensOf } from "./run.js";

// Maximum number of values in a link between parts of the page.
const MAX_LINKED = 64;

// A visible form of a character.
export function visible(character) {
  if (character === " ") return "␣";
  const code = character.codePointAt(0);
  if (code > 0x20 && (code < 0x7F || code > 0x9F)) return character;
  return code === 10 ? "\\n" : `\\x${code.toString(16).toUpperCase().padStart(2, "0")}`;
}

export class View {
  // `rules` are those of the design's profile, see `rulesOf` in settings.js. The run has at least
  // `least` cycles.
  constructor(simulation, texts, { gaps, stalls }, rules, least = 0) {
    this.description = simulation.description;
    this.rules = rules;
    const stimulus = itemsOf(texts, simulation.inputs);
    this.trace = run(simulation, stimulus, gaps, stalls, least);
    this.stages = new Stages(this.trace, this.description.stages);
    const pin = (name) => this.description.pins.find((each) => each.name === name);
    this.kinds = pin("o.kind")?.names ?? {};
    this.tokens = tokensOf(this.trace, texts, this.kinds);
    this.values = texts.flatMap((text) => [...text]);
    this.width = pin("i.code_point") ? 4 : 2;
    this.outputNoun = pin("i.code_point") ? "byte"
      : pin("o.length")?.widths.length === 1 ? "token" : "beat";
    this.#findSequences(texts);
    this.#itemSizes(stimulus, pin("i.keep"));
    this.#owners();
    this.#count();
  }

  // The sequences of the input, each with its value. An encoder's input are their values.
  #findSequences(texts) {
    this.sequences = this.width === 2
      ? sequencesOf(texts).map((each) => ({ ...each, value: valueOf(each.bytes) }))
      : this.values.map((value, offset) => {
        const bytes = encoded(value);
        return { offset, value, bytes, length: bytes.length };
      });
    let end = 0;
    this.ends = new Set(texts.map((text) => (end += text.length)));
  }

  // The number of the last sequence that begins at or before an offset; -1 if there is none.
  numberOfSequence(offset) {
    let [low, high] = [0, this.sequences.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sequences[middle].offset <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  sequenceAt(offset) {
    return this.sequences[this.numberOfSequence(offset)];
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
    let token = 0;
    this.firstTokens = this.taken.map((at) => {
      while (this.tokens[token]?.taken < at) ++token;
      return token;
    });
  }

  // The number of values accepted before a cycle, and the number covered by the output so far.
  progress(cycle) {
    if (!this.isTraced) return [this.accepted[cycle], 0];
    const last = this.tokens.findLast((token) => token.shown <= cycle);
    return [this.accepted[cycle], last ? last.offset + last.length : 0];
  }

  // The input or output in a stage in a cycle, as `[side, number]`; null if the stage is empty. The
  // number is -1 if it is not known.
  #contentOf(stage, cycle) {
    if (!stage.valid || !this.trace.isSet(stage.valid, cycle)) return null;
    if (stage.of === "newest") return ["i", this.items[cycle] - 1];
    if (stage.of === "oldest") return ["o", this.outputs[cycle]];
    const side = { input: "i", output: "o" }[stage.of];
    return [side, side ? stage.numbers[cycle] : -1];
  }

  // The name of the content of a stage in a cycle; empty if the stage is.
  thing(stage, cycle) {
    const [side, number] = this.#contentOf(stage, cycle) ?? [];
    if (number === undefined) return "";
    if (number < 0) return "•";
    return side === "i" ? this.nameOfItem(number) : this.nameOfOutput(number);
  }

  // The offsets of the input values to which a part of the page belongs, for `data-link`. Empty if
  // they are not known, or if there are many.
  linkOf(offset, length) {
    const isKnown = length > 0 && length <= MAX_LINKED;
    return isKnown ? Array.from({ length }, (_, n) => offset + n).join(" ") : "";
  }

  linkOfStage(stage, cycle) {
    const [side, number] = this.#contentOf(stage, cycle) ?? [];
    return this.#linkOfContent(side, number);
  }

  // The link of the payload at a side in a cycle.
  linkAt(side, cycle) {
    return this.#linkOfContent(side, side === "i" ? this.items[cycle] : this.outputs[cycle]);
  }

  #linkOfContent(side, number) {
    if (side === "i") return this.linkOf(this.begins[number], this.sizes[number]);
    if (side !== "o" || !this.isTraced || !(number in this.taken)) return "";
    const at = this.taken[number];
    const first = this.firstTokens[number];
    let last = first;
    while (this.tokens[last + 1]?.shown <= at) ++last;
    const [begin, end] = [this.tokens[first], this.tokens[last]];
    return begin?.shown <= at ? this.linkOf(begin.offset, end.offset + end.length - begin.offset) : "";
  }

  nameOfItem(number) {
    const begin = this.begins[number];
    const values = this.values.slice(begin, begin + this.sizes[number]);
    return values.length > 4 ? `beat ${number}` : hexOf(values, this.width) || `beat ${number}`;
  }

  nameOfOutput(number) {
    const { trace } = this;
    if (trace.pins.has("o.keep") || trace.pins.get("o.length")?.widths.length > 1)
      return `beat ${number}`;
    if (trace.pins.has("i.code_point")) return hexOf([trace.level("o.data", this.taken[number])]);
    const { kind, text } = this.tokens[number];
    return kind === "none" ? visible(text) : kind;
  }

  stateName(cycle) {
    const level = this.trace.level("state", cycle);
    return this.trace.pins.get("state").names[level] ?? `illegal ${level}`;
  }

  // The number of the input that causes the transition of the state machine at the end of a cycle;
  // -1 if it is not known.
  stepItem(cycle) {
    const { withState } = this.stages;
    if (withState?.numbers) return withState.of === "input" ? withState.numbers[cycle + 1] : -1;
    const number = this.items[cycle];
    return this.items[cycle + 1] === number ? number - 1 : number;
  }

  // The cycle of the next error after a cycle, or undefined.
  nextError(cycle) {
    return this.tokens.find((token) => token.kind !== "none" && token.shown > cycle)?.shown;
  }

  // The cycle of the next token after a cycle, or undefined.
  nextToken(cycle) {
    return this.tokens.find((token) => token.shown > cycle)?.shown;
  }

  // The next cycle in which the state machine is in another state than before, or undefined.
  nextState(cycle) {
    const states = this.trace.columns.state;
    const found = states?.findIndex((state, at) => at > cycle && state !== states[at - 1]);
    return found > 0 ? found : undefined;
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
