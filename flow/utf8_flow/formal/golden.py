"""Compare the golden model with the specification of the proofs, in all profiles.

``make prove-model`` runs it: for the decoder (:mod:`utf8_flow.formal.golden_decoder`) with all
combinations of overrides; for the encoder (:mod:`utf8_flow.formal.golden_encoder`) with all
combinations of the overrides for surrogates and noncharacters.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import product

from utf8_hdl import PROFILES, ErrorSpan, Profile
from utf8_sim.tools.cores import cores, on_all_cores
from utf8_sim.tools.errors import ToolError, UsageError, WrongValue
from utf8_sim.tools.words import plural
from utf8_sim.tools.yowasp import need_packages

from ..terminal import INTERRUPTED, progress_bar
from .abc_program import PACKAGE
from .golden_decoder import walk
from .golden_encoder import encode_all

SUMMARY = "Hold the golden model against the specification of the proofs."

Task = tuple[str, Profile]
"""A component and a profile."""

HELD = {"decoder": walk, "encoder": encode_all}


def tasks(names: list[str]) -> list[Task]:
    """Components and profiles, with all combinations of overrides; the slowest first."""
    found = []
    for name, surrogates, noncharacters, span in product(
        names, (False, True), (False, True), ErrorSpan
    ):
        rules = replace(PROFILES[name], accept_surrogates=surrogates, error_span=span)
        rules = replace(rules, accept_noncharacters=noncharacters)
        components = HELD if span is ErrorSpan.MAXIMAL_SUBPART else ["decoder"]
        found += [(component, rules) for component in components]
    return sorted(found, key=lambda task: -task[1].longest_form)


def hold(task: Task) -> tuple[Counter[str], str]:
    """Run a comparison: its counts, and the first difference in words, or an empty string."""
    component, profile = task
    return HELD[component](profile)


def hold_all(names: list[str]) -> bool:
    """Run all comparisons, and print counts and differences. True if nothing differs."""
    begin = time.monotonic()
    todo = tasks(names)
    tried: dict[tuple[str, str], Counter[str]] = {
        (task[0], task[1].name): Counter() for task in todo
    }
    differing = 0
    with progress_bar() as progress:
        bar = progress.add_task("golden model and specification", total=len(todo))
        for (component, profile), (counts, difference) in on_all_cores(hold, todo):
            tried[component, profile.name] += Counter({"combinations of rules": 1}) + counts
            if difference:
                differing += 1
                print(f"DIFFERENCE: {component}, {profile.describe()}\n{difference}", flush=True)
            progress.advance(bar)
    for names_of, counts in tried.items():
        sizes = (f"{count:,} {what}" for what, count in counts.items())
        print(", ".join([*names_of, *sizes]))
    seconds = f"{time.monotonic() - begin:.0f} seconds on {plural(cores(), 'core')}"
    print(f"{f'{differing} DIFFER' if differing else 'all agree'}, {seconds}")
    return not differing


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m utf8_flow.formal.golden", description=SUMMARY)
    parser.add_argument("profile", nargs="*", help=f"{', '.join(PROFILES)}; all if none is named")
    names = list(dict.fromkeys(parser.parse_args().profile)) or [*PROFILES]
    try:
        for name in names:
            if name not in PROFILES:
                raise WrongValue(f"profile must be one of {', '.join(PROFILES)}, not {name!r}")
        need_packages("the comparison with the specification", [PACKAGE], "formal")
        return 0 if hold_all(names) else 1
    except (UsageError, ToolError) as error:
        print(f"utf8-hdl: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
