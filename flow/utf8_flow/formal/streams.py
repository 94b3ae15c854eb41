"""Properties of every component, stated about its streams."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import ClockSignal, Const, Instance, Module, Signal, Value

from utf8_hdl.axi import AxiStream, module_name

from ..export.verilog import generate
from .bench import (
    Bench,
    Property,
    accepts,
    driven_pins,
    gives,
    input_of,
    offers_differ,
    output_of,
    pins_differ,
    waits,
)


def output_stream(b: Bench, name: str) -> None:
    """An offered output stays valid and unchanged until it is taken."""
    stays(b, b.design(name))


def stays(b: Bench, design: Any) -> None:
    """The same for a design that is on the bench."""
    offered = b.before(waits(design))
    changed = output_of(design) != b.before(output_of(design))
    b.never(offered & ~design.o.valid, offered & changed)
    b.reaches("an output that waits, and is taken then", offered & gives(design))


def valid_independent(b: Bench, name: str) -> None:
    """`o.valid` and the payload of a valid output do not depend on `o.ready` in the same cycle."""
    _independent(b, name, offers_differ)


def pins_independent(b: Bench, name: str) -> None:
    """No output pin, `i.ready` included, depends on `o.ready` in the same cycle."""
    _independent(b, name, pins_differ)


def _independent(b: Bench, name: str, differ: Callable[[Any, Any], Value]) -> None:
    """A twin with the same `o.ready` in all earlier cycles does not ``differ``."""
    design, flip = b.design(name), b.free(1, "flip")
    twin = b.design(f"{name}_twin", driven_pins(design) | {"o.ready": design.o.ready ^ flip})
    same = ~b.since(flip)
    b.never(same & differ(design, twin))
    b.reaches("an output with the consumer ready and not", same & flip & design.o.valid)


def input_stream(b: Bench, name: str) -> None:
    """Only transfers count: an input that is offered and not accepted never has an effect, and no
    output pin depends on an input pin except `o.ready` within a cycle."""
    design = b.design(name)
    other = b.design(f"{name}_other", {"o.ready": design.o.ready})
    differs = accepts(design) != accepts(other)
    differs |= accepts(design) & (input_of(design) != input_of(other))
    same = ~b.since(differs)
    b.never(same & pins_differ(design, other))
    b.reaches(
        "something else offered while it cannot be taken",
        same & design.i.valid & ~design.i.ready & ~differs & (input_of(design) != input_of(other)),
    )


def reset(b: Bench, name: str) -> None:
    """After a cycle of reset, from any register contents, the pins equal those of a run that begins
    in the initial state."""
    resets(b, name, pins_differ)


def resets(b: Bench, name: str, differ: Callable[[Any, Any], Value]) -> None:
    """After a cycle of reset, a design does not ``differ`` from a run from the initial state.

    The twin keeps its initial state in that cycle, and is never reset.
    """
    after = b.since(Const(1))
    design = b.design(name, any_start=True, reset=~after)
    twin = b.design(f"{name}_twin", driven_pins(design), enable=after)
    differs = differ(design, twin)
    b.never(after & differs)
    b.reaches("pins that differ before", differs)
    b.reaches("an output after the reset", after & gives(design))


def drains(b: Bench, name: str) -> None:
    """From any register contents, once nothing has been offered and the consumer has been ready for
    the maximum number of cycles that the component needs to become empty, no output is valid and an
    input can be accepted. In these cycles, no more outputs were taken than the registers can hold.
    """
    design = b.design(name, any_start=True)
    quiet, cycles = ~design.i.valid & design.o.ready, b.timing.drain_cycles()
    so_far: Value = quiet
    for _ in range(cycles - 1):
        so_far = quiet & b.before(so_far)
    given = Signal(range(cycles + 1))
    b.m.d.sync += given.eq(given + gives(design))
    is_wrong = design.o.valid | ~design.i.ready | (given > b.timing.most_held())
    b.never(b.before(so_far) & is_wrong)
    b.reaches("so many cycles", b.before(so_far))
    b.cycles = cycles + 1


def verilog(b: Bench, name: str) -> None:
    """The generated Verilog equals the design on every pin in every cycle."""
    rst = b.free(1, "rst")
    design = b.design(name, reset=rst)
    b.sources.append(generate(design))
    top = AxiStream(design)
    shown = axi_instance(b.m, module_name(design), top, i_rst=rst)
    b.never(*(shown[port] != pin for port, pin in top.outputs.items()))
    b.reaches("an output of the Verilog", shown["m_axis_tvalid"] & shown["m_axis_tlast"])


def axi_instance(m: Module, name: str, top: AxiStream, **more: Value) -> dict[str, Signal]:
    """Instantiate a Verilog module with the inputs of ``top``; return its outputs."""
    shown = {port: Signal(len(getattr(top, port)), name=f"verilog_{port}") for port in top.outputs}
    m.submodules.verilog = Instance(
        name,
        i_clk=ClockSignal(),
        **{f"i_{port}": pin for port, pin in top.inputs.items()},
        **{f"o_{port}": signal for port, signal in shown.items()},
        **more,
    )
    return shown


def reach_states(b: Bench, design: Any) -> None:
    """Cover each state: with and without input, and with a moving and a stalled output."""
    waited = b.before(waits(design))
    for state in design.State:
        here = design.state == state
        b.reaches(f"{state.name}, input comes", here & design.i.valid)
        b.reaches(f"{state.name}, no input", here & ~design.i.valid)
        b.reaches(f"{state.name}, input and output move", here & gives(design) & design.i.valid)
        b.reaches(f"{state.name}, output waits", here & waits(design) & waited)


EVERY = {
    "output-stream": output_stream,
    "valid-independent": valid_independent,
    "input-stream": input_stream,
    "reset": reset,
    "verilog": verilog,
}
"""The properties that every component has."""

REGISTERED = EVERY | {"valid-independent": pins_independent}
"""The same for a component whose ``i.ready`` is a register."""


def properties_of(
    component: str,
    timing: Any,
    own: dict[str, Any],
    lemmas: dict[str, Any],
    every: dict[str, Any] = EVERY,
) -> list[Property]:
    """The properties of a component: its own, its lemmas, and those of every component."""
    return [
        Property(name, component, state, timing, name in lemmas)
        for name, state in (own | lemmas | every).items()
    ]
