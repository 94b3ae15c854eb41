"""What properties are made of: components with free inputs, and what is said of their pins.

Each property is a function. It puts designs on a bench, says with ``never`` what must not happen in
any cycle of any run, and with ``reaches`` what must happen in some, so that the property is known
to say something. Pins that a property does not drive are free in every cycle.
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
"""The components by name; each takes a profile."""


def for_any(design: Any) -> bool:
    """Whatever the design is."""
    return True


@dataclass(frozen=True)
class Property:
    """Something to prove.

    Parameters
    ----------
    name : str
        What the command line calls it.
    component : str
        Of which component.
    state : callable
        Says it on a bench; its docstring says it in words.
    timing : type
        The component's timing model.
    is_lemma : bool
        Whether it is about the specification or the timing model, with no design in it.
    ends : callable
        Whether a proof of it ends within minutes for a design. It is not tried for any other one.
    applies : callable
        Whether it is about a design at all.
    """

    name: str
    component: str
    state: Callable[["Bench", str], None]
    timing: Any
    is_lemma: bool = False
    ends: Callable[[Any], bool] = for_any
    applies: Callable[[Any], bool] = for_any

    @property
    def statement(self) -> str:
        """The property in words, on one line."""
        return " ".join((self.state.__doc__ or "").split())

    def bench(self, profile: Profile, designs: Designs) -> "Bench":
        """A bench on which it is said of designs."""
        bench = Bench(profile, designs, self.timing)
        self.state(bench, self.component)
        return bench


class Bench(Elaboratable):
    """Designs under proof, what surrounds them, and what is said of them.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    designs : dict of str to callable
        The components by name; each takes a profile.
    timing : type
        The timing model of the component that it is about.

    Attributes
    ----------
    m, model : Module
        Where properties write, and inside it specifications and timing models. These come behind
        the designs then, without which proofs take several times as long.
    clock : Signal
        Its clock. There is no reset but what a property makes.
    inputs : dict of str to Signal
        What is free in every cycle.
    components : dict of str to Component
        The designs and references on the bench, by name.
    designs : set of str
        Names of the designs among them.
    resets, enables : dict of str to Value
        The reset and the clock enable of a design, by its name, if it has them.
    any_start : list of str
        Names of the designs whose registers may hold anything in the first cycle.
    same_start : dict of str to str
        Such designs that hold the same as others then.
    wrong : Value
        What must never be high.
    reached : dict of str to Value
        What must be high in some cycle of some run, or the property says less than it seems to.
    sources : list of str
        Verilog of the modules that are instantiated.
    cycles : int
        How many cycles of a run are looked at; all of them if it is 0. Where registers may hold
        anything at first, these may be any cycles of any run.
    reach : int
        In so many cycles everything is reached that can be; as usual if it is 0.
    cut : list of Value
        What designs drive and is yet free in every cycle, so that nothing of what drives it counts.
    model_reset : Value
        When the specifications and timing models are reset.
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
        """What the property says: none of these is high in any cycle."""
        for condition in conditions:
            self.wrong = self.wrong | condition.any()

    def reaches(self, what: str, condition: Value) -> None:
        """What shows that the property is not empty: this is high in some run."""
        self.reached[what] = condition.any()

    def free(self, shape: Any, name: str) -> Any:
        """A signal that may have any level in any cycle. Its name must be new."""
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
        """A design, by the name of its component; another one of it has more behind a ``_``.

        Pins of :func:`driven_pins` that are not driven are free. Its registers may hold anything at
        first if it has ``any_start``; what those of another design hold, if that is named. They are
        reset in the cycles of ``reset``, or keep what they hold in those without ``enable``.
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
        """A design that may be reset in any cycle, together with the models on the bench."""
        self.model_reset = self.free(1, "rst")
        return self.design(name, reset=self.model_reset)

    def reference(
        self,
        name: str,
        specification: Any,
        driven: dict[str, Value] | None = None,
        timing: Any = None,
    ) -> Any:
        """In the place of a design what its pins must be: a specification in the timing, or one."""
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
        """The value in the cycle before, or so many cycles before; zero in the first ones."""
        return delayed(self.m, value, cycles)

    def since(self, event: Value) -> Signal:
        """Whether something was in an earlier cycle."""
        seen = Signal()
        self.m.d.sync += seen.eq(seen | event)
        return seen


def delayed(m: Module, value: Value, cycles: int = 1) -> Value:
    """A value so many cycles later; zero in the first ones."""
    for _ in range(cycles):
        register = Signal(len(value))
        m.d.sync += register.eq(value)
        value = register
    return value


def memory(m: Module, size: int, writes: Value, address: Value, value: Value) -> Array:
    """A memory, written in the cycles of ``writes``; a reset does not change it."""
    words = [Signal(len(value), name=f"word_{n}", reset_less=True) for n in range(size)]
    for n, word in enumerate(words):
        with m.If(writes & (address == n)):
            m.d.sync += word.eq(value)
    return Array(words)


def input_name(design: str, pin: str) -> str:
    """The free input that drives a pin of a design."""
    return f"{design}.{pin.replace('.', '_')}"


def driven_pins(design: Any) -> dict[str, Value]:
    """What a test bench drives, by the names that traces use."""
    return {"i.valid": design.i.valid, **_fields("i", design.i.p), "o.ready": design.o.ready}


def pins_of(design: Any) -> dict[str, Value]:
    """All pins of a design, and its state register, by the names that traces use."""
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
    """All that is offered to a design, valid or not."""
    return Value.cast(design.i.p)


def output_of(design: Any) -> Value:
    """All that a design offers, valid or not."""
    return Value.cast(design.o.p)


def accepts(design: Any) -> Value:
    """A transfer at the input."""
    return design.i.valid & design.i.ready


def gives(design: Any) -> Value:
    """A transfer at the output."""
    return design.o.valid & design.o.ready


def waits(design: Any) -> Value:
    """The output is not taken."""
    return design.o.valid & ~design.o.ready


def offers_differ(design: Any, other: Any) -> Value:
    """Whether two designs offer different outputs; a payload that is not valid is a don't care."""
    payloads = output_of(design) != output_of(other)
    return (design.o.valid != other.o.valid) | (design.o.valid & payloads)


def pins_differ(design: Any, other: Any) -> Value:
    """Whether two designs differ in any pin that is no don't care."""
    return offers_differ(design, other) | (design.i.ready != other.i.ready)
