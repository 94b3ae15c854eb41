"""Tables of measurements in docs/; ``python -m utf8_flow.fpga.result_tables TABLE`` prints one."""

import json
import sys
from collections import defaultdict
from typing import Any

from ..markdown import table
from .choices import DOCS, USUAL, figures
from .families import DEVICES
from .results import design_name

BYTE_WIDE, WITH_LANES = "ecp5-25f", "ecp5-85f"
"""The devices of the summary, for components of one byte per cycle and for lanes."""

LANES = 8, 64, 128
"""The numbers of lanes of the summary."""

FAMILIES = 3
"""The table of devices has the designs that were measured on that many families or more."""

HEADS = (
    "design", "device", "LUT4s", "registers", "logic cells", "nextpnr MHz", "range", "usable MHz",
    "GB/s",
)  # fmt: skip


def _files() -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(DOCS.glob("synthesis*.json"))]


def _measured() -> list[dict[str, Any]]:
    """The designs of every file, in the profile `unicode`."""
    every = (design for file in _files() for design in file["designs"])
    return [design for design in every if design["profile"] == USUAL]


def summary() -> list[str]:
    """Area, frequency and throughput of each component on ECP5, in Markdown."""
    chosen = [design for design in _measured() if _is_in_summary(design)]
    ordered = sorted(chosen, key=lambda design: design["lanes"] > 1)
    return table([HEADS, *((design_name(one), *figures(one, ",")) for one in ordered)])


def _is_in_summary(design: dict[str, Any]) -> bool:
    device, lanes = design["device"], design["lanes"]
    return device == BYTE_WIDE or (device == WITH_LANES and lanes in LANES)


def devices() -> list[str]:
    """Usable frequency and lookup tables of each design on each device, in Markdown."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for design in _measured():
        figures = f"{design['usable_mhz']:.0f} / {design['lookup_tables']:,}"
        found[design_name(design)][design["device"]] = figures
    rows = {
        name: cells
        for name, cells in found.items()
        if len({DEVICES[device].family.placer for device in cells}) >= FAMILIES
    }
    shown = [device for device in DEVICES if any(device in cells for cells in rows.values())]
    limits = (str(DEVICES[device].clock_tree) for device in shown)
    lines = [(name, *(cells.get(device, "–") for device in shown)) for name, cells in rows.items()]
    return table([("design", *shown), ("limit of the clock network", *limits), *lines])


def tools() -> list[str]:
    """The versions of the tools in the files, in Markdown."""
    found = {f"- {name} {version}" for file in _files() for name, version in file["tools"].items()}
    return sorted(found)


TABLES = {"summary": summary, "devices": devices, "tools": tools}

if __name__ == "__main__":
    print("\n".join(TABLES[sys.argv[1]]()))
