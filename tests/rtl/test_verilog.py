"""Test the generated Verilog: its text, lint, and its behaviour in Icarus Verilog."""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import utf8_hdl
from command import run
from needs import needs
from reference import ref_tokens
from rtl import STALLS, verilog_ports
from utf8_flow.designs import DesignSpec
from utf8_hdl import EXTENDED, UCS2, UCS4, UNICODE, ErrorKind, ErrorSpan, __version__
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import RandomStalls, Stimulus
from verilog_cache import patch_generate, verilog_of, verilog_of_spec

PLAIN = [DesignSpec(name, compact) for compact in (False, True) for name in ("decoder", "encoder")]
DECODER, ENCODER, COMPACT_DECODER, COMPACT_ENCODER = PLAIN
VARIANTS = [
    *(replace(spec, profile=profile) for profile in (UNICODE, EXTENDED) for spec in PLAIN),
    replace(DECODER, profile=UCS2),
    replace(COMPACT_ENCODER, profile=UCS4),
    replace(
        COMPACT_DECODER,
        profile=replace(
            UNICODE, accept_surrogates=True, accept_noncharacters=False,
            error_span=ErrorSpan.WHOLE_SEQUENCE,
        ),
    ),
]  # fmt: skip
"""Designs with one lane: all components, with the narrowest and widest data and other rules."""

UNMERGED = '(* keep = "true", dont_merge *) '
"""Attributes of registers that synthesis must not merge."""

ATTRIBUTE = r'\(\* X_INTERFACE_(INFO|PARAMETER) = "[^"]*" \*\)'

LANGUAGES = ["2001", "2005", "2005-sv", "2009", "2012"]
"""The language versions of Icarus Verilog."""


def name_of(value: object) -> str | None:
    return f"{value.label} {value.rules}" if isinstance(value, DesignSpec) else None


def each_design(specs: Iterable[DesignSpec] = PLAIN) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("spec", specs, ids=name_of)


# --- text and lint ------------------------------------------------------------------------------


@pytest.mark.sample(3)
@needs("iverilog", "verilator")
@each_design(VARIANTS)
def test_module_header_and_lint(spec, tmp_path):
    text = verilog_of_spec(spec)
    header, code = text.split("\nmodule ", 1)
    assert code.startswith(f"utf8_{'compact_' * spec.compact}{spec.component} ")
    assert not re.search(r"\b(task|generate)\b", re.sub("//.*", "", code))
    assert all(line.startswith("//") for line in header.splitlines())
    for words in (spec.profile.describe(), __version__):
        assert words in header.replace("\n// ", " ")
    for kind in ErrorKind if spec.component == "decoder" else ():
        assert f"{kind.value} {kind.label}" in header
    check_module(text, VARIANTS.index(spec), tmp_path)


def check_module(verilog: str, number: int, folder: Path) -> None:
    """The module has short lines, and no linter has a warning; one language version is tried.

    Its `always` blocks are registers, because some simulators never start an `always @*`.
    """
    always = {line.partition(" : ")[0] for line in re.findall(r"^ *(always\b.*)", verilog, re.M)}
    assert always == {"always @(posedge clk) begin"}
    assert max(map(len, verilog.splitlines())) <= 100
    assert "(*" not in re.sub(ATTRIBUTE, "", verilog.replace(UNMERGED, ""))
    (folder / "design.v").write_text(verilog)
    language = LANGUAGES[number % len(LANGUAGES)]
    for linter in (["iverilog", f"-g{language}", "-tnull"], ["verilator", "--lint-only"]):
        command = [*linter, "-Wall", "design.v"]
        lint = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert (lint.returncode, lint.stdout + lint.stderr) == (0, "")


@pytest.mark.parametrize(
    ("spec", "lines"), [*zip(PLAIN, [440, 315, 245, 155], strict=True)], ids=name_of
)
def test_module_is_short_with_names_of_source(spec, lines):
    text = verilog_of_spec(spec)
    assert len(text.splitlines()) <= lines
    code = text[text.index("\nmodule ") :]
    module = f"compact_{spec.component}" if spec.compact else spec.component
    folder = Path(utf8_hdl.__file__).parent
    source = "".join(
        (folder / f"{name}.py").read_text() for name in (module, "flow_control/pipeline")
    )
    names = re.findall(r"^  (?:reg|wire) (?:\[\d+:0\] )?(\w+)(?:;| = )", code, re.M)
    assert len(names) > 5
    for name in names:
        word = name.removesuffix("_next").split("_")[0]
        assert word in source or word == "logic", name
    headings = re.findall(r"^  // (.*)", code, re.M)
    assert headings[-1] == "Outputs"
    if not spec.compact:
        stages = [each[:7] for each in headings if each.startswith("Stage ")]
        assert stages == [f"Stage {number}" for number in range(1, 8)]


@pytest.mark.long
@pytest.mark.parametrize("options", [(), ("--component", "encoder", "--compact")])
def test_polarities_differ_only_in_clock_and_reset(options, monkeypatch):
    patch_generate(monkeypatch)
    plain, high, low = (
        run("generate", *options, *polarity).out
        for polarity in ((), ("--reset-polarity", "high"), ("--reset-polarity", "low"))
    )
    assert high == plain
    assert "synchronous reset, active high\n" in high
    header, code = low.split("\nmodule ", 1)
    assert "reset, active low and synchronous" in header
    assert code.count("if (!aresetn)") > 1
    names = {"aclk": "clk", "!aresetn": "rst", "aresetn": "rst", "ACTIVE_LOW": "ACTIVE_HIGH"}
    for name, other in names.items():
        code = code.replace(name, other)
    assert code == high.split("\nmodule ", 1)[1]


def with_lanes(component: str, lanes: int, **own: object) -> DesignSpec:
    return DesignSpec(component, lanes=lanes, own=own)


@pytest.mark.sample(1)
@needs("iverilog", "verilator")
@each_design(
    [
        with_lanes("validator", 2),
        with_lanes("transcoder", 4),
        with_lanes("decoder", 4),
        with_lanes("compactor", 4, width=12),
        replace(with_lanes("validator", 1), profile=UCS2),
        replace(with_lanes("validator", 4), profile=UCS4),
        replace(with_lanes("decoder", 2), profile=EXTENDED),
        with_lanes("transcoder", 2, source="utf-16le", target="utf-8"),
        with_lanes("transcoder", 8, target="utf-32le", errors=True),
        with_lanes("transcoder", 4, source="utf-32be", target="utf-16le", errors=True),
        with_lanes("transcoder", 4, target="utf-8", strip_bom=True),
        with_lanes("compactor", 64),
        with_lanes("decoder", 32),
    ]
)
def test_lint_with_lanes(spec, tmp_path):
    check_module(verilog_of_spec(spec), spec.lanes, tmp_path)


@pytest.mark.long
def test_copies_of_registers_have_attributes_against_merging():
    text = verilog_of_spec(with_lanes("validator", 8))
    assert f"  {UNMERGED}output reg accepts\n" in text
    assert re.search(rf"{re.escape(UNMERGED)}.*chunk_0_writes", text)


# --- lockstep with the golden model -------------------------------------------------------------


def differs(verilog: str, spec: DesignSpec, *parts: str) -> bool:
    """True if Icarus Verilog and the golden model differ in these parts of the campaign."""
    engine = IcarusEngine(spec.make(), verilog)
    return any(
        Lockstep(engine, Stimulus(part.pieces(), *STALLS["both slow"])).run()
        for part in engine.component.campaign(engine.design, 1)
        if part.name in parts
    )


@pytest.mark.sample(2)
@needs("iverilog")
@each_design(
    [
        COMPACT_DECODER,
        replace(DECODER, profile=EXTENDED),
        COMPACT_ENCODER,
        replace(ENCODER, profile=EXTENDED),
    ]
)
def test_icarus_matches_the_golden_model(spec):
    parts = "boundary code points", "random hostile bytes", "random values"
    assert not differs(verilog_of_spec(spec), spec, *parts)


@pytest.mark.long
@needs("iverilog")
@each_design(
    [
        with_lanes("decoder", 2),
        with_lanes("validator", 2),
        with_lanes("compactor", 16, width=40),
        with_lanes("transcoder", 16),
    ]
)
def test_icarus_matches_the_golden_model_with_resets(spec):
    engine = IcarusEngine(spec.make(), verilog_of_spec(spec))
    pieces = engine.component.fuzz(engine.design, np.random.default_rng(1))
    resets = RandomStalls(0.01, 3)
    assert not Lockstep(engine, Stimulus(pieces, *STALLS["both slow"], 5000, resets)).run()


@needs("iverilog")
def test_lockstep_detects_broken_verilog():
    text, good = verilog_of_spec(DECODER), "& ~pair_last"
    assert good in text
    assert differs(text.replace(good, ""), DECODER, "every pair of classes")


# --- a user's bench -----------------------------------------------------------------------------

BENCH = Path(__file__).with_name("language_modes.v")
DEFAULTS = "-g2012", "-DVAR=logic", "-DIDLE=1'b1"
HOSTILE = bytes.fromhex("80 41 E282AC EDA080 F09F9880 F09080 41 C0AF E08080 FF F49080 C2")
CODE_POINTS = [0x41, 0xA9, 0x20AC, 0x1F600, 0xD800, 0x110000, 0x10FFFF, 0x80000041]


def inputs_and_outputs(component: str) -> tuple[list[int], list[tuple[int, int, int]]]:
    """The inputs of `language_modes.v`, and the outputs that it must print: data, tuser, tlast."""
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


def matches_in_bench(
    folder: Path, verilog: str, spec: DesignSpec, options: Iterable[str] = DEFAULTS
) -> bool:
    """True if `language_modes.v` prints the expected outputs."""
    inputs, outputs = inputs_and_outputs(spec.component)
    widths = verilog_ports(verilog)
    width = widths["s_axis_tdata"]
    lasts = [0] * (len(inputs) - 1) + [1]
    items = [f"{last << width | value:x}\n" for value, last in zip(inputs, lasts, strict=True)]
    (folder / "inputs.hex").write_text("".join(items))
    (folder / "design.v").write_text(verilog)
    module, *_ = re.findall(r"^module (\w+)", verilog, re.M)
    macros = {
        "DUT": module, "IN": width, "OUT": widths["m_axis_tdata"],
        "USER": widths["m_axis_tuser"], "COUNT": len(inputs),
    }  # fmt: skip
    sources = [*(f"-D{n}={v}" for n, v in macros.items()), *options, BENCH, "design.v"]
    for command in ["iverilog", "-s", "bench", "-o", "bench", *sources], ["vvp", "-n", "bench"]:
        ran = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    digits = [-(-widths[port] // 4) for port in ("m_axis_tdata", "m_axis_tuser", "m_axis_tlast")]
    expected = [
        " ".join(f"{value:0{width}x}" for value, width in zip(output, digits, strict=True))
        for output in outputs
    ]
    return [line for line in ran.stdout.splitlines() if "$finish" not in line] == expected


@pytest.mark.sample
@needs("iverilog")
@each_design()
@pytest.mark.parametrize("language", LANGUAGES)
def test_bench_in_each_language(spec, language, tmp_path):
    """The bench has a timescale or none, and initial values in declarations or in a block.

    Data on an idle bus is X.
    """
    variable = "reg" if language in ("2001", "2005") else "logic"
    number = LANGUAGES.index(language) + PLAIN.index(spec)
    styles = [style for bit, style in enumerate(("-DDECLARED", "-DTIMESCALE")) if number >> bit & 1]
    options = [f"-g{language}", f"-DVAR={variable}", "-DIDLE=1'bx", *styles]
    assert matches_in_bench(tmp_path, verilog_of_spec(spec), spec, options)


@pytest.mark.sample
@needs("iverilog")
@each_design()
@pytest.mark.parametrize("wire", ["data", "last", "valid", "ready", "rst"])
def test_reset_recovers_from_an_undefined_input(spec, wire, tmp_path):
    verilog, options = verilog_of_spec(spec), [*DEFAULTS, f"-DUNDEFINED={wire}"]
    assert matches_in_bench(tmp_path, verilog, spec, options)
    without_reset = verilog.replace("if (rst) ", "if (1'b0) ")
    assert not matches_in_bench(tmp_path, without_reset, spec, options)


@needs("iverilog")
@pytest.mark.parametrize("low", [False, True])
def test_undefined_reset_is_inactive(low, tmp_path):
    verilog = verilog_of(DECODER.make(), active_low_reset=low)
    undefined = {"if (rst)": "if (rst ? 1'b1 : 1'bx)"}
    if low:  # the bench has the other names
        undefined = {"if (!aresetn)": "if (!(rst ? 1'b0 : 1'bx))", "aresetn": "rst", "aclk": "clk"}
    for old, new in undefined.items():
        assert old in verilog
        verilog = verilog.replace(old, new)
    assert matches_in_bench(tmp_path, verilog, DECODER)


@pytest.mark.sample(1)
@needs("iverilog")
@each_design()
def test_reset_replaces_initial_values(spec, tmp_path):
    """The bench begins with a reset."""
    verilog = verilog_of(spec.make(), initial_values=False)
    assert "initial" not in re.sub("//.*", "", verilog)
    assert "--no-initial-values\n" in verilog
    assert matches_in_bench(tmp_path, verilog, spec)
    without_reset = verilog.replace("if (rst) ", "if (1'b0) ")
    assert not matches_in_bench(tmp_path, without_reset, spec)


@needs("iverilog")
def test_bench_detects_broken_verilog(tmp_path):
    verilog, good = verilog_of_spec(DECODER), "split_high_C & split_low_23456789ABCDEF"
    assert verilog.count(good) == 2
    assert not matches_in_bench(tmp_path, verilog.replace(good, "split_high_C"), DECODER)
