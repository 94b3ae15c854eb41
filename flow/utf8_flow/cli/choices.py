"""What options mean: components, profiles, stalls; and which of them have no effect."""

import re
from dataclasses import replace
from typing import Any, TypeVar

import typer

from utf8_hdl import PROFILES, UNICODE, ErrorSpan, Profile
from utf8_sim.stimulus import FixedStalls, Mode, RandomStalls, Stalls
from utf8_sim.tools.errors import Refused

from ..components import ENTRIES, has_compact, idle_options, make_design
from .options import VERDICTS

CAMPAIGN_STALLS = (0.0, 0.25)
"""Probabilities of stalls that ``compare`` tries on each side, all combinations."""

LAST_STALLED_CYCLE = (1 << 20) - 1
"""The highest number of a cycle that may be stalled by number."""

T = TypeVar("T")


def choose(option: str, name: str, choices: dict[str, T]) -> T:
    if name not in choices:
        raise Refused(f"unknown {option} {name!r}: choose from {', '.join(choices)}")
    return choices[name]


def choose_design(component: str, profile: Profile, compact: bool) -> Any:
    """The design that the options name."""
    choose("--component", component, ENTRIES)
    if compact and not has_compact(component):
        raise Refused(f"--compact has no effect with --component {component}")
    return make_design(component, profile, compact)


def choose_components(component: str | None) -> list[str]:
    """The component that the option names, or all if there is none."""
    if component is None:
        return list(ENTRIES)
    choose("--component", component, ENTRIES)
    return [component]


def choose_profile(
    name: str,
    surrogates: str | None = None,
    noncharacters: str | None = None,
    error_span: str | None = None,
) -> Profile:
    """The profile that the command line's options name.

    Parameters
    ----------
    name, surrogates, noncharacters, error_span : str or None
        The values of the options of these names.

    Raises
    ------
    Refused
        If a value is unknown.
    """
    profile = choose("--profile", name, PROFILES)
    if surrogates is not None:
        accept = choose("--surrogates", surrogates, VERDICTS)
        profile = replace(profile, accept_surrogates=accept)
    if noncharacters is not None:
        accept = choose("--noncharacters", noncharacters, VERDICTS)
        profile = replace(profile, accept_noncharacters=accept)
    if error_span is not None:
        spans = {span.value: span for span in ErrorSpan}
        profile = replace(profile, error_span=choose("--error-span", error_span, spans))
    return profile


def choose_profiles(profile: str | None, *overrides: str | None) -> list[Profile]:
    """The profile that the options name, or all that are offered if they name none."""
    if profile or any(overrides):
        return [choose_profile(profile or "unicode", *overrides)]
    return [*PROFILES.values(), *_overridden(UNICODE)]


def _overridden(profile: Profile) -> list[Profile]:
    """The profile with each of its rules inverted, one at a time."""
    return [
        replace(profile, accept_surrogates=not profile.accept_surrogates),
        replace(profile, accept_noncharacters=not profile.accept_noncharacters),
        replace(profile, error_span=ErrorSpan.WHOLE_SEQUENCE),
    ]


def choose_stalls(
    seed: int,
    stall_input: float | None = None,
    stall_output: float | None = None,
    input_cycles: str | None = None,
    output_cycles: str | None = None,
) -> tuple[Stalls, Stalls]:
    if seed < 0:
        raise Refused(f"--seed must be 0 or more, not {seed}")
    return (
        _side_stalls("--stall-input", stall_input, input_cycles, (seed, 1)),
        _side_stalls("--stall-output", stall_output, output_cycles, (seed, 2)),
    )


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


def choose_modes(
    seed: int,
    stall_input: float | None = None,
    stall_output: float | None = None,
    input_cycles: str | None = None,
    output_cycles: str | None = None,
) -> list[Mode]:
    """The stalls that ``compare`` tries, with their names; full rate is always among them."""
    given = stall_input, stall_output, input_cycles, output_cycles
    if given == (None,) * 4:
        rates = [(i, o) for i in CAMPAIGN_STALLS for o in CAMPAIGN_STALLS]
        return [(_mode_name(i, o), choose_stalls(seed, i, o)) for i, o in rates]
    sides = (input_cycles or stall_input, output_cycles or stall_output)
    modes = {_mode_name(0, 0): choose_stalls(seed), _mode_name(*sides): choose_stalls(seed, *given)}
    return list(modes.items())


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

    Parameters
    ----------
    context : typer.Context
        Of the command.
    component : str or None
        The only component that the command is about.
    circumstances : dict of str to str or bool
        By names of parameters: in which circumstances they have no effect; false if they have.
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
