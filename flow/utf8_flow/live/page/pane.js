// Shows a run in a pane: an element with all parts of the page that belong to one design. The parts
// are found by their class.

import { drawMachine, showMachine } from "./machine.js";
import { sentenceOf } from "./sentence.js";
import { stepsOf } from "./view.js";
import { showBits, showBytes, showPins, showStages, showTokens } from "./views.js";
import { showWave } from "./waves.js";

const part = (pane, name) => pane.querySelector(`.${name}`);

// Draw the parts that are the same in each cycle.
export function drawPane(pane, view) {
  const { simulation, title } = view;
  const state = view.trace.pins.get("state");
  part(pane, "title").textContent = title;
  part(pane, "machine-section").hidden = !state;
  if (!state) return;
  simulation.steps ??= stepsOf(simulation);
  drawMachine(part(pane, "machine"), state.names, simulation.steps);
  part(pane, "machine-note").hidden = part(pane, "machine").dataset.hides !== "true";
}

export function showPane(pane, view, cycle, look) {
  part(pane, "sentence").textContent = sentenceOf(view, cycle);
  showBytes(part(pane, "bytes"), view, cycle);
  showBits(part(pane, "bits"), view, cycle);
  showTokens(part(pane, "tokens"), view, cycle);
  showPins(part(pane, "pins"), view, cycle);
  showStages(part(pane, "stages"), view, cycle);
  showWaveOf(pane, view, cycle, look);
  if (view.trace.pins.has("state"))
    part(pane, "machine-text").textContent = showMachine(part(pane, "machine"), view, cycle);
}

export const showWaveOf = (pane, view, cycle, look) =>
  showWave(part(pane, "wave"), view, cycle, look);
