"""The Verilog of components with lanes, on a bench of cocotbext-axi as Verilog users have one."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from needs import needs
from utf8_flow.designs import DesignSpec
from utf8_flow.export.verilog import generate
from utf8_hdl import UNICODE

RUN = """
import sys
from cocotb_tools.runner import get_runner
source, module, folder = sys.argv[1:]
runner = get_runner("icarus")
runner.build(sources=[source], hdl_toplevel=module, build_dir=folder, timescale=("1ns", "1ps"))
runner.test(hdl_toplevel=module, test_module="axi_texts", build_dir=folder, test_dir=folder, seed=1)
"""

needs_cocotb = needs("iverilog", modules=["cocotb", "cocotbext"])


def run_texts(folder: Path, component: str, verilog: str, own: dict[str, Any]) -> str:
    """What cocotb says."""
    (folder / "design.v").write_text(verilog)
    [module] = re.findall(r"^module (\w+)", verilog, re.M)
    arguments = [sys.executable, "-c", RUN, "design.v", module, str(folder)]
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {"PYTHONPATH": path, "COMPONENT": component, "COCOTB_ANSI_OUTPUT": "0"}
    environment |= {"SOURCE": own.get("source", "utf-8"), "TARGET": own.get("target", "utf-16le")}
    environment |= {"REPORTS": "1"} if own.get("errors") else {}
    ran = subprocess.run(
        arguments, cwd=folder, env=os.environ | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.stdout + ran.stderr


def verilog_of(component: str, lanes: int, own: dict[str, Any]) -> str:
    return generate(DesignSpec(component, lanes=lanes, own=own).make(UNICODE))


TRANSCODERS = [
    {},
    {"target": "utf-32le"},
    {"source": "utf-16le", "target": "utf-8"},
    {"source": "utf-32be", "target": "utf-8"},
    {"target": "utf-8"},
    {"target": "utf-16be"},
    {"source": "utf-16be", "target": "utf-32le"},
    {"source": "utf-32le"},
    *({"source": source, "errors": True} for source in ("utf-8", "utf-16be", "utf-32le")),
]


@pytest.mark.sample(4)  # one of each component
@needs_cocotb
@pytest.mark.parametrize(
    ("component", "lanes", "own"),
    [
        *[("validator", lanes, {}) for lanes in (8, 1, 4, 64)],
        *[("decoder", lanes, {}) for lanes in (4, 2, 16)],
        *[("transcoder", 4, own) for own in TRANSCODERS],
        *[("compactor", lanes, {}) for lanes in (8, 1, 16)],
        *[("transcoder", lanes, {}) for lanes in (1, 2, 16)],
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_texts_come_through(component, lanes, own, tmp_path):
    said = run_texts(tmp_path, component, verilog_of(component, lanes, own), own)
    assert " PASS=4 FAIL=0 " in said, said[-3000:]


@pytest.mark.sample(5)
@needs_cocotb
@pytest.mark.parametrize(
    ("component", "port", "wrong"),
    [
        ("validator", "m_axis_tkeep", r"(\1) | 1"),
        ("decoder", "m_axis_tuser", r"(\1) ^ 40'h8000000000"),
        ("validator", "m_axis_tuser", r"(\1) & ~36'h10"),
        ("validator", "m_axis_tlast", "1'b0"),
        ("validator", "s_axis_tready", "1'b1"),
        ("decoder", "m_axis_tkeep", r"(\1) | 1"),
        ("decoder", "m_axis_tdata", r"(\1) | 1"),
        ("decoder", "s_axis_tready", "1'b1"),
        ("transcoder", "m_axis_tuser", "1'b0"),
        ("transcoder reports", "m_axis_tuser", r"(\1) & ~68'h20"),
        ("transcoder reports", "m_axis_tuser", r"(\1) & ~(68'h2 << 36)"),
        ("transcoder", "m_axis_tkeep", r"(\1) | 2"),
        ("transcoder", "m_axis_tdata", r"(\1) | 1"),
        ("transcoder", "s_axis_tready", "1'b1"),
        ("compactor", "m_axis_tkeep", r"(\1) | 2"),
        ("compactor", "m_axis_tdata", r"(\1) | 1"),
        ("compactor", "m_axis_tlast", "1'b0"),
        ("compactor", "s_axis_tready", "1'b1"),
    ],
)
def test_broken_verilog_is_noticed(component, port, wrong, tmp_path):
    assign = rf"(?ms)^  assign {port} = (.*?);$"
    component, *reports = component.split()
    own = {"errors": True} if reports else {}
    broken, found = re.subn(assign, f"  assign {port} = {wrong};", verilog_of(component, 4, own))
    assert found == 1
    said = run_texts(tmp_path, component, broken, own)
    assert re.search(r" PASS=\d FAIL=[1-4] ", said), said[-3000:]
