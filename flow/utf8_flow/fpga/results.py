"""Results of synthesis, place and route: the stored document, its summary, and CSV."""

import csv
import io
from typing import Any

from utf8_hdl import __version__
from utf8_sim.tools.yowasp import package_versions, versions_line

from ..designs import DesignSpec
from ..markdown import aligned_table
from .families import DEVICES
from .placement import Measured, packages_for

HEADS = (
    "design", "device", "LUT4s", "registers", "logic cells", "RAM blocks", "nextpnr MHz", "range",
    "clock tree MHz", "usable MHz", "GB/s", "GB/s per 1,000 LUT4s", "critical path",
)  # fmt: skip
"""Column headings of the summary."""

CSV_HEADS = (
    "design", "device", "LUT4s", "registers", "logic cells", "RAM blocks", "seeds", "nextpnr MHz",
    "lowest MHz", "highest MHz", "clock tree MHz", "usable MHz", "bytes/s", "path from", "path to",
)  # fmt: skip
"""Column headings of the CSV file."""

COUNTS = "lookup_tables", "registers", "logic_cells", "memory_blocks"

BYTE = 8


def document(measured: list[Measured]) -> dict[str, Any]:
    """All results, as a JSON object.

    Each of ``designs`` has the fields of a :class:`Job` and its :class:`Area`, and ``runs``, a list
    of :class:`Run`. If there are runs, it also has ``median``, the median run (the slower of two);
    ``usable_mhz``, the frequency of that run or of the clock network, whichever is lower; and
    ``bytes_per_second``, the throughput at that frequency.
    """
    versions = package_versions(packages_for(one.job.device for one in measured))
    return {
        "tools": {"utf8-hdl": __version__} | versions,
        "designs": [_design(one) for one in measured],
    }


def _design(measured: Measured) -> dict[str, Any]:
    job, area, runs = measured
    clock_tree = DEVICES[job.device].clock_tree
    found: dict[str, Any] = {
        **job.spec.row(),
        "profile": job.spec.rules,
        "device": job.device,
        "fields": list(job.fields),
        **area._asdict(),
        "clock_tree_mhz": clock_tree,
        "runs": [run._asdict() for run in runs],
    }
    if runs:
        median = sorted(runs, key=lambda run: run.mhz)[(len(runs) - 1) // 2]
        found["median"] = median._asdict()
        found["usable_mhz"] = min(median.mhz, clock_tree)
        # A component accepts a value in each lane in every cycle; an encoder outputs one byte.
        bits = job.spec.lanes * job.spec.entry.bits_per_lane(dict(job.spec.own))
        found["bytes_per_second"] = round(found["usable_mhz"] * 1e6) * bits // BYTE
    return found


def design_name(design: dict[str, Any]) -> str:
    """Name of a design in the document."""
    spec = DesignSpec.of_row(design)
    rules = f", {design['profile']}" if "--profile" in spec.used_options else ""
    return spec.label + rules


def per_lookup_table(design: dict[str, Any]) -> float:
    """Gigabytes per second per thousand lookup tables."""
    found: float = design["bytes_per_second"] / design["lookup_tables"] / 1e6
    return found


def figures(design: dict[str, Any], of_counts: str = "") -> tuple[str, ...]:
    """The device and the figures of a routed design; ``of_counts`` is the format of its area."""
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


def summary(results: dict[str, Any]) -> list[str]:
    """Tool versions and a table, in Markdown that is also readable as plain text."""
    lines = aligned_table([HEADS, *map(_cells, results["designs"])])
    return [versions_line(results["tools"]), "", *lines]


def _cells(design: dict[str, Any]) -> tuple[str, ...]:
    limit = str(design["clock_tree_mhz"])
    speed = ("", "", limit, "", "", "", "")
    if design["runs"]:
        *_, median, span, usable, throughput = figures(design)
        path = f"{design['median']['start']} -> {design['median']['end']}"
        speed = (median, span, limit, usable, throughput, f"{per_lookup_table(design):.2f}", path)
    counts = (str(design[name]) for name in COUNTS)
    return (design_name(design), design["device"], *counts, *speed)


def csv_text(results: dict[str, Any]) -> str:
    """All designs, one per line, as CSV with plain numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([CSV_HEADS, *map(_csv_row, results["designs"])])
    return text.getvalue()


def _csv_row(design: dict[str, Any]) -> tuple[Any, ...]:
    """The values of a design; those of a frequency are empty without runs."""
    frequency: tuple[Any, ...] = (*("",) * 3, design["clock_tree_mhz"], *("",) * 4)
    if runs := design["runs"]:
        median, every = design["median"], [run["mhz"] for run in runs]
        frequency = (
            *(median["mhz"], min(every), max(every), design["clock_tree_mhz"]),
            *(design["usable_mhz"], design["bytes_per_second"], median["start"], median["end"]),
        )
    counts = (design[name] for name in COUNTS)
    return (design_name(design), design["device"], *counts, len(runs), *frequency)
