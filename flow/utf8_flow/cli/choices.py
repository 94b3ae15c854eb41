"""What options mean: components, profiles, stalls; and which of them have no effect."""

import re
from dataclasses import astuple, dataclass, replace
from typing import Annotated, Any, TypeVar

import typer

from utf8_hdl import PROFILES, UNICODE, ErrorSpan, Profile
from utf8_sim.stimulus import FixedStalls, Mode, RandomStalls, Stalls
from utf8_sim.tools.errors import Refused

from ..components import ENTRIES, idle_options, make_design, variants
from . import options

CAMPAIGN_STALLS = (0.0, 0.25)
"""Probabilities of stalls that ``compare`` tries on each side, all combinations."""

LAST_STALLED_CYCLE = (1 << 20) - 1
"""The highest number of a cycle that may be stalled by number."""

VERDICTS = {"accept": True, "reject": False}
"""Whether code points are accepted, by the names of the options."""

SPANS = {span.value: span for span in ErrorSpan}

T = TypeVar("T")


def choose(option: str, name: str, choices: dict[str, T]) -> T:
    if name not in choices:
        raise Refused(f"unknown {option} {name!r}: choose from {', '.join(choices)}")
    return choices[name]


def choose_profile(
    name: str,
    surrogates: str | None = None,
    noncharacters: str | None = None,
    error_span: str | None = None,
) -> Profile:
    """The profile that the options of these names choose."""
    profile = choose("--profile", name, PROFILES)
    if surrogates is not None:
        accept = choose("--surrogates", surrogates, VERDICTS)
        profile = replace(profile, accept_surrogates=accept)
    if noncharacters is not None:
        accept = choose("--noncharacters", noncharacters, VERDICTS)
        profile = replace(profile, accept_noncharacters=accept)
    if error_span is not None:
        profile = replace(profile, error_span=choose("--error-span", error_span, SPANS))
    return profile


def _verdict(of: str) -> Any:
    return options.choice(VERDICTS, f"{of}, instead of the profile's rule.")


@dataclass
class AllRules:
    """Options for rules of UTF-8: all profiles that are offered, unless they name one."""

    profile: Annotated[str | None, options.choice(PROFILES, "Only this one.")] = None
    surrogates: Annotated[str | None, _verdict("U+D800 to U+DFFF")] = None
    noncharacters: Annotated[str | None, _verdict("U+FFFE and U+FFFF")] = None
    error_span: Annotated[
        str | None, options.choice(SPANS, "For a decoder: how many bytes one error covers.")
    ] = None

    def profiles(self) -> list[Profile]:
        """The profile that they name, or all, and unicode with each rule inverted."""
        name, *overrides = astuple(self)
        if name or any(overrides):
            return [choose_profile(name or UNICODE.name, *overrides)]
        return [
            *PROFILES.values(),
            replace(UNICODE, accept_surrogates=not UNICODE.accept_surrogates),
            replace(UNICODE, accept_noncharacters=not UNICODE.accept_noncharacters),
            replace(UNICODE, error_span=ErrorSpan.WHOLE_SEQUENCE),
        ]


@dataclass
class Rules(AllRules):
    """Options for the rules of one profile."""

    profile: Annotated[str, options.choice(PROFILES, "Which UTF-8 is spoken.")] = "unicode"

    def chosen(self) -> Profile:
        return choose_profile(*astuple(self))


@dataclass
class Designs:
    """Options that name components: all, with their compact variants, unless they choose."""

    component: Annotated[str | None, options.choice(ENTRIES, "Only this one.")] = None
    compact: options.Compact = False

    def variants(self) -> list[tuple[str, bool]]:
        if self.component is not None:
            choose("--component", self.component, ENTRIES)
            return [(self.component, self.compact)]
        return [(name, compact) for name, compact in variants() if compact or not self.compact]


def choose_design(component: str, rules: Profile, compact: bool) -> Any:
    """The design that the options name."""
    choose("--component", component, ENTRIES)
    if (component, compact) not in variants():
        raise Refused(f"--compact has no effect with --component {component}")
    return make_design(component, rules, compact)


def _probability(of: str) -> Any:
    return options.number("P", f"Probability, each cycle, that {of}.", float, "a number")


def _cycles(of: str) -> Any:
    return options.option("LIST", f"Cycles such as 3,5-9 in which {of}.")


@dataclass
class Stalling:
    """Options for stalls on both sides: at random, or by numbers of cycles."""

    seed: options.Seed = 0
    stall_input: Annotated[float | None, _probability("nothing is offered")] = None
    stall_output: Annotated[float | None, _probability("nothing is taken")] = None
    stall_input_cycles: Annotated[str | None, _cycles("nothing is offered")] = None
    stall_output_cycles: Annotated[str | None, _cycles("nothing is taken")] = None

    @property
    def given(self) -> bool:
        return self != Stalling(self.seed)

    @property
    def by_rate(self) -> bool:
        return (self.stall_input, self.stall_output) != (None, None)

    @property
    def by_cycles(self) -> bool:
        return (self.stall_input_cycles, self.stall_output_cycles) != (None, None)

    def stalls(self) -> tuple[Stalls, Stalls]:
        if self.seed < 0:
            raise Refused(f"--seed must be 0 or more, not {self.seed}")
        seed, rate_in, rate_out, cycles_in, cycles_out = astuple(self)
        return (
            _side_stalls("--stall-input", rate_in, cycles_in, (seed, 1)),
            _side_stalls("--stall-output", rate_out, cycles_out, (seed, 2)),
        )

    def modes(self) -> list[Mode]:
        """The stalls that ``compare`` tries, with their names; full rate is always among them."""
        if not self.given:
            rates = [(i, o) for i in CAMPAIGN_STALLS for o in CAMPAIGN_STALLS]
            return [(_mode_name(*each), Stalling(self.seed, *each).stalls()) for each in rates]
        _, rate_in, rate_out, cycles_in, cycles_out = astuple(self)
        name = _mode_name(cycles_in or rate_in, cycles_out or rate_out)
        return list({_mode_name(0, 0): Stalling(self.seed).stalls(), name: self.stalls()}.items())


def _side_stalls(
    option: str, probability: float | None, cycles: str | None, seed: tuple[int, int]
) -> Stalls:
    if cycles is not None:
        if probability is not None:
            raise Refused(f"give {option} or {option}-cycles, not both")
        return FixedStalls(_stalled_cycles(f"{option}-cycles", cycles))
    probability = probability or 0.0
    if not 0 <= probability < 1:
        raise Refused(
            f"{option} must be at least 0 and below 1 (at 1 nothing would ever move), "
            f"not {probability:g}"
        )
    return RandomStalls(probability, seed)


def _stalled_cycles(option: str, cycles: str) -> tuple[bool, ...]:
    """A pattern of stalls from a list of cycles such as ``3,5-9``."""
    stalled: set[int] = set()
    for word in cycles.split(","):
        numbers = re.fullmatch(r"\s*(\d{1,15})\s*(?:-\s*(\d{1,15})\s*)?", word)
        first, last = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (1, 0)
        if not first <= last <= LAST_STALLED_CYCLE:
            raise Refused(
                f"{option} takes numbers of cycles up to {LAST_STALLED_CYCLE} such as 3,5-9, "
                f"not {word!r}"
            )
        stalled.update(range(first, last + 1))
    return tuple(cycle in stalled for cycle in range(max(stalled) + 1))


def _mode_name(*sides: float | str | None) -> str:
    """Which stalls: probabilities, or cycles."""
    if not any(sides):
        return "full rate"
    i, o = (f"{side or 0:g}" if not isinstance(side, str) else f"cycles {side}" for side in sides)
    return f"stalls in {i} out {o}"


def refuse_idle(
    context: typer.Context, component: str | None = None, **circumstances: str | bool
) -> None:
    """Refuse options that were given and have no effect.

    The circumstances say, by names of parameters, in which these have none; false if they have.
    """
    idle = idle_options(component)
    for parameter in context.command.params:
        name, option = parameter.name or "", parameter.opts[0]
        source = context.get_parameter_source(name)
        given = source is not None and source.name == "COMMANDLINE"
        if given and option in idle:
            raise Refused(f"{option} has no effect with --component {component}")
        if given and (circumstance := circumstances.get(name)):
            raise Refused(f"{option} has no effect {circumstance}")
