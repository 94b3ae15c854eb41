"""The decoder with lanes: beats of bytes in, slots of tokens out."""

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..checks import DEFAULT_LANES, checked_lanes
from ..design import Design
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..layouts import beat_layout, slots_layout
from ..logic import named
from ..profile import UNICODE, Profile, checked_profile
from .detection import SequenceDetector, bit_of_count


class WideDecoder(Design):
    """Decode beats of up to 128 bytes: one beat of token slots for each beat of bytes.

    A pipeline of seven stages: the six of
    :class:`~utf8_hdl.parallel.detection.SequenceDetector`, and one that makes the tokens. The flow
    control is that of :mod:`utf8_hdl.flow_control.credit`.

    Guarantees:

    1. Line rate: accepts one beat in every cycle except the first after reset, on any input, while
       the consumer is ready. A stalled cycle costs one cycle: after any stalls there is a beat at
       the output in every cycle, as long as one is offered in every cycle.
    2. Latency: the slots are at the output 8 cycles after their beat was accepted, not counting
       cycles in which the output stalls.
    3. Slot k, from 1 on, has the token whose last byte is in lane k - 1. Slot 0 has the sequence
       that the previous beat left unfinished, if this beat cuts it. A slot without a token is zero.
       In order, the slots have the tokens of a decoder of one lane.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care.
    5. A lane without ``keep`` has no byte. If a byte of the same text follows, the input breaks its
       rules: the empty lane then ends the sequence before it, like the end of a text.
    6. Self-synchronisation: from any register contents, once the beats accepted have
       ``longest_form`` lanes in total (4 in ``unicode``), the slots of later beats are right.
       Without input and with a ready consumer, it is empty and ready after 49 cycles, in which at
       most 42 beats that were never accepted are taken.

    Parameters
    ----------
    profile : Profile
        The UTF-8 profile. Rules that a profile does not need cost no gates.
    lanes : int
        Bytes in a beat: 2, 4, 8, 16, 32, 64 or 128. :class:`~utf8_hdl.Decoder` has one lane.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If the number of lanes is not supported.

    Attributes
    ----------
    profile, lanes
        As given.
    probes : SimpleNamespace
        Signals for proofs. ``arrives``, ``arriving``: a beat is in the last stage, and its slots.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats.
    o : ``Out(stream.Signature(slots_layout(profile, lanes)))``
        Token slots.
    """

    i: Any
    o: Any
    component_name = "decoder"
    #: Cycles from a beat to its slots, without stalls.
    latency = 8

    def __init__(self, profile: Profile = UNICODE, *, lanes: int = DEFAULT_LANES) -> None:
        self.profile = checked_profile(profile)
        self.lanes = lanes = checked_lanes(lanes, 2)
        i, o = beat_layout(lanes), slots_layout(profile, lanes)
        super().__init__({"i": In(stream.Signature(i)), "o": Out(stream.Signature(o))})
        #: Ports of AXI4-Stream whose part for a slot is wider than its fields.
        self.axi_widths = {"m_axis_tdata": profile.utf32_width, "m_axis_tuser": 8}
        bytes_kept = profile.utf32_width // 8
        keep = Cat(slot.length.any().replicate(bytes_kept) for slot in self.o.p.slots)
        #: Ports of AXI4-Stream that follow from others.
        self.axi_outputs = {"m_axis_tkeep": keep}
        self.probes = SimpleNamespace(
            arrives=Signal(name="arrives"), arriving=Signal(o.members["slots"], name="arriving")
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o = self.i, self.o
        credit = Credit(m, i, o)
        credit.part("sequences")
        lanes = SequenceDetector(credit, i, self.profile)
        names = lanes.named()
        credit.part("tokens")
        make = credit.stage("make", "the tokens")
        fields: dict[str, list[Value]] = {
            "code_point": lanes.code_points(),
            "error": [names["error"]],
            "kind": [names[f"error_kind_{bit}"] for bit in range(3)],
            "length": self._lengths(names),
        }
        planes = [
            named(credit.m, f"{name}_{number}" if len(facts) > 1 else name, fact)
            for name, facts in fields.items()
            for number, fact in enumerate(facts)
        ]
        tokens = make.register(
            "tokens", Cat(plane[slot] for slot in range(len(o.p.slots)) for plane in planes)
        )
        m.d.comb += [
            self.probes.arrives.eq(make.valid),
            self.probes.arriving.eq(tokens),
            o.p.slots.eq(credit.store(make, tokens)),
            o.p.last.eq(credit.store(lanes.paired, lanes.paired["last"])),
        ]
        credit.finish()
        return m

    def _lengths(self, names: Stage) -> list[Value]:
        """The lengths of the tokens: for each bit, a vector over the slots."""
        ends = names["ends"]
        at_least = [
            ends,
            *(names[f"at_least_{n}"] for n in range(2, self.profile.longest_form + 1)),
        ]
        return [ends & bit_of_count(at_least, n) for n in range(len(at_least).bit_length())]
