"""Designs of all components: their options, names and lists."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from utf8_hdl import PROFILES, UNICODE, ErrorSpan, Profile
from utf8_sim.command_line import RULES
from utf8_sim.components import COMPONENTS, Component, component_of
from utf8_sim.tools.errors import UsageError
from utf8_sim.tools.words import plural

ROW = "component", "compact", "lanes", "own"
"""The fields of a design in results of proofs and of synthesis, without the profile."""

LANES_TRIED = 8
"""Number of lanes for components with the option `--lanes`, when all designs are tried."""

LANES_OF_SMALL = 4
"""Number of lanes of a small design: enough for every encoding form."""


@dataclass(frozen=True)
class DesignSpec:
    """A design: a component with the values of its options, and its profile.

    It has a single register stage if ``compact``. ``own`` has the values of the component-specific
    options, by name, as JSON types. They may be passed as a mapping; other names in it are ignored,
    and ``None`` selects the default.
    """

    component: str
    compact: bool = False
    lanes: int = 1
    own: tuple[tuple[str, Any], ...] | Mapping[str, Any] = ()
    profile: Profile = UNICODE

    def __post_init__(self) -> None:
        given, options = dict(self.own), COMPONENTS[self.component].command_line.own
        own = tuple((each.name, each.to_json(given.get(each.name))) for each in options)
        object.__setattr__(self, "own", own)

    @classmethod
    def of(cls, design: Any) -> "DesignSpec":
        """The specification of a design."""
        name = component_of(design).name
        options = COMPONENTS[name].command_line.own
        return cls(
            name,
            getattr(design, "compact", False),
            getattr(design, "lanes", 1),
            {each.name: getattr(design, each.name) for each in options},
            getattr(design, "profile", UNICODE),
        )

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> "DesignSpec":
        """The specification of a :meth:`row`, with the rules of ``unicode``."""
        return cls(**{name: row[name] for name in ROW if name in row})

    def row(self) -> dict[str, Any]:
        """All fields except the profile, as JSON types."""
        row = {name: getattr(self, name) for name in ROW}
        return row | {"own": dict(self.own)}

    @property
    def entry(self) -> Component:
        """The component, or its variant with lanes if the design has several."""
        entry = COMPONENTS[self.component]
        return (self.lanes > 1 and entry.laned) or entry

    @property
    def name(self) -> str:
        """The name in reports, without the number of lanes."""
        words = ["compact"] * self.compact + [self.component]
        for option, *values in self._own_words:
            words += [option[2:].replace("-", " ")] if values else ["with", option]
            words += [value.upper() for value in values]  # UTF-16, or a number
        return " ".join(words)

    @property
    def label(self) -> str:
        """The name in reports, with the number of lanes but without the rules."""
        return f"{self.name}, {plural(self.lanes, 'lane')}" if self._has_lanes else self.name

    @property
    def rules(self) -> str:
        """The name of its profile, with the rules that are overridden."""
        words = [self.profile.name]
        for rule, value in overrides(self.profile):
            words.append(value if rule == "error-span" else f"{rule} {value}ed")
        return " ".join(words)

    @property
    def options(self) -> list[str]:
        """The command-line words for the design, without its profile."""
        return self.options_but("")

    def options_but(self, option: str) -> list[str]:
        """Like `options`, but without the given option."""
        is_first = self.component == next(iter(COMPONENTS))  # the default component
        words = [] if is_first else [["--component", self.component]]
        words += [["--compact"]] if self.compact else []
        words += self._own_words
        words += [["--lanes", str(self.lanes)]] if self._has_lanes else []
        return list(chain(*(each for each in words if each[0] != option)))

    @property
    def words(self) -> list[str]:
        """The command-line words for the design and its profile."""
        words = self.options
        if self.profile.name != UNICODE.name:
            words += ["--profile", self.profile.name]
        for rule, value in overrides(self.profile):
            words += [f"--{rule}", value]
        return words

    @property
    def used_options(self) -> frozenset[str]:
        """The options besides the common ones that have an effect on this design."""
        return self.entry.command_line.every_option - self.entry.idle_options(dict(self.own))

    @property
    def _own_words(self) -> list[list[str]]:
        """The command-line words for each component-specific option that must be given."""
        values = dict(self.own)
        options = COMPONENTS[self.component].command_line.own
        return [words for each in options if (words := each.arguments(values[each.name]))]

    @property
    def _has_lanes(self) -> bool:
        """True if the number of lanes is part of the name; false for a decoder with one lane."""
        return max(self.lanes, COMPONENTS[self.component].command_line.lanes) > 1

    def under(self, profile: Profile) -> "DesignSpec":
        """The same design with another profile. Rules without effect get their default values."""
        if not self.used_options & RULES:
            profile = UNICODE
        elif "--error-span" not in self.used_options:
            profile = replace(profile, error_span=ErrorSpan.MAXIMAL_SUBPART)
        return replace(self, profile=profile)

    def make(self, profile: Profile | None = None) -> Any:
        """Create the design, by default with its own profile; a `UsageError` if that fails."""
        entry = COMPONENTS[self.component]
        options: dict[str, Any] = {"compact": True} if self.compact else {}
        if self._has_lanes:
            options["lanes"] = self.lanes
        values = dict(self.own)
        options |= {
            each.name: each.to_parameter(values[each.name]) for each in entry.command_line.own
        }
        try:
            return entry.make(profile or self.profile, **options)
        except ValueError as error:
            raise UsageError(str(error)) from error


def overrides(profile: Profile) -> Iterator[tuple[str, str]]:
    """The options, besides the name, that a profile needs, and their values."""
    usual = PROFILES[profile.name]
    for rule in ("surrogates", "noncharacters"):
        accepts = getattr(profile, f"accept_{rule}")
        if accepts != getattr(usual, f"accept_{rule}"):
            yield rule, "accept" if accepts else "reject"
    if profile.error_span != usual.error_span:
        yield "error-span", profile.error_span.value


def designs() -> list[DesignSpec]:
    """Each component with default options, compact, and with lanes, for the profile `unicode`."""
    found = []
    for name, entry in COMPONENTS.items():
        options, lanes = entry.command_line.options, entry.command_line.lanes
        found += [DesignSpec(name, lanes=lanes, own=own) for own in entry.tried]
        if "--compact" in options:
            found.append(DesignSpec(name, compact=True))
        if "--lanes" in options:
            found += [DesignSpec(name, lanes=LANES_TRIED, own=own) for own in entry.tried]
    return list(dict.fromkeys(found))


def small_designs() -> list[DesignSpec]:
    """The designs with few lanes that are proved when all designs are proved."""
    return [
        DesignSpec(name, lanes=LANES_OF_SMALL, own=own)
        for name, entry in COMPONENTS.items()
        for own in entry.proved_small
    ]


def possible(wanted: Iterable[DesignSpec]) -> list[DesignSpec]:
    """The designs that can be created, without duplicates; a `UsageError` if none can."""
    found: dict[DesignSpec, None] = {}
    refusals = []
    for spec in wanted:
        try:
            spec.make()
        except UsageError as refusal:
            refusals.append(refusal)
        else:
            found[spec] = None
    if refusals and not found:
        raise refusals[0]
    return list(found)


def idle_options(chosen: Iterable[DesignSpec]) -> frozenset[str]:
    """Options that have no effect on any of the designs; empty without designs."""
    used = [spec.used_options for spec in chosen]
    every = (entry.command_line.every_option for entry in COMPONENTS.values())
    return frozenset().union(*every).difference(*used) if used else frozenset()
