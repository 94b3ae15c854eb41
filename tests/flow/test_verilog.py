"""The generated Verilog: its text, what linters say, and how another simulator runs it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from needs import needs
from utf8_flow.cli import choose_profile
from utf8_flow.verilog import generate
from utf8_hdl import PROFILES, Decoder, Encoder, Kind, __version__

PORTS = [
    "clk", "rst",
    "s_axis_tdata", "s_axis_tvalid", "s_axis_tready", "s_axis_tlast",
    "m_axis_tdata", "m_axis_tvalid", "m_axis_tready", "m_axis_tlast", "m_axis_tuser",
]  # fmt: skip

RUN_BENCH = """
import sys
from cocotb_tools.runner import get_runner
source, toplevel, build = sys.argv[1:]
runner = get_runner("icarus")
runner.build(sources=[source], hdl_toplevel=toplevel, build_dir=build,
             build_args=["-g2001", "-Wall"], timescale=("1ns", "1ps"))
runner.test(hdl_toplevel=toplevel, test_module="verilog_bench", build_dir=build,
            results_xml=build + "/results.xml")
"""


class Variant(NamedTuple):
    """What Verilog is generated for: component, and the rules as the command line takes them."""

    component: str
    rules: tuple[str, ...]

    @property
    def design(self) -> Decoder | Encoder:
        profile = choose_profile(*(rule or None for rule in self.rules))
        return (Decoder if self.component == "decoder" else Encoder)(profile)

    def __str__(self) -> str:
        return " ".join(word for word in (self.component, *self.rules) if word)


NAMED = [Variant(component, (name,)) for component in ("decoder", "encoder") for name in PROFILES]
OVERRIDDEN = [
    Variant("decoder", ("unicode", "accept", "", "")),
    Variant("decoder", ("unicode", "", "reject", "")),
    Variant("decoder", ("unicode", "", "", "whole-sequence")),
    Variant("decoder", ("ucs2", "accept", "accept", "whole-sequence")),
    Variant("decoder", ("ucs4", "", "accept", "whole-sequence")),
    Variant("decoder", ("extended", "accept", "", "whole-sequence")),
    Variant("encoder", ("unicode", "accept", "reject", "")),
]
DECODER = NAMED[0]

WHOLE = [variant for variant in NAMED if variant.rules == ("unicode",)]
QUICK = "boundary code points,random hostile bytes,random values"
"""Parts of the campaign for all but those. Elsewhere everybody gets the whole of it."""


@pytest.fixture(scope="module", params=NAMED + OVERRIDDEN, ids=str)
def variant(request) -> Variant:
    return request.param


@pytest.fixture(scope="module")
def verilog(variant, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("verilog") / "design.v"
    path.write_text(generate(variant.design))
    return path


def test_one_module_with_the_ports_of_the_contract(verilog, variant):
    modules = re.findall(r"^module (\w+)\((.*)\);$", verilog.read_text(), re.M)
    assert modules == [(f"utf8_{variant.component}", ", ".join(PORTS))]


def test_widths_of_the_ports(verilog, variant):
    text = verilog.read_text()
    widths = {
        name: int(high or 0) + 1
        for high, name in re.findall(r"^  (?:in|out)put (?:\[(\d+):0\] )?(\w+);$", text, re.M)
    }
    utf32 = 64 if variant.rules[0] == "extended" else 32
    if variant.component == "decoder":
        wide = {"s_axis_tdata": 8, "m_axis_tdata": utf32, "m_axis_tuser": 8}
    else:
        wide = {"s_axis_tdata": utf32, "m_axis_tdata": 8}
    assert widths == {port: wide.get(port, 1) for port in PORTS}


def test_header_names_profile_version_and_codes(verilog, variant):
    header = verilog.read_text().split("module ")[0]
    assert variant.design.profile.describe() in header
    assert __version__ in header
    if variant.component == "decoder":
        for kind in Kind:
            assert f"{kind.value} {kind.label}" in header
    assert all(line.startswith(("//", "/*")) or not line for line in header.splitlines())


@pytest.mark.parametrize("component", ["decoder", "encoder"])
def test_same_bytes_on_every_run_and_no_paths(component):
    text = generate(Variant(component, ("unicode",)).design)
    script = (
        "from utf8_flow.verilog import generate; from utf8_hdl import Decoder, Encoder;"
        f"print(generate({component.title()}()), end='')"
    )
    other_run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True,
        cwd="/", env={"PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert other_run.stdout == text
    assert str(Path.cwd()) not in text
    assert not re.search(r"\.py\b|\.cc\b|/home|/usr|/tmp", text)


@needs("iverilog")
def test_icarus_has_no_warning(verilog, tmp_path):
    run = subprocess.run(
        ["iverilog", "-g2001", "-Wall", "-o", tmp_path / "out", verilog],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout + run.stderr == ""


@needs("verilator")
def test_verilator_has_no_warning(verilog):
    run = subprocess.run(
        ["verilator", "--lint-only", "-Wall", verilog], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


@needs("iverilog")
def test_icarus_runs_it_in_lockstep_with_the_golden_model(verilog, variant, tmp_path):
    tests = 3 if variant.component == "decoder" else 2
    for stalls in (0.3, 0.0) if variant in WHOLE else (0.3,):
        run = run_bench(verilog, tmp_path, variant, stalls, "" if variant in WHOLE else QUICK)
        assert f" PASS={tests} FAIL=0 " in run.stdout, run.stdout[-3000:] + run.stderr[-3000:]
        assert run.returncode == 0


@needs("iverilog")
@pytest.mark.parametrize(
    ("good", "bad", "failures"),
    [
        ("decoder_high_C & decoder_low_23456789ABCDEF", "decoder_high_C", 1),
        ("~ decoder_pair_last", "1'b1", 1),
        ("assign m_axis_tlast = ", "assign m_axis_tlast = ~", 3),
    ],
    ids=["C0 and C1 are lead bytes", "text goes on after last", "last is inverted"],
)
def test_bench_fails_on_broken_verilog(good, bad, failures, tmp_path):
    text = generate(DECODER.design)
    assert good in text
    path = tmp_path / "broken.v"
    path.write_text(text.replace(good, bad))
    run = run_bench(path, tmp_path, DECODER, 0.3)
    assert f" FAIL={failures} " in run.stdout, run.stdout[-3000:] + run.stderr[-3000:]


def run_bench(verilog: Path, folder: Path, variant: Variant, stalls: float, parts: str = ""):
    registers = re.findall(r"^  reg (?:\[\d+:0\] )?(\w+_\w+) = ", verilog.read_text(), re.M)
    registers.remove("at_time_zero")
    assert {f"{variant.component}_state", f"{variant.component}_o__valid"} <= set(registers)
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).parent),
        "BENCH_COMPONENT": variant.component,
        "BENCH_RULES": ",".join(variant.rules),
        "BENCH_STALLS": str(stalls),
        "BENCH_SEED": "1",
        "BENCH_PARTS": parts,
        "BENCH_REGISTERS": ",".join(registers),
    }
    return subprocess.run(
        [sys.executable, "-c", RUN_BENCH, verilog, f"utf8_{variant.component}", folder / "build"],
        capture_output=True, text=True, check=False, env=environment, cwd=folder,
    )  # fmt: skip
