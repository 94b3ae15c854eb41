"""What properties are made of: designs with free inputs, and monitors beside them."""

from collections.abc import Callable
from typing import Any

from amaranth.hdl import (
    Array,
    Cat,
    ClockDomain,
    DomainRenamer,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8_hdl import Profile, token_layout
from utf8_sim.engine import interface_of

from .specification import DecoderSpecification, EncoderSpecification

LATENCY = 1
"""Cycles from a byte to its token, or from a code point to its first byte, as documented."""

IN_FLIGHT = 3
"""Places for tokens, or code points, that are between the pins of a design. One more than there can
be, so that a design that loses some is found out."""

Designs = dict[str, Callable[[Profile], Any]]
"""The components by name; each takes a profile."""


class Bench(Elaboratable):
    """Designs under proof, what surrounds them, and what is said of them.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken.
    designs : dict of str to callable
        The components by name; each takes a profile.

    Attributes
    ----------
    m : Module
        Where properties write.
    clock : Signal
        Its clock. There is no reset but what a property makes.
    inputs : dict of str to Signal
        What is free in every cycle.
    components : dict of str to Decoder or Encoder
        The designs by name.
    any_start : list of str
        Names of the designs whose registers may hold anything in the first cycle.
    wrong : Value
        What must never be high.
    reached : dict of str to Value
        What must be high in some cycle of some run, or the property says less than it seems to.
    sources : list of str
        Verilog of the modules that are instantiated.
    """

    def __init__(self, profile: Profile, designs: Designs) -> None:
        self.profile = profile
        self._designs = designs
        self.m = Module()
        domain = ClockDomain("sync", reset_less=True)
        self.m.domains += domain
        self.clock = domain.clk
        self.inputs: dict[str, Signal] = {}
        self.components: dict[str, Any] = {}
        self.any_start: list[str] = []
        self.wrong: Value = Value.cast(0)
        self.reached: dict[str, Value] = {}
        self.sources: list[str] = []

    def elaborate(self, platform: Any) -> Module:
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
        self.inputs[name] = signal = Signal(shape, name=name)
        return signal

    def design(
        self, name: str, *, any_start: bool = False, reset: Value | None = None, **driven: Value
    ) -> Any:
        """A decoder or an encoder.

        Parameters
        ----------
        name : str
            ``decoder`` or ``encoder``; with more behind a ``_``, for another one.
        any_start : bool
            Whether its registers may hold anything at first.
        reset : Value or None
            Its reset.
        **driven : Value
            What drives the pins of :func:`driven_pins`. Those not named are free.
        """
        component = self._designs[name.split("_", maxsplit=1)[0]](self.profile)
        for pin, signal in driven_pins(component).items():
            source = driven.get(pin)
            if source is None:
                source = self.free(len(signal), f"{name}.{pin}")
            self.m.d.comb += signal.eq(source)
        self.components[name] = component
        if any_start:
            self.any_start.append(name)
        inside: Any = component
        if reset is not None:
            domain: Any = ClockDomain(f"{name}_domain")
            domain.clk = self.clock
            self.m.domains += domain
            self.m.d.comb += domain.rst.eq(reset)
            inside = DomainRenamer(domain.name)(component)
        self.m.submodules[name] = inside
        return component

    def twin(self, design: Any, **driven: Value) -> Any:
        """Another design of the same kind; pins that are not named are those of the first."""
        name = interface_of(design).component
        pins: Any = driven_pins(design) | driven
        return self.design(f"{name}_twin", **pins)

    def before(self, value: Value) -> Signal:
        """The value in the cycle before; zero in the first."""
        register = Signal(len(value))
        self.m.d.sync += register.eq(value)
        return register

    def since(self, event: Value) -> Signal:
        """Whether something was in an earlier cycle."""
        seen = Signal()
        self.m.d.sync += seen.eq(seen | event)
        return seen


def driven_pins(design: Any) -> dict[str, Value]:
    """What a test bench drives: ``i_valid``, ``item``, ``i_last`` and ``o_ready``."""
    i, o, item = design.i, design.o, interface_of(design).item
    return {
        "i_valid": i.valid,
        "item": Value.cast(i.p[item]),
        "i_last": i.p.last,
        "o_ready": o.ready,
    }


def observed_pins(design: Any) -> dict[str, Value]:
    """What a design drives, by the names that traces use."""
    i, o = design.i, design.o
    results = {f"o.{name}": Value.cast(o.p[name]) for name in interface_of(design).result}
    return {"i.ready": i.ready, "o.valid": o.valid, **results}


def pins_differ(design: Any, other: Any) -> Value:
    """Whether two designs drive any pin differently, payload that is not valid included."""
    return Cat(*observed_pins(design).values()) != Cat(*observed_pins(other).values())


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


class Queue(wiring.Component):
    """What is expected at the output of a design.

    Parameters
    ----------
    layout
        Of an entry.
    ports : int
        How many entries may come in one cycle.
    places : int
        How many are kept.

    Attributes
    ----------
    pushes : list of (Signal, Signal)
        For each port, whether an entry comes, and the entry. An earlier port's is older.
    items : list of Signal
        The entries, the newest first. One keeps its place until another comes.
    ages : list of Signal
        For how many cycles each was expected, without those that ``hold``, up to two more than
        :data:`LATENCY`.

    Members
    -------
    pop : ``In(1)``
        The oldest goes.
    hold : ``In(1)``
        The cycle does not count.
    count : ``Out(4)``
        How many have come and not gone.
    lost : ``Out(1)``
        That is more than there are places.
    """

    pop: Any
    hold: Any
    count: Any
    lost: Any

    def __init__(self, layout: Any, ports: int = 1, places: int = IN_FLIGHT) -> None:
        super().__init__({"pop": In(1), "hold": In(1), "count": Out(4), "lost": Out(1)})
        self.pushes = [
            (Signal(name=f"push_{n}"), Signal(layout, name=f"entry_{n}")) for n in range(ports)
        ]
        self.items = [Signal(layout, name=f"item_{n}") for n in range(places)]
        self.ages = [Signal(range(LATENCY + 3), name=f"age_{n}") for n in range(places)]

    @property
    def pushed(self) -> Value:
        """How many entries come in this cycle."""
        return sum((push for push, _ in self.pushes), start=Value.cast(0))

    @property
    def oldest(self) -> Any:
        return self.last_but(self.count)

    @property
    def oldest_age(self) -> Value:
        return Array(self.ages)[(self.count - 1)[:4]]

    def last_but(self, count: Value) -> Any:
        """The oldest if there are so many."""
        return Array(self.items)[(count - 1)[:4]]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        items: list[Any] = self.items
        ages: list[Any] = [Mux(self.hold | (age == LATENCY + 2), age, age + 1) for age in self.ages]
        for push, entry in self.pushes:
            items = [Mux(push, *pair) for pair in zip([entry, *items], items, strict=False)]
            ages = [Mux(push, *pair) for pair in zip([1, *ages], ages, strict=False)]
        m.d.sync += [register.eq(item) for register, item in zip(self.items, items, strict=True)]
        m.d.sync += [register.eq(age) for register, age in zip(self.ages, ages, strict=True)]
        m.d.sync += self.count.eq(self.count + self.pushed - self.pop)
        m.d.comb += self.lost.eq(self.count > len(self.items))
        return m


def expected_tokens(b: Bench, decoder: Any, heeds: Value | None = None) -> Queue:
    """The tokens that the specification has for the bytes that a decoder accepts.

    Parameters
    ----------
    b : Bench
        Where.
    decoder : Decoder
        Whose bytes.
    heeds : Value or None
        In which cycles; in all of them if there is none.
    """
    b.m.submodules.specification = specification = DecoderSpecification(b.profile)
    b.m.submodules.expected = queue = Queue(token_layout(b.profile), ports=2)
    (cuts, cut), (ends, end) = queue.pushes
    b.m.d.comb += [
        specification.accept.eq(accepts(decoder) & (Value.cast(1) if heeds is None else heeds)),
        specification.byte.eq(decoder.i.p.data),
        specification.last.eq(decoder.i.p.last),
        cuts.eq(specification.cuts),
        cut.eq(specification.cut),
        ends.eq(specification.ends),
        end.eq(specification.end),
        queue.pop.eq(gives(decoder)),
        queue.hold.eq(waits(decoder)),
    ]
    return queue


class ExpectedBytes(Elaboratable):
    """The bytes that the specification has for the code points that an encoder accepts.

    Parameters
    ----------
    b : Bench
        Where.
    encoder : Encoder
        Whose code points.

    Attributes
    ----------
    queue : Queue
        The code points of which not all bytes were given.
    specification : EncoderSpecification
        What it says of the oldest.
    byte, last, error : Value
        What is expected next.
    """

    def __init__(self, b: Bench, encoder: Any) -> None:
        self._encoder = encoder
        self.queue = Queue(encoder.i.p.shape())
        self.specification = EncoderSpecification(b.profile)
        self._index = Signal(3)
        self._ends = self._index + 1 == self.specification.count
        self.byte = Array(self.specification.sequence)[self._index]
        self.last = self.queue.oldest.last & self._ends
        self.error = self.specification.refused
        b.m.submodules.expected = self

    def elaborate(self, platform: Any) -> Module:
        m, encoder = Module(), self._encoder
        m.submodules.queue, m.submodules.specification = self.queue, self.specification
        [(push, entry)] = self.queue.pushes
        m.d.comb += [
            push.eq(accepts(encoder)),
            entry.eq(encoder.i.p),
            self.queue.pop.eq(gives(encoder) & self._ends),
            self.queue.hold.eq(waits(encoder)),
            self.specification.code_point.eq(self.queue.oldest.code_point),
        ]
        with m.If(gives(encoder)):
            m.d.sync += self._index.eq(Mux(self._ends, 0, self._index + 1))
        return m


class History(Elaboratable):
    """The bytes that a decoder has accepted and that no token has covered.

    Parameters
    ----------
    b : Bench
        Where.
    decoder : Decoder
        Whose bytes.

    Attributes
    ----------
    count : Signal
        How many there are.
    lost : Value
        More than there can be if every one is covered.
    """

    def __init__(self, b: Bench, decoder: Any) -> None:
        self._decoder = decoder
        places = b.profile.longest_form + IN_FLIGHT - 1
        self._newest_first = [Signal(decoder.i.p.shape()) for _ in range(places)]
        self.count = Signal(range(2 * places))
        self.lost = self.count > places
        b.m.submodules.history = self

    def oldest(self, position: int) -> Any:
        """A byte and its ``last``; position 0 is the first byte that is not covered."""
        return Array(self._newest_first)[(self.count - 1 - position)[: len(self.count)]]

    def elaborate(self, platform: Any) -> Module:
        m, decoder = Module(), self._decoder
        shifted = [decoder.i.p, *self._newest_first]
        with m.If(accepts(decoder)):
            for new, old in zip(self._newest_first, shifted, strict=False):
                m.d.sync += new.eq(old)
        covered = Mux(gives(decoder), decoder.o.p.length, 0)
        m.d.sync += self.count.eq(self.count - covered + accepts(decoder))
        return m
