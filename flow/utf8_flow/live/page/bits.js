// Explains UTF-8 without the gateware: the bits of each sequence, its value, and why it is refused.
// This is the original table, with sequences of up to 8 bytes. The ranges of Unicode's Table 3-7
// follow from it, the highest value and the surrogates.

// Payload bits of a sequence, by its length in bytes.
const BITS = [0, 7, 11, 16, 21, 26, 31, 36, 42];
const lowestOf = (length) => (length === 1 ? 0 : 2 ** BITS[length - 1]);

const leadingOnes = (byte) => Math.clz32(~(byte << 24));

// The length of the sequence that a byte begins; 0 for a continuation byte.
export function announced(byte) {
  const ones = leadingOnes(byte);
  return ones === 0 ? 1 : ones === 1 ? 0 : ones;
}

// The bits of a byte: those that mark its class, and those that are part of the value.
export function bitsOf(byte) {
  const bits = byte.toString(2).padStart(8, "0");
  const marks = Math.min(leadingOnes(byte) + 1, 8);
  return [bits.slice(0, marks), bits.slice(marks)];
}

export const valueOf = (bytes) => bytes.reduce((value, byte) => {
  const payload = bitsOf(byte)[1];
  return value * 2 ** payload.length + parseInt(payload || "0", 2);
}, 0);

// The shortest sequence of a value; empty if even 8 bytes are too few.
export function encoded(value) {
  const length = BITS.findIndex((bits, n) => n && value < 2 ** bits);
  const bytes = [];
  for (let n = 1; n < length; ++n, value = Math.floor(value / 64)) bytes.unshift(0x80 + value % 64);
  return length < 1 ? [] : [length === 1 ? value : (0xFF00 >> length) % 256 + value, ...bytes];
}

// Split texts into sequences: a lead byte with the continuation bytes that follow it, at most as many
// as it announces. `offset` is that of the first byte.
export function sequencesOf(texts) {
  const sequences = [];
  let begin = 0;
  for (const text of texts) {
    for (let at = 0, end; at < text.length; at = end) {
      const length = announced(text[at]);
      for (end = at + 1; end < text.length && end < at + length && !announced(text[end]);) ++end;
      sequences.push({ offset: begin + at, length, bytes: text.slice(at, end) });
    }
    begin += text.length;
  }
  return sequences;
}

// Why bytes are not a character: the first reason that appears, byte by byte, or "none".
export function kindOf(bytes, rules) {
  const length = announced(bytes[0]);
  if (!length) return "unexpected-continuation";
  for (let count = 1; count <= bytes.length; ++count) {
    const kind = kindOfRange(bytes.slice(0, count), length, rules);
    if (kind !== "none") return kind;
  }
  if (bytes.length < length) return "truncated";
  const isNoncharacter = [0xFFFE, 0xFFFF].includes(valueOf(bytes));
  return isNoncharacter && rules.noncharacters === "reject" ? "noncharacter" : "none";
}

// Why none of the values that can still follow from the first bytes is a character, or "none".
function kindOfRange(bytes, length, rules) {
  const values = 64 ** (length - bytes.length);
  const lowest = valueOf(bytes) * values;
  const highest = lowest + values - 1;
  if (highest < lowestOf(length)) return "overlong";
  if (Math.max(lowest, lowestOf(length)) > rules.highest)
    return bytes[0] >= 0xFE ? "invalid-byte" : "out-of-range";
  const isSurrogate = lowest >= 0xD800 && highest <= 0xDFFF;
  return isSurrogate && rules.surrogates === "reject" ? "surrogate" : "none";
}
