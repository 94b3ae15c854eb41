// The user's settings, and their format in a link.

export const RULES = ["profile", "surrogates", "noncharacters", "error-span"];

export const INITIAL = {
  component: "decoder",
  profile: "unicode",
  surrogates: "",
  noncharacters: "",
  "error-span": "maximal-subpart",
  source: { kind: "text", value: "A © ≠ 😀" },
  gaps: new Set(),
  stalls: new Set(),
  cycle: 0,
  beside: "",  // the second design: "", "structure" (compact or pipelined), or "error-span"
  embed: "",  // if embedded in another page, the parts to show: "1" (all), "machine", "stages"
};

export const EXAMPLES = [
  ["Four lengths", { kind: "text", value: "A © ≠ 😀" }],
  ["Many scripts", { kind: "text", value: "Ελλάδα, עברית, हिन्दी, 日本語, ไทย, 🦊" }],
  ["Cut short", { kind: "hex", value: "E2 82 41 F0 9F 98 E2 82 AC" }],
  ["Overlong", { kind: "hex", value: "2F C0 AF E0 80 AF F0 80 80 AF 2F" }],
  ["Surrogates", { kind: "hex", value: "41 ED A0 BD ED B8 80 42" }],
  ["Too high", { kind: "hex", value: "F4 8F BF BF F4 90 80 80 F8 88 80 80 80 FE FF" }],
  ["Two texts", { kind: "hex", value: "E2 82 / AC 41 EF BF BE" }],
];

// Maximum number of cycles that the page simulates, and of bytes that it accepts.
export const MAX_CYCLES = 1 << 18;
export const MAX_BYTES = 1 << 16;

// Maximum number of characters of the input in a link. Each step updates the link, which is slow in
// a browser if it is long.
const MAX_LINKED = 1 << 14;

export const isLinked = ({ source }) => source.value.length <= MAX_LINKED;

// Parse bytes in hexadecimal, with " / " between texts; an Error describes a mistake.
export function textsOfHex(value) {
  if (value.trim() === "") return [];
  return value.split("/").map((text, n, { length }) => bytesOfHex(text, n === length - 1));
}

function bytesOfHex(text, isLast) {
  const words = text.split(/\s+/).filter(Boolean);
  const wrong = words.find((word) => !/^([0-9a-f]{2})+$/i.test(word));
  // The user is probably still typing.
  if (isLast && wrong !== undefined && text.endsWith(wrong) && /^[0-9a-f]+$/i.test(wrong))
    throw Object.assign(new Error("The last byte lacks a digit"), { isUnfinished: true });
  if (wrong !== undefined)
    throw new Error(`A byte is two hexadecimal digits, with / between texts, not "${wrong}"`);
  return Uint8Array.from(words.join("").match(/../g) ?? [], (digits) => parseInt(digits, 16));
}

// Parse code points in hexadecimal, for an encoder.
export function textsOfCodePoints(value, width) {
  if (value.trim() === "") return [];
  return value.split("/").map((text) => text.split(/\s+/).filter(Boolean).map((word) => {
    const digits = word.replace(/^U\+/i, "");
    if (!/^[0-9a-f]+$/i.test(digits) || BigInt(`0x${digits}`) >> BigInt(width))
      throw new Error(`A code point is hexadecimal and has ${width} bits or fewer, not "${word}"`);
    return parseInt(digits, 16);
  }));
}

export function hexOf(values, digits = 2) {
  const word = (value) => value.toString(16).toUpperCase().padStart(digits, "0");
  return Array.from(values, word).join(" ");
}

// Format cycles as ranges, such as "3-5,9".
export function rangesOf(cycles) {
  const ranges = [];
  for (const cycle of [...cycles].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && last[1] === cycle - 1) last[1] = cycle;
    else ranges.push([cycle, cycle]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}

function cyclesOf(ranges) {
  const cycles = new Set();
  for (const range of ranges.split(",").filter(Boolean)) {
    const [, from, to = from] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(range) ?? [];
    if (from === undefined || +to < +from || +to >= MAX_CYCLES)
      throw new Error(`cycles are like 3-5,9, not "${range}"`);
    for (let cycle = +from; cycle <= +to; ++cycle) cycles.add(cycle);
  }
  return cycles;
}

// The setting as the fragment of a link, after the #; defaults are left out.
export function linkOf(setting) {
  const words = new URLSearchParams();
  for (const name of ["component", ...RULES, "beside"])
    if (setting[name] !== INITIAL[name]) words.set(name, setting[name]);
  if (isLinked(setting)) words.set(setting.source.kind, setting.source.value);
  if (setting.gaps.size) words.set("gaps", rangesOf(setting.gaps));
  if (setting.stalls.size) words.set("stalls", rangesOf(setting.stalls));
  if (setting.cycle) words.set("cycle", setting.cycle);
  if (setting.embed) words.set("embed", setting.embed);
  return words.toString();
}

// The setting in a link, and descriptions of invalid parts, for which defaults are used.
export function settingOf(link, { profiles, designs, components }) {
  const words = new URLSearchParams(link);
  const setting = { ...INITIAL, gaps: new Set(), stalls: new Set() };
  const wrong = [];
  const read = (name, how) => {
    if (!words.has(name)) return;
    try {
      how(words.get(name));
    } catch (error) {
      wrong.push(`${name}: ${error.message}`);
    }
  };
  const oneOf = (name, values, known = {}) => read(name, (value) => {
    if (!values.includes(value) && Object.hasOwn(known, value))
      throw new Error(`${known[value]} is not in this build of the page`);
    if (!values.includes(value))
      throw new Error(`choose from ${values.join(", ")}, not "${value}"`);
    setting[name] = value;
  });
  oneOf("component", [...new Set(designs.map((entry) => entry.component))], components);
  oneOf("profile", Object.keys(profiles));
  for (const rule of ["surrogates", "noncharacters"]) oneOf(rule, ["", "accept", "reject"]);
  oneOf("error-span", ["maximal-subpart", "whole-sequence"]);
  oneOf("beside", ["", "structure", "error-span"]);
  for (const kind of ["text", "hex"])
    read(kind, (value) => { setting.source = { kind, value }; });
  for (const side of ["gaps", "stalls"])
    read(side, (value) => { setting[side] = cyclesOf(value); });
  read("cycle", (value) => {
    if (!/^\d{1,6}$/.test(value)) throw new Error(`a whole number, 0 or more, not "${value}"`);
    setting.cycle = +value;
  });
  oneOf("embed", ["1", "machine", "stages"]);
  return { setting, wrong };
}

// The design for a setting, or null.
export function entryFor(setting, { profiles, designs }) {
  const usual = profiles[setting.profile];
  return designs.find((entry) => entry.component === setting.component &&
    RULES.every((rule) => entry.rules[rule] === (setting[rule] || usual[rule]))) ?? null;
}

// The setting of the design beside that of a setting, or null if there is none.
export function besideOf(setting, index) {
  const { component, beside } = setting;
  const other = {
    structure: { component: component.startsWith("compact-")
      ? component.slice("compact-".length) : `compact-${component}` },
    "error-span": { "error-span": setting["error-span"] === "maximal-subpart"
      ? "whole-sequence" : "maximal-subpart" },
  }[beside];
  const found = other && { ...setting, ...other };
  return found && entryFor(found, index) ? found : null;
}

// The rules of a design, with the highest value of its profile.
export const rulesOf = (entry, { profiles }) =>
  ({ ...entry.rules, highest: profiles[entry.rules.profile].highest });

// Maximum number of characters of the input in a command.
const MAX_IN_COMMAND = 2000;

// The command that simulates the same in a terminal. Control characters are given as bytes.
export function commandOf(setting, entry, { bytes, isCodePoints }) {
  const quoted = (value) => `'${value.replaceAll("'", "'\\''")}'`;
  const { kind, value } = setting.source;
  const isText = kind === "text" && !/[\0-\x1F]/.test(value);
  const option = isText ? "--text" : isCodePoints ? "--code-points" : "--hex";
  const input = isText ? value : bytes;
  const words = ["utf8-hdl", "simulate", ...entry.options];
  words.push(...(input.length > MAX_IN_COMMAND ? ["FILE"] : [option, quoted(input)]));
  if (setting.gaps.size) words.push("--stall-input-cycles", rangesOf(setting.gaps));
  if (setting.stalls.size) words.push("--stall-output-cycles", rangesOf(setting.stalls));
  return words.join(" ");
}

// The setting, or the nearest setting for which this build has a design.
export function possible(setting, index) {
  const usual = { surrogates: "", noncharacters: "", "error-span": "maximal-subpart" };
  const { profile } = index.designs.find((entry) => entry.component === setting.component).rules;
  const choices = [setting, { ...setting, "error-span": usual["error-span"] },
    { ...setting, ...usual }, { ...setting, ...usual, profile }];
  return choices.find((choice) => entryFor(choice, index));
}
