"""The pipeline: a payload without fields, and an error message; `tests/formal` proves the rest."""

from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl import run_streams
from utf8_hdl import Encoder
from utf8_hdl.flow_control import pipeline


class OneStage(wiring.Component):
    """A pipeline whose payload is not a structure."""

    i: In(stream.Signature(8))
    o: Out(stream.Signature(8))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        flow = pipeline.Pipeline(m, self.o)
        flow.deliver(flow.take(self.i))
        return m


def test_pipeline_passes_plain_values():
    design, values = OneStage(), [0x5A, 0x81, 0xFF]
    assert run_streams(design, design.i, design.o, values) == values


def test_stage_refuses_unknown_register():
    design = Encoder()
    stage = pipeline.Pipeline(Module(), design.o).take(design.i)
    with pytest.raises(KeyError, match=r"Stage 1, take.*no register 'word'.*'code_point', 'last'"):
        stage["word"]
