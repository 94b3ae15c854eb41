"""Test the Verilog of components with lanes in a bench with cocotbext-axi, as a user would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from needs import needs
from utf8_flow.designs import DesignSpec
from verilog_cache import verilog_of_spec

RUN = """
import sys
from cocotb_tools.runner import get_runner
source, module, folder = sys.argv[1:]
runner = get_runner("icarus")
runner.build(sources=[source], hdl_toplevel=module, build_dir=folder, timescale=("1ns", "1ps"))
runner.test(hdl_toplevel=module, test_module="axi_texts", build_dir=folder, test_dir=folder, seed=1)
"""

needs_cocotb = needs("iverilog", modules=["cocotb", "cocotbext"])


def run_texts(folder: Path, spec: DesignSpec, verilog: str, texts: int = 12) -> str:
    """The output of cocotb."""
    (folder / "design.v").write_text(verilog)
    module, *_ = re.findall(r"^module (\w+)", verilog, re.M)
    arguments = [sys.executable, "-c", RUN, "design.v", module, str(folder)]
    path, own = os.pathsep.join([str(Path(__file__).parent), *sys.path]), dict(spec.own)
    environment = {"PYTHONPATH": path, "COMPONENT": spec.component, "COCOTB_ANSI_OUTPUT": "0"}
    environment |= {"SOURCE": own.get("source", "utf-8"), "TARGET": own.get("target", "utf-16le")}
    environment |= {"TEXTS": str(texts)} | ({"REPORTS": "1"} if own.get("errors") else {})
    ran = subprocess.run(
        arguments, cwd=folder, env=os.environ | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.stdout + ran.stderr


def with_lanes(component: str, lanes: int, **own: object) -> DesignSpec:
    return DesignSpec(component, lanes=lanes, own=own)


VALIDATOR = with_lanes("validator", 4)
DECODER = with_lanes("decoder", 2)
TRANSCODER = with_lanes("transcoder", 4, errors=True)
COMPACTOR = with_lanes("compactor", 4)
MORE = [
    VALIDATOR,
    DECODER,
    TRANSCODER,
    with_lanes("validator", 1),
    with_lanes("compactor", 1),
    with_lanes("transcoder", 1),
    with_lanes("transcoder", 4, target="utf-32le"),
    with_lanes("transcoder", 4, source="utf-16be", target="utf-8", errors=True),
    with_lanes("transcoder", 4, source="utf-32be", target="utf-16be"),
]


@pytest.mark.sample(1)
@needs_cocotb
@pytest.mark.parametrize(
    ("spec", "count"),
    [(COMPACTOR, 12), *((spec, 150) for spec in MORE)],
    ids=lambda value: value.label if isinstance(value, DesignSpec) else None,
)
def test_texts_match_cpython(spec, count, tmp_path):
    printed = run_texts(tmp_path, spec, verilog_of_spec(spec), count)
    assert " PASS=4 FAIL=0 " in printed, printed[-3000:]


@pytest.mark.long
@needs_cocotb
@pytest.mark.parametrize(
    ("spec", "port", "wrong"),
    [
        (DECODER, "m_axis_tuser", r"(\1) ^ 24'h800000"),
        (DECODER, "m_axis_tkeep", r"(\1) | 1"),
        (VALIDATOR, "m_axis_tuser", r"(\1) & ~36'h10"),
        (VALIDATOR, "s_axis_tready", "1'b1"),
        (TRANSCODER, "m_axis_tuser", r"(\1) & ~(68'h2 << 36)"),
        (TRANSCODER, "m_axis_tdata", r"(\1) | 1"),
    ],
    ids=lambda value: value.label if isinstance(value, DesignSpec) else None,
)
def test_bench_detects_broken_verilog(spec, port, wrong, tmp_path):
    assign = rf"(?ms)^  assign {port} = (.*?);$"
    broken, found = re.subn(assign, f"  assign {port} = {wrong};", verilog_of_spec(spec))
    assert found == 1
    printed = run_texts(tmp_path, spec, broken)
    assert re.search(r" PASS=\d FAIL=[1-4] ", printed), printed[-3000:]
