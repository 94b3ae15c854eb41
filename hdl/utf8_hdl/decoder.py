"""The decoder: a stream of bytes in, a stream of code points and errors out."""

from collections import defaultdict
from collections.abc import Iterable
from functools import reduce
from itertools import groupby, pairwise
from operator import or_
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from . import tables
from .layouts import BYTE_LAYOUT, Kind, token_layout
from .profile import FORM_BITS, REPLACEMENT, UNICODE, ErrorSpan, Profile


class Decoder(wiring.Component):
    """UTF-8 decoder that takes one byte a cycle and says what is wrong, and where.

    A pipeline of seven stages, each of them one or two lookup tables deep. All of it runs, or all
    of it stands: it stands in the cycle after one in which ``o`` waited. A byte that comes then
    goes to the extra place, and the next one behind it, as long as there is one in every cycle; the
    token that was on its way finds one of two slots::

              +-------+
         +--> | extra | --+
         |    +-------+   |
        -+----------------+-> take -> split -> pair -> classify -> count -> make ---+
        i                                                          state            |
        byte                                                         +--------+     |
                                                                +--- | slot 0 | <---+
                                                         o <----+    +--------+     |
                                                         token  +--- | slot 1 | <---+
                                                                     +--------+

    1. *take* the byte that was offered, or the one in the extra place.
    2. *split* it into its two nibbles, and look up which sets each of them is in.
    3. *pair* it with the byte before: in ``unicode`` E0, ED, F0 and F4 refuse some second bytes,
       the rows of Unicode Table 3-7 that restrict it. And name the form that a lead byte begins.
    4. *classify*: a byte may follow the one before it, or it may not.
    5. *count* what is missing. This is the state machine: ``START``, a character must begin;
       ``NEED_n``, n continuation bytes must follow. It has a register for each state.
    6. *make* the token that ends with the byte in stage 5. That is the case if nothing is missing,
       if the text ends there, or if the byte in stage 4 does not follow: it *cuts* the sequence.
    7. The slots are the output.

    No byte ends more than one token, so there is never more than one to make.

    1. Line rate: ``i.ready`` is high whenever ``o.ready`` is, on any input.
    2. Latency: a token is at the output 7 cycles after its last byte was accepted, and if it is cut
       short, 6 cycles after the byte that cuts it; 1 cycle later if that byte went through the
       extra place. Cycles in which ``o`` waits are not counted. No token waits for a byte that it
       does not need.
    3. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. Neither
       depends on ``o.ready`` within a cycle; ``i.ready`` does. While ``o.valid`` is low the
       payload means nothing.
    4. Nothing is lost or invented: the lengths of the tokens add up to the bytes accepted.
    5. Self-synchronisation: from any register contents, once ``longest_form - 1`` bytes (3 in
       ``unicode``) or one byte outside 80..BF are accepted, later bytes give the tokens that they
       give a freshly reset decoder.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken. Rules that a profile does not need cost no gates.

    Attributes
    ----------
    profile : Profile
        As given.
    State : enum.Enum
        The states of this profile's machine; each has a bit of its own.
    state : Signal
        The state register, for waveforms and coverage.
    extra_taken : Signal
        Whether there is a byte in the extra place, for proofs.

    Members
    -------
    i : ``In(stream.Signature(BYTE_LAYOUT))``
        Bytes of the text. ``last`` ends a text: what is unfinished then is ``TRUNCATED``, and the
        next byte begins a new text.
    o : ``Out(stream.Signature(token_layout(profile)))``
        Tokens.
    """

    i: Any
    o: Any

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = profile
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        self._counts = range(1, profile.longest_form)
        names = ["START", *(f"NEED_{count}" for count in self._counts)]
        self.State: Any = enum.Enum("State", {name: 1 << bit for bit, name in enumerate(names)})
        super().__init__(
            {
                "i": In(stream.Signature(BYTE_LAYOUT)),
                "o": Out(stream.Signature(token_layout(profile))),
            }
        )
        self.state = Signal(self.State, init=self.State.START)
        self.extra_taken = Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pipeline = _Pipeline(m, waits=self.o.valid & ~self.o.ready)
        pair = self._pair(pipeline, self._take(pipeline))
        byte = self._classify(pipeline, pair)
        sequence = self._count(pipeline, byte, pair.valid)
        self._deliver(pipeline, *self._make(pipeline, byte, sequence))
        return m

    def _take(self, pipeline: "_Pipeline") -> SimpleNamespace:
        """Stage 1."""
        pipeline.heading = "Stage 1, take: the byte offered, or the one in the extra place"
        m, runs = pipeline.m, pipeline.runs
        offered = Cat(self.i.p.data, self.i.p.last)
        extra = pipeline.register("extra", len(offered), reset_less=True)
        extra_taken = pipeline.under_heading(self.extra_taken)
        valid = pipeline.register("take_valid")
        # A byte in the extra place leaves it in the next cycle: one only comes there if o is ready
        # although the pipeline stands, and that is the last cycle of a pause.
        m.d.comb += self.i.ready.eq(self.o.ready | (runs & ~extra_taken))
        m.d.sync += [
            extra.eq(offered),
            extra_taken.eq(self.i.valid & self.i.ready & (extra_taken | ~runs)),
            valid.eq(_select(runs, self.i.valid | extra_taken, valid)),
        ]
        item = _select(extra_taken, extra, offered)
        return pipeline.registers("take", valid=valid, data=item[:8], last=item[8])

    def _pair(self, pipeline: "_Pipeline", taken: SimpleNamespace) -> SimpleNamespace:
        """Stages 2 and 3."""
        profile = self.profile
        pipeline.heading = "Stage 2, split: the sets that the nibbles of the byte are in"
        among = _Nibbles(pipeline, taken.data).among
        split = pipeline.stage("split", taken, data=taken.data, last=taken.last)
        pipeline.heading = "Stage 3, pair: what the byte begins, and what the one before it refuses"

        def before(name: str, matches: Value) -> Signal:
            """Whether the byte before, some cycles ago perhaps, was one of some."""
            register = pipeline.register(f"after_{name}", reset_less=True)
            pipeline.load(register, _select(split.valid, matches, register))
            return register

        refusals = tables.refusals(profile)
        after = {lead: before(f"{lead:02X}", among([lead])) for lead in refusals}
        refused = [after[lead] & among(kinds) for lead, kinds in refusals.items()]
        beyond = [
            after[lead] & among(s for s, kind in kinds.items() if kind is Kind.OUT_OF_RANGE)
            for lead, kinds in refusals.items()
            if len(set(kinds.values())) > 1
        ]
        noncharacter: Value = Const(0, 1)
        if not profile.accept_noncharacters:
            # U+FFFE is EF BF BE, and U+FFFF is EF BF BF.
            after_ef_bf = before("EF_BF", before("EF", among([0xEF])) & among([0xBF]))
            noncharacter = after_ef_bf & among([0xBE, 0xBF])
        announced = [tables.announced(profile, byte) for byte in tables.BYTES]
        kinds = tables.kinds(profile)
        return pipeline.stage(
            "pair",
            split,
            data=split.data[:7],
            last=split.last,
            high=split.data[7],
            continuation=among(tables.CONTINUATION_BYTES),
            # Not more of them in one bit than a lookup table takes.
            refused=Cat(_any(refused[n : n + 2]) for n in range(0, len(refused), 2)),
            beyond=_any(beyond),
            noncharacter=noncharacter,
            announces=among(byte for byte in tables.BYTES if announced[byte]),
            begins=Cat(
                among(byte for byte in tables.BYTES if announced[byte] == count) & ~split.last
                for count in self._counts
            ),
            wrong=among(
                byte for byte in tables.BYTES if tables.first_fault(profile, byte) is not Kind.NONE
            ),
            kind=Cat(
                among(b for b in tables.BYTES if kinds[b].value >> bit & 1) for bit in range(3)
            ),
        )

    def _classify(self, pipeline: "_Pipeline", pair: SimpleNamespace) -> SimpleNamespace:
        """Stage 4."""
        pipeline.heading = "Stage 4, classify: whether the byte may follow the one before it"
        refused = pair.refused.any()
        follows = pair.continuation if self._whole_sequence else pair.continuation & ~refused
        return pipeline.stage(
            "byte",
            pair,
            data=pair.data,
            last=pair.last,
            high=pair.high,
            follows=follows,
            # The last byte of a text leads to START, whatever it is.
            follows_on=follows & ~pair.last,
            begins=pair.begins,
            begins_any=pair.begins.any(),
            announces=pair.announces,
            refused=refused,
            beyond=pair.beyond,
            noncharacter=pair.noncharacter,
            wrong=pair.wrong,
            kind=pair.kind,
        )

    def _count(
        self, pipeline: "_Pipeline", byte: SimpleNamespace, next_valid: Signal
    ) -> SimpleNamespace:
        """Stage 5: the sequence that the byte belongs to, as far as it is there."""
        pipeline.heading = "Stage 5, count: the bytes of the sequence that are still needed"
        m = pipeline.m
        # Whether a byte moves on to here, in two registers: one straight to the enables, and one
        # for the state, whose enables reset needs too.
        moves = pipeline.register("moves", reset_less=True)
        counts = pipeline.register("counts")
        will_move = Signal()
        m.d.comb += will_move.eq(~pipeline.waits & _select(pipeline.stands, byte.valid, next_valid))
        m.d.sync += [moves.eq(will_move), counts.eq(will_move)]
        start, *need = Value.cast(pipeline.under_heading(self.state))
        joins = Signal()
        m.d.comb += joins.eq(byte.follows & ~start)
        more_needed = _any(need[1:])
        with m.If(counts):
            for count, state in enumerate(need, start=1):
                one_less = byte.follows_on & need[count] if count < len(need) else Const(0, 1)
                m.d.sync += state.eq(byte.begins[count - 1] | one_less)
            m.d.sync += start.eq(~(byte.begins_any | (byte.follows_on & more_needed)))

        # What the token is if the sequence ends here. `known` is only needed where an error goes
        # on after it has been seen; else the byte that reveals it ends the token before.
        known = pipeline.register("known", reset_less=True)
        kind = pipeline.register("kind", 3, reset_less=True)
        still_good = byte.follows & need[0] & ~byte.noncharacter & ~known
        if self._whole_sequence:
            old_kind = Mux(byte.beyond, Kind.OUT_OF_RANGE, kind)
            next_kind = Mux(joins, old_kind, byte.kind)
            next_known = Mux(joins, known | byte.refused | byte.noncharacter, byte.wrong)
        else:
            next_kind, next_known = byte.kind, Const(0, 1)
        noncharacter = joins & byte.noncharacter
        sequence = SimpleNamespace(
            new=pipeline.valid("sequence", byte.valid),
            kind=kind,
            known=known,
            last=pipeline.register("sequence_last", reset_less=True),
            error=pipeline.register("sequence_error", reset_less=True),
            unfinished=pipeline.register("sequence_unfinished", reset_less=True),
            # The low bits of its bytes, the newest first, and whether it has 2, 3, ... bytes.
            low_bits=[
                pipeline.register(f"low_bits_{age}", width, reset_less=True)
                for age, width in enumerate(_low_bits_kept(self.profile))
            ],
            has=[
                pipeline.register(f"has_{count + 1}_bytes", reset_less=True)
                for count in self._counts
            ],
        )
        with m.If(moves):
            m.d.sync += [
                kind.eq(next_kind | noncharacter.replicate(3)),
                known.eq(next_known),
                sequence.last.eq(byte.last),
                sequence.error.eq(byte.high & ~still_good),
                sequence.unfinished.eq(byte.announces | (byte.follows & more_needed)),
                *(old.eq(new) for new, old in pairwise([byte.data, *sequence.low_bits])),
                sequence.has[0].eq(joins),
                *(more.eq(fewer & joins) for fewer, more in pairwise(sequence.has)),
            ]
        return sequence

    def _make(
        self, pipeline: "_Pipeline", byte: SimpleNamespace, sequence: SimpleNamespace
    ) -> tuple[Signal, Signal]:
        """Stage 6: whether a token ends with the newest byte of the sequence, and the token."""
        pipeline.heading = "Stage 6, make: the token of the sequence, if it ends here"
        m = pipeline.m
        start = Value.cast(self.state)[0]
        cut = byte.valid & ~byte.follows
        valid = pipeline.register("token_valid")
        with m.If(~pipeline.stands):  # too much for one lookup table without an enable
            m.d.sync += valid.eq(_select(start, sequence.new, cut))
        token = pipeline.register("token", token_layout(self.profile), reset_less=True)
        with m.If(pipeline.runs):
            m.d.sync += [
                token.error.eq(sequence.error),
                Value.cast(token.kind).eq(self._kind(byte, sequence)),
                token.length.eq(_length(sequence.has, len(self.o.p.length))),
                token.last.eq(sequence.last),
                token.code_point.eq(self._code_point(sequence)),
            ]
            # The bits above have it already, at no cost; these have lookup tables only for it.
            with m.If(sequence.error):
                m.d.sync += token.code_point[:6].eq(REPLACEMENT & 0x3F)
        return valid, token

    def _kind(self, byte: SimpleNamespace, sequence: SimpleNamespace) -> Value:
        truncated = Const(Kind.TRUNCATED.value, 3)
        if self._whole_sequence:
            unknown = truncated & sequence.unfinished.replicate(3)
            return _select(sequence.known, sequence.kind, unknown)
        out_of_range = Const(Kind.OUT_OF_RANGE.value, 3)
        refused = byte.refused & ~sequence.last
        kind = _select(byte.beyond, out_of_range, sequence.kind)
        kind = _select(sequence.unfinished & ~refused, truncated, kind)
        return kind & sequence.error.replicate(3)

    def _code_point(self, sequence: SimpleNamespace) -> Value:
        """The value of the sequence: each byte's low bits, as far as its form has them; U+FFFD in
        an error, but for the lowest six bits."""
        newest, *older = sequence.low_bits
        bits = Cat(newest[:6], older)
        is_error = sequence.error
        parts = [newest[:6], _select(sequence.has[0], bits[6], newest[6]) | is_error]
        for (form, one), group in groupby(range(7, self.profile.code_point_width), _form_and_level):
            places = list(group)
            there = bits[places[0] : places[-1] + 1] & sequence.has[form - 2].replicate(len(places))
            error = is_error.replicate(len(places))
            parts.append(there | error if one else there & ~error)
        return Cat(parts)

    def _deliver(self, pipeline: "_Pipeline", token_valid: Signal, token: Signal) -> None:
        """Stage 7: two slots, filled and emptied in turns."""
        pipeline.heading = "Stage 7: two slots for tokens, filled and emptied in turns"
        m, o = pipeline.m, self.o
        slots = [pipeline.register(f"slot_{n}", token.shape(), reset_less=True) for n in range(2)]
        fills = [pipeline.register(f"fills_{n}") for n in range(2)]
        fill_next = pipeline.register("fill_next")
        show = pipeline.register("show")
        both_full = pipeline.register("both_full")
        pipeline.under_heading(o.valid)
        comes = token_valid & ~pipeline.stands
        other_next = fill_next ^ comes
        m.d.sync += [
            o.valid.eq(pipeline.waits | both_full | comes),
            both_full.eq(pipeline.waits & (both_full | comes)),
            # The slot that was filled before the next one, or the next one if nothing is left.
            show.eq(_select(pipeline.waits, show, fill_next ^ both_full)),
            fill_next.eq(other_next),
            fills[0].eq(~pipeline.waits & ~other_next),
            fills[1].eq(~pipeline.waits & other_next),
        ]
        for slot, fill in zip(slots, fills, strict=True):
            with m.If(fill):  # with anything, until a token comes
                m.d.sync += slot.eq(token)
        m.d.comb += o.p.eq(Mux(show, slots[1], slots[0]))


class _Pipeline:
    """Registers that all run together, or all stand.

    ``runs`` drives their enables, a register straight into many flip-flops; ``stands`` is its
    opposite for logic. In the first cycle after reset it does neither: nothing is there to move.

    Parameters
    ----------
    m : Module
        Where the registers are.
    waits : Value
        Whether it stands in the next cycle.

    Attributes
    ----------
    heading : str
        What generated files say above the registers that are made from now on.
    """

    def __init__(self, m: Module, waits: Value) -> None:
        self.m = m
        self.heading = "Flow control: all stages run, or stand in the cycle after the output waits"
        self.waits = Signal(name="waits")
        self.runs = self.register("runs")
        self.stands = self.register("stands")
        m.d.comb += self.waits.eq(waits)
        m.d.sync += [self.runs.eq(~self.waits), self.stands.eq(self.waits)]

    def under_heading(self, register: Any) -> Any:
        """A register, which generated files have under the heading now."""
        Value.cast(register).attrs["stage"] = self.heading
        return register

    def register(self, name: str, shape: Any = 1, *, reset_less: bool = False) -> Any:
        """A new register under the heading now."""
        return self.under_heading(Signal(shape, name=name, reset_less=reset_less))

    def load(self, register: Signal, value: Value) -> None:
        with self.m.If(self.runs):
            self.m.d.sync += register.eq(value)

    def valid(self, stage: str, value: Value) -> Signal:
        """Whether there is anything in a stage; the only registers that need a reset.

        They stand by a choice in front of them, not by their enable, which reset would need too.
        """
        valid = self.register(f"{stage}_valid")
        self.m.d.sync += valid.eq(_select(self.stands, valid, value))
        return valid

    def registers(self, stage: str, valid: Signal, **values: Value) -> SimpleNamespace:
        """The registers of a stage, each with the name and the value given."""
        fields = {
            field: self.register(f"{stage}_{field}", len(value), reset_less=True)
            for field, value in values.items()
        }
        for field, value in values.items():
            self.load(fields[field], value)
        return SimpleNamespace(valid=valid, **fields)

    def stage(self, name: str, before: SimpleNamespace, **values: Value) -> SimpleNamespace:
        """The stage that takes over what is in the one before."""
        return self.registers(name, self.valid(name, before.valid), **values)


class _Nibbles:
    """Membership of bytes in sets, one stage after the byte.

    A set of bytes is a union of products, some high nibbles times some low nibbles. A register for
    each of these sets of nibbles is one lookup table, and bytes of many kinds share them.

    Parameters
    ----------
    pipeline : _Pipeline
        What loads the registers.
    byte : Signal
        The byte.
    """

    def __init__(self, pipeline: _Pipeline, byte: Signal) -> None:
        self._pipeline = pipeline
        self._heading = pipeline.heading
        self._nibbles = {"low": byte[:4], "high": byte[4:]}
        self._known: dict[tuple[str, frozenset[int]], Value] = {}

    def among(self, members: Iterable[int]) -> Value:
        """Whether the byte of the cycle before is one of some."""
        lows = defaultdict(set)
        for member in members:
            lows[member >> 4].add(member & 0xF)
        highs = defaultdict(set)
        for high, low in lows.items():
            highs[frozenset(low)].add(high)
        return _any(
            self._one_of("high", frozenset(high)) & self._one_of("low", low)
            for low, high in highs.items()
        )

    def _one_of(self, which: str, values: frozenset[int]) -> Value:
        others = frozenset(range(16)) - values
        if not others:
            return Const(1, 1)
        if (which, others) in self._known:
            return ~self._known[which, others]
        if (which, values) not in self._known:
            digits = "".join(f"{value:X}" for value in sorted(values))
            register = Signal(
                name=f"{which}_{digits}", reset_less=True, attrs={"stage": self._heading}
            )
            few = min(values, others, key=len)
            found = _any(self._nibbles[which] == value for value in sorted(few))
            self._pipeline.load(register, found if few is values else ~found)
            self._known[which, values] = register
        return self._known[which, values]


def _any(terms: Iterable[Value]) -> Value:
    return reduce(or_, terms, Const(0, 1))


def _select(condition: Value, then: Value, otherwise: Value) -> Value:
    """A choice in plain gates.

    Synthesis makes an enable or a reset of a choice that keeps or clears a register. Where that
    would be slower than a gate, it is written so.
    """
    mask = condition.replicate(len(then))
    return (then & mask) | (otherwise & ~mask)


def _low_bits_kept(profile: Profile) -> list[int]:
    """How many low bits of the newest byte are in a value, of the one before it, and so on."""
    older = (min(6, bits) for bits in range(profile.code_point_width - 6, 0, -6))
    return [7, *older]


def _form_and_level(bit: int) -> tuple[int, int]:
    """The shortest form with a bit of the code point, and the level of that bit in U+FFFD."""
    form = next(form for form, width in FORM_BITS.items() if bit < width)
    return form, REPLACEMENT >> bit & 1


def _length(has: list[Signal], width: int) -> Value:
    """How many bytes there are, given whether there are at least 2, 3 ..."""
    at_least = [Const(1, 1), *has, Const(0, 1)]
    exactly = {n: at_least[n - 1] & ~at_least[n] for n in range(1, len(at_least))}
    return Cat(_any(exactly[n] for n in exactly if n >> bit & 1) for bit in range(width))
