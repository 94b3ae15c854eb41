"""The live page: ``python -m utf8_flow.live.build FOLDER`` puts it there, with its designs."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from utf8_hdl import PROFILES, UNICODE, ErrorSpan, Form, Profile
from utf8_sim.tools.errors import Refused, ToolError

from ..components import Variant
from ..terminal import INTERRUPTED, progress_bar
from .wasm import write_page_module

PAGE = Path(__file__).with_name("page")
DESIGNS = "designs"

TO_UTF_8 = {"from_form": Form.UTF_8, "to_form": Form.UTF_8}

VARIANTS = {
    "decoder": Variant("decoder"),
    "compact-decoder": Variant("decoder", compact=True),
    "decoder-8": Variant("decoder", lanes=8),
    "encoder": Variant("encoder"),
    "compact-encoder": Variant("encoder", compact=True),
    "validator-8": Variant("validator", lanes=8),
    "validator-16": Variant("validator", lanes=16),
    "transcoder-4": Variant("transcoder", lanes=4),
    "transcoder-8": Variant("transcoder", lanes=8),
    "transcoder-16": Variant("transcoder", lanes=16),
    "repair-4": Variant("transcoder", lanes=4, own=TO_UTF_8),
}
"""What the page lets choose from."""


def profiles_of(variant: Variant, few: bool) -> Iterator[Profile]:
    """The rules that the page has for a component: every one of a design that is compiled soon."""
    if few or variant.component == "transcoder":
        yield variant.rules(UNICODE)
    elif variant.lanes > 1:
        yield from map(variant.rules, PROFILES.values())
    else:
        for profile, surrogates, noncharacters, span in product(
            PROFILES.values(), (False, True), (False, True), ErrorSpan
        ):
            rules = replace(profile, accept_surrogates=surrogates, error_span=span)
            yield variant.rules(replace(rules, accept_noncharacters=noncharacters))


def write_page(folder: Path, *, few: bool = False) -> None:
    """Put the page into a folder, with every design that it lets choose from.

    Parameters
    ----------
    folder : Path
        Is made, if it is not there, once all designs are compiled. Designs in it are replaced.
    few : bool
        Whether there are only designs with the rules of ``unicode``, and at most eight lanes.

    Raises
    ------
    ToolError
        If the compiler is not installed, or fails.
    """
    chosen = {
        (name, profile): f"{name}-{number}"
        for name, variant in VARIANTS.items()
        if variant.lanes <= 8 or not few
        for number, profile in enumerate(dict.fromkeys(profiles_of(variant, few)))
    }
    index = {
        "profiles": {
            name: {**_rules(profile), "bits": profile.utf32_width}
            for name, profile in PROFILES.items()
        },
        "designs": [_entry(*key, file) for key, file in chosen.items()],
    }
    with TemporaryDirectory() as made:
        _write_modules({file: VARIANTS[name].make(p) for (name, p), file in chosen.items()}, made)
        Path(made, "index.json").write_text(json.dumps(index) + "\n")
        shutil.copytree(PAGE, folder, dirs_exist_ok=True)
        shutil.rmtree(folder / DESIGNS, ignore_errors=True)
        shutil.copytree(made, folder / DESIGNS)


def _write_modules(designs: dict[str, Any], folder: str) -> None:
    """Compile designs into a folder, by the names of their files."""
    with progress_bar() as progress, ThreadPoolExecutor(os.cpu_count()) as pool:
        task = progress.add_task("designs as WebAssembly", total=len(designs))
        running = [
            pool.submit(write_page_module, design, Path(folder), file)
            for file, design in designs.items()
        ]
        try:
            for future in running:
                future.result()
                progress.advance(task)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _entry(name: str, profile: Profile, file: str) -> dict[str, Any]:
    """A design, for the page."""
    variant = VARIANTS[name]
    said = {"component": name, "label": variant.label, "options": variant.options}
    return {**said, "file": file, "rules": _rules(profile)}


def _rules(profile: Profile) -> dict[str, str]:
    """Rules, as the command line has them."""
    return {
        "profile": profile.name,
        "surrogates": "accept" if profile.accept_surrogates else "reject",
        "noncharacters": "accept" if profile.accept_noncharacters else "reject",
        "error-span": profile.error_span.value,
    }


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m utf8_flow.live.build", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--few", action="store_true", help="only the rules of unicode, 8 lanes")
    options = parser.parse_args()
    try:
        write_page(options.folder, few=options.few)
    except (Refused, ToolError, OSError) as error:
        print(f"utf8-hdl: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
