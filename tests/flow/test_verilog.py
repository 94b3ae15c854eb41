"""The generated Verilog: its text, what linters say, and how another simulator runs it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from utf8_flow.verilog import generate_decoder
from utf8_hdl import PROFILES, UNICODE, Kind, __version__

PORTS = [
    "clk", "rst",
    "s_axis_tdata", "s_axis_tvalid", "s_axis_tready", "s_axis_tlast",
    "m_axis_tdata", "m_axis_tvalid", "m_axis_tready", "m_axis_tlast", "m_axis_tuser",
]  # fmt: skip

RUN_BENCH = """
import sys
from cocotb_tools.runner import get_runner
source, build = sys.argv[1:]
runner = get_runner("icarus")
runner.build(sources=[source], hdl_toplevel="utf8_decoder", build_dir=build,
             build_args=["-g2001", "-Wall"], timescale=("1ns", "1ps"))
runner.test(hdl_toplevel="utf8_decoder", test_module="verilog_bench", build_dir=build,
            results_xml=build + "/results.xml")
"""


def needs(tool: str):
    return pytest.mark.skipif(not shutil.which(tool), reason=f"{tool} is not installed")


@pytest.fixture(scope="module", params=PROFILES.values(), ids=PROFILES)
def profile(request):
    return request.param


@pytest.fixture(scope="module")
def verilog(profile, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("verilog") / f"{profile.name}.v"
    path.write_text(generate_decoder(profile))
    return path


def test_one_module_with_the_ports_of_the_contract(verilog):
    modules = re.findall(r"^module (\w+)\((.*)\);$", verilog.read_text(), re.M)
    assert modules == [("utf8_decoder", ", ".join(PORTS))]


def test_widths_of_the_ports(verilog, profile):
    text = verilog.read_text()
    widths = {
        name: int(high or 0) + 1
        for high, name in re.findall(r"^  (?:in|out)put (?:\[(\d+):0\] )?(\w+);$", text, re.M)
    }
    tdata = 64 if profile.code_point_width > 32 else 32
    wide = {"s_axis_tdata": 8, "m_axis_tdata": tdata, "m_axis_tuser": 8}
    assert widths == {port: wide.get(port, 1) for port in PORTS}


def test_header_names_profile_version_and_codes(verilog, profile):
    header = verilog.read_text().split("module ")[0]
    assert profile.describe() in header
    assert __version__ in header
    for kind in Kind:
        assert f"{kind.value} {kind.label}" in header
    assert all(line.startswith(("//", "/*")) or not line for line in header.splitlines())


def test_same_bytes_on_every_run_and_no_paths():
    text = generate_decoder(UNICODE)
    script = (
        "from utf8_flow.verilog import generate_decoder; from utf8_hdl import UNICODE;"
        "print(generate_decoder(UNICODE), end='')"
    )
    other_run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True,
        cwd="/", env={"PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert other_run.stdout == text
    assert str(Path.cwd()) not in text
    assert not re.search(r"\.py\b|/home|/usr|/tmp", text)


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
@pytest.mark.parametrize("stalls", [0.0, 0.3])
def test_icarus_runs_it_in_lockstep_with_the_golden_model(verilog, profile, stalls, tmp_path):
    run = run_bench(verilog, tmp_path, profile.name, stalls)
    assert " FAIL=0 " in run.stdout, run.stdout[-3000:] + run.stderr[-3000:]
    assert " PASS=3 " in run.stdout
    assert run.returncode == 0


@needs("iverilog")
@pytest.mark.parametrize(
    ("good", "bad", "failures"),
    [
        ("8'b1100000?", "8'b11000000", 1),
        ("decoder_i__payload[8] ?", "1'b0 ?", 1),
        ("21'h00fffd", "21'h00fffc", 3),
    ],
    ids=["C1 is not overlong", "text goes on after last", "wrong replacement"],
)
def test_bench_fails_on_broken_verilog(good, bad, failures, tmp_path):
    text = generate_decoder(UNICODE)
    assert good in text
    path = tmp_path / "broken.v"
    path.write_text(text.replace(good, bad))
    run = run_bench(path, tmp_path, "unicode", 0.3)
    assert f" FAIL={failures} " in run.stdout, run.stdout[-3000:] + run.stderr[-3000:]


def run_bench(verilog: Path, folder: Path, profile: str, stalls: float):
    registers = re.findall(r"^  reg (?:\[\d+:0\] )?(\w+) = ", verilog.read_text(), re.M)
    assert {"decoder_state", "decoder_spare_valid", "decoder_o__valid"} <= set(registers)
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).parent),
        "BENCH_PROFILE": profile,
        "BENCH_STALLS": str(stalls),
        "BENCH_SEED": "1",
        "BENCH_REGISTERS": ",".join(registers),
    }
    return subprocess.run(
        [sys.executable, "-c", RUN_BENCH, verilog, str(folder / "build")],
        capture_output=True, text=True, check=False, env=environment, cwd=folder,
    )  # fmt: skip
