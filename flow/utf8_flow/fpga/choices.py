"""Tables of docs/choose.md; ``python -m utf8_flow.fpga.choices QUESTION`` prints one table."""

import json
import sys
from pathlib import Path
from typing import Any

from ..designs import DesignSpec
from ..markdown import aligned_table
from .results import design_name

DOCS = Path("docs")

HEADS = (
    "what", "the line to paste", "device", "LUT4s", "registers", "logic cells", "MHz", "range",
    "usable MHz", "GB/s",
)  # fmt: skip

OF_ONE = "synthesis.json"
LANES = ("decoder", "validator", "transcoder", "compactor")
NUMBERS = (8, 32, 128)
OF_TRANSCODER = (64, 128)
"""Numbers of lanes in more rows of the transcoder, whose frequency falls with them."""

USUAL = "unicode"
RULES = {
    "surrogates accepted": "--surrogates accept",
    "noncharacters rejected": "--noncharacters reject",
    "whole-sequence": "--error-span whole-sequence",
}


def table_for(question: str) -> list[str]:
    """The table for a question, ``bytes``, ``out`` or ``rules``, as lines of Markdown."""
    return aligned_table([HEADS, *map(_cells, _designs_for(question))])


def _designs_for(question: str) -> list[dict[str, Any]]:
    of_one = _designs(OF_ONE)
    usual = [design for design in of_one if design["profile"] == USUAL]
    if question == "rules":
        wanted = "decoder", False
        return [one for one in of_one if (one["component"], one["compact"]) == wanted]
    if question == "out":
        lanes = [_with_lanes(name, NUMBERS[0]) for name in LANES]
        lanes += [_with_lanes("transcoder", number) for number in OF_TRANSCODER]
        return [design for design in usual if design["component"] == "encoder"] + lanes
    decoders = [design for design in usual if design["component"] == "decoder"]
    return decoders + [_with_lanes(LANES[0], lanes) for lanes in NUMBERS]


def _designs(file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DOCS / file).read_text())["designs"]
    return found


def _with_lanes(name: str, lanes: int) -> dict[str, Any]:
    return next(one for one in _designs(f"synthesis-{name}.json") if one["lanes"] == lanes)


def _cells(design: dict[str, Any]) -> tuple[str, ...]:
    profile, _, changed = design["profile"].partition(" ")
    rules = ["" if profile == USUAL else f"--profile {profile}", RULES.get(changed, "")]
    line = " ".join(filter(None, ["utf8-hdl generate", *DesignSpec.of_row(design).options, *rules]))
    return design_name(design), f"`{line}`", *figures(design)


def figures(design: dict[str, Any], of_counts: str = "") -> tuple[str, ...]:
    """The device and the figures of a design; ``of_counts`` is the format of its area."""
    mhz, median = [run["mhz"] for run in design["runs"]], design["median"]["mhz"]
    limit = " (clock tree)" if median > design["clock_tree_mhz"] else ""
    return (
        design["device"],
        *(f"{design[name]:{of_counts}}" for name in ("lookup_tables", "registers", "logic_cells")),
        f"{median:.0f}",
        f"{min(mhz):.0f} to {max(mhz):.0f}",
        f"{design['usable_mhz']:.0f}{limit}",
        f"{design['bytes_per_second'] / 1e9:.3g}",
    )


if __name__ == "__main__":
    print("\n".join(table_for(sys.argv[1])))
