"""The decoder: a stream of bytes in, a stream of code points and errors out."""

from collections import defaultdict
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from .profile import REPLACEMENT, UNICODE, ErrorSpan, Profile
from .token import BYTE_LAYOUT, Kind, token_layout

LAST_FORM_WITH_LEAD_BITS = 6
"""FE and FF, the lead bytes of seven and eight bytes, carry no bits of the value."""


class Decoder(wiring.Component):
    """UTF-8 decoder that takes one byte a cycle and says what is wrong, and where.

    A state machine of one register reads the bytes. A byte *continues* the pending sequence, or it
    is *fresh*, the first byte of the next one::

                  +--------------------+  interrupted   +---+
        i ------> | state value length | -------------> | o | ------> o
        byte      |       reason       |                +---+  token
                  |                    |  decided         ^
                  |                    | -----------+     |
                  +--------------------+            |   +-------+
                                                    +-> | spare |
                                                        +-------+

    A byte *decides* at most one token of its own. If it cannot continue the pending sequence it
    also *interrupts* it, which is a second token, an error. The interrupted bytes before it gave
    none, so one spare place behind the output is enough.

    States: ``START``, a character must begin; ``NEED_n``, any n continuation bytes complete the
    sequence; ``AFTER_xx``, only some second bytes may follow the lead byte xx (in ``unicode`` E0,
    ED, F0 and F4, the rows of Unicode Table 3-7 that restrict the second byte).

    1. Line rate: ``i.ready`` is high whenever ``o.ready`` is, on any input.
    2. Latency: a token is at the output 1 cycle after the byte that decides or interrupts it was
       accepted. It is there 1 cycle later, so after 2, when the interrupted token of the same byte
       goes first or the spare place is taken. (Cycles in which ``o`` waits are not counted.) No
       token waits for a byte that it does not need.
    3. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. Neither
       depends on ``o.ready`` within a cycle; ``i.ready`` does. While ``o.valid`` is low the
       payload keeps its last value (zero after reset).
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
        The states of this profile's machine.
    state : Signal
        The state register, for waveforms and coverage.

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
        self._lead_rules = _lead_rules(profile)
        self._second_rules = _second_rules(profile)
        self.State: Any = enum.Enum(
            "State",
            ["START"]
            + [_need(count) for count in range(1, _most_needed(profile) + 1)]
            + [_after(lead) for lead in sorted(self._second_rules)],
            start=0,
        )
        super().__init__(
            {
                "i": In(stream.Signature(BYTE_LAYOUT)),
                "o": Out(stream.Signature(token_layout(profile))),
            }
        )
        self.state = Signal(self.State)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        state, State = self.state, self.State

        # The pending sequence: its value without the last six bits, its bytes so far, and the
        # first thing that was wrong with it: never anything but NONE, so no register at all,
        # unless an error covers the whole sequence.
        value = Signal(self.profile.code_point_width - 6)
        length = Signal.like(self.o.p.length)
        reason = Signal(Kind)

        fresh_state, fresh_kind, fresh_value = self._begin(m)
        continues, continued_state, continued_kind, cut_kind = self._continue(m, reason)

        # The sequence with this byte, continued or begun.
        next_state = Signal(State)
        next_kind = Signal(Kind)
        next_value = Signal(self.profile.code_point_width)
        next_length = Signal.like(length)
        with m.If(continues):
            m.d.comb += [
                next_state.eq(continued_state),
                next_kind.eq(continued_kind),
                next_value.eq(Cat(self.i.p.data[:6], value)),
                next_length.eq(length + 1),
            ]
        with m.Else():
            m.d.comb += [
                next_state.eq(fresh_state),
                next_kind.eq(fresh_kind),
                next_value.eq(fresh_value),
                next_length.eq(1),
            ]

        accept = Signal()
        m.d.comb += accept.eq(self.i.valid & self.i.ready)
        with m.If(accept):
            m.d.sync += [
                state.eq(Mux(self.i.p.last, State.START, next_state)),
                value.eq(next_value),
                length.eq(next_length),
            ]
            if self._whole_sequence:
                m.d.sync += reason.eq(next_kind)

        unfinished = next_state != State.START
        interrupts = accept & (state != State.START) & ~continues
        decides = accept & (self.i.p.last | ~unfinished)

        interrupted = Signal(token_layout(self.profile))
        self._token(m, interrupted, cut_kind, length, REPLACEMENT)
        decided = Signal.like(interrupted)
        decided_kind = self._decided_kind(m, next_kind, next_value, unfinished)
        self._token(m, decided, decided_kind, next_length, next_value)
        m.d.comb += decided.last.eq(self.i.p.last)
        self._deliver(m, interrupted, interrupts, decided, decides)
        return m

    def _begin(self, m: Module) -> tuple[Signal, Any, Signal]:
        """State, kind of error and value after a byte where a character must begin."""
        state = Signal(self.State, name="fresh_state")
        kind = Signal(Kind, name="fresh_kind")
        value = Signal(7, name="fresh_value")
        with m.Switch(self.i.p.data):
            for pattern, rule_kind, rule_state, value_bits in self._lead_rules:
                with m.Case(pattern):
                    m.d.comb += [
                        state.eq(self.State[rule_state]),
                        kind.eq(rule_kind),
                        value.eq(self.i.p.data[:value_bits]),
                    ]
        return state, kind, value

    def _continue(self, m: Module, reason: Any) -> tuple[Signal, Signal, Any, Any]:
        """Whether the byte continues the pending sequence, state and kind of error if it does.

        Last, the kind of error that the pending sequence is if it does not.
        """
        byte, State = self.i.p.data, self.State
        continues = Signal()
        state = Signal(State, name="continued_state")
        kind = Signal(Kind, name="continued_kind")
        cut_kind = Signal(Kind)
        is_continuation = Signal()
        m.d.comb += [
            is_continuation.eq(byte.matches("10------")),
            kind.eq(reason),
            cut_kind.eq(Mux(reason != Kind.NONE, reason, Kind.TRUNCATED)),
        ]
        with m.Switch(self.state):
            for count in range(1, _most_needed(self.profile) + 1):
                with m.Case(State[_need(count)]):
                    m.d.comb += continues.eq(is_continuation)
                    m.d.comb += state.eq(State[_need(count - 1)])
            for lead, rules in self._second_rules.items():
                with m.Case(State[_after(lead)]):
                    m.d.comb += continues.eq(is_continuation)
                    m.d.comb += state.eq(State[_need(_form(lead) - 2)])
                    with m.Switch(byte):
                        for patterns, rule_kind in rules:
                            with m.Case(*patterns):
                                if self._whole_sequence:
                                    m.d.comb += kind.eq(rule_kind)
                                else:
                                    m.d.comb += continues.eq(0)
                                    m.d.comb += cut_kind.eq(rule_kind)
        return continues, state, kind, cut_kind

    def _decided_kind(self, m: Module, known: Any, value: Value, unfinished: Value) -> Any:
        """Kind of the token that ends with the byte, if one does."""
        kind = Signal(Kind, name="decided_kind")
        with m.If(known != Kind.NONE):
            m.d.comb += kind.eq(known)
        with m.Elif(unfinished):
            # A token of such a kind is only made if the text ends here.
            m.d.comb += kind.eq(Kind.TRUNCATED)
        if not self.profile.accept_noncharacters:
            # U+FFFE and U+FFFF: ones from bit 1 to bit 15, zeros above.
            with m.Elif(value[1:16].all() & ~value[16:].any()):
                m.d.comb += kind.eq(Kind.NONCHARACTER)
        return kind

    def _token(self, m: Module, token: Any, kind: Any, length: Value, value: Value | int) -> None:
        error = kind != Kind.NONE
        m.d.comb += [
            token.code_point.eq(Mux(error, REPLACEMENT, value)),
            token.error.eq(error),
            token.kind.eq(kind),
            token.length.eq(length),
        ]

    def _deliver(
        self, m: Module, interrupted: Any, interrupts: Value, decided: Any, decides: Value
    ) -> None:
        """Up to two tokens a byte into the output register and the spare place behind it."""
        spare = Signal.like(decided)
        spare_valid = Signal()
        # The spare place is never taken while a sequence is pending, so when it is, the byte
        # accepted now interrupts nothing: at most two tokens for two places.
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(spare_valid | interrupts | decides)
            m.d.sync += spare_valid.eq(decides & (spare_valid | interrupts))
            m.d.sync += spare.eq(decided)
            with m.If(spare_valid):
                m.d.sync += self.o.p.eq(spare)
            with m.Elif(interrupts):
                m.d.sync += self.o.p.eq(interrupted)
            with m.Elif(decides):
                m.d.sync += self.o.p.eq(decided)


def _form(lead: int) -> int:
    """How many bytes a lead byte announces: its leading ones."""
    return f"{lead:08b}0".index("0")


def _lead_pattern(form: int) -> str:
    return ("1" * form + "0" + "-" * 8)[:8]


def _first_lead(form: int) -> int:
    return int(_lead_pattern(form).replace("-", "0"), 2)


def _need(count: int) -> str:
    """Name of the state in which any ``count`` continuation bytes complete the sequence."""
    return f"NEED_{count}" if count else "START"


def _most_needed(profile: Profile) -> int:
    """The most continuation bytes that any state needs.

    Where the lead byte has no bits of its own it is always restricted, so that the second byte is
    looked at first.
    """
    form = profile.longest_form
    return form - 1 if form <= LAST_FORM_WITH_LEAD_BITS else form - 2


def _after(lead: int) -> str:
    """Name of the state in which ``lead`` restricts the byte that may follow it."""
    return f"AFTER_{lead:02X}"


def _highest_start(profile: Profile) -> tuple[int, int]:
    """The lead byte and the second byte of the profile's highest value."""
    form = profile.longest_form
    top_bits = profile.highest >> 6 * (form - 2)
    return _first_lead(form) | top_bits >> 6, 0x80 | top_bits & 0x3F


def _above(second: int) -> list[str]:
    """Patterns of the second bytes above one: equal down to a bit that is 0 there, and 1 here."""
    bits = f"{second:08b}"
    return [(bits[:i] + "1").ljust(8, "-") for i in range(2, 8) if bits[i] == "0"]


def _second_rules(profile: Profile) -> dict[int, list[tuple[list[str], Kind]]]:
    """Second bytes that lead bytes refuse, each with the kind of error they reveal.

    A sequence is overlong if the bits it has beyond those of the next shorter form are zero: five
    bits, or six in the form of eight bytes. All of the lead byte's bits are among them, the rest
    are the top ``form - 2`` of the second byte.
    """
    rules: dict[int, list[tuple[list[str], Kind]]] = defaultdict(list)
    for form in range(3, profile.longest_form + 1):
        overlong = ("10" + "0" * (form - 2)).ljust(8, "-")
        rules[_first_lead(form)].append(([overlong], Kind.OVERLONG))
    if not profile.accept_surrogates:
        rules[0xED].append((["101-----"], Kind.SURROGATE))
    lead, second = _highest_start(profile)
    if second < 0xBF:
        rules[lead].append((_above(second), Kind.OUT_OF_RANGE))
    return rules


def _lead_rules(profile: Profile) -> list[tuple[int | str, Kind, str, int]]:
    """What each byte means where a character must begin; the first matching rule holds.

    Pattern of the byte, kind of the error it is, name of the next state, and how many of its low
    bits begin the value.
    """

    def wrong(pattern: int | str, kind: Kind, form: int) -> tuple[int | str, Kind, str, int]:
        whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        return pattern, kind, _need(form - 1 if whole_sequence else 0), 0

    rules: list[tuple[int | str, Kind, str, int]] = [
        ("0-------", Kind.NONE, "START", 7),
        ("10------", Kind.UNEXPECTED_CONTINUATION, "START", 0),
        wrong("1100000-", Kind.OVERLONG, 2),
    ]
    for lead in _second_rules(profile):
        rules.append((lead, Kind.NONE, _after(lead), max(0, 7 - _form(lead))))
    longest = profile.longest_form
    for lead in range(_highest_start(profile)[0] + 1, _first_lead(longest + 1)):
        rules.append(wrong(lead, Kind.OUT_OF_RANGE, longest))
    for form in range(2, min(longest, LAST_FORM_WITH_LEAD_BITS) + 1):
        rules.append((_lead_pattern(form), Kind.NONE, _need(form - 1), 7 - form))
    for form in range(longest + 1, 9):
        kind = Kind.OUT_OF_RANGE if form <= 6 else Kind.INVALID_BYTE
        rules.append((_lead_pattern(form), kind, "START", 0))
    return rules
