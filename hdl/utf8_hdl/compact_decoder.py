"""The compact decoder: the textbook state machine with one register stage."""

from collections.abc import Iterable
from itertools import groupby
from types import new_class
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out

from . import rules
from .design import Design
from .flow_control.stage import Stage
from .layouts import BYTE_LAYOUT, ErrorKind, token_layout
from .logic import patterns, running
from .profile import REPLACEMENT, UNICODE, ErrorSpan, Profile, checked_profile


class CompactDecoder(Design):
    """Decode one byte per cycle in half the area of the pipeline, with a latency of one cycle.

    It is a state machine with an output register::

                    +---------------+     +-----------------+
        i.p  --+--->| state machine |---->| output register |--+--> o.p
        byte   |    +---------------+     +-----------------+  |    token
               |       ^                       ^               |
               |    +--------+                 |   unfinished  |
               +--->| before |                 +---------------+
                    +--------+

    In ``START`` a character must begin; in ``NEED_n`` n continuation bytes must follow. A lead byte
    leads from ``START`` to ``NEED_n``. Each byte that joins the sequence leads to the next lower
    state; the last one completes a token. In ``START``, any other byte is a token of its own.

    A byte that does not join *cuts* the sequence, and the error occupies the output register. If
    the byte is a lead byte, it has no token yet. Otherwise its own token is one step late: state
    ``HELD`` means that the byte in the register *before*, which always has the previous byte, still
    needs its token. The next step outputs this token and accepts the next byte. No sequence can be
    cut in that step, so one register is enough for any input::

        i.p    C2     41      42     43    E2    82      AC
        state  START  NEED_1  HELD   HELD  HELD  NEED_2  NEED_1  START
        o.p                   error  41    42    43              20AC

    From the second byte of an unfinished sequence on, the output register has its value and length
    so far, and ``o.valid`` is low. After the lead byte it may still have the previous token.

    1. Line rate: on any input, ``i.ready`` is high while ``o.ready`` is high or ``o.valid`` is low,
       except during reset and in the first cycle after it.
    2. Latency: a token is at the output 1 cycle after its last byte or the byte that cuts it. If
       the byte that cuts a sequence does not begin an unfinished one, its own token takes 2 cycles.
       So do the tokens of the following bytes, until a byte begins an unfinished sequence or a
       cycle has no byte. Cycles in which the output stalls are not counted.

    Guarantees 3 to 5 are those of :class:`~utf8_hdl.Decoder`, with two differences. ``i.ready``
    depends on ``o.ready`` within a cycle. Without input and with a ready consumer, it is empty and
    ready after 3 cycles, in which at most 2 tokens of bytes that were never accepted are taken.
    Only ``o.valid`` and a register that gates ``i.ready`` are reset. The latter stays low in the
    first cycle after reset and, while it is low, clears ``state``.

    The rules are those of RFC 3629, section 4, and of the Unicode Standard, Table 3-7 and D93b: an
    error covers the longest prefix of a well-formed sequence (``maximal-subpart``), or one byte.

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
        The states of this profile's machine, in binary code; ``HELD`` has a bit of its own.
    state : Signal
        The state register, for waveforms and coverage.

    Members
    -------
    i : ``In(stream.Signature(BYTE_LAYOUT))``
        Bytes of the text, as for :class:`~utf8_hdl.Decoder`.
    o : ``Out(stream.Signature(token_layout(profile)))``
        Tokens.
    """

    i: Any
    o: Any
    component_name = "decoder"
    compact = True
    #: Cycles from the last byte of a token to the token, without stalls.
    latency = 1

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = checked_profile(profile)
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        self._refusals = rules.refusals(profile)
        self._Restriction = _restriction(self._refusals)
        names = ["START", *(f"NEED_{count}" for count in range(1, profile.longest_form))]
        codes = {name: n for n, name in enumerate(names)}
        codes["HELD"] = 1 << (profile.longest_form - 1).bit_length()  # a bit of its own
        self.State: Any = enum.Enum("State", codes)
        super().__init__(
            {
                "i": In(stream.Signature(BYTE_LAYOUT)),
                "o": Out(stream.Signature(token_layout(profile))),
            }
        )
        #: Ports of AXI4-Stream that are wider than their fields.
        self.axi_widths = {"m_axis_tdata": profile.utf32_width, "m_axis_tuser": 8}
        self.state = Signal(self.State, init=self.State.START, reset_less=True)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o, State = self.i, self.o, self.State
        state = Stage(m, "The state").adopt(self.state)
        now, before = self._bytes(m)
        announced = self._meaning(m, now)
        refused, so_far = self._sequence(m, now, before)
        held = state[-1]

        # The state machine. A token ends with the byte, or before it; HELD has a token of its own.
        names = "begins", "follows", "joins", "unfinished", "ends", "error"
        begins, follows, joins, unfinished, ends, error = (Signal(name=name) for name in names)
        next_state = Signal(State)
        m.d.comb += begins.eq(i.valid & announced.any() & ~now.last)
        m.d.comb += follows.eq(now.data.matches("10------") & (~refused | self._whole_sequence))
        with m.Switch(state):
            for count in range(1, self.profile.longest_form):
                with m.Case(State(count)):
                    m.d.comb += unfinished.eq(1)
                    with m.If(follows):
                        m.d.comb += [
                            joins.eq(1),
                            ends.eq(i.valid & (now.last | (count == 1))),
                            error.eq(so_far != ErrorKind.TRUNCATED if count == 1 else now.last),
                            next_state.eq(Mux(now.last, State.START, State(count - 1))),
                        ]
                    with m.Else():
                        m.d.comb += [
                            ends.eq(i.valid),
                            error.eq(1),
                            next_state.eq(Mux(begins, announced, State.HELD)),
                        ]
            with m.Case("1" + "-" * (len(state) - 1)):  # HELD
                emptied = Mux(i.valid, State.HELD, State.START)
                m.d.comb += [
                    ends.eq(1),
                    error.eq(before.data[7]),
                    next_state.eq(Mux(begins, announced, emptied)),
                ]
            with m.Default():  # START
                m.d.comb += [
                    ends.eq(i.valid & ~begins),
                    error.eq(now.data[7]),
                    next_state.eq(Mux(begins, announced, State.START)),
                ]

        # The token: of the sequence, or of one byte.
        token = Signal(o.p.shape())
        at_output = Stage(m, "The token at the output, or the sequence so far")
        shown = at_output.signal("shown", o.p.shape(), reset_less=True)
        m.d.comb += [at_output.adopt(o.p).eq(shown), token.error.eq(error)]
        with m.If(unfinished):
            # After a lead byte, the output register may still hold the previous token.
            is_second = before.data[6]
            value = Mux(is_second, self._value_bits(before.data), shown.code_point)
            m.d.comb += [
                token.code_point.eq(Cat(now.data[:6], value)),
                token.kind.eq(so_far),
                token.length.eq(Mux(is_second, 1, shown.length) + joins),
                token.last.eq(now.last & joins),
            ]
        with m.Else():
            m.d.comb += [
                token.code_point.eq(Mux(held, before.data, now.data)[:7]),
                token.kind.eq(Mux(held, before.kind, now.kind)),
                token.length.eq(1),
                token.last.eq(Mux(held, before.last, now.last)),
            ]

        # The registers. A stalled register keeps its contents.
        stalled = o.valid & ~o.ready
        step = Signal()
        runs = running(m)
        m.d.comb += [i.ready.eq(~stalled & runs), step.eq(~stalled & (i.valid | ~unfinished))]
        m.d.sync += at_output.adopt(o.valid).eq(stalled | (ends & runs))
        with m.If(step):
            m.d.sync += [state.eq(next_state), before.eq(now), shown.eq(token)]
            if self._whole_sequence:
                with m.If(joins):
                    m.d.sync += before.kind.eq(so_far)
            # Written in this form, the constants use set and reset inputs of flip-flops, not gates.
            with m.If(error):
                m.d.sync += shown.code_point.eq(REPLACEMENT)
            with m.Else():
                m.d.sync += shown.kind.eq(ErrorKind.NONE)
        # In the first cycle after reset, ``step`` can be high although no byte is accepted.
        # Clearing the state here keeps ``runs`` out of the clock enable, which is a slow path.
        with m.If(~runs):
            m.d.sync += state.eq(State.START)
        return m

    def _bytes(self, m: Module) -> tuple[Any, Any]:
        """The byte that is offered and the byte before it, each with its properties.

        ``kind``: its error kind if no byte joins it. ``restriction``: the byte, if it is a lead
        byte that refuses some second bytes. ``is_ef_bf``: this byte and the one before are EF BF.
        """
        fields: dict[str, Any] = {"kind": ErrorKind, "restriction": self._Restriction}
        if not self.profile.accept_noncharacters:
            fields["is_ef_bf"] = 1
        layout = data.StructLayout(BYTE_LAYOUT.members | fields)
        now = Signal(layout)
        before = Stage(m, "The byte before").signal("before", layout, reset_less=True)
        m.d.comb += [now.data.eq(self.i.p.data), now.last.eq(self.i.p.last)]
        if "is_ef_bf" in fields:
            m.d.comb += now.is_ef_bf.eq((before.data == 0xEF) & (now.data == 0xBF))
        return now, before

    def _meaning(self, m: Module, now: Any) -> Signal:
        """Look up a byte where a character must begin; return how many bytes it announces.

        The cases are the first column of Unicode Table 3-7, and all other bytes.
        """
        NONE, *others = self._Restriction
        restrictions = dict(zip(self._refusals, others, strict=True))

        def meaning(byte: int) -> tuple[int, Any, ErrorKind]:
            fault = rules.first_fault(self.profile, byte)
            is_lead = fault is ErrorKind.NONE and byte >= 0x80
            kind = ErrorKind.TRUNCATED if is_lead else fault
            return rules.announced(self.profile, byte), restrictions.get(byte, NONE), kind

        announced = Signal(range(self.profile.longest_form))
        with m.Switch(now.data):
            for (count, restriction, kind), group in groupby(rules.BYTES, meaning):
                with m.Case(*patterns(group, 8)):
                    m.d.comb += announced.eq(count)
                    m.d.comb += [now.restriction.eq(restriction), now.kind.eq(kind)]
        return announced

    def _sequence(self, m: Module, now: Any, before: Any) -> tuple[Signal, Signal]:
        """True if a second byte is refused; and the error kind if the sequence ends now.

        The cases are the second column of Unicode Table 3-7 where it is not 80..BF.
        """
        refused = Signal()
        reason = Signal(ErrorKind)
        so_far = Signal(ErrorKind)
        with m.Switch(before.restriction):
            _none, *restrictions = self._Restriction
            for restriction, kinds in zip(restrictions, self._refusals.values(), strict=True):
                with m.Case(restriction):
                    m.d.comb += reason.eq(kinds[min(kinds)])  # a don't care unless it is refused
                    with m.Switch(now.data):
                        for kind, seconds in groupby(kinds, kinds.__getitem__):
                            with m.Case(*patterns(seconds, 8)):
                                m.d.comb += [refused.eq(1), reason.eq(kind)]
        # With maximal subparts, an error ends where it is found, so a longer sequence has none yet.
        known = before.kind if self._whole_sequence else ErrorKind.TRUNCATED
        m.d.comb += so_far.eq(Mux(refused, reason, known))
        if not self.profile.accept_noncharacters:
            with m.If(before.is_ef_bf & now.data.matches("1011111-")):  # U+FFFE and U+FFFF
                m.d.comb += so_far.eq(ErrorKind.NONCHARACTER)
        return refused, so_far

    def _value_bits(self, lead: Value) -> Value:
        """The bits of a lead byte that are bits of the value: those below its highest zero.

        The longest form shifts the ones above out at the left, so they need not be cleared.
        """
        lowest_shifted_out = 8 - self.profile.longest_form
        return Cat(
            lead[bit] & ~(lead[bit + 1 : 6].all() & (bit > lowest_shifted_out)) for bit in range(5)
        )


def _restriction(leads: Iterable[int]) -> Any:
    """An enumeration of the lead bytes that refuse some second bytes, and ``NONE``."""
    names = ["NONE", *(f"{lead:02X}" for lead in leads)]

    def add(members: Any) -> None:
        for number, name in enumerate(names):
            members[name] = number

    # Only an enumeration with a shape keeps its names as a field.
    return new_class("Restriction", (enum.Enum,), {"shape": range(len(names))}, add)
