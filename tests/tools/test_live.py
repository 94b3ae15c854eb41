"""Designs of the live page: WebAssembly in Node.js against the engine, descriptions, the build."""

import base64
import importlib.util
import json
import re
import subprocess
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import names
from hostile import HOSTILE
from needs import needs, needs_compiler
from rtl import broken
from second_oracle import needs_node, node
from utf8_flow.live import build, wasm
from utf8_flow.live.build import DESIGN_SETS, SPECS, specs_of
from utf8_flow.live.ports import axi_ports
from utf8_flow.live.stages import described, registers_of
from utf8_flow.live.wasm import description, webassembly, whole_interface, write_page_module
from utf8_hdl import EXTENDED, CompactDecoder, Decoder, Encoder, Transcoder, Validator
from utf8_sim import RandomStalls
from utf8_sim.engines.compiled import CxxrtlEngine, cxxrtl_library, design_code
from utf8_sim.engines.engine import Plan
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools import yowasp
from utf8_sim.tools.errors import ToolError
from utf8_sim.trace import Columns

ROOT = Path(__file__).parents[2]
PAGE = Path(wasm.__file__).parent / "page"
CYCLES = 4096
PARTS = 1, 2, 500, 1, CYCLES - 504

pytestmark = [needs_compiler, needs_node]
needs_zig = needs(modules=[wasm.COMPILER])

DESIGNS = {
    "compact decoder": CompactDecoder,
    "decoder": Decoder,
    "encoder": partial(Encoder, EXTENDED),
    "validator of 2 lanes": partial(Validator, lanes=2),
}
# The columns of some windows, in two runs of a design: before and after a restart.
RUN = """
import { readFileSync } from "node:fs";
const { engine, folder, items, gaps, stalls, parts } = JSON.parse(readFileSync(0));
const { create } = await import(engine);
const description = JSON.parse(readFileSync(`${folder}/design.json`));
const simulation = await create(readFileSync(`${folder}/design.wasm`), description);
const remaining = (count) => Object.fromEntries(simulation.inputs.map((pin) => {
  const levels = pin.bytes === 8 ? items[pin.name].map(BigInt) : items[pin.name];
  return [pin.name, levels.slice(count * pin.widths.length)];
}));
const life = () => {
  let accepted = 0, cycle = 0;
  return parts.map((cycles) => {
    const window = [gaps, stalls].map((side) => side.slice(cycle, cycle + cycles));
    const run = simulation.run(remaining(accepted), ...window);
    accepted += run.accepted;
    cycle += cycles;
    if (simulation.cycle !== cycle) throw new Error("lost count");
    return Object.fromEntries(Object.entries(run.columns).map(([name, column]) =>
      [name, Buffer.from(column.buffer).toString("base64")]));
  });
};
const first = life();
simulation.restart();
console.log(JSON.stringify([first, life()]));
"""


@cache
def engine(name: str) -> CxxrtlEngine:
    """The engine, with the registers of the stages as pins."""
    found = CxxrtlEngine(design := DESIGNS[name]())
    found.interface = whole_interface(design)
    found.library = cxxrtl_library(design_code(design, found.interface))
    return found


def stimulus(name: str) -> Stimulus:
    values = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xFFFF, 0x10000, 0x1FFFFF]
    texts = [values * 40] if name == "encoder" else HOSTILE * 4
    return Stimulus([(text, True) for text in texts], RandomStalls(0.3, 1), RandomStalls(0.3, 2))


def in_javascript(
    design: Any, folder: Path, items: Columns, gaps: np.ndarray, stalls: np.ndarray
) -> list[Columns]:
    """The trace of a design in JavaScript, in two runs with a restart between them."""
    write_page_module(design, folder, "design")
    task = {
        "engine": (PAGE / "engine.js").as_uri(),
        "folder": str(folder),
        "items": {name: column.ravel().tolist() for name, column in items.items()},
        "gaps": gaps.tolist(),
        "stalls": stalls.tolist(),
        "parts": PARTS,
    }
    command = [node(), "--input-type=module", "-e", RUN]
    process = subprocess.run(
        command, input=json.dumps(task), capture_output=True, text=True, check=False
    )
    assert not process.returncode, process.stderr
    pins = {pin["name"]: pin for pin in description(design)["pins"]}

    def column(name: str, windows: list[dict[str, str]]) -> np.ndarray:
        levels = b"".join(base64.b64decode(window[name]) for window in windows)
        flat = np.frombuffer(levels, dtype=f"<u{pins[name]['bytes']}")
        lanes = len(pins[name]["widths"])
        return flat.reshape(-1, lanes) if lanes > 1 else flat

    return [
        {name: column(name, windows) for name in windows[0]}
        for windows in json.loads(process.stdout)
    ]


def both(name: str, design: Any, folder: Path) -> tuple[Columns, list[Columns]]:
    """The trace of the named design in this process, and of ``design`` in JavaScript."""
    given = stimulus(name)
    pieces = list(engine(name).items(given))
    items = {pin: np.concatenate([piece[pin] for piece in pieces]) for pin in pieces[0]}
    sides = given.input_stalls, given.output_stalls
    gaps, stalls = (next(side.windows(CYCLES)) for side in sides)
    with engine(name).start() as simulation:
        # In idle cycles, the payload on the page is all ones.
        ones = {pin: ~np.zeros_like(column[:1]) for pin, column in items.items()}
        no_resets, row = np.zeros(CYCLES, dtype=bool), np.zeros(CYCLES, dtype=np.int32)
        here = simulation.window(Plan(gaps, stalls, no_resets, items, ones, row))
    assert here.is_taken.sum() > 300
    del here.columns["reset"]
    return here.columns, in_javascript(design, folder, items, gaps, stalls)


@needs_zig
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", DESIGNS)
def test_javascript_equals_the_engine(name, tmp_path):
    here, lives = both(name, engine(name).design, tmp_path)
    for life in lives:
        assert here.keys() == life.keys()
        assert [pin for pin in here if not np.array_equal(here[pin], life[pin])] == []


@pytest.mark.long
@needs_zig
def test_broken_gateware_differs(tmp_path):
    copy = broken("kind: FF is out of range")
    here, lives = both("decoder", copy, tmp_path)
    pins = [name for name in here if name.startswith(("i.", "o."))]  # it has other registers
    for life in lives:
        assert [n for n in pins if not np.array_equal(here[n], life[n])] == ["o.kind"]


@pytest.mark.long
@needs_zig
def test_module_imports_nothing():
    module = webassembly(Validator(lanes=8)).read_bytes()  # it has a memory
    look = "WebAssembly.Module.imports(new WebAssembly.Module(require('fs').readFileSync(0)))"
    command = [node(), "-p", f"{look}.length"]
    found = subprocess.run(command, input=module, capture_output=True, check=True)
    assert found.stdout == b"0\n"


def test_description_of_pins():
    pins = {pin["name"]: pin for pin in description(Decoder())["pins"]}
    assert pins["state"]["names"][1] == "START"
    assert pins["o.kind"]["names"][3] == "overlong"
    data = {"name": "i.data", "driven": True, "item": True, "widths": [8], "bytes": 1, "names": {}}
    assert pins["i.data"] == data | {"axi": "s_axis_tdata"}


@pytest.mark.parametrize(
    ("name", "module"), [("decoder", "utf8_decoder"), ("validator-8", "utf8_validator_8")]
)
def test_ports_are_those_of_the_verilog(name, module):
    text = (ROOT / f"verilog/{module}.v").read_text()
    ports = axi_ports(SPECS[name].make())
    streams = {
        port for port in re.findall(r"(?:in|out)put wire .*?(\w+),?\n", text) if "axis" in port
    }
    assert {port.partition("[")[0] for port in ports.values()} == streams
    fields = re.findall(r"^//   (tuser\[[\d:]+\]) +(\w+)", text, re.MULTILINE)
    assert len(fields) == 3
    assert {(port[7:], pin[2:]) for pin, port in ports.items() if "[" in port} == set(fields)


@needs(modules=["furo"])
def test_colours_are_those_of_the_documentation():
    names = {"back": "background-primary", "front": "foreground-primary", "accent": "brand-content"}
    package = importlib.util.find_spec("furo").origin
    sheet = Path(package).parent / "theme/furo/static/styles/furo.css"
    for name, pair in re.findall(
        r"--(\w+): light-dark\((.*?)\);", (PAGE / "style.css").read_text()
    ):
        if name in names:
            found = re.findall(rf"--color-{names.pop(name)}:(#\w+)", sheet.read_text())
            assert pair.split(", ") == list(dict.fromkeys(found))
    assert names == {}


def test_missing_compiler_is_named(monkeypatch):
    monkeypatch.setattr(yowasp.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ToolError, match=r"^live needs ziglang: .* '\.\[live\]'$"):
        webassembly(Decoder())


def test_stages_have_their_registers_in_order():
    stages = described(registers_of(Decoder()))
    labels = [stage["name"].partition(":")[0] for stage in stages]
    steps = ["take", "split", "pair", "classify", "count", "make", "deliver"]
    numbered = [f"Stage {number}, {name}" for number, name in enumerate(steps, start=1)]
    assert labels == ["Flow control", "Skid register", *numbered]
    valid = ["", "skid_taken", *(f"{name}_valid" for name in steps[:-1]), "o.valid"]
    assert [stage["valid"] or "" for stage in stages] == valid
    skid = next(register for register in stages[1]["registers"] if register["name"] == "skid")
    assert skid == {"name": "skid", "width": 9, "fields": [("data", 0, 8), ("last", 8, 1)]}
    assert {"take_data", "take_last"} < {register["name"] for register in stages[2]["registers"]}
    assert {"state"} < {register["name"] for register in stages[6]["registers"]}


@pytest.mark.long
def test_stages_with_lanes_show_valid_bits():
    stages = described(registers_of(Transcoder(lanes=4)))
    assert len(stages) == 20 + 1, "and the output"
    assert all(stage["valid"] == stage["registers"][0]["name"] for stage in stages)


@pytest.mark.parametrize("designs", DESIGN_SETS)
def test_page_has_every_component(designs):
    for name, plain in SPECS.items():
        specs = list(specs_of(plain, designs))
        assert (plain in specs) == (designs == "all" or not name.endswith("16"))
        for spec in specs:
            assert spec.make().i is not None
    counts = {"few": (1, 1), "common": (5, 4), "all": (4 * 2 * 2 * 2, 4 * 2 * 2)}
    found = (len(list(specs_of(SPECS[name], designs))) for name in ("decoder", "encoder"))
    assert tuple(found) == counts[designs]


def test_designs_are_compiled_once(monkeypatch, tmp_path):
    """Files are written to the page's folder only: a killed build leaves none elsewhere."""
    compiled = []
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def write(_: Any, folder: Path, name: str) -> None:
        assert [*temporary.iterdir()] == []
        folder.mkdir(parents=True, exist_ok=True)
        for suffix in ("wasm", "json"):
            (folder / f"{name}.{suffix}").write_text(name)
        compiled.append(name.rpartition("-")[0])

    def build_again(*components: str, designs: str = "few") -> list[str]:
        compiled.clear()
        monkeypatch.setattr(build, "SPECS", {name: SPECS[name] for name in components})
        build.write_page(tmp_path / "live", designs)
        return sorted(compiled)

    monkeypatch.setattr(build, "write_page_module", write)
    assert build_again("decoder", "encoder") == ["decoder", "encoder"]
    assert build_again("decoder", "encoder") == []
    assert build_again("decoder", designs="common") == ["decoder"] * 4  # the other rules
    place = tmp_path / "live" / build.DESIGNS
    index = json.loads((place / "index.json").read_text())
    files = {f"{each['file']}.{suffix}" for each in index["designs"] for suffix in ("wasm", "json")}
    assert names(place) == files | {"index.json"}  # no encoder
    next(place.glob("decoder-*.json")).unlink()  # as if it had been interrupted
    assert build_again("decoder", designs="common") == ["decoder"]
    monkeypatch.setattr(build, "contents", lambda _: [b"other sources"])
    assert build_again("decoder") == ["decoder"]


def test_interrupted_design_has_no_description(monkeypatch, tmp_path):
    """The description is written last: the next build compiles a design without one again."""
    write, module = Path.write_bytes, tmp_path / "module"
    module.touch()

    def write_one(path: Path, content: bytes) -> int:
        if any(tmp_path.glob("design.*")):
            raise KeyboardInterrupt
        return write(path, content)

    monkeypatch.setattr(wasm, "webassembly", lambda _: module)
    monkeypatch.setattr(Path, "write_bytes", write_one)
    with pytest.raises(KeyboardInterrupt):
        write_page_module(CompactDecoder(), tmp_path, "design")
    assert names(tmp_path) == {"module", "design.wasm"}


def test_failed_build_leaves_nothing(monkeypatch, tmp_path, capsys):
    def fails(*_: Any) -> None:
        raise ToolError("no compiler")

    monkeypatch.setattr(build, "write_page_module", fails)
    monkeypatch.setattr("sys.argv", ["build", str(tmp_path / "live"), "--designs", "few"])
    assert build.main() == 2
    assert capsys.readouterr().err.endswith("utf8-hdl: no compiler\n")
    assert not (tmp_path / "live").exists()
