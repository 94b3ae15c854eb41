"""The hardware, run for a test: traces, tokens, bytes, and designs broken on purpose."""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from reference import RefToken
from utf8_hdl import (
    PROFILES,
    UNICODE,
    Decoder,
    Encoder,
    ErrorSpan,
    Kind,
    Profile,
    decoder,
    encoder,
)
from utf8_sim.campaign import campaign
from utf8_sim.engine import AmaranthEngine, HangError
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import FixedStalls, RandomStalls, Stimulus
from utf8_sim.trace import Trace

NO_STALLS = FixedStalls()
STALLS = {
    "full rate": (NO_STALLS, NO_STALLS),
    "slow producer": (RandomStalls(0.5, 1), NO_STALLS),
    "slow consumer": (NO_STALLS, RandomStalls(0.5, 2)),
    "both slow": (RandomStalls(0.4, 3), RandomStalls(0.4, 4)),
}


def rtl_trace(
    texts: Iterable[Sequence[int]],
    stalls=(NO_STALLS, NO_STALLS),
    design: Decoder | Encoder | None = None,
) -> np.ndarray:
    """Every cycle of a simulation, as the engine recorded it: an array with a field a pin."""
    stimulus = Stimulus([(text, True) for text in texts], *stalls)
    return Trace.join(list(AmaranthEngine(design or Decoder()).run(stimulus))).table()


def accepted(trace: np.ndarray) -> np.ndarray:
    """The cycles in which an input was accepted."""
    return trace[(trace["i.valid"] & trace["i.ready"]).astype(bool)]


def taken(trace: np.ndarray) -> np.ndarray:
    """The cycles in which an output was taken."""
    return trace[(trace["o.valid"] & trace["o.ready"]).astype(bool)]


def rtl_tokens(data: bytes, stalls=(NO_STALLS, NO_STALLS), profile: Profile = UNICODE):
    """Tokens of one text, in the form of `ref_tokens`."""
    tokens = taken(rtl_trace([data] if data else [], stalls, Decoder(profile)))
    ends = np.cumsum(tokens["o.length"], dtype=int)
    return [
        RefToken(
            int(end) - int(token["o.length"]),
            int(token["o.length"]),
            int(token["o.code_point"]),
            Kind(int(token["o.kind"])).label if token["o.error"] else None,
        )
        for end, token in zip(ends, tokens, strict=True)
    ]


def rtl_encode(
    values: Sequence[int], stalls=(NO_STALLS, NO_STALLS), profile: Profile = UNICODE
) -> tuple[bytes, list[int]]:
    """The bytes of one text of code points, and the indices of those flagged as errors."""
    encoded = taken(rtl_trace([values] if len(values) else [], stalls, Encoder(profile)))
    return bytes(encoded["o.data"].tolist()), np.flatnonzero(encoded["o.error"]).tolist()


def lockstep(
    texts: Iterable[Sequence[int]],
    stalls=(NO_STALLS, NO_STALLS),
    design: Decoder | Encoder | None = None,
):
    """The first difference between hardware and golden model, or None."""
    stimulus = Stimulus([(text, True) for text in texts], *stalls)
    return Lockstep(AmaranthEngine(design or Decoder()), stimulus).run()


ODD_PROFILES = {
    "seven bytes": Profile(name="seven", longest_form=7, highest=(1 << 36) - 1),
    "F0 restricted twice": Profile(name="narrow", longest_form=4, highest=0x10FFF),
    "FF restricted twice": Profile(name="wide", longest_form=8, highest=0x1FFFFFFFFF),
}
"""Profiles of one's own, whose highest value has fewer bits than its form or restricts a lead."""

ALL_RULES = {
    f"{name}, surrogates {surrogates}, noncharacters {noncharacters}, {span.value}": replace(
        profile, accept_surrogates=surrogates, accept_noncharacters=noncharacters, error_span=span
    )
    for (name, profile), surrogates, noncharacters, span in product(
        PROFILES.items(), (False, True), (False, True), ErrorSpan
    )
}
"""Every named profile with every combination of overrides."""

READY = "self.i.ready.eq(~self.o.valid | self.o.ready)"

# What is wrong with a decoder, and the edit to its source that makes it so.
BREAKS = {
    "range: ED BF is no surrogate": ('"101-----"', '"1010----"'),
    "range: F4 90 is in range": ("_above(second)", "_above(second + 1)"),
    "range: E0 9F is not overlong": ('"0" * (form - 2)', '"0" * (form - 1)'),
    "range: C1 is not overlong": ('wrong("1100000-"', 'wrong("11000000"'),
    "range: F5 is in range": ("_highest_start(profile)[0] + 1", "_highest_start(profile)[0] + 2"),
    "stale bits in the value": ("  value.eq(next_value)", "  value.eq(next_value | value)"),
    "interrupting byte swallowed": (
        "decides & (spare_valid | interrupts)",
        "decides & spare_valid",
    ),
    "interrupted sequence dropped": (
        "spare_valid | interrupts | decides)",
        "spare_valid | decides)",
    ),
    "missed last: text goes on": ("Mux(self.i.p.last, State.START, next_state)", "next_state"),
    "missed last: token without it": ("decided.last.eq(self.i.p.last)", "decided.last.eq(0)"),
    "missed last: cut character kept": ("self.i.p.last | ~unfinished", "~unfinished"),
    "payload changes under stall": ("with m.If(self.i.ready):", "with m.If(1):"),
    "byte taken without room": (READY, "self.i.ready.eq(1)"),
    "half rate": (READY, "self.i.ready.eq(~self.o.valid)"),
    "never ready": (READY, "self.i.ready.eq(0)"),
    "byte taken that was not offered": (
        "accept.eq(self.i.valid & self.i.ready)",
        "accept.eq(self.i.ready)",
    ),
    "valid waits for ready": (
        "self.o.valid.eq(spare_valid | interrupts | decides)",
        "self.o.valid.eq((spare_valid | interrupts | decides) & self.o.ready)",
    ),
    "length counts from zero": ("next_length.eq(1)", "next_length.eq(0)"),
    "wrong kind": ("cut_kind.eq(rule_kind)", "cut_kind.eq(Kind.TRUNCATED)"),
    "value of an error": ("Mux(error, REPLACEMENT, value)", "value"),
}


ENCODER_BREAKS = {
    "range: DFFF is no surrogate": (
        "code_point[11:16] == 0b11011",
        "code_point[10:16] == 0b110110",
    ),
    "range: 110000 is in range": ("profile.highest >> second_byte", "0x110"),
    "range: high bits are cut off": ("refused = code_point[width:].any()", "refused = 0"),
    "overlong: 7F in two bytes": ("~value[FORM_BITS[form] :]", "~value[FORM_BITS[form] - 1 :]"),
    "groups in the wrong order": (
        "6 * (count - 1) : 6 * count]",
        "6 * (longest - 1 - count) : 6 * (longest - count)]",
    ),
    "last with every byte": ("last if count == 1 else 0", "last"),
    "last with the lead byte": ("self.i.p.last & ~more", "self.i.p.last"),
    "last forgotten": (" last.eq(self.i.p.last),", " last.eq(0),"),
    "no error flag": ("self.o.p.error.eq(refused)", "self.o.p.error.eq(0)"),
    "refused value sent": ("Mux(refused, REPLACEMENT, self.i.p.code_point)", "self.i.p.code_point"),
    "taken while sending": ("self.i.ready.eq(free & ~sending)", "self.i.ready.eq(free)"),
    "byte changes under stall": ("free.eq(~self.o.valid | self.o.ready)", "free.eq(1)"),
    "bubble after every byte": ("free.eq(~self.o.valid | self.o.ready)", "free.eq(~self.o.valid)"),
}


def altered(component: str, edits: Iterable[tuple[str, str]]) -> type[Decoder] | type[Encoder]:
    """The class of a component whose source is edited."""
    source = inspect.getsource({"decoder": decoder, "encoder": encoder}[component])
    for good, bad in edits:
        assert source.count(good) == 1, f"{good!r} is not in the {component}'s source once"
        source = source.replace(good, bad)
    namespace = {"__name__": "utf8_hdl.broken", "__package__": "utf8_hdl"}
    exec(compile(source, "<broken design>", "exec"), namespace)
    return namespace[component.capitalize()]


def broken(name: str) -> Decoder | Encoder:
    """A decoder with one of the `BREAKS`, or an encoder with one of the `ENCODER_BREAKS`."""
    component = "decoder" if name in BREAKS else "encoder"
    return altered(component, [(BREAKS | ENCODER_BREAKS)[name]])()


def campaign_catches(design: Decoder | Encoder) -> bool:
    """Whether the built-in campaign finds a difference or a hang, at full rate or with stalls."""
    engine = AmaranthEngine(design)
    for part in campaign(engine, seed=0):
        for stalls in (STALLS["full rate"], STALLS["both slow"]):
            try:
                difference = Lockstep(engine, Stimulus(part.pieces(), *stalls)).run()
            except HangError:
                return True
            if difference:
                assert difference.expected != difference.actual
                return True
    return False
