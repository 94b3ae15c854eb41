"""Test the Verilog of components with lanes in a bench with cocotbext-axi, as a user would."""

import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from needs import needs
from utf8_flow.designs import DesignSpec
from verilog_cache import verilog_of_spec

needs_cocotb = needs("iverilog", modules=["cocotb", "cocotbext"])


@pytest.fixture
def run_texts(tmp_path, monkeypatch) -> Callable[..., str]:
    """A function that runs the bench with the Verilog of a design, and returns cocotb's output."""
    monkeypatch.syspath_prepend(Path(__file__).parent)  # the simulator imports the bench

    def run(spec: DesignSpec, verilog: str, texts: int = 12) -> str:
        runner = import_module("cocotb_tools.runner").get_runner("icarus")
        source, log = tmp_path / "design.v", tmp_path / "log"
        source.write_text(verilog)
        module, *_ = re.findall(r"^module (\w+)", verilog, re.M)
        own = dict(spec.own)
        environment = {
            "COMPONENT": spec.component,
            "SOURCE": own.get("source", "utf-8"),
            "TARGET": own.get("target", "utf-16le"),
            "REPORTS": "1" if own.get("errors") else "",
            "TEXTS": str(texts),
            "COCOTB_ANSI_OUTPUT": "0",
        }
        options = {"hdl_toplevel": module, "build_dir": tmp_path}
        runner.build(sources=[source], timescale=("1ns", "1ps"), **options)
        with suppress(SystemExit):  # a test of the bench failed
            runner.test(
                test_module="axi_texts", seed=1, extra_env=environment, log_file=log, **options
            )
        return log.read_text()

    return run


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
    ids=lambda value: getattr(value, "label", None),
)
def test_texts_match_cpython(spec, count, run_texts):
    printed = run_texts(spec, verilog_of_spec(spec), count)
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
    ids=lambda value: getattr(value, "label", None),
)
def test_bench_detects_broken_verilog(spec, port, wrong, run_texts):
    assign = rf"(?ms)^  assign {port} = (.*?);$"
    broken, found = re.subn(assign, f"  assign {port} = {wrong};", verilog_of_spec(spec))
    assert found == 1
    printed = run_texts(spec, broken)
    assert re.search(r" PASS=\d FAIL=[1-4] ", printed), printed[-3000:]
