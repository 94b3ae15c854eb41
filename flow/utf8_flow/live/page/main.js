// The page: simulates a whole run for the current setting, and shows one of its cycles.

import { make } from "./elements.js";
import { load } from "./engine.js";
import { linkParts } from "./hover.js";
import { decoded, opinionOf, textOf } from "./opinion.js";
import * as panes from "./pane.js";
import { characterOf } from "./run.js";
import { differenceOf } from "./sentence.js";
import {
  besideOf, commandOf, entryFor, EXAMPLES, hexOf, isLinked, linkOf, MAX_BYTES, possible, RULES,
  rulesOf, settingOf, textsOfCodePoints, textsOfHex,
} from "./settings.js";
import { vcdOf } from "./vcd.js";
import { View } from "./view.js";
import { INITIAL_LOOK, listenToWave, moved, zoomed } from "./waves.js";

const $ = (id) => document.getElementById(id);
const RUN_INTERVAL = 160;
const LINK_INTERVAL = 150;

const loaded = new Map();
let index;
let setting;
let entry;
let view = null;
let other = null;  // the view of the design beside it
let look = INITIAL_LOOK;
let retry = null;
let running = null;
let changes = 0;
let linked = 0;
let linkLater = null;

const design = (file) => {
  if (!loaded.has(file)) loaded.set(file, load(`designs/${file}`));
  return loaded.get(file);
};

// Use the light or dark theme of the documentation, which has the same origin.
function takeTheme() {
  try {
    document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "auto";
  } catch {
    // Storage is blocked: the browser's preference applies.
  }
}

const takesCodePoints = (component) => component.endsWith("encoder");

// Show a message, an "error" or a "note". It replaces the previous message.
function say(kind, ...sentences) {
  $("message").textContent = sentences.filter(Boolean).join(" ");
  $("message").className = $("message").textContent && kind;
  $("retry").hidden = true;
}

// Remove the run from the page, so that it is not mistaken for the result of another setting.
function drop() {
  stopRunning();
  view = other = null;
  showControls();
  $("difference").hidden = true;
  $("opinion").textContent = "No run is shown.";
  $("opinion").dataset.agrees = "none";
}

function fail(action, ...sentences) {
  drop();
  say("error", ...sentences);
  retry = action;
  $("retry").hidden = false;
  document.body.dataset.ready = "true";
}

function showControls() {
  for (const control of document.querySelectorAll("#control button, #control input"))
    control.disabled = !view;
  $("next-state").disabled = !view?.trace.pins.has("state");
  $("panes").hidden = $("terminal").hidden = !view;
}

// The texts in the setting, as lists of bytes or of code points.
function textsOf({ source, component }) {
  const { kind, value } = source;
  if (takesCodePoints(component)) {
    const width = index.profiles[setting.profile].bits;
    if (kind === "hex") return textsOfCodePoints(value, width);
    return value ? [Array.from(value, (character) => character.codePointAt(0))] : [];
  }
  if (kind === "hex") return textsOfHex(value).map((text) => [...text]);
  return value ? [[...new TextEncoder().encode(value)]] : [];
}

function textShown(texts) {
  const characters = (text) => text.map(characterOf).join("");
  return texts.map(takesCodePoints(setting.component) ? characters : decoded).join(" / ");
}

// Apply a change of the setting, simulate it, and show its cycle. The last call wins.
async function apply(change, ...sentences) {
  document.body.dataset.ready = "false";
  const number = ++changes;
  const wanted = { ...setting, ...change };
  setting = { ...wanted, ...possible(wanted, index) };
  if (RULES.some((rule) => setting[rule] !== wanted[rule]))
    sentences.push("This build of the page lacks this design: the nearest rules are used.");
  entry = entryFor(setting, index);
  if (view && view.entry !== entry) $("opinion").dataset.agrees = "none";
  showSetting();
  let texts;
  try {
    texts = textsOf(setting);
  } catch (error) {
    refuse(error.isUnfinished ? "note" : "error", ...sentences, `${error.message}.`);
    return;
  }
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  if (size > MAX_BYTES) {
    refuse("error", `This page simulates at most ${MAX_BYTES} values, not ${size}.`);
    return;
  }
  const { file } = entry;
  try {
    if (view?.entry !== entry) $("opinion").textContent = "The design is being loaded.";
    const beside = besideOf(setting, index);
    const entries = [entry, ...(beside ? [entryFor(beside, index)] : [])];
    const simulations = await Promise.all(entries.map((each) => design(each.file)));
    if (number !== changes) return;
    showSource(texts);
    [view, other = null] = viewsOf(entries, simulations, texts);
  } catch (error) {
    loaded.clear();  // so that the next attempt loads them again
    if (number === changes)
      fail(() => apply({}, ...sentences), `The design cannot be run: ${error.message}.`);
    return;
  }
  showControls();
  showPanes();
  if (!view.trace.isWhole) sentences.push("Not all of the input fits: the rest is not simulated.");
  say("error", ...sentences);
  const opinion = opinionOf(entry, texts, view.tokens, view.trace);
  $("opinion").textContent = opinion.text + resultText();
  $("opinion").dataset.agrees = opinion.agrees ?? "none";
  show(setting.cycle);
}

// The runs of one or two designs on the same input. They have equally many cycles.
function viewsOf(entries, simulations, texts) {
  const viewOf = (n, least) => {
    const found = new View(simulations[n], texts, setting, rulesOf(entries[n], index), least);
    const title = `${entries[n].label}, ${entries[n].rules["error-span"]}`;
    return Object.assign(found, { entry: entries[n], simulation: simulations[n], title });
  };
  const views = entries.map((_, n) => viewOf(n));
  const cycles = Math.max(...views.map((each) => each.trace.cycles));
  return views.map((each, n) => (each.trace.cycles < cycles ? viewOf(n, cycles) : each));
}

// One pane, or two. The second is a copy of the first.
function showPanes() {
  const [, second] = $("panes").children;
  if (!other) second?.remove();
  else if (!second) {
    const copy = $("cycle-view").cloneNode(true);
    for (const part of [copy, ...copy.querySelectorAll("[id]")]) part.removeAttribute("id");
    $("panes").append(copy);
    listenToPane(copy);
  }
  $("panes").classList.toggle("beside", !!other);
  $("difference").hidden = !other;
  if (other) $("difference").textContent = differenceOf(view, other);
  eachPane(panes.drawPane);
}

function eachPane(action, ...more) {
  const [first, second] = $("panes").children;
  action(first, view, ...more);
  if (other) action(second, other, ...more);
}

// The input cannot be simulated: keep the last run of this design, without a comparison.
function refuse(severity, ...sentences) {
  say(severity, ...sentences);
  const { kind, value } = setting.source;
  if ($(kind).value !== value) $(kind).value = value;
  $(kind).toggleAttribute("aria-invalid", severity === "error");
  if (view?.entry === entry) $("opinion").textContent = "The run below belongs to another input.";
  else drop();
  $("opinion").dataset.agrees = "none";
  showLink();
}

// The whole output text of a transcoder, which is hard to read in its beats.
function resultText() {
  if (view.isTraced) return "";
  const text = textOf(entry, view.tokens);
  if (text === null) return " The result is not well-formed.";
  return ` The result: ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`;
}

function showSetting() {
  $("component").value = setting.component;
  $("beside").value = setting.beside;
  for (const option of $("beside").options)
    option.disabled = option.value && !besideOf({ ...setting, beside: option.value }, index);
  for (const rule of RULES) {
    $(rule).value = setting[rule];
    if (rule === "profile") {
      for (const option of $(rule).options)
        option.disabled = !index.designs.some(({ component, rules }) =>
          component === setting.component && rules.profile === option.value);
      continue;
    }
    for (const option of $(rule).options)
      option.disabled = !entryFor({ ...setting, [rule]: option.value }, index);
  }
  document.body.classList.toggle("embed", setting.embed !== "");
  document.body.dataset.embed = setting.embed;
  const values = takesCodePoints(setting.component) ? "Code points" : "Bytes";
  $("hex-label").textContent = `${values} in hexadecimal, / between texts`;
}

function showSource(texts) {
  const { kind, value } = setting.source;
  for (const id of ["text", "hex"]) $(id).removeAttribute("aria-invalid");
  const digits = takesCodePoints(setting.component) ? 4 : 2;
  const shown = {
    text: kind === "text" ? value : textShown(texts),
    hex: kind === "hex" ? value : texts.map((text) => hexOf(text, digits)).join(" / "),
  };
  for (const id of ["text", "hex"]) if ($(id).value !== shown[id]) $(id).value = shown[id];
  const isCodePoints = takesCodePoints(setting.component);
  $("command").textContent = commandOf(setting, entry, { bytes: shown.hex, isCodePoints });
}

// Show a cycle of the run.
function show(cycle) {
  if (cycle !== setting.cycle) look = { ...look, begin: null };
  const last = view.trace.cycles - 1;
  setting.cycle = Math.max(0, Math.min(cycle, last));
  cycle = setting.cycle;
  $("cycle").textContent = cycle;
  $("cycles").textContent = last;
  $("scrub").max = last;
  $("scrub").value = cycle;
  $("gap").setAttribute("aria-pressed", setting.gaps.has(cycle));
  $("stall").setAttribute("aria-pressed", setting.stalls.has(cycle));
  eachPane(panes.showPane, cycle, look);
  showLink();
}

// Put the setting into the link. Updates are delayed, because browsers limit their rate.
function showLink() {
  clearTimeout(linkLater);
  const wait = linked + LINK_INTERVAL - performance.now();
  if (wait > 0) {
    document.body.dataset.ready = "false";
    linkLater = setTimeout(showLink, wait);
    return;
  }
  linked = performance.now();
  const link = `#${linkOf(setting)}`;
  if (link !== location.hash) history.replaceState(null, "", link);
  document.body.dataset.ready = "true";
}

function stopRunning() {
  clearInterval(running);
  running = null;
  $("run").setAttribute("aria-pressed", "false");
}

function startRunning() {
  if (!view) return;
  if (setting.cycle >= view.trace.cycles - 1) show(0);
  $("run").setAttribute("aria-pressed", "true");
  running = setInterval(() => {
    show(setting.cycle + 1);
    if (setting.cycle >= view.trace.cycles - 1) stopRunning();
  }, RUN_INTERVAL);
}

const go = (cycle) => {
  stopRunning();
  say("note");
  if (view) show(cycle);
};

function toggle(side, cycle) {
  stopRunning();
  const cycles = new Set(setting[side]);
  if (!cycles.delete(cycle)) cycles.add(cycle);
  apply({ [side]: cycles });
}

// Go to a cycle that a method of the view finds.
function goToNext(method, missing) {
  if (!view) return;
  const cycle = view[method](setting.cycle);
  if (cycle !== undefined) go(cycle);
  else say("note", missing);
}

function changeLook(changed) {
  if (!view) return;
  look = changed;
  eachPane(panes.showWaveOf, setting.cycle, look);
}

const WAVE_ACTIONS = {
  out: () => changeLook(zoomed(look, -1)),
  in: () => changeLook(zoomed(look, 1)),
  earlier: (wave) => changeLook(moved(look, wave, -0.5)),
  later: (wave) => changeLook(moved(look, wave, 0.5)),
  cursor: () => changeLook({ ...look, begin: null }),
  vcd: () => download(`${entry.component}.vcd`, vcdOf(other ? [view, other] : [view])),
};

const copy = (text, refused, ...copied) => navigator.clipboard?.writeText(text).then(
  () => say("note", ...copied), () => say("note", refused));

function download(name, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text])), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// What the waveform of a pane does. Its elements are found by their class.
function listenToPane(pane) {
  const wave = pane.querySelector(".wave");
  listenToWave(wave, () => look, changeLook);
  wave.addEventListener("click", ({ target }) => {
    const { row, cycle, goto: to } = target.closest("[data-cycle], [data-goto]")?.dataset ?? {};
    if (row) toggle(row === "i.valid" ? "gaps" : "stalls", +cycle);
    else if (to) go(+to);
  });
  for (const button of pane.querySelectorAll("[data-wave]"))
    button.addEventListener("click", () => WAVE_ACTIONS[button.dataset.wave](wave));
}

// Bytes in hexadecimal are not code points: switch to the text, which is valid for both.
function chooseComponent(component) {
  stopRunning();
  const isOther = takesCodePoints(component) !== takesCodePoints(setting.component);
  const source = isOther && setting.source.kind === "hex"
    ? { kind: "text", value: $("text").value } : setting.source;
  apply({ component, source, cycle: 0 });
}

async function takeFile(file) {
  const bytes = new Uint8Array(await file.slice(0, MAX_BYTES).arrayBuffer());
  const cut = file.size > bytes.length && `Only ${MAX_BYTES} bytes of ${file.name} are used.`;
  const component = takesCodePoints(setting.component) ? "decoder" : setting.component;
  apply({ component, source: { kind: "hex", value: hexOf(bytes) }, cycle: 0 }, cut);
}

function listen() {
  const actions = {
    first: () => go(0),
    back: () => go(setting.cycle - 1),
    step: () => go(setting.cycle + 1),
    last: () => go(Infinity),
    run: () => (running ? stopRunning() : startRunning()),
    "next-token": () => goToNext("nextToken", "No token follows this cycle."),
    "next-state": () => goToNext("nextState", "The state does not change after this cycle."),
    "next-error": () => goToNext("nextError", "No error follows this cycle."),
    gap: () => toggle("gaps", setting.cycle),
    stall: () => toggle("stalls", setting.cycle),
    "clear-stalls": () => apply({ gaps: new Set(), stalls: new Set() }),
    link: () => copy(location.href, "The address of this page is the link.", "The link is copied.",
      !isLinked(setting) && "The input is too long to be part of it."),
    "copy-command": () => copy($("command").textContent, "The browser does not allow copying.",
      "The command is copied."),
    retry: () => retry(),
  };
  for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);
  const keys = {
    ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last", " ": "run",
    e: "next-error", t: "next-token", c: "next-state", g: "gap", s: "stall", "+": "in", "-": "out",
  };
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("textarea, select");
    const isPressing = event.key === " " && event.target.closest("button, a, summary, #file");
    if (isTyping || isPressing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(event.key in keys)) return;
    event.preventDefault();
    (actions[keys[event.key]] ?? WAVE_ACTIONS[keys[event.key]])();
  });
  for (const kind of ["text", "hex"])
    $(kind).addEventListener("input", () => {
      stopRunning();
      apply({ source: { kind, value: $(kind).value }, cycle: 0 });
    });
  $("component").addEventListener("change", () => chooseComponent($("component").value));
  for (const rule of [...RULES, "beside"])
    $(rule).addEventListener("change", () => apply({ [rule]: $(rule).value }));
  $("scrub").addEventListener("input", () => go(+$("scrub").value));
  // Selecting the same file again must also cause an event.
  $("file").addEventListener("click", () => { $("file").value = ""; });
  $("file").addEventListener("change", () => takeFile($("file").files[0]));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) takeFile(event.dataTransfer.files[0]);
  });
  listenToPane($("cycle-view"));
  linkParts($("panes"));
  addEventListener("hashchange", () => takeLink());
  addEventListener("resize", () => {
    if (!view) return;
    eachPane(panes.drawPane);
    show(setting.cycle);
  });
}

// Set the height of the embedding frame to the height of the content. While the width is the same,
// it does not shrink: the text after it would move with every step.
function fitFrame() {
  let [width, height] = [0, 0];
  const frame = window.frameElement;  // null in a page of another origin
  if (!frame || !setting.embed) return;
  new ResizeObserver(() => {
    if (width !== innerWidth) [width, height] = [innerWidth, 0];
    height = Math.max(height, Math.ceil(document.body.getBoundingClientRect().height));
    frame.style.height = `${height + frame.offsetHeight - frame.clientHeight}px`;
  }).observe(document.body);
}

function takeLink() {
  stopRunning();
  const { setting: found, wrong } = settingOf(location.hash.slice(1), index);
  setting = found;
  return apply({}, wrong.length && `The link has mistakes: ${wrong.join("; ")}.`);
}

async function loadIndex() {
  const response = await fetch("designs/index.json", { cache: "no-cache" });
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.json();
}

takeTheme();
addEventListener("storage", takeTheme);
listen();
try {
  index = await loadIndex();
} catch (error) {
  fail(() => location.reload(), `The list of designs cannot be loaded: ${error.message}.`);
  throw error;
}
for (const [value, label] of Object.entries(index.components)) {
  const disabled = index.designs.every((design) => design.component !== value);
  $("component").append(make("option", { value, disabled }, label));
}
$("missing").hidden = index.isComplete;
for (const name of Object.keys(index.profiles)) $("profile").append(make("option", {}, name));
for (const [name, source] of EXAMPLES) {
  const button = make("button", { class: "example" }, name);
  button.addEventListener("click", () => {
    const component = takesCodePoints(setting.component) && source.kind === "hex"
      ? "decoder" : setting.component;
    apply({ component, source, cycle: 0 });
  });
  $("examples").append(button);
}
await takeLink();
fitFrame();
