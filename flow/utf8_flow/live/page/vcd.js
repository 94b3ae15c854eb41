// Writes runs as a waveform in VCD: every pin and register, one cycle in 10 ns.

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

// The runs have equally many cycles. Each has a scope with its title; they share the clock.
export function vcdOf(views) {
  const clock = identifier(0);
  const lines = ["$version utf8-hdl $end", "$timescale 1 ns $end"];
  const variables = [];
  for (const { title, trace } of views) {
    lines.push(`$scope module ${title.replaceAll(/\W+/g, "_")} $end`, `$var wire 1 ${clock} clk $end`);
    for (const pin of trace.pins.values()) {
      const id = identifier(variables.length + 1);
      lines.push(`$var wire ${widthOf(pin)} ${id} ${pin.name.replaceAll(".", "_")} $end`);
      variables.push({ pin, trace, id, before: null });
    }
    lines.push("$upscope $end");
  }
  lines.push("$enddefinitions $end");
  const { cycles } = views[0].trace;
  for (let cycle = 0; cycle < cycles; ++cycle) {
    lines.push(`#${cycle * PERIOD}`, `1${clock}`);
    for (const variable of variables) {
      const { pin, trace, id } = variable;
      const bits = binary(pin, trace.level(pin.name, cycle));
      if (bits === variable.before) continue;
      variable.before = bits;
      lines.push(widthOf(pin) === 1 ? `${bits}${id}` : `b${bits} ${id}`);
    }
    lines.push(`#${cycle * PERIOD + PERIOD / 2}`, `0${clock}`);
  }
  lines.push(`#${cycles * PERIOD}`);
  return `${lines.join("\n")}\n`;
}
