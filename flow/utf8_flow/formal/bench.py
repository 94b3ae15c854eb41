"""What properties are made of: designs with free inputs, and monitors beside them."""

from collections.abc import Callable, Iterator
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
from utf8_sim.engines.engine import interface_of

from .specification import DecoderSpecification, EncoderSpecification

ENCODER_LATENCY = 1
"""Cycles from a code point to its first byte, as documented."""

IN_FLIGHT = 2
"""Places for code points that are between the pins of an encoder. One more than there can be, so
that a design that loses some is found out."""

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
    i, o, item = design.i, design.o, interface_of(design).item.removeprefix("i.")
    return {
        "i_valid": i.valid,
        "item": Value.cast(i.p[item]),
        "i_last": i.p.last,
        "o_ready": o.ready,
    }


def observed_pins(design: Any) -> dict[str, Value]:
    """What a design drives, by the names that traces use."""
    i, o = design.i, design.o
    results = {pin.name: Value.cast(o.p[pin.name[2:]]) for pin in interface_of(design).outputs}
    return {"i.ready": i.ready, "o.valid": o.valid, **results}


def offers_differ(design: Any, other: Any) -> Value:
    """Whether two designs offer different outputs; what is not valid means nothing."""
    payloads = output_of(design) != output_of(other)
    return (design.o.valid != other.o.valid) | (design.o.valid & payloads)


def pins_differ(design: Any, other: Any) -> Value:
    """Whether two designs differ in any pin that means something."""
    return offers_differ(design, other) | (design.i.ready != other.i.ready)


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
    """What an encoder accepted and has not given yet.

    Parameters
    ----------
    layout
        Of an entry.

    Attributes
    ----------
    items : list of Signal
        The entries, the newest first. One keeps its place until another comes.
    ages : list of Signal
        For how many cycles each was here, without those that ``hold``, up to two more than
        :data:`ENCODER_LATENCY`.

    Members
    -------
    push : ``In(1)``
        An entry comes.
    entry : ``In(layout)``
        The entry.
    pop : ``In(1)``
        The oldest goes.
    hold : ``In(1)``
        The cycle does not count.
    count : ``Out(4)``
        How many have come and not gone.
    lost : ``Out(1)``
        That is more than there are places.
    """

    push: Any
    entry: Any
    pop: Any
    hold: Any
    count: Any
    lost: Any

    def __init__(self, layout: Any) -> None:
        super().__init__(
            {
                "push": In(1),
                "entry": In(layout),
                "pop": In(1),
                "hold": In(1),
                "count": Out(4),
                "lost": Out(1),
            }
        )
        places = range(IN_FLIGHT)
        self.items = [Signal(layout, name=f"item_{n}") for n in places]
        self.ages = [Signal(range(ENCODER_LATENCY + 3), name=f"age_{n}") for n in places]

    @property
    def oldest(self) -> Any:
        return Array(self.items)[(self.count - 1)[:4]]

    @property
    def oldest_age(self) -> Value:
        return Array(self.ages)[(self.count - 1)[:4]]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        older: list[Any] = [
            Mux(self.hold | (age == ENCODER_LATENCY + 2), age, age + 1) for age in self.ages
        ]
        with m.If(self.push):
            entries, ages = [self.entry, *self.items[:-1]], [1, *older[:-1]]
            m.d.sync += [place.eq(new) for place, new in zip(self.items, entries, strict=True)]
            m.d.sync += [place.eq(new) for place, new in zip(self.ages, ages, strict=True)]
        with m.Else():
            m.d.sync += [place.eq(new) for place, new in zip(self.ages, older, strict=True)]
        m.d.sync += self.count.eq(self.count + self.push - self.pop)
        m.d.comb += self.lost.eq(self.count > len(self.items))
        return m


class ExpectedTokens(Elaboratable):
    """What the specification and the documented timing say of a decoder's pins.

    Bytes pass through four stages, are then taken by the specification, and their tokens pass
    through two more, and a queue of two, to the output. All stages stand in the cycle after one in
    which the output waits. A byte that is accepted then goes to an extra place before the first
    stage, and so does the next one, behind it, as long as there is one in every cycle.

    Parameters
    ----------
    b : Bench
        Where.
    decoder : Decoder
        Whose pins.
    heeds : Value or None
        From which byte on anything is known, for a decoder whose registers may hold anything. None
        for one that begins as after reset. Of the former it is told by the decoder itself whether
        the extra place is taken in the first cycle, which its pins may not show for long.

    Attributes
    ----------
    specification : DecoderSpecification
        What takes the bytes, at the end of the fourth stage.
    ready, valid, token : Value
        What the pins must be, the latter two if they are ``known``.
    known : Value
        Whether they are.
    source : Value
        The bytes of the token, and in the last place the byte that cuts it, or zero.
    wrong : Value
        The pins are something else.
    extra_taken : Signal
        Whether the extra place is taken.
    """

    def __init__(self, b: Bench, decoder: Any, heeds: Value | None = None) -> None:
        self._decoder = decoder
        self._heeds = Value.cast(1) if heeds is None else heeds
        begins_known = heeds is None
        self.specification = DecoderSpecification(b.profile)
        self._runs = Signal(init=not begins_known)
        self.extra_taken = Signal() if begins_known else decoder.skid_taken
        self._shown = _Place(b.profile, begins_known)
        o, runs = decoder.o, self._runs
        self.ready = o.ready | (runs & ~self.extra_taken)
        self._extra_is_taken_next = accepts(decoder) & (self.extra_taken | ~runs)
        self.known, self.valid, self.token, self.source = self._shown
        self.wrong = decoder.i.ready != self.ready
        self.wrong |= self.known & (o.valid != self.valid)
        self.wrong |= self.known & self.valid & (output_of(decoder) != Value.cast(self.token))
        if not begins_known:
            second_or_later = b.since(Value.cast(1))
            third_or_later = b.before(second_or_later)
            self._second_cycle = second_or_later & ~third_or_later
            told = self.extra_taken != b.before(self._extra_is_taken_next)
            self.wrong |= third_or_later & told
        self._profile, self._begins_known = b.profile, begins_known
        b.m.submodules += self

    def elaborate(self, platform: Any) -> Module:
        m, decoder, runs = Module(), self._decoder, self._runs
        m.submodules.specification = specification = self.specification
        holds = waits(decoder)
        m.d.sync += runs.eq(~holds)

        # An item is a byte with its `last`, whether there is one, and whether that is known.
        offered = Cat(input_of(decoder), accepts(decoder), self._heeds)
        extra = Signal.like(offered)
        m.d.sync += extra.eq(offered)
        if self._begins_known:
            m.d.sync += self.extra_taken.eq(self._extra_is_taken_next)
        item: Any = Mux(self.extra_taken, extra, offered)
        for number in range(4):
            if number == 1 and not self._begins_known:
                # Did the byte of the first cycle set out in it? Not if it is in the extra place.
                item = Cat(item[:-1], item[-1] & ~(self._second_cycle & self.extra_taken))
            stage = Signal(len(offered), init=int(self._begins_known) << len(offered) - 1)
            with m.If(runs):
                m.d.sync += stage.eq(item)
            item = stage
        valid, known = item[-2], item[-1]
        m.d.comb += [
            specification.accept.eq(valid & known & runs),
            Cat(specification.byte, specification.last).eq(item[: len(input_of(decoder))]),
        ]
        decided, made, behind = (_Place(self._profile, self._begins_known) for _ in range(3))
        own, cut = specification.ends, specification.cuts
        cut_source = Cat(specification.sequence, specification.byte)
        shown = self._shown
        with m.If(runs):
            m.d.sync += [
                *decided.set(known, own, specification.end, Cat(specification.now)),
                *made.set(
                    decided.known & known,
                    decided.valid | cut,
                    Mux(decided.valid, decided.token, specification.cut),
                    Mux(decided.valid, decided.source, cut_source),
                ),
            ]
            with m.If(holds):
                m.d.sync += behind.set(*made)
            with m.Else():
                m.d.sync += shown.set(*made)
        with m.Elif(~holds):
            m.d.sync += [*shown.set(*behind), *behind.set(1, 0, behind.token, behind.source)]
        return m


class _Place:
    """A place for a token, which may be known to be empty."""

    def __init__(self, profile: Profile, begins_known: bool) -> None:
        self.known = Signal(init=begins_known)
        self.valid = Signal()
        self.token: Any = Signal(token_layout(profile))
        self.source = Signal(8 * (profile.longest_form + 1))

    def __iter__(self) -> Iterator[Any]:
        return iter((self.known, self.valid, self.token, self.source))

    def set(self, *fields: Any) -> list[Any]:
        return [register.eq(value) for register, value in zip(self, fields, strict=True)]


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
        m.d.comb += [
            self.queue.push.eq(accepts(encoder)),
            self.queue.entry.eq(encoder.i.p),
            self.queue.pop.eq(gives(encoder) & self._ends),
            self.queue.hold.eq(waits(encoder)),
            self.specification.code_point.eq(self.queue.oldest.code_point),
        ]
        with m.If(gives(encoder)):
            m.d.sync += self._index.eq(Mux(self._ends, 0, self._index + 1))
        return m
