"""What work in numbered units has in common, whoever does it: all cores, or a cluster."""

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from rich.console import Console

from utf8_hdl import Profile, __version__
from utf8_sim.engines.compiled import design_rtlil
from utf8_sim.engines.engine import Engine
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools.cache import contents
from utf8_sim.tools.errors import WrongValue
from utf8_sim.tools.files import open_output

from ..components.entry import Variant
from ..terminal import Wrong, say
from .difference import conclude
from .engines import ENGINES, keep_freed_memory
from .run import Run

Result = TypeVar("Result")

SAVED_EVERY = 1.0
"""Seconds between two times that a state is written."""


class Planned:
    """What is run, as a dataclass: the profile, the name of the engine, the variant, and more.

    It can be sent to other processes, each of which makes a simulator of its own.
    """

    profile: Profile
    engine: str
    variant: Variant
    seed: int

    def __getstate__(self) -> dict[str, Any]:
        """Without what is only kept, to be had again."""
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}

    def design(self) -> Any:
        return self.variant.make(self.profile)

    @cached_property
    def simulator(self) -> Engine:
        keep_freed_memory()
        return ENGINES[self.engine](self.design())

    def use(self, simulator: Engine) -> None:
        """Use a simulator that is there already: to elaborate a design may take seconds."""
        vars(self)["simulator"] = simulator

    def prepare(self) -> None:
        """Compile what is needed."""
        self.simulator  # noqa: B018 - it is made when it is asked for

    def stimulus(self, unit: int) -> Stimulus:
        """What is driven in a unit."""
        raise NotImplementedError

    def identity(self) -> str:
        """Changes with all that the verdict depends on: what is run, the design, the checks."""
        digest = hashlib.sha256(repr((__version__, np.__version__, self)).encode())
        prepared = vars(self).get("simulator")
        digest.update(design_rtlil(prepared.design if prepared else self.design()).encode())
        for package in ("utf8_sim", "utf8_flow"):
            for source in contents(resources.files(package)):
                digest.update(source)
        return digest.hexdigest()


def in_order(results: Iterable[tuple[int, Result]], first: int = 0) -> Iterator[tuple[int, Result]]:
    """Units by number, from the first one on: one that is done early waits for those before it."""
    early: dict[int, Result] = {}
    for number, result in results:
        early[number] = result
        while first in early:
            yield first, early.pop(first)
            first += 1


def read_state(path: str, identity: str) -> list[Any] | None:
    """What was written to a file before, if it is there; it is refused if it is another plan's."""
    if not os.path.exists(path):
        return None
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(state, list) or state[-1:] != [_checksum(state[:-1])]:
            raise ValueError("damaged, or no such file")
        found, *content = state[:-1]
        if found != identity:
            raise ValueError("other options, or another version")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise WrongValue(
            f"state {path!r} is not that of this comparison ({error}): remove it, or choose another"
        ) from error
    return content


def write_state(path: str, identity: str, *content: Any) -> None:
    """Write what is done to a file."""
    state = [identity, *content]
    with open_output(path) as file:
        file.write(json.dumps([*state, _checksum(state)]) + "\n")


def _checksum(state: list[Any]) -> int:
    return zlib.crc32(json.dumps(state).encode())


def conclude_unit(
    show: Console,
    plan: Planned,
    unit: int,
    wrong: str,
    stimulus: str,
    vcd: str,
    wave: str | None,
) -> None:
    """Run a unit again in which something is wrong, to show what."""
    say(show, "hardware and golden model differ")
    say(show, f"stimulus: {stimulus}, seed {plan.seed}")
    again = Run(plan.simulator).all_of(plan.stimulus(unit))
    if not again.wrong:
        refute(show, wrong, "stimulus")
    conclude(show, again, vcd, wave)


def refute(show: Console, wrong: str, what: str) -> None:
    """Say that something went wrong for somebody else, and did not go wrong again."""
    say(show, f"not reproducible: {wrong}; the same {what}, run once more, shows nothing wrong")
    raise Wrong
