"""The bench of a property: components with free inputs, and conditions on their pins.

Each property is a function that puts designs on a bench. ``never`` adds a condition that must not
be true in any cycle of any run. ``reaches`` adds a cover point, which some cycle of some run must
reach, so that the property is not vacuous. Pins that a property does not drive are free in every
cycle.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import (
    Array,
    Cat,
    ClockDomain,
    DomainRenamer,
    Elaboratable,
    EnableInserter,
    Module,
    ResetInserter,
    Signal,
    Value,
)
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8_hdl import Profile
from utf8_sim.trace import pins_of as stream_pins

Designs = dict[str, Callable[[Profile], Any]]
"""Functions that create a component for a profile, by its name."""


def for_any(design: Any) -> bool:
    """True for any design."""
    return True


@dataclass(frozen=True)
class Property:
    """A property to prove."""

    #: Its name on the command line.
    name: str
    component: str
    #: A function that states it on a bench; its docstring is the statement in words.
    state: Callable[["Bench", str], None]
    timing: Any
    #: True if it is about the specification or the timing model, without a design in it.
    is_lemma: bool = False
    #: True for a design if a proof of it ends within minutes; otherwise the proof is not tried.
    ends: Callable[[Any], bool] = for_any
    #: True for a design to which the property applies.
    applies: Callable[[Any], bool] = for_any

    @property
    def statement(self) -> str:
        """The property in words, on one line."""
        return " ".join((self.state.__doc__ or "").split())

    def bench(self, profile: Profile, designs: Designs) -> "Bench":
        """Create a bench on which the property is stated."""
        bench = Bench(profile, designs, self.timing)
        self.state(bench, self.component)
        return bench


class Bench(Elaboratable):
    """Designs under proof, their environment, and the conditions on them.

    ``designs`` has functions that create a component for a profile, by its name; ``timing`` is the
    timing model of the component under proof.

    - ``m``, ``model``: the module of the property, and a submodule for specifications and timing
      models. The latter is added after the designs: otherwise proofs run several times as long.
    - ``clock``: the clock. Only properties create resets.
    - ``inputs``: the inputs of the bench, free in every cycle.
    - ``components``: the designs and references on the bench, by name.
    - ``designs``: the names of the designs among them.
    - ``resets``, ``enables``: the reset and the clock enable of a design, by its name, if it has
      them.
    - ``any_start``: names of the designs whose registers may have any contents in the first cycle.
    - ``same_start``: for such a design that begins with the register contents of another design,
      the name of that design.
    - ``wrong``: the condition that must never be high.
    - ``reached``: the cover points. Each must be high in some cycle of some run; otherwise the
      property claims less than it appears to.
    - ``sources``: Verilog of the instantiated modules.
    - ``cycles``: number of cycles that are checked, from the first one of a run; 0 for all. If
      registers may have any contents at first, these may be any consecutive cycles of any run.
    - ``reach``: number of cycles within which all reachable cover points are reached; 0 for the
      default.
    - ``cut``: values that designs drive but that are free in every cycle: their drivers have no
      effect.
    - ``model_reset``: the reset of the specifications and timing models.
    """

    def __init__(self, profile: Profile, designs: Designs, timing: Any = None) -> None:
        self.profile = profile
        self.timing = timing
        self._designs = designs
        self.m = Module()
        self.model = Module()
        domain = ClockDomain("sync", reset_less=True)
        self.m.domains += domain
        self.clock = domain.clk
        self.inputs: dict[str, Signal] = {}
        self.components: dict[str, Any] = {}
        self.designs: set[str] = set()
        self.resets: dict[str, Value] = {}
        self.enables: dict[str, Value] = {}
        self.any_start: list[str] = []
        self.wrong: Value = Value.cast(0)
        self.reached: dict[str, Value] = {}
        self.sources: list[str] = []
        self.cycles = 0
        self.reach = 0
        self.cut: list[Value] = []
        self.same_start: dict[str, str] = {}
        self.model_reset: Value = Value.cast(0)

    def elaborate(self, platform: Any) -> Module:
        self.m.submodules.model = ResetInserter(self.model_reset)(self.model)
        return self.m

    def never(self, *conditions: Value) -> None:
        """Require that none of the conditions is high in any cycle of any run."""
        for condition in conditions:
            self.wrong = self.wrong | condition.any()

    def reaches(self, what: str, condition: Value) -> None:
        """Add a cover point: the condition must be high in some cycle of some run."""
        self.reached[what] = condition.any()

    def free(self, shape: Any, name: str) -> Any:
        """Create a signal that may have any value in any cycle. Its name must be new."""
        if name in self.inputs:
            raise ValueError(f"there is a free input {name!r} already")
        signal: Any = Signal(shape, name=name)
        self.inputs[name] = Value.cast(signal)
        return signal

    def design(
        self,
        name: str,
        driven: dict[str, Value] | None = None,
        *,
        any_start: bool | str = False,
        reset: Value | None = None,
        enable: Value | None = None,
    ) -> Any:
        """Add a design, named after its component; another one of it has a suffix after a ``_``.

        Pins of :func:`driven_pins` that are not driven are free. With ``any_start`` the registers
        may have any contents at first, or those of another design, if it is the name of one.
        ``reset`` resets them, and ``enable`` is their clock enable.
        """
        component = self._designs[name.split("_", maxsplit=1)[0]](self.profile)
        self.designs.add(name)
        if any_start:
            self.any_start.append(name)
        if isinstance(any_start, str):
            self.same_start[name] = any_start
        inside: Any = component
        if reset is not None:
            domain: Any = ClockDomain(f"{name}_domain")
            domain.clk = self.clock
            self.resets[name] = reset
            self.m.domains += domain
            self.m.d.comb += domain.rst.eq(reset)
            inside = DomainRenamer(domain.name)(component)
        if enable is not None:
            self.enables[name] = enable
            inside = EnableInserter(enable)(inside)
        self.m.submodules[name] = inside
        self._drive(name, component, driven or {})
        return component

    def resettable(self, name: str) -> Any:
        """Add a design that may be reset in any cycle, together with the models on the bench."""
        self.model_reset = self.free(1, "rst")
        return self.design(name, reset=self.model_reset)

    def reference(
        self,
        name: str,
        specification: Any,
        driven: dict[str, Value] | None = None,
        timing: Any = None,
    ) -> Any:
        """Add a component with the expected pins of a design, from specification and timing model.

        Without ``timing``, the timing model is that of the bench.
        """
        i, o = specification.i_layout, specification.o_layout
        streams = {"i": In(stream.Signature(i)), "o": Out(stream.Signature(o))}
        component: Any = wiring.Signature(streams).create()
        self._drive(name, component, driven or {})
        component.expected = expected = (timing or self.timing)(self, component, specification)
        self.m.d.comb += [
            component.i.ready.eq(expected.ready),
            component.o.valid.eq(expected.valid),
            output_of(component).eq(expected.result),
        ]
        return component

    def _drive(self, name: str, component: Any, driven: dict[str, Value]) -> None:
        self.components[name] = component
        for pin, signal in driven_pins(component).items():
            source = driven[pin] if pin in driven else self.free(len(signal), input_name(name, pin))
            self.m.d.comb += signal.eq(source)

    def before(self, value: Value, cycles: int = 1) -> Value:
        """The value ``cycles`` cycles before; zero in the first cycles."""
        return delayed(self.m, value, cycles)

    def since(self, event: Value) -> Signal:
        """True if an event has occurred in an earlier cycle."""
        seen = Signal()
        self.m.d.sync += seen.eq(seen | event)
        return seen


def delayed(m: Module, value: Value, cycles: int = 1) -> Value:
    """A value, delayed by some cycles; zero in the first cycles."""
    for _ in range(cycles):
        register = Signal(len(value))
        m.d.sync += register.eq(value)
        value = register
    return value


def memory(m: Module, size: int, writes: Value, address: Value, value: Value) -> Array:
    """A memory with the write enable ``writes``; a reset does not change it."""
    words = [Signal(len(value), name=f"word_{n}", reset_less=True) for n in range(size)]
    for n, word in enumerate(words):
        with m.If(writes & (address == n)):
            m.d.sync += word.eq(value)
    return Array(words)


def input_name(design: str, pin: str) -> str:
    """Name of the free input that drives a pin of a design."""
    return f"{design}.{pin.replace('.', '_')}"


def driven_pins(design: Any) -> dict[str, Value]:
    """The pins that a test bench drives, by their names in traces."""
    return {"i.valid": design.i.valid, **_fields("i", design.i.p), "o.ready": design.o.ready}


def pins_of(design: Any) -> dict[str, Value]:
    """All pins of a design, and its state register if it has one, by their names in traces."""
    pins = driven_pins(design) | {"i.ready": design.i.ready, "o.valid": design.o.valid}
    pins |= _fields("o", design.o.p)
    return pins | ({"state": design.state} if hasattr(design, "state") else {})


def _fields(side: str, payload: Any) -> dict[str, Value]:
    bits = Value.cast(payload)
    if not isinstance(payload, data.View):
        return {f"{side}.payload": bits}
    return {
        pin.name: Cat(bits[lowest : lowest + width] for lowest, width in pin.parts)
        for pin in stream_pins(side, payload.shape())
    }


def input_of(design: Any) -> Value:
    """The payload at the input of a design, valid or not."""
    return Value.cast(design.i.p)


def output_of(design: Any) -> Value:
    """The payload at the output of a design, valid or not."""
    return Value.cast(design.o.p)


def accepts(design: Any) -> Value:
    """True if an input is accepted."""
    return design.i.valid & design.i.ready


def gives(design: Any) -> Value:
    """True if the output is taken."""
    return design.o.valid & design.o.ready


def waits(design: Any) -> Value:
    """True if the output stalls: it is valid and not taken."""
    return design.o.valid & ~design.o.ready


def offers_differ(design: Any, other: Any) -> Value:
    """True if the outputs of two designs differ; a payload that is not valid is a don't care."""
    payloads = output_of(design) != output_of(other)
    return (design.o.valid != other.o.valid) | (design.o.valid & payloads)


def pins_differ(design: Any, other: Any) -> Value:
    """True if two designs differ in any output pin that is not a don't care."""
    return offers_differ(design, other) | (design.i.ready != other.i.ready)
