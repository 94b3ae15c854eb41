"""The compact encoder: one register stage between code points and bytes."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out

from .design import Design
from .flow_control.stage import Stage
from .layouts import ENCODED_LAYOUT, code_point_layout
from .logic import running
from .profile import FORM_BITS, REPLACEMENT, UNICODE, Profile, checked_profile
from .rules import rejected

REPLACEMENT_FORM = 3
"""Bytes of U+FFFD."""


class CompactEncoder(Design):
    """Encode code points to one byte per cycle in half the area, with a latency of one cycle.

    When a code point is accepted, its lead byte goes to the output register. Another register keeps
    its bits for the continuation bytes::

                  +----------------+
        i ------> | state bits last| ------+
        code      +----------------+       v
        point             |              +---+
                          +------------> | o | ------> o
                             lead byte   +---+  byte

    In ``START`` a code point can be accepted; in ``SEND_n`` n continuation bytes must still go to
    the output register.

    1. Throughput: ``i.ready`` is high when the last byte of a character is taken, and while the
       encoder is empty, except during reset and in the first cycle after it.
    2. Latency: the lead byte is at the output 1 cycle after its code point was accepted.
    3. Stream rules: ``i.ready`` depends on ``o.ready`` within a cycle.
    4. Self-synchronisation: the same as that of :class:`~utf8_hdl.Encoder`.

    Parameters
    ----------
    profile : Profile
        The UTF-8 profile. Its ``error_span`` has no effect.

    Raises
    ------
    TypeError
        If ``profile`` is not a profile.

    Attributes
    ----------
    profile
        As given.
    State : enum.Enum
        The states of this profile's machine, in binary code.
    state : Signal
        The state register, for waveforms and coverage.

    Members
    -------
    i : ``In(stream.Signature(code_point_layout(profile)))``
        Code points, as for :class:`~utf8_hdl.Encoder`.
    o : ``Out(stream.Signature(ENCODED_LAYOUT))``
        Bytes.
    """

    i: Any
    o: Any
    component_name = "encoder"
    compact = True
    #: Cycles from a code point to its lead byte, without stalls.
    latency = 1

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = checked_profile(profile)
        names = ["START", *(f"SEND_{count}" for count in range(1, profile.longest_form))]
        self.State: Any = enum.Enum("State", {name: n for n, name in enumerate(names)})
        super().__init__(
            {
                "i": In(stream.Signature(code_point_layout(profile))),
                "o": Out(stream.Signature(ENCODED_LAYOUT)),
            }
        )
        self.state = Signal(self.State, init=self.State.START)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        START, *_ = states = list(self.State)  # by the number of bytes to be sent
        longest = self.profile.longest_form
        rest = Stage(m, "The bytes that remain to be sent")
        state = rest.adopt(self.state)
        at_output = Stage(m, "The byte at the output")
        at_output.adopt(self.o.valid)
        at_output.adopt(self.o.p)

        refused = Signal()
        m.d.comb += refused.eq(self._refuses(self.i.p.code_point))
        lead, lead_state = self._lead(m, refused)
        more = lead_state != START

        bits = rest.signal("bits", 6 * (longest - 1), reset_less=True)
        last = rest.signal("last", reset_less=True)
        # Unused state codes, which only an upset can cause: the machine must leave them.
        width = len(Value.cast(state))
        unnamed = [f"{code:0{width}b}" for code in range(longest, 1 << width)]
        runs = running(m)
        sending = Signal()
        free = Signal()
        m.d.comb += [
            sending.eq(state != START),
            free.eq(runs & (~self.o.valid | self.o.ready)),
            self.i.ready.eq(free & ~sending),
        ]
        with m.If(free):
            m.d.sync += self.o.valid.eq(sending | self.i.valid)
            with m.Switch(state):
                for count in range(1, longest):
                    with m.Case(states[count]):
                        group = bits[6 * (count - 1) : 6 * count]
                        m.d.sync += [
                            self.o.p.data.eq(Cat(group, Const(0b10, 2))),
                            self.o.p.last.eq(last if count == 1 else 0),
                            state.eq(states[count - 1]),
                        ]
                if unnamed:
                    with m.Case(*unnamed):
                        m.d.sync += state.eq(START)
                with m.Default(), m.If(self.i.valid):
                    m.d.sync += [
                        self.o.p.data.eq(lead),
                        self.o.p.last.eq(self.i.p.last & ~more),
                        state.eq(lead_state),
                    ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                self.o.p.user.error.eq(refused),
                bits.eq(Mux(refused, REPLACEMENT, self.i.p.code_point)),
                last.eq(self.i.p.last),
            ]
        return m

    def _refuses(self, code_point: Value) -> Value:
        """True if the profile refuses a code point, which is as wide as the input."""
        profile = self.profile
        width = profile.code_point_width
        refused = code_point[width:].any()
        second_byte = 6 * (profile.longest_form - 2)  # below, highest has only ones
        if profile.highest < (1 << width) - 1:
            refused |= code_point[second_byte:width] > profile.highest >> second_byte
        return refused | (rejected(profile, code_point[:16]) & ~code_point[16:].any())

    def _lead(self, m: Module, refused: Value) -> tuple[Value, Value]:
        """The lead byte of the shortest form, and the state in which the rest is sent."""
        lead = Signal(8)
        state = Signal(self.State, name="lead_state")
        states = list(self.State)
        longest = self.profile.longest_form
        value = self.i.p.code_point[: FORM_BITS[longest]]
        with m.If(refused):
            m.d.comb += lead.eq(_lead_byte(Const(REPLACEMENT), REPLACEMENT_FORM))
            m.d.comb += state.eq(states[REPLACEMENT_FORM - 1])
        for form in range(1, longest + 1):
            with m.Elif(~value[FORM_BITS[form] :].any()):
                m.d.comb += lead.eq(_lead_byte(value, form))
                m.d.comb += state.eq(states[form - 1])
        return lead, state


def _lead_byte(value: Value, form: int) -> Value:
    """The lead byte of a value in a form: a one for each byte, a zero, the high bits."""
    own_bits = value[6 * (form - 1) : FORM_BITS[form]]
    marker = ("1" * form + "0" if form > 1 else "0")[: 8 - len(own_bits)]
    return Cat(own_bits, Const(int(marker, 2), len(marker)))
