"""Simulation of the gateware for tests, and designs with known flaws."""

import random
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from altered import Altered, Edit
from needs import CXX
from utf8_flow.export.verilog import generate
from utf8_hdl import PROFILES, CompactDecoder, CompactEncoder, Decoder, Encoder, ErrorSpan, Profile
from utf8_sim import compare, simulate
from utf8_sim.campaign import Part
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import Engine, HangError
from utf8_sim.lockstep import Difference, Lockstep
from utf8_sim.stimulus import FixedStalls, RandomStalls, Stalls, Stimulus
from utf8_sim.tools.programs import find

NO_STALLS = FixedStalls()
STALLS = {
    "full rate": (NO_STALLS, NO_STALLS),
    "slow producer": (RandomStalls(0.5, 1), NO_STALLS),
    "slow consumer": (NO_STALLS, RandomStalls(0.5, 2)),
    "both slow": (RandomStalls(0.4, 3), RandomStalls(0.4, 4)),
}


DESIGNS = {
    "decoder": Decoder,
    "compact decoder": CompactDecoder,
    "encoder": Encoder,
    "compact encoder": CompactEncoder,
}
"""The classes of the byte components."""

DECODERS = {False: Decoder, True: CompactDecoder}
ENCODERS = {False: Encoder, True: CompactEncoder}
"""Pipelined and compact variant, by the flag ``compact``."""

BOTH = pytest.mark.parametrize("compact", [False, True], ids=["pipelined", "compact"])


@cache
def engine_of(component: type) -> AmaranthEngine:
    """An engine for an unaltered design; cached, because creation is slower than a short run."""
    return AmaranthEngine(component())


def rtl_trace(
    texts: Iterable[Sequence[int]], stalls: tuple[Stalls, Stalls], design: Any
) -> np.ndarray:
    """The trace of a simulation: an array with a row per cycle and a field per pin."""
    return simulate(design, *texts, input_stalls=stalls[0], output_stalls=stalls[1]).table()


def run_bench(
    design: Any, bench: Callable[[Any], Any], background: Callable[[Any], Any] | None = None
) -> None:
    """Simulate a design in Amaranth's simulator until its test bench ends."""
    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    if background:
        simulator.add_testbench(background, background=True)
    simulator.run()


def run_streams(
    design: Any,
    source: Any,
    sink: Any,
    items: Iterable[Any],
    stalls: tuple[float, float] = (0, 0),
    watched: tuple[Any, list[int]] | None = None,
    patience: int = 200,
    seed: int = 0,
) -> list[Any]:
    """The outputs of a design for the inputs, until ``patience`` cycles have no output.

    The design need not be a component of the project. Producer and consumer stall at random with
    these probabilities. ``watched`` is a signal and a list that records its value in each cycle.
    """
    taken: list[Any] = []
    generator, reader = random.Random(2 * seed + 1), random.Random(2 * seed + 2)

    async def drive(ctx: Any) -> None:
        for item in items:
            while generator.random() < stalls[0]:
                await ctx.tick()
            ctx.set(source.payload, item)
            ctx.set(source.valid, 1)
            accepted = False
            while not accepted:  # `until` cannot be abandoned in the middle
                _, _, accepted = await ctx.tick().sample(source.ready)
            ctx.set(source.valid, 0)

    async def take(ctx: Any) -> None:
        idle, previous = 0, None
        while idle < patience:
            ready = reader.random() >= stalls[1]
            ctx.set(sink.ready, ready)
            _, _, valid, payload = await ctx.tick().sample(sink.valid, sink.payload)
            idle = 0 if valid else idle + 1
            if watched:
                watched[1].append(ctx.get(watched[0]))
            assert previous is None or (valid and payload == previous), "the output must hold"
            previous = payload if valid and not ready else None
            if valid and ready:
                taken.append(payload)

    run_bench(design, take, background=drive)  # a design may accept no more inputs
    return taken


def lockstep(
    texts: Iterable[Sequence[int]], stalls: tuple[Stalls, Stalls], design: Any
) -> Difference | None:
    """The first difference between hardware and golden model, or None."""
    return compare(design, *texts, input_stalls=stalls[0], output_stalls=stalls[1])


ODD_PROFILES = {
    "seven bytes": Profile(name="seven", longest_form=7, highest=(1 << 36) - 1),
    "F0 restricted twice": Profile(name="narrow", longest_form=4, highest=0x10FFF),
    "F0 restricted twice, whole sequence": Profile(
        name="narrow", longest_form=4, highest=0x1FFFF, error_span=ErrorSpan.WHOLE_SEQUENCE
    ),
    "F8 restricted twice": Profile(name="five", longest_form=5, highest=0x23FFFF),
    "FF restricted twice": Profile(name="wide", longest_form=8, highest=0x1FFFFFFFFF),
}
"""Custom profiles: the highest value has fewer bits than its form, or restricts a lead twice."""

ALL_RULES = {
    f"{name}, surrogates {surrogates}, noncharacters {noncharacters}, {span.value}": replace(
        profile, accept_surrogates=surrogates, accept_noncharacters=noncharacters, error_span=span
    )
    for (name, profile), surrogates, noncharacters, span in product(
        PROFILES.items(), (False, True), (False, True), ErrorSpan
    )
}
"""Every named profile with every combination of overrides."""

_READY = "i.ready.eq(~taken_next)"

# Flaws of the pipelined decoder: a name and an edit of the source.
BREAKS = {
    "range: ED BF is no surrogate": (
        "range(0xA0, 0xC0), ErrorKind",
        "range(0xA0, 0xB0), ErrorKind",
    ),
    "range: E0 9F is not overlong": ("0x80 + (1 << 8 - length)", "0x7F + (1 << 8 - length)"),
    "range: F5 is in range": (
        "byte > highest_start(profile)[0]",
        "byte > highest_start(profile)[0] + 1",
    ),
    "kind: FF is out of range": ("if length <= 6 else", "if length <= 8 else"),
    "wrong kind": (
        'sequence["unfinished"] & ~refused, truncated',
        'sequence["unfinished"], truncated',
    ),
    "value of an error": ("Mux(is_error, REPLACEMENT & 0x3F, bits[:6])", "bits[:6]"),
    "payload changes under stall": ("with m.If(load):", "with m.If(1):"),
    "never ready": (_READY, "i.ready.eq(0)"),
    "byte taken that was not offered": (
        "valid = i.valid | skid_taken",
        "valid = i.ready | skid_taken",
    ),
    "skid: byte lost in it": ("valid = i.valid | skid_taken", "valid = i.valid"),
}

# Flaws in rules that `unicode` does not use: a profile that uses them, and the edit.
BREAKS_OF_OTHER_RULES = {
    "out of range: overlong": (
        ODD_PROFILES["F0 restricted twice"],
        "if kind is ErrorKind.OUT_OF_RANGE)",
        "if kind is ErrorKind.OVERLONG)",
    ),
    "out of range: the kind of the lead byte": (
        ODD_PROFILES["FF restricted twice"],
        'select(byte["beyond"], out_of_range, sequence["kind"])',
        'sequence["kind"]',
    ),
    "out of range: the kind of the lead byte, whole sequence": (
        ODD_PROFILES["F0 restricted twice, whole sequence"],
        'old_kind = Mux(byte["beyond"], ErrorKind.OUT_OF_RANGE, count["kind"])',
        'old_kind = count["kind"]',
    ),
}

# Flaws of the pipelined encoder.
ENCODER_BREAKS = {
    "range: DFFF is no surrogate": (
        "return code_point[11:] == SURROGATES.start >> 11",
        "return code_point[10:] == SURROGATES.start >> 10",
    ),
    "last with every byte": ('last=send["last"] & start', 'last=send["last"]'),
    "last forgotten": ("last=self.i.p.last,", "last=Const(0, 1),"),
    "refused value sent": (
        "select(refused, Const(REPLACEMENT, len(code_point)), code_point)",
        "code_point",
    ),
    "byte changes under stall": ("with m.If(load):", "with m.If(1):"),
}

# Flaws of the compact encoder.
COMPACT_ENCODER_BREAKS = {
    "compact: last forgotten": (" last.eq(self.i.p.last),", " last.eq(0),"),
    "compact: refused value sent": (
        "Mux(refused, REPLACEMENT, self.i.p.code_point)",
        "self.i.p.code_point",
    ),
    "compact: byte changes under stall": (
        "~self.o.valid | self.o.ready",
        "~self.o.valid | self.o.ready | self.i.valid",
    ),
}


def altered(which: str, edits: Iterable[Edit]) -> type:
    """The class of one of the `DESIGNS`, with edits in its source or in modules it uses."""
    modules = "rules", "stage", "pipeline", which.replace(" ", "_")
    return getattr(Altered(*edits, within=modules), DESIGNS[which].__name__)


def broken(name: str) -> Decoder | Encoder:
    """A design with one of the flaws. Flaws in the decoder's tables also affect the compact one."""
    if name in BREAKS_OF_OTHER_RULES:
        profile, *edit = BREAKS_OF_OTHER_RULES[name]
        return altered("decoder", [edit])(profile)
    plain = name.removeprefix("compact: ")
    compact = "compact " * (plain != name)
    if plain in BREAKS:
        return altered(f"{compact}decoder", [BREAKS[plain]])()
    edit = (ENCODER_BREAKS | COMPACT_ENCODER_BREAKS)[name]
    return altered(f"{compact}encoder", [edit])()


def verilog_ports(verilog: str) -> dict[str, int]:
    """Names and widths of the ports of generated Verilog, in order."""
    module, *_ = re.findall(r"^module \w+ \(\n(.*?)\n\);$", verilog, re.M | re.S)
    ports = re.findall(r"^  (?:in|out)put wire (?:\[(\d+):0\] )?(\w+)(?:,|$)", module, re.M)
    assert len(ports) == module.count("put ")
    return {name: int(high or 0) + 1 for high, name in ports}


def quick_engine(design: Any) -> Engine:
    """A compiled engine, if a compiler is installed.

    For a design with lanes, it is Verilator, if installed: CXXRTL's C++ takes ten times longer to
    compile.
    """
    if not shutil.which(CXX):
        return AmaranthEngine(design)
    if getattr(design, "lanes", 1) > 1 and find("verilator"):
        return VerilatorEngine(design, generate(design))
    return CxxrtlEngine(design)


def random_part(engine: Engine) -> Part:
    """The random part of the built-in campaign."""
    parts = engine.component.campaign(engine.design, 0)
    [part] = (part for part in parts if part.name.startswith("random"))
    return part


def campaign_catches(design: Decoder | Encoder) -> bool:
    """True if the built-in campaign finds a difference or a hang, at full rate or with stalls."""
    engine = AmaranthEngine(design)
    for part in sorted(engine.component.campaign(design, 0), key=lambda part: part.size):
        for stalls in (STALLS["full rate"], STALLS["both slow"]):
            try:
                difference = Lockstep(engine, Stimulus(part.pieces(), *stalls)).run()
            except HangError:
                return True
            if difference:
                assert difference.expected != difference.actual
                return True
    return False
