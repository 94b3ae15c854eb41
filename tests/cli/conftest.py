"""Fixtures for tests of the command line."""

from functools import cache
from typing import Any

import pytest

from utf8_flow.designs import DesignSpec
from utf8_flow.export import verilog
from utf8_flow.verify.engines import ENGINES
from utf8_sim.components import Component, component_of
from utf8_sim.engines.amaranth import AmaranthEngine


@pytest.fixture
def shared_engines(monkeypatch):
    """Elaborate each design for Amaranth's simulator once per process, not once per command."""
    monkeypatch.setitem(ENGINES, "amaranth", _shared_engine)
    return _shared_engine


@pytest.fixture
def header_only(monkeypatch):
    """Generate Verilog with an empty module: its body takes seconds."""
    monkeypatch.setattr(
        verilog, "_convert", lambda _design, name, *_: f"module {name} (\n);\nendmodule\n"
    )


def _shared_engine(design: Any) -> AmaranthEngine:
    return _engine(type(design), component_of(design), DesignSpec.of(design))


@cache
def _engine(make: type, _component: Component, spec: DesignSpec) -> AmaranthEngine:
    design = spec.make()
    assert type(design) is make, "a design that is not its component's needs its own engine"
    return AmaranthEngine(design)
