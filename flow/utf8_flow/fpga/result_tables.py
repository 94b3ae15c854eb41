"""Tables of measurements in docs/; ``python -m utf8_flow.fpga.result_tables TABLE`` prints one."""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from ..designs import DesignSpec
from ..markdown import aligned_table, table
from .families import DEVICES
from .results import design_name, figures

DOCS = Path("docs")

USUAL = "unicode"

RULES = {
    "surrogates accepted": "--surrogates accept",
    "noncharacters rejected": "--noncharacters reject",
    "whole-sequence": "--error-span whole-sequence",
}
"""The options for the rules in the name of a profile."""

HEADS_OF_CHOICE = (
    "what", "the line to paste", "device", "LUT4s", "registers", "logic cells", "MHz", "range",
    "usable MHz", "GB/s",
)  # fmt: skip

HEADS_OF_SUMMARY = (
    "design", "device", "LUT4s", "registers", "logic cells", "nextpnr MHz", "range", "usable MHz",
    "GB/s",
)  # fmt: skip

ONE_LANE, WITH_LANES = "ecp5-25f", "ecp5-85f"
"""The devices of the summary, for designs with one lane and with several."""

LANES = 8, 64, 128
"""The numbers of lanes of the summary."""

MIN_FAMILIES = 3
"""The table of devices has the designs that were measured on at least this number of families."""


def decoders() -> list[str]:
    """The decoders by bytes per cycle, for docs/choose.md."""
    return _choice(
        [design for design in _one_lane() if design["component"] == "decoder"]
        + [_with_lanes("decoder", lanes) for lanes in (8, 32, 128)]
    )


def outputs() -> list[str]:
    """The components by their output, for docs/choose.md."""
    names = "decoder", "validator", "transcoder", "compactor"
    return _choice(
        [design for design in _one_lane() if design["component"] == "encoder"]
        + [_with_lanes(name, 8) for name in names]
        + [_with_lanes("transcoder", lanes) for lanes in (64, 128)]
    )


def rules() -> list[str]:
    """The pipelined decoder under each profile, for docs/choose.md."""
    return _choice(
        [
            design
            for design in _designs("synthesis.json")
            if design["component"] == "decoder" and not design["compact"]
        ]
    )


def _one_lane() -> list[dict[str, Any]]:
    return [design for design in _designs("synthesis.json") if design["profile"] == USUAL]


def _with_lanes(name: str, lanes: int) -> dict[str, Any]:
    return next(one for one in _designs(f"synthesis-{name}.json") if one["lanes"] == lanes)


def _choice(chosen: list[dict[str, Any]]) -> list[str]:
    """Each design with the command that generates it."""
    rows = [(design_name(each), f"`{_command(each)}`", *figures(each)) for each in chosen]
    return aligned_table([HEADS_OF_CHOICE, *rows])


def _command(design: dict[str, Any]) -> str:
    profile, _, changed = design["profile"].partition(" ")
    options = ["" if profile == USUAL else f"--profile {profile}", RULES.get(changed, "")]
    words = ["utf8-hdl generate", *DesignSpec.of_row(design).options, *options]
    return " ".join(filter(None, words))


def summary() -> list[str]:
    """Area, frequency and throughput of each component on ECP5."""
    chosen = [design for design in _measured() if _is_in_summary(design)]
    ordered = sorted(chosen, key=lambda design: design["lanes"] > 1)
    return table([HEADS_OF_SUMMARY, *((design_name(one), *figures(one, ",")) for one in ordered)])


def _is_in_summary(design: dict[str, Any]) -> bool:
    device, lanes = design["device"], design["lanes"]
    return device == ONE_LANE or (device == WITH_LANES and lanes in LANES)


def devices() -> list[str]:
    """Usable frequency and lookup tables of each design on each device."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for design in _measured():
        cell = f"{design['usable_mhz']:.0f} / {design['lookup_tables']:,}"
        found[design_name(design)][design["device"]] = cell
    rows = {
        name: cells
        for name, cells in found.items()
        if len({DEVICES[device].family.placer for device in cells}) >= MIN_FAMILIES
    }
    shown = [device for device in DEVICES if any(device in cells for cells in rows.values())]
    limits = (str(DEVICES[device].clock_tree) for device in shown)
    lines = [(name, *(cells.get(device, "–") for device in shown)) for name, cells in rows.items()]
    return table([("design", *shown), ("limit of the clock network", *limits), *lines])


def tools() -> list[str]:
    """The versions of the tools."""
    found = {f"- {name} {version}" for file in _files() for name, version in file["tools"].items()}
    return sorted(found)


def _measured() -> list[dict[str, Any]]:
    """The designs of all files, in the profile `unicode`."""
    every = (design for file in _files() for design in file["designs"])
    return [design for design in every if design["profile"] == USUAL]


def _files() -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(DOCS.glob("synthesis*.json"))]


def _designs(file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DOCS / file).read_text())["designs"]
    return found


TABLES = {
    **{"bytes": decoders, "out": outputs, "rules": rules},
    **{"summary": summary, "devices": devices, "tools": tools},
}

if __name__ == "__main__":
    print("\n".join(TABLES[sys.argv[1]]()))
