// The pins that the page shows, and their values as text.

import { hexOf } from "./settings.js";

export const hex = (value) => value.toString(16).toUpperCase();
export const codePoint = (value) => `U+${hex(value).padStart(4, "0")}`;

// Format the value of a pin: its name if it has one, else in hexadecimal; lane 0 first.
export function levelText(pin, level) {
  const digits = pin.widths[0] > 4 ? 2 : 1;
  if (pin.widths.length > 1)
    return pin.widths[0] === 1 ? [...level].join("") : hexOf(level, digits);
  const name = pin.names[level];
  const number = hex(level).padStart(digits, "0");
  return name === undefined ? number : pin.name === "state" ? name : `${number} ${name}`;
}

// The pins, without registers that are only observed like pins. A register may also be a pin.
export const pinsOf = (description) =>
  description.pins.filter((pin) => pin.name === "state" || /^[io]\./.test(pin.name));

// A payload pin is a don't care while `valid` is low.
export const isPayload = ({ name }) => /^[io]\.(?!valid|ready)/.test(name);
export const isDontCare = (pin, trace, cycle) =>
  isPayload(pin) && !trace.isSet(`${pin.name[0]}.valid`, cycle);
