// Compares the result with the browser's own TextDecoder and TextEncoder.

import { characterOf } from "./run.js";

const ROWS = { true: "agrees", false: "does not agree" };

// `agrees`: true or false, or null if there is nothing to compare; `text`: the explanation.
export function opinionOf(entry, texts, tokens, trace) {
  if (!trace.isWhole) return { agrees: null, text: "The output is not complete." };
  const { rules } = entry;
  const isUnicode = rules.profile === "unicode" && rules.surrogates === "reject" &&
    rules.noncharacters === "accept" && rules["error-span"] === "maximal-subpart";
  if (!isUnicode)
    return { agrees: null, text: "Browsers use other rules: no comparison." };
  const [who, agrees] = trace.pins.has("i.code_point")
    ? ["TextEncoder", sameBytes(texts, tokens)]
    : ["TextDecoder", trace.pins.has("o.offset") ? sameVerdicts(texts, tokens)
      : sameText(entry, texts, tokens)];
  return { agrees, text: `The browser's own ${who} ${ROWS[agrees]}.` };
}

export const decoded = (bytes) =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));

// Compares the decoded text. Each text is decoded separately, because sequences end with the text.
function sameText(entry, texts, tokens) {
  const expected = texts.map(decoded).join("");
  if (tokens.every((token) => token.text !== undefined))
    return tokens.map((token) => token.text).join("") === expected;
  return textOf(entry, tokens) === expected;
}

// Decode a transcoder's output, which must be well-formed; null if it is not.
export function textOf(entry, tokens) {
  const form = entry.options.join(" ").includes("--to utf-8") ? "utf-8" : "utf-16le";
  const decoder = new TextDecoder(form, { ignoreBOM: true, fatal: true });
  try {
    return decoder.decode(Uint8Array.from(tokens.flatMap((token) => token.bytes)));
  } catch {
    return null;
  }
}

function sameVerdicts(texts, tokens) {
  const isWrong = (bytes) => {
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(bytes));
      return false;
    } catch {
      return true;
    }
  };
  return tokens.length === texts.length &&
    texts.every((text, n) => isWrong(text) === (tokens[n].kind !== "none"));
}

function sameBytes(texts, tokens) {
  const text = texts.flat().map(characterOf).join("");
  const expected = [...new TextEncoder().encode(text)];
  const actual = tokens.flatMap((token) => token.bytes);
  return `${actual}` === `${expected}`;
}
