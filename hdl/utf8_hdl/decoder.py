"""The decoder: a stream of bytes in, a stream of code points and errors out."""

from itertools import groupby, pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out

from . import tables
from .byte_class import ByteClasses
from .design import Design
from .layouts import BYTE_LAYOUT, Kind, token_layout
from .logic import any_of, select
from .pipeline import Pipeline, Stage
from .profile import REPLACEMENT, UNICODE, ErrorSpan, Profile, checked_profile, form_of_bit


class Decoder(Design):
    """Decode one byte per cycle, and classify and locate every error.

    An elastic pipeline (see :mod:`utf8_hdl.pipeline`) of six stages and an output buffer, each of
    them one or two lookup tables deep::

        i ----> take -> split -> pair -> classify -> count -> make -> deliver ----> o
        byte                                         state                      token

    1. *take* the byte that is offered, or the one in the skid register.
    2. *split* it into its two nibbles, and look up which sets each of them is in.
    3. *pair* it with the byte before: in ``unicode`` E0, ED, F0 and F4 refuse some second bytes,
       the rows of Unicode Table 3-7 that restrict it. And name the form that a lead byte begins.
    4. *classify*: a byte may follow the one before it, or it may not.
    5. *count* what is missing. This is the state machine: ``START``, a character must begin;
       ``NEED_n``, n continuation bytes must follow. It has a register for each state.
    6. *make* the token that ends with the byte in stage 5. That is the case if nothing is missing,
       if the text ends there, or if the byte in stage 4 does not follow: it *cuts* the sequence.
    7. *deliver*: the output buffer.

    No byte ends more than one token, so there is never more than one to make. What it promises:

    1. Line rate: on any input, ``i.ready`` is high two cycles after each cycle in which the output
       was not stalled (``o.valid`` high, ``o.ready`` low). While the consumer is ready, a byte is
       accepted in every cycle.
    2. Latency: a token is at the output 7 cycles after its last byte was accepted. A truncated
       token is at the output 6 cycles after the byte that truncates it was accepted. Either is 1
       cycle later if that byte was accepted in the cycle after a stalled one. Stalled cycles are
       not counted. No token waits for a byte that it does not need.
    3. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. ``i.ready`` is low from the first clock edge with
       reset to the first one without it. While ``o.valid`` is low the payload is a don't care.
    4. Nothing is lost or invented: the lengths of the tokens add up to the bytes accepted.
    5. Self-synchronisation: from any register contents, once ``longest_form - 1`` bytes (3 in
       ``unicode``) or one byte outside 80..BF are accepted, later bytes give the tokens that they
       give a freshly reset decoder. Without input and with a ready consumer, it is empty and
       ready after 10 cycles, in which at most 9 tokens of bytes that never came are taken.

    :class:`~utf8_hdl.CompactDecoder` has half the area; :class:`~utf8_hdl.WideDecoder` decodes up
    to 128 bytes per cycle.

    Parameters
    ----------
    profile : Profile
        The UTF-8 profile. Rules that a profile does not need cost no gates.

    Raises
    ------
    TypeError
        If ``profile`` is not a profile.

    Attributes
    ----------
    profile
        As given.
    State : enum.Enum
        The states of this profile's machine, one-hot.
    state : Signal
        The state register, for waveforms and coverage.
    skid_taken : Signal
        High while a byte is in the skid register, for proofs.

    Members
    -------
    i : ``In(stream.Signature(BYTE_LAYOUT))``
        Bytes of the text. ``last`` ends a text: an unfinished sequence is then ``TRUNCATED``, and
        the next byte begins a new text.
    o : ``Out(stream.Signature(token_layout(profile)))``
        Tokens.
    """

    i: Any
    o: Any
    component_name = "decoder"
    #: Cycles from the last byte of a token to the token, without stalls.
    latency = 7

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = checked_profile(profile)
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        names = ["START", *(f"NEED_{count}" for count in range(1, profile.longest_form))]
        self.State: Any = enum.Enum("State", {name: 1 << n for n, name in enumerate(names)})
        super().__init__(
            {
                "i": In(stream.Signature(BYTE_LAYOUT)),
                "o": Out(stream.Signature(token_layout(profile))),
            }
        )
        #: Ports of AXI4-Stream that are wider than their fields.
        self.axi_widths = {"m_axis_tdata": profile.utf32_width, "m_axis_tuser": 8}
        self.state = Signal(self.State, init=self.State.START)
        self.skid_taken = Signal()

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pipeline = Pipeline(m, self.o)
        take = pipeline.take(self.i, self.skid_taken)
        split = pipeline.stage(
            "split", "the sets that the nibbles of the byte are in", take.valid, BYTE_LAYOUT
        )
        split.load(data=take.p.data, last=take.p.last)
        pair = self._pair(pipeline, split, ByteClasses(split, take.p.data))
        byte = self._classify(pipeline, pair)
        sequence = self._count(pipeline, byte)
        pipeline.deliver(self._make(pipeline, byte, sequence))
        return m

    def _pair(self, pipeline: Pipeline, split: Stage, sets: ByteClasses) -> Stage:
        """Stage 3: what a byte is by itself, and to the one or two before it."""
        profile, among, counts = self.profile, sets.among, range(1, self.profile.longest_form)
        refusals = tables.refusals(profile)
        pair = pipeline.stage(
            "pair",
            "what the byte begins, and what the one before it refuses",
            split.valid,
        )

        def before(name: str, matches: Value) -> Signal:
            """Whether the byte before, some cycles ago perhaps, was one of some."""
            return pair.keep(f"after_{name}", matches, split.valid)

        # Unicode Table 3-7: the second bytes that E0, ED, F0 and F4 refuse.
        after = {lead: before(f"{lead:02X}", among([lead])) for lead in refusals}
        refused = [after[lead] & among(seconds) for lead, seconds in refusals.items()]
        beyond = [
            after[lead] & among(s for s, kind in seconds.items() if kind is Kind.OUT_OF_RANGE)
            for lead, seconds in refusals.items()
            if len(set(seconds.values())) > 1
        ]
        noncharacter: Value = Const(0, 1)
        if not profile.accept_noncharacters:
            # U+FFFE is EF BF BE, and U+FFFF is EF BF BF.
            after_ef_bf = before("EF_BF", before("EF", among([0xEF])) & among([0xBF]))
            noncharacter = after_ef_bf & among([0xBE, 0xBF])
        continuation = among(tables.CONTINUATION_BYTES)
        return pair.load(
            data=split.p.data[:7],
            high=split.p.data[7],
            last=split.p.last,
            # A lead byte that continuation bytes may follow; and of which NEED_n it leads to.
            announces=among(tables.announcing(profile, *counts)),
            begins=Cat(among(tables.announcing(profile, n)) & ~split.p.last for n in counts),
            # It cannot begin a character. Only needed where an error goes on after its first byte.
            wrong=among(tables.faulty(profile) if self._whole_sequence else ()),
            # Of the error that it is, or is if its second byte is refused.
            kind=Cat(among(tables.with_kind_bit(profile, bit)) for bit in range(3)),
            # Refused because the value is out of range, though its lead has another kind.
            beyond=any_of(beyond),
            noncharacter=noncharacter,
            continuation=continuation,
            # Not more refusals in one bit than a lookup table takes.
            refused=Cat(any_of(refused[n : n + 2]) for n in range(0, len(refused), 2)),
        )

    def _classify(self, pipeline: Pipeline, pair: Stage) -> Stage:
        """Stage 4: whether a byte may follow the one before it, whatever the state.

        One that may not ends a maximal subpart (Unicode D93b), and begins anew itself.
        """
        classify = pipeline.stage(
            "classify", "whether the byte may follow the one before it", pair.valid
        )
        kept = [name for name, _ in pair.p.shape() if name not in ("continuation", "refused")]
        refused = pair.p.refused.any()
        follows = pair.p.continuation if self._whole_sequence else pair.p.continuation & ~refused
        return classify.load(
            **{name: pair.p[name] for name in kept},
            follows=follows,
            # The last byte of a text leads to START, whatever it is.
            follows_on=follows & ~pair.p.last,
            begins_any=pair.p.begins.any(),
            refused=refused,
        )

    def _count(self, pipeline: Pipeline, byte: Stage) -> Stage:
        """Stage 5: the state, and the sequence that the byte belongs to."""
        count = pipeline.stage(
            "count",
            "the state, and the sequence as far as it is there",
            byte.valid,
            _sequence_layout(self.profile),
        )
        # Clock enables of what changes only when a byte moves on from stage 4. One goes straight to
        # flip-flops; the state has one of its own, because reset is part of it there.
        moves, steps = count.register("moves", reset_less=True), count.register("steps")
        moves_on = ~pipeline.will_stall & byte.next_valid
        pipeline.m.d.sync += [moves.eq(moves_on), steps.eq(moves_on)]
        with pipeline.m.If(steps):
            pipeline.m.d.sync += count.adopt(self.state).eq(self._next_state(byte.p))

        p, sequence = byte.p, count.p
        joins = p.follows & ~self._is_in("START")
        noncharacter = joins & p.noncharacter
        # What is wrong if the sequence ends here. `known` is only needed where an error goes on
        # after it has been seen; else the byte that reveals it ends the token before.
        kind, known = p.kind, Const(0, 1)
        if self._whole_sequence:
            old_kind = Mux(p.beyond, Kind.OUT_OF_RANGE, sequence.kind)
            kind = Mux(joins, old_kind, p.kind)
            known = Mux(joins, sequence.known | p.refused | p.noncharacter, p.wrong)
        good = p.follows & self._is_in("NEED_1") & ~p.noncharacter & ~sequence.known
        return count.load(
            when=moves,
            low_bits=Cat(p.data[:6], sequence.low_bits),
            bit_6=p.data[6],
            has=Cat(Const(1, 1), sequence.has) & joins.replicate(len(sequence.has)),
            last=p.last,
            error=p.high & ~good,
            unfinished=p.announces | (p.follows & self._needs_more()),
            kind=kind | noncharacter.replicate(3),
            known=known,
        )

    def _next_state(self, byte: Any) -> Value:
        """The state machine: the state that a byte leads to, from the state before it.

        ==========  =====================  =====================  ===============
        state       a byte that announces  a byte that may        any other byte
                    n continuation bytes   follow the one before
        ==========  =====================  =====================  ===============
        `START`     `NEED_n`               `START`                `START`
        `NEED_1`    `NEED_n`               `START`                `START`
        `NEED_m+1`  `NEED_n`               `NEED_m`               `START`
        ==========  =====================  =====================  ===============

        After the last byte of a text it is `START`.
        """
        START, *NEED = self.State
        goes_to = {START: ~(byte.begins_any | (byte.follows_on & self._needs_more()))}
        for state, announced in zip(NEED, byte.begins, strict=True):
            goes_to[state] = announced
        for one_less, state in pairwise(NEED):
            goes_to[one_less] |= byte.follows_on & self._is_in(state.name)
        return Cat(goes_to[state] for state in self.State)

    def _is_in(self, name: str) -> Value:
        """Whether the state is the one of that name."""
        return Value.cast(self.state)[list(self.State).index(self.State[name])]

    def _needs_more(self) -> Value:
        """Whether more than one byte must follow."""
        return any_of(self._is_in(state.name) for state in list(self.State)[2:])

    def _make(self, pipeline: Pipeline, byte: Stage, sequence: Stage) -> Stage:
        """Stage 6: whether a token ends with the newest byte of the sequence, and the token."""
        cut = byte.valid & ~byte.p.follows
        make = pipeline.stage(
            "make",
            "the token of the sequence, if it ends here",
            select(self._is_in("START"), sequence.valid, cut),
            token_layout(self.profile),
            wide=True,
        )
        return make.load(
            code_point=self._code_point(sequence.p),
            error=sequence.p.error,
            kind=self._kind(byte.p, sequence.p),
            length=self._length(sequence.p),
            last=sequence.p.last,
        )

    def _kind(self, byte: Any, sequence: Any) -> Value:
        truncated = Const(Kind.TRUNCATED.value, 3)
        if self._whole_sequence:
            unknown = truncated & sequence.unfinished.replicate(3)
            return select(sequence.known, sequence.kind, unknown)
        out_of_range = Const(Kind.OUT_OF_RANGE.value, 3)
        refused = byte.refused & ~sequence.last
        kind = select(byte.beyond, out_of_range, sequence.kind)
        kind = select(sequence.unfinished & ~refused, truncated, kind)
        return kind & sequence.error.replicate(3)

    def _code_point(self, sequence: Any) -> Value:
        """The value, with the bits of its form (RFC 3629, section 3); U+FFFD in an error."""
        bits, has, is_error = sequence.low_bits, sequence.has, sequence.error
        parts = [
            Mux(is_error, REPLACEMENT & 0x3F, bits[:6]),
            select(has[0], bits[6], sequence.bit_6) | is_error,
        ]
        for (form, one), group in groupby(range(7, len(bits)), _form_and_level):
            places = list(group)
            there = bits[places[0] : places[-1] + 1] & has[form - 2].replicate(len(places))
            error = is_error.replicate(len(places))
            parts.append(there | error if one else there & ~error)
        return Cat(parts)

    def _length(self, sequence: Any) -> Value:
        """How many bytes there are, given whether there are at least 2, 3 ..."""
        at_least = [Const(1, 1), *sequence.has, Const(0, 1)]
        exactly = {n: at_least[n - 1] & ~at_least[n] for n in range(1, len(at_least))}
        bits = range(len(self.o.p.length))
        return Cat(any_of(exactly[n] for n in exactly if n >> bit & 1) for bit in bits)


def _sequence_layout(profile: Profile) -> dict[str, Any]:
    """What is known of a sequence in stage 5."""
    return {
        "low_bits": profile.code_point_width,  # six of each byte, the newest lowest
        "bit_6": 1,  # of the newest byte, for a sequence of one
        "has": profile.longest_form - 1,  # bit n: at least n + 2 bytes
        "last": 1,  # the last byte of the text is in it
        "error": 1,  # an error if it ends here
        "unfinished": 1,  # it would be cut
        "kind": 3,  # of its error
        "known": 1,  # its error has been seen
    }


def _form_and_level(bit: int) -> tuple[int, int]:
    """The shortest form with a bit of the code point, and the level of that bit in U+FFFD."""
    return form_of_bit(bit), REPLACEMENT >> bit & 1
