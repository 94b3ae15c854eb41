// Simulates a design: its gateware as WebAssembly, with the driver of the engine `cxxrtl`. Works in
// a browser and in Node.js, without imports.

const ARRAYS = { 1: Uint8Array, 4: Uint32Array, 8: BigUint64Array };

// Load a design of the page; `url` is the name of its two files without the suffix.
export async function load(url) {
  const files = [`${url}.wasm`, `${url}.json`].map(async (name) => {
    const response = await fetch(name, { cache: "no-cache" });
    if (!response.ok) throw new Error(`cannot load ${name}: ${response.status}`);
    return response;
  });
  const [bytes, description] = await Promise.all(files);
  return create(await bytes.arrayBuffer(), await description.json());
}

// Create a design from the bytes of its module and its description.
export async function create(bytes, description) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  return new Simulation(instance.exports, description);
}

// A design in its current cycle. See wasm.py for the description of `pins`.
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

  // Return to the first cycle after reset.
  restart() {
    if (this.#model) this.#code.model_destroy(this.#model);
    this.#model = this.#code.model_create();
    if (!this.#model) throw new Error("out of memory");
    this.#isOffered = 0;
    this.cycle = 0;
  }

  // Simulate `gaps.length` cycles. The producer stalls in cycles in which `gaps` is true, and the
  // consumer in cycles in which `stalls` is true. `items` has a column for each input pin, by name,
  // with the items not accepted yet; an offered item is held from one call to the next. The result
  // has `columns`, a typed array for each pin by name, and the number of `accepted` items. A column
  // has an element for each cycle (or item) and each of the pin's widths.
  run(items, gaps, stalls) {
    const count = this.#checked(items, gaps, stalls);
    const blocks = [];
    const place = (size) => {
      const address = this.#code.malloc(size || 1);
      if (!address) throw new Error("out of memory");
      blocks.push(address);
      return address;
    };
    // Allocations and a run may grow the memory, which detaches older views of it.
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
      // In idle cycles, the payload is all ones.
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

  // The number of items; an error if the columns do not match the pins.
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
