// Time what Node.js does with the texts of some files, and print a list of, for each:
// - seconds: the best of some rounds, of UTF-8 to UTF-16 by simdutf, or until it refuses;
// - hash: of what that gives, null if it refuses;
// - whatwg: hash of what TextDecoder gives, which replaces errors.
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
    if (round % 8 === 0) gc(); // results go where others were, which is in the cache
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
