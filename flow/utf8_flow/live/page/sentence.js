// Describes in one sentence a cycle, the meaning of a sequence, or the difference of two designs.

import { kindOf } from "./bits.js";
import { codePoint } from "./pins.js";
import { visible } from "./view.js";

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven"];

// For example "82 is accepted: NEED_2 to NEED_1; no token, one byte is missing." The missing bytes
// belong to the step, so they are named there if a token of earlier bytes is at the output.
export function sentenceOf(view, cycle) {
  const step = stepText(view, cycle);
  const missing = step && missingText(view, view.stepItem(cycle));
  const output = outputText(view, cycle);
  const rest = output === "no token" ? `; ${output}${missing}` : `${missing}; ${output}`;
  return `${inputText(view, cycle)}${step}${rest}.`;
}

function inputText(view, cycle) {
  const item = view.items[cycle];
  if (item === view.sizes.length) return "The input is at its end";
  const name = view.nameOfItem(item);
  if (!view.trace.isSet("i.valid", cycle)) return "The input stalls";
  return view.trace.isSet("i.ready", cycle)
    ? `${name} is accepted` : `${name} waits, because i.ready is low`;
}

// The transition of the state machine at the end of the cycle. In a pipeline, its cause is an
// earlier input.
function stepText(view, cycle) {
  if (!view.stages.steps(cycle)) return "";
  const [from, to] = [view.stateName(cycle), view.stateName(cycle + 1)];
  const item = view.stepItem(cycle);
  const isThisInput = item === view.items[cycle] && view.items[cycle + 1] > item;
  const cause = isThisInput || item < 0 ? "" : `; on ${view.nameOfItem(item)}`;
  return `${cause}: ${from === to ? `${from} stays` : `${from} to ${to}`}`;
}

function outputText(view, cycle) {
  const { trace } = view;
  const noun = view.outputNoun;
  if (!trace.isSet("o.valid", cycle)) return `no ${noun}`;
  const name = view.nameOfOutput(view.outputs[cycle]);
  const shown = noun === "beat" ? name : `${noun} ${name}`;
  return trace.isSet("o.ready", cycle) ? `${shown} is taken`
    : `${shown} waits, because o.ready is low`;
}

// How many bytes the sequence still needs after an input, if a character can still come of it.
function missingText(view, item) {
  const sequence = view.sequenceAt(view.begins[item]);
  if (view.sizes[item] !== 1 || !sequence || view.outputNoun !== "token") return "";
  const count = view.begins[item] - sequence.offset + 1;
  const missing = sequence.length - count;
  const isCut = count === sequence.bytes.length && view.ends.has(sequence.offset + count);
  if (isCut || kindOf(sequence.bytes.slice(0, count), view.rules) !== "truncated") return "";
  return `, ${NUMBERS[missing]} ${missing === 1 ? "byte is" : "bytes are"} missing`;
}

// Where the tokens of two designs differ, and when each outputs the first one.
export function differenceOf(one, other) {
  const fields = ({ offset, length, kind, codePoint, text }) =>
    [offset, length, kind, Number(codePoint ?? 0), text].join();
  const at = one.tokens.findIndex((token, n) =>
    !other.tokens[n] || fields(token) !== fields(other.tokens[n]));
  const shown = ({ tokens: [token], title }) => `${token ? `in cycle ${token.shown}` : "never"} (${title})`;
  const times = `The first token is valid ${shown(one)} and ${shown(other)}.`;
  if (at < 0 && one.tokens.length === other.tokens.length)
    return `Both designs output the same tokens. ${times}`;
  const offset = one.tokens[at]?.offset ?? other.tokens[one.tokens.length].offset;
  return `The tokens differ from offset ${offset}. ${times}`;
}

// What the bytes of a sequence mean, by the rules of UTF-8.
export function meaningOf({ bytes, length, value }, rules) {
  const kind = kindOf(bytes, rules);
  const name = codePoint(value);
  const meaning = {
    none: () => `${name} ${value > 0x10FFFF || (value & 0x1FF800) === 0xD800 ? ""
      : visible(String.fromCodePoint(value))}`,
    "unexpected-continuation": () => "no lead byte announces it",
    "invalid-byte": () => "begins no sequence of this profile",
    overlong: () => `${bytes.length === length ? name : "its value"} has a shorter form`,
    surrogate: () => `${bytes.length === length ? name : "its value"} is a surrogate`,
    "out-of-range": () => `above ${codePoint(rules.highest)}`,
    truncated: () => `${bytes.length} of ${length} bytes`,
    noncharacter: () => name,
  }[kind]();
  return kind === "none" ? meaning.trim() : `${kind}: ${meaning}`;
}
