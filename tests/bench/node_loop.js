// Measure Node.js on the texts of some files. Prints a list with an object for each file:
// - seconds: the best of several rounds of UTF-8 to UTF-16 with simdutf, or until it refuses the text;
// - hash: of its result; null if it refuses the text;
// - whatwg: hash of the result of TextDecoder, which replaces errors.
// usage: node --expose-gc node_loop.js ROUNDS FILE...
const { transcode } = require("node:buffer");
const { createHash } = require("node:crypto");
const { readFileSync } = require("node:fs");

const hash = (data) => createHash("sha256").update(data).digest("hex");
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const [rounds, ...files] = process.argv.slice(2);

function simdutf(data) {
  try {
    return transcode(data, "utf-8", "utf-16le");
  } catch {
    return null;
  }
}

function best(work) {
  let seconds = Infinity;
  for (let round = 0; round < rounds; round++) {
    if (round % 8 === 0) gc(); // results reuse memory that is in the processor's cache
    const begin = process.hrtime.bigint();
    work();
    seconds = Math.min(seconds, Number(process.hrtime.bigint() - begin) / 1e9);
  }
  return seconds;
}

const found = files.map((file) => {
  const data = readFileSync(file);
  const result = simdutf(data);
  return {
    seconds: best(() => simdutf(data)),
    hash: result && hash(result),
    whatwg: hash(Buffer.from(decoder.decode(data), "utf-16le")),
  };
});
console.log(JSON.stringify(found));
