"""The validator: beats of bytes pass through unchanged, each text with a verdict at its end."""

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from .. import rules
from ..byte_class import ByteClasses
from ..checks import DEFAULT_LANES, checked_lanes
from ..design import Design
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..layouts import OFFSET_WIDTH, ErrorKind, beat_layout, verdict_layout
from ..logic import select
from ..profile import UNICODE, ErrorSpan, Profile, checked_profile
from .detection import DATA, SequenceDetector
from .first_error import FirstError, probe_layout


class Validator(Design):
    """Reports with the last beat of a text whether the text is well-formed UTF-8.

    A pipeline of twelve stages for any number of lanes: five of
    :class:`~utf8_hdl.parallel.detection.SequenceDetector`, or six with ``whole-sequence`` errors,
    then those of :class:`~utf8_hdl.parallel.first_error.FirstError`. The flow control is that of
    :mod:`utf8_hdl.flow_control.credit`.

    Guarantees:

    1. Line rate: accepts one beat in every cycle except the first after reset, on any input, while
       the consumer is ready. A stalled cycle costs one cycle: after any stalls there is a beat at
       the output in every cycle, as long as one is offered in every cycle.
    2. Latency: a beat is at the output 13 cycles after it was accepted, not counting cycles in
       which the output stalls.
    3. Output beats equal input beats. With ``last``, ``error`` is set if the text is not
       well-formed; ``kind`` and ``offset`` are those of the first error token of a decoder. The
       offset saturates at all ones. Without ``last``, and for a well-formed text, they are zero.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care.
    5. A lane without ``keep`` has no byte. If a byte of the same text follows, the input breaks its
       rules: the empty lane then ends the sequence before it, like the end of a text, and the
       offset counts the lane.
    6. Self-synchronisation: from any register contents, once a beat with ``last`` was accepted, the
       verdicts of later texts are correct. Without input and with a ready consumer, it is empty and
       ready after 51 cycles, in which at most 44 beats that were never accepted are taken.

    Parameters
    ----------
    profile : Profile
        The UTF-8 profile.
    lanes : int
        Bytes of a beat: a power of two up to 128.
    offset_width : int
        Width of ``offset``: 4 to 32 for up to 8 lanes; at least 5 for 16, 6 for 32, and so on.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If the number of lanes is not supported, or the width is out of range.

    Attributes
    ----------
    profile, lanes, offset_width
        As given.
    probes : SimpleNamespace
        Signals for proofs. ``arrives``, ``arriving``: a beat is in the last stage, and its verdict.
        ``found``: see :func:`~utf8_hdl.parallel.first_error.probe_layout`.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats.
    o : ``Out(stream.Signature(beat_layout(lanes, user=verdict_layout(lanes, offset_width))))``
        The same beats. ``user`` is the verdict on their text.
    """

    i: Any
    o: Any
    component_name = "validator"
    #: Cycles from a beat to the same beat with its verdict, without stalls.
    latency = 13

    def __init__(
        self,
        profile: Profile = UNICODE,
        *,
        lanes: int = DEFAULT_LANES,
        offset_width: int = OFFSET_WIDTH,
    ) -> None:
        self.profile = checked_profile(profile)
        self.lanes = lanes = checked_lanes(lanes)
        verdict = verdict_layout(lanes, offset_width)
        beat, judged = beat_layout(lanes), beat_layout(lanes, user=verdict)
        self.offset_width = int(offset_width)
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        super().__init__(
            {
                "i": In(stream.Signature(beat)),
                "o": Out(stream.Signature(judged)),
            }
        )
        self.probes = SimpleNamespace(
            arrives=Signal(name="arrives"),
            arriving=Signal(verdict.size, name="arriving"),
            found=Signal(probe_layout(lanes, len(self._of_length)), name="found"),
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        credit = Credit(m, self.i, self.o)
        credit.part("sequences")
        lanes = SequenceDetector(credit, self.i, self.profile)
        tallied, verdict = self._judge(credit, lanes)
        payload = Cat(
            credit.store(lanes.paired, lanes.paired["beat"]),
            credit.store(tallied, verdict),
        )
        m.d.comb += [
            Value.cast(self.o.p).eq(payload),
            self.probes.arrives.eq(tallied.valid),
            self.probes.arriving.eq(verdict),
        ]
        credit.finish()
        return m

    @property
    def _error(self) -> str:
        """Name of the register of :class:`SequenceDetector` that marks errors."""
        return "error" if self._whole_sequence else "bad"

    @property
    def _of_kind(self) -> list[str]:
        """Registers from which the kind of an error follows: the kind itself, or the byte."""
        if self._whole_sequence:
            return [f"error_kind_{bit}" for bit in range(3)]
        return ["noncharacter", "cut", "beyond_next", *(f"data_{bit}" for bit in range(7))]

    @property
    def _of_length(self) -> list[str]:
        """Registers for the length of an error.

        A maximal subpart is shorter than the longest form; a rejected noncharacter has three bytes.
        """
        longest = self.profile.longest_form
        longest = longest if self._whole_sequence else max(longest - 1, 3)
        return [f"at_least_{count}" for count in range(2, longest + 1)]

    def _judge(self, credit: Credit, lanes: SequenceDetector) -> tuple[Stage, Value]:
        """The last stage, and the verdict: the first error of the text, at its end."""
        step = lanes.named() if self._whole_sequence else lanes.ended

        def masks(names: list[str]) -> list[Value]:
            """Registers with a bit for each slot."""
            return [
                lanes.slots(lanes.places(step, name)) if name in DATA else step[name]
                for name in names
            ]

        errors, kinds, lengths = step[self._error], masks(self._of_kind), masks(self._of_length)
        probe = self.probes.found
        credit.part("first_error")
        first = FirstError(credit.stage, credit.stages, step, errors, kinds, lengths, probe)
        kind = self._kind(first.located, first.counted)
        credit.m.d.comb += Value.cast(probe.kind).eq(kind)
        return first.tally(kind, self.offset_width)

    def _kind(self, located: Stage, counted: Stage) -> Value:
        """The kind of the beat's first error, for stage 12."""
        if self._whole_sequence:
            return counted["of_kind"]
        noncharacter, cut, beyond = (counted["of_kind"][n] for n in range(3))
        sets = ByteClasses(counted, Cat(located["of_kind"][3:], Const(1, 1)))
        bits = []
        for bit in range(3):
            of_byte = sets.among(rules.with_kind_bit(self.profile, bit))
            of_byte = select(beyond, Const(ErrorKind.OUT_OF_RANGE.value >> bit & 1, 1), of_byte)
            found = select(cut, Const(ErrorKind.TRUNCATED.value >> bit & 1, 1), of_byte)
            bits.append(found | noncharacter)
        return Cat(bits)
