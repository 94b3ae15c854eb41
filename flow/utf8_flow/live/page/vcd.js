// Writes a run as a waveform in VCD: every pin and register, one cycle in 10 ns.

const PERIOD = 10;

// Identifiers of variables consist of the printable characters from "!" to "~".
function identifier(number) {
  const digit = String.fromCharCode(33 + number % 94);
  return number < 94 ? digit : identifier(Math.floor(number / 94) - 1) + digit;
}

const widthOf = (pin) => pin.widths.reduce((sum, width) => sum + width, 0);

// The value of a pin as one binary number: lane 0 is lowest.
function binary(pin, level) {
  let [value, lowest] = [0n, 0n];
  [level].flatMap((lanes) => (pin.widths.length > 1 ? [...lanes] : lanes)).forEach((lane, n) => {
    value |= BigInt(lane) << lowest;
    lowest += BigInt(pin.widths[n]);
  });
  return value.toString(2);
}

export function vcdOf({ trace, description }) {
  const pins = [...trace.pins.values()];
  const clock = identifier(pins.length);
  const lines = ["$version utf8-hdl $end", "$timescale 1 ns $end",
    `$scope module ${description.component} $end`, `$var wire 1 ${clock} clk $end`];
  pins.forEach((pin, n) => lines.push(
    `$var wire ${widthOf(pin)} ${identifier(n)} ${pin.name.replaceAll(".", "_")} $end`));
  lines.push("$upscope $end", "$enddefinitions $end");
  const before = [];
  for (let cycle = 0; cycle < trace.cycles; ++cycle) {
    lines.push(`#${cycle * PERIOD}`, `1${clock}`);
    pins.forEach((pin, n) => {
      const level = trace.level(pin.name, cycle);
      const compared = pin.widths.length > 1 ? level.join() : level;
      if (compared === before[n]) return;
      before[n] = compared;
      const bits = binary(pin, level);
      lines.push(widthOf(pin) === 1 ? `${bits}${identifier(n)}` : `b${bits} ${identifier(n)}`);
    });
    lines.push(`#${cycle * PERIOD + PERIOD / 2}`, `0${clock}`);
  }
  lines.push(`#${trace.cycles * PERIOD}`);
  return `${lines.join("\n")}\n`;
}
