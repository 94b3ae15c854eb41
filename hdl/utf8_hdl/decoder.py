"""The decoder: a stream of bytes in, a stream of code points and errors out."""

from itertools import groupby, pairwise
from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out

from . import rules
from .byte_class import ByteClasses
from .design import Design
from .flow_control.pipeline import Pipeline
from .flow_control.stage import Stage
from .layouts import BYTE_LAYOUT, ErrorKind, token_layout
from .logic import any_of, select
from .profile import REPLACEMENT, UNICODE, ErrorSpan, Profile, checked_profile, form_of_bit


class Decoder(Design):
    """Decode one byte per cycle, and classify and locate every error.

    An elastic pipeline (see :mod:`utf8_hdl.flow_control.pipeline`) of six stages and an output
    buffer, each of them one or two lookup tables deep::

        i ----> take -> split -> pair -> classify -> count -> make -> deliver ----> o
        byte                                         state                      token

    1. *take* the byte that is offered, or the one in the skid register.
    2. *split* it into its two nibbles, and look up which sets each of them is in.
    3. *pair* it with the byte before: in ``unicode``, E0, ED, F0 and F4 refuse some second bytes
       (Unicode Table 3-7). Also look up how many continuation bytes a lead byte announces.
    4. *classify*: decide if the byte may follow the one before it.
    5. *count* the missing bytes. This is the state machine: ``START``, a character must begin;
       ``NEED_n``, n continuation bytes must follow. It has a register for each state.
    6. *make* the token, if one ends with the byte in stage 5: no byte is missing, the text ends
       there, or the byte in stage 4 does not follow and so *cuts* the sequence.
    7. *deliver*: the output buffer.

    No byte ends more than one token, so stage 6 makes at most one per cycle. Guarantees:

    1. Line rate: on any input, ``i.ready`` is high two cycles after each cycle in which the output
       was not stalled (``o.valid`` high, ``o.ready`` low). If the consumer is always ready, a
       byte is accepted in every cycle.
    2. Latency: a token is at the output 7 cycles after its last byte was accepted or, if it is cut,
       6 cycles after the byte that cuts it was accepted. Either is 1 cycle later if that byte was
       accepted in the cycle after a stalled one. Stalled cycles are not counted. No token waits for
       a byte that it does not need.
    3. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. ``i.ready`` is low from the first clock edge with
       reset to the first one without it. While ``o.valid`` is low the payload is a don't care.
    4. Nothing is lost or invented: the lengths of the tokens add up to the bytes accepted.
    5. Self-synchronisation: from any register contents, once ``longest_form - 1`` bytes (3 in
       ``unicode``) or one byte outside 80..BF were accepted, later bytes produce the same tokens as
       after reset. Without input and with a ready consumer, it is empty and ready after 10 cycles,
       in which at most 9 tokens of bytes that were never accepted are taken.

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
    probes : SimpleNamespace
        Signals for proofs. ``skid_taken``: a byte is in the skid register.

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
        self.probes = SimpleNamespace(skid_taken=Signal(name="skid_taken"))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pipeline = Pipeline(m, self.o)
        take = pipeline.take(self.i, self.probes.skid_taken)
        split = pipeline.stage("split", "the byte classes to which each nibble belongs", take.valid)
        split.load(data=take["data"], last=take["last"])
        pair = self._pair(pipeline, split, ByteClasses(split, take["data"]))
        byte = self._classify(pipeline, pair)
        sequence = self._count(pipeline, byte)
        pipeline.deliver(self._make(pipeline, byte, sequence))
        return m

    def _pair(self, pipeline: Pipeline, split: Stage, sets: ByteClasses) -> Stage:
        """Stage 3: the class of a byte, and pairs of it and the one or two bytes before it."""
        profile, among, counts = self.profile, sets.among, range(1, self.profile.longest_form)
        pair = pipeline.stage(
            "pair",
            "the sequence that the byte begins; bytes that the byte before it refuses",
            split.valid,
        )

        def hold(name: str, matches: Value) -> Signal:
            """A register that is loaded only with a valid byte: it has the previous byte's
            value."""
            register: Signal = pair.signal(name, reset_less=True)
            pair.register(name, select(split.valid, matches, register))
            return register

        def after(lead: int, *second: int) -> Signal:
            """True if the byte before is a certain one, or the two bytes before are."""
            held = hold(f"after_{lead:02X}", among([lead]))
            for byte in second:
                held = hold(f"after_{lead:02X}_{byte:02X}", held & among([byte]))
            return held

        found = rules.second_bytes(profile, after, among)
        return pair.load(
            data=split["data"][:7],
            high=split["data"][7],
            last=split["last"],
            # A lead byte that continuation bytes may follow, and the state NEED_n after it.
            announces=among(rules.announcing(profile, *counts)),
            begins=Cat(among(rules.announcing(profile, n)) & ~split["last"] for n in counts),
            # Bytes that cannot begin a character; only needed for `whole-sequence` errors.
            wrong=among(rules.faulty(profile) if self._whole_sequence else ()),
            # The error kind of the byte, or of the sequence if its second byte is refused.
            kind=Cat(among(rules.with_kind_bit(profile, bit)) for bit in range(3)),
            # Refused because the value is out of range, although the lead byte has another kind.
            beyond=found.beyond,
            noncharacter=found.noncharacter,
            continuation=among(rules.CONTINUATION_BYTES),
            refused=Cat(found.refused),
        )

    def _classify(self, pipeline: Pipeline, pair: Stage) -> Stage:
        """Stage 4: decide if a byte may follow the one before it, independently of the state.

        A byte that may not follow ends the maximal subpart before it (Unicode D93b), and decoding
        restarts with it.
        """
        classify = pipeline.stage(
            "classify", "check that the byte may follow the byte before it", pair.valid
        )
        refused = pair["refused"].any()
        continuation = pair["continuation"]
        follows = continuation if self._whole_sequence else continuation & ~refused
        classify.carry("data", "high", "last", "announces", "begins", "wrong", "kind", "beyond")
        classify.carry("noncharacter")
        return classify.load(
            follows=follows,
            # Any last byte of a text leads to START.
            follows_on=follows & ~pair["last"],
            begins_any=pair["begins"].any(),
            refused=refused,
        )

    def _count(self, pipeline: Pipeline, byte: Stage) -> Stage:
        """Stage 5: the state, and the sequence that the byte belongs to."""
        count = pipeline.stage(
            "count",
            "the state and its enable, steps; the sequence so far and its enable, moves",
            byte.valid,
        )
        for name, width in _sequence_widths(self.profile).items():
            count.signal(name, width, reset_less=True)
        # Clock enables of registers that change only when a byte leaves stage 4. `moves` drives the
        # enable inputs of flip-flops directly. The state has its own, `steps`, because there the
        # reset is part of the enable.
        moves, steps = count.signal("moves", reset_less=True), count.signal("steps")
        moves_on = ~pipeline.will_stall & byte.next_valid
        pipeline.m.d.sync += [moves.eq(moves_on), steps.eq(moves_on)]
        with pipeline.m.If(steps):
            pipeline.m.d.sync += count.adopt(self.state).eq(self._next_state(byte))

        joins = byte["follows"] & ~self._is_in("START")
        noncharacter = joins & byte["noncharacter"]
        # The error kind if the sequence ends here. `known` is only needed for `whole-sequence`
        # errors; otherwise the byte that reveals an error ends the token before it.
        kind, known = byte["kind"], Const(0, 1)
        if self._whole_sequence:
            old_kind = Mux(byte["beyond"], ErrorKind.OUT_OF_RANGE, count["kind"])
            kind = Mux(joins, old_kind, byte["kind"])
            known = Mux(
                joins, count["known"] | byte["refused"] | byte["noncharacter"], byte["wrong"]
            )
        good = byte["follows"] & self._is_in("NEED_1") & ~byte["noncharacter"] & ~count["known"]
        return count.load(
            when=moves,
            low_bits=Cat(byte["data"][:6], count["low_bits"]),
            bit_6=byte["data"][6],
            has=Cat(Const(1, 1), count["has"]) & joins.replicate(len(count["has"])),
            last=byte["last"],
            error=byte["high"] & ~good,
            unfinished=byte["announces"] | (byte["follows"] & self._needs_more()),
            kind=kind | noncharacter.replicate(3),
            known=known,
        )

    def _next_state(self, byte: Stage) -> Value:
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
        goes_to = {START: ~(byte["begins_any"] | (byte["follows_on"] & self._needs_more()))}
        for state, announced in zip(NEED, byte["begins"], strict=True):
            goes_to[state] = announced
        for one_less, state in pairwise(NEED):
            goes_to[one_less] |= byte["follows_on"] & self._is_in(state.name)
        return Cat(goes_to[state] for state in self.State)

    def _is_in(self, name: str) -> Value:
        """True in the state of that name."""
        return Value.cast(self.state)[list(self.State).index(self.State[name])]

    def _needs_more(self) -> Value:
        """True if more than one byte must follow."""
        return any_of(self._is_in(state.name) for state in list(self.State)[2:])

    def _make(self, pipeline: Pipeline, byte: Stage, sequence: Stage) -> Stage:
        """Stage 6: the token, valid if it ends with the newest byte of the sequence."""
        cut = byte.valid & ~byte["follows"]
        make = pipeline.stage(
            "make",
            "the token, if the sequence ends here; U+FFFD for an error",
            select(self._is_in("START"), sequence.valid, cut),
            wide=True,
        )
        return make.load(
            code_point=self._code_point(sequence),
            error=sequence["error"],
            kind=self._kind(byte, sequence),
            length=self._length(sequence),
            last=sequence["last"],
        )

    def _kind(self, byte: Stage, sequence: Stage) -> Value:
        truncated = Const(ErrorKind.TRUNCATED.value, 3)
        if self._whole_sequence:
            unknown = truncated & sequence["unfinished"].replicate(3)
            return select(sequence["known"], sequence["kind"], unknown)
        out_of_range = Const(ErrorKind.OUT_OF_RANGE.value, 3)
        refused = byte["refused"] & ~sequence["last"]
        kind = select(byte["beyond"], out_of_range, sequence["kind"])
        kind = select(sequence["unfinished"] & ~refused, truncated, kind)
        return kind & sequence["error"].replicate(3)

    def _code_point(self, sequence: Stage) -> Value:
        """The value, with the bits of its form (RFC 3629, section 3); U+FFFD in an error."""
        bits, has, is_error = sequence["low_bits"], sequence["has"], sequence["error"]
        parts = [
            Mux(is_error, REPLACEMENT & 0x3F, bits[:6]),
            select(has[0], bits[6], sequence["bit_6"]) | is_error,
        ]
        for (form, one), group in groupby(range(7, len(bits)), _form_and_level):
            places = list(group)
            there = bits[places[0] : places[-1] + 1] & has[form - 2].replicate(len(places))
            error = is_error.replicate(len(places))
            parts.append(there | error if one else there & ~error)
        return Cat(parts)

    def _length(self, sequence: Stage) -> Value:
        """The number of bytes, from its thermometer code: at least 2, at least 3, and so on."""
        at_least = [Const(1, 1), *sequence["has"], Const(0, 1)]
        exactly = {n: at_least[n - 1] & ~at_least[n] for n in range(1, len(at_least))}
        bits = range(len(self.o.p.length))
        return Cat(any_of(exactly[n] for n in exactly if n >> bit & 1) for bit in bits)


def _sequence_widths(profile: Profile) -> dict[str, int]:
    """The registers of stage 5, and their widths."""
    return {
        "low_bits": profile.code_point_width,  # six of each byte, the newest lowest
        "bit_6": 1,  # of the newest byte, for a sequence of one
        "has": profile.longest_form - 1,  # bit n: at least n + 2 bytes
        "last": 1,  # the last byte of the text is in it
        "error": 1,  # an error if it ends here
        "unfinished": 1,  # truncated if it ends here
        "kind": 3,  # of its error
        "known": 1,  # its error is already known
    }


def _form_and_level(bit: int) -> tuple[int, int]:
    """The shortest form with a bit of the code point, and the value of that bit in U+FFFD."""
    return form_of_bit(bit), REPLACEMENT >> bit & 1
