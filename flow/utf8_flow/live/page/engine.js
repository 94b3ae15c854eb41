// A design that is simulated here: its gateware as WebAssembly, with the driver of the engine
// `cxxrtl`. In a browser and in Node.js; no imports.

const ARRAYS = { 1: Uint8Array, 4: Uint32Array, 8: BigUint64Array };

// A design of the page: `url` without the ending of its two files.
export async function load(url) {
  const files = [`${url}.wasm`, `${url}.json`].map(async (name) => {
    const response = await fetch(name, { cache: "no-cache" });
    if (!response.ok) throw new Error(`cannot load ${name}: ${response.status}`);
    return response;
  });
  const [bytes, description] = await Promise.all(files);
  return create(await bytes.arrayBuffer(), await description.json());
}

// A design from the bytes of its module and its description.
export async function create(bytes, description) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  return new Simulation(instance.exports, description);
}

// A design at some cycle of its life. `pins` are described in wasm.py.
export class Simulation {
  #code;
  #model = 0;
  #isOffered = 0;

  constructor(code, description) {
    this.#code = code;
    code._initialize();
    this.description = description;
    this.pins = description.pins;
    this.inputs = this.pins.filter((pin) => pin.item);
    this.restart();
  }

  // To the first cycle after reset.
  restart() {
    if (this.#model) this.#code.model_destroy(this.#model);
    this.#model = this.#code.model_create();
    if (!this.#model) throw new Error("out of memory");
    this.#isOffered = 0;
    this.cycle = 0;
  }

  // Simulates as many cycles as there are gaps: cycles in which nothing new is offered if they are
  // true. In a stall nothing is taken. `items` are the levels of the pins of an item, by name:
  // those not accepted yet, the first of which stays on offer from one call to the next. The
  // columns of all pins are typed arrays by name, with so many elements a cycle (or an item) as a
  // pin has widths. The number of accepted items is `accepted`.
  run(items, gaps, stalls) {
    const count = this.#checked(items, gaps, stalls);
    const blocks = [];
    const place = (size) => {
      const address = this.#code.malloc(size || 1);
      if (!address) throw new Error("out of memory");
      blocks.push(address);
      return address;
    };
    // The memory may grow with each place, and in a run: an older view of it would be empty then.
    const view = (Type, address, size) => new Type(this.#code.memory.buffer, address, size);
    const elements = (pin, rows) => rows * pin.widths.length;
    try {
      const reads = this.inputs.map((pin) => place(elements(pin, count) * pin.bytes));
      const writes = this.pins.map((pin) => place(elements(pin, gaps.length) * pin.bytes));
      const [reading, writing] = [reads, writes].map((of) => place(4 * of.length));
      const idles = this.inputs.map((pin) => place(elements(pin, 1) * pin.bytes));
      const idle = place(4 * idles.length);
      const [gap, stall, reset] = Array(3).fill(gaps.length).map(place);
      const [idleRows, offered] = [4 * gaps.length, 1].map(place);
      this.inputs.forEach((pin, i) =>
        view(ARRAYS[pin.bytes], reads[i], elements(pin, count)).set(items[pin.name]));
      view(Uint32Array, reading, reads.length).set(reads);
      view(Uint32Array, writing, writes.length).set(writes);
      view(Uint8Array, gap, gaps.length).set(Uint8Array.from(gaps, Boolean));
      view(Uint8Array, stall, gaps.length).set(Uint8Array.from(stalls, Boolean));
      view(Uint8Array, reset, gaps.length).fill(0);
      // While nothing is offered the payload is all ones.
      this.inputs.forEach((pin, i) =>
        view(Uint8Array, idles[i], elements(pin, 1) * pin.bytes).fill(0xff));
      view(Uint32Array, idle, idles.length).set(idles);
      view(Int32Array, idleRows, gaps.length).fill(0);
      view(Uint8Array, offered, 1)[0] = this.#isOffered;
      const [rows, most] = [gaps.length, count].map(BigInt);
      const accepted = this.#code.model_run(
        this.#model, rows, gap, stall, reset, reading, most, idle, idleRows, 0, offered, writing);
      this.#isOffered = view(Uint8Array, offered, 1)[0];
      this.cycle += gaps.length;
      const columns = this.pins.map((pin, i) => {
        const column = view(ARRAYS[pin.bytes], writes[i], elements(pin, gaps.length));
        return [pin.name, column.slice()];
      });
      return { columns: Object.fromEntries(columns), accepted: Number(accepted) };
    } finally {
      blocks.forEach((address) => this.#code.free(address));
    }
  }

  // How many items there are, if the columns fit.
  #checked(items, gaps, stalls) {
    if (gaps.length !== stalls.length) throw new RangeError("gaps and stalls must be equally many");
    const sizes = this.inputs.map((pin) => {
      if (!(pin.name in items)) throw new TypeError(`items must have a column ${pin.name}`);
      return items[pin.name].length / pin.widths.length;
    });
    if (!Number.isInteger(sizes[0]) || sizes.some((size) => size !== sizes[0]))
      throw new RangeError("columns of items must be of one length");
    return sizes[0];
  }
}
