"""The encoder: a stream of code points in, a stream of bytes out."""

from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import enum, stream
from amaranth.lib.wiring import In, Out

from .design import Design
from .flow_control.pipeline import Pipeline
from .flow_control.stage import Stage
from .layouts import ENCODED_LAYOUT, code_point_layout
from .logic import any_of, select
from .profile import FORM_BITS, REPLACEMENT, UNICODE, Profile, checked_profile
from .rules import rejected


class Encoder(Design):
    """Encode code points to one byte per cycle, always in the shortest form.

    A pipeline of seven stages; in ``unicode`` each of them is one lookup table deep, except the
    state machine. The clock enable of the stages up to *send* is a register, and it is ``i.ready``
    as well, so a skid register is not needed::

                                               state
                                             +-------+
        -> take -> measure -> classify ----> | send  | ----> choose -> form -> output buffer ->
        i                                    +-------+                                        o
        code   advance                         enable                                      byte
        point  (i.ready)

    1. *take* the code point, and look at up to four of its bits at a time.
    2. *measure* it: the ranges of bits, between the widths of the forms, in which it has ones.
    3. *classify*: its form, and whether the profile refuses it.
    4. *send* its bytes. This is the state machine: ``START``, the next code point may come;
       ``SEND_n``, n continuation bytes follow the byte that is sent. It has a register for each
       state.
    5. *choose* the six bits that go into the byte, out of two groups at a time.
    6. *form* the byte.
    7. The output buffer.

    A code point that the profile refuses (above its highest value, a surrogate or a noncharacter
    where these are rejected; RFC 3629 section 3, Unicode D92) is replaced by U+FFFD, and ``error``
    is set with each of the three bytes EF BF BD. Every value of ``code_point`` may be offered; none
    is cut to fit.

    From *send* on the timing is that of the elastic pipeline (rules 1, 4 and 5 of
    :mod:`utf8_hdl.flow_control.pipeline`). ``i.ready`` is high in an enabled cycle if *send* is
    empty or has the last byte of its character. Then the stages up to *send* advance, and *take* is
    loaded with the code point that is offered. If ``i.valid`` is low, it is loaded with nothing,
    which also occupies *send* for one cycle. Consequences:

    1. Throughput: while the consumer is ready and code points are offered, there is a byte in every
       cycle, from the first lead byte on.
    2. Latency: the lead byte is at the output 7 cycles after its code point was accepted. Not
       counted are cycles in which ``o`` waits, and enabled cycles with a low ``i.ready``, in which
       characters before it are sent.
    3. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. Neither
       depends on ``o.ready`` within a cycle, and nor does ``i.ready``, which is a register. While
       ``o.valid`` is low the payload is a don't care.
    4. Nothing is lost or invented: a code point gives the bytes of its shortest form, in order.
    5. Self-synchronisation: from any register contents, without input and with a ready consumer,
       it is as in the initial state after ``4 * longest_form + 16`` cycles (32 in ``unicode``). In
       each of these cycles a byte of a code point that was never accepted may be taken.

    :class:`~utf8_hdl.CompactEncoder` has half the area, and a lower clock frequency.

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
        The states of this profile's machine, one-hot.
    state : Signal
        The state register, for waveforms and coverage.

    Members
    -------
    i : ``In(stream.Signature(code_point_layout(profile)))``
        Code points. ``last`` ends a text.
    o : ``Out(stream.Signature(ENCODED_LAYOUT))``
        Bytes. ``last`` is set with the last byte of the text's last character.
    """

    i: Any
    o: Any
    component_name = "encoder"
    #: Cycles from a code point to its lead byte, without stalls.
    latency = 7

    def __init__(self, profile: Profile = UNICODE) -> None:
        self.profile = checked_profile(profile)
        names = ["START", *(f"SEND_{count}" for count in range(1, profile.longest_form))]
        self.State: Any = enum.Enum("State", {name: 1 << n for n, name in enumerate(names)})
        super().__init__(
            {
                "i": In(stream.Signature(code_point_layout(profile))),
                "o": Out(stream.Signature(ENCODED_LAYOUT)),
            }
        )
        self.state = Signal(self.State, init=self.State.START)
        self._shorter = range(1, profile.longest_form)  # forms

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        pipeline = Pipeline(m, self.o)
        advance = pipeline.control.signal("advance")
        m.d.comb += self.i.ready.eq(advance)
        measured = self._measure(pipeline, advance)
        classified = self._classify(pipeline, advance, measured)
        sent = self._send(pipeline, advance, measured, classified)
        pipeline.deliver(self._form(pipeline, *sent))
        return m

    def _measure(self, pipeline: Pipeline, advance: Signal) -> Stage:
        """Stages 1 and 2: between which forms the code point has bits."""
        profile, code_point = self.profile, self.i.p.code_point
        width = profile.code_point_width
        borders = [*(FORM_BITS[form] for form in self._shorter), width, profile.utf32_width]
        pieces = [
            range(low, min(low + 4, end))
            for begin, end in pairwise(borders)
            for low in range(begin, end, 4)
        ]
        take = pipeline.stage(
            "take",
            "the code point that is offered, and which groups of its bits are zero",
            self.i.valid,
            enable=advance,
        )
        take.load(
            code_point=code_point[:width],
            last=self.i.p.last,
            ones=Cat(code_point[piece.start : piece.stop].any() for piece in pieces),
            # The highest bit, which every highest value has, comes in the next stage.
            exceeds=_exceeds(code_point[: width - 1], profile.highest),
            special=rejected(profile, code_point[:16]),
        )
        ones = list(zip(pieces, take["ones"], strict=True))
        parts = [take["ones"][n : n + 4].any() for n in range(0, len(pieces), 4)]
        measure = pipeline.stage(
            "measure",
            "between which forms the code point has bits",
            take.valid,
            enable=advance,
        )
        return measure.load(
            code_point=take["code_point"],
            last=take["last"],
            ones=Cat(
                any_of(one for piece, one in ones if begin <= piece.start < end)
                for begin, end in pairwise(borders)
            ),
            not_ascii=Cat(parts),
            exceeds=take["exceeds"] & take["code_point"][-1],
            special=take["special"],
        )

    def _classify(self, pipeline: Pipeline, advance: Signal, measure: Stage) -> Stage:
        """Stage 3: the form in which the code point is sent, and whether as U+FFFD."""
        ones, special = measure["ones"], measure["special"]
        too_high = ones[-1] | measure["exceeds"]
        forms = []
        for shorter in self._shorter:
            is_longest = shorter == self._shorter[-1]
            longer = too_high if is_longest else ones[shorter:].any()
            in_form = ones[shorter - 1 :].any() & ~longer
            # Surrogates and noncharacters have three bytes, as has U+FFFD.
            forms.append(in_form | too_high if shorter == 2 else in_form)
        classify = pipeline.stage(
            "classify",
            "the form of the code point, and whether it is refused",
            measure.valid,
            enable=advance,
        )
        return classify.load(
            code_point=measure["code_point"],
            last=measure["last"],
            error=too_high | (special & ~ones[2:].any()),
            sends=Cat(forms),
        )

    def _send(
        self, pipeline: Pipeline, advance: Signal, measure: Stage, classify: Stage
    ) -> tuple[Stage, Signal]:
        """Stage 4: the character whose bytes are sent, and whether the lead byte is."""
        m, stalled = pipeline.m, pipeline.stalled
        # Whether there is a character in stage 3 that has more than one byte.
        long = classify.signal("long")
        comes_long = measure.valid & measure["not_ascii"].any()
        m.d.sync += long.eq(select(advance, comes_long, long))
        send = pipeline.stage(
            "send",
            "the bytes that still have to follow; lost: an upset cleared the state",
            classify.valid,
            enable=advance,
        )
        code_point, refused = classify["code_point"], classify["error"]
        send.load(
            code_point=select(refused, Const(REPLACEMENT, len(code_point)), code_point),
            error=refused,
            last=classify["last"],
        )
        state = Value.cast(send.adopt(self.state))
        start, *sends = state
        is_lead = send.signal("is_lead", reset_less=True)
        with m.If(pipeline.enable):
            m.d.sync += is_lead.eq(start)
        entered = Cat(~long, classify["sends"] & long.replicate(len(sends)))
        # A state without any bit, to which only an upset leads, must not last.
        lost = send.signal("lost", reset_less=True)
        one_less = Cat(sends, lost)
        following = select(stalled, state, select(start, entered, one_less))
        m.d.sync += [
            state.eq(following),
            lost.eq(~state.any()),
            advance.eq(following[0] & ~pipeline.will_stall),
        ]
        return send, is_lead

    def _form(self, pipeline: Pipeline, send: Stage, is_lead: Signal) -> Stage:
        """Stages 5 and 6: the byte that is sent."""
        state = Value.cast(self.state)
        start, *sends = state
        code_point = send["code_point"]
        groups = [code_point[6 * n : 6 * n + 6] & sent.replicate(6) for n, sent in enumerate(state)]
        pairs = [any_of(groups[n : n + 2]) for n in range(0, len(groups), 2)]
        # A lead byte begins with as many ones as its character has bytes, an ASCII byte with none.
        lowest = 7 - len(sends)
        ones = [Cat(sends[6 - bit :]).any() for bit in range(lowest, 6)]
        choose = pipeline.stage(
            "choose",
            "six bits of the code point, and what marks the byte",
            send.valid,
        )
        choose.load(
            bits=Cat(pairs),
            marker=Cat(
                *(is_lead & one for one in ones),
                is_lead & (~start | code_point[6]),
                ~(is_lead & start),
            ),
            error=send["error"],
            last=send["last"] & start,
        )
        form = pipeline.stage("form", "the byte", choose.valid)
        bits = choose["bits"]
        return form.load(
            data=any_of(bits[n : n + 6] for n in range(0, len(bits), 6))
            | Cat(Const(0, lowest), choose["marker"]),
            user=choose["error"],
            last=choose["last"],
        )


def _exceeds(value: Value, limit: int) -> Value:
    """True if a value exceeds the bits of a limit of the same width, in plain gates."""
    above: Value = Const(0, 1)
    for place in range(len(value)):
        bit = value[place]
        above = bit & above if limit >> place & 1 else bit | above
    return above
