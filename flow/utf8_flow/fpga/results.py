"""What synthesis, place and route came to: the document that is kept, and its summary."""

from typing import Any

from utf8_hdl import __version__
from utf8_sim.tools.yowasp import package_versions, versions_line

from ..verify.report import short_name
from .placement import Measured, packages_for

HEADS = "design", "device", "LUT4s", "registers", "MHz", "range", "MB/s", "critical path"
"""Of the columns of the summary."""


def document(measured: list[Measured]) -> dict[str, Any]:
    """All results, as JSON can hold them.

    Parameters
    ----------
    measured : list of Measured
        The results.

    Returns
    -------
    dict
        ``tools`` are the versions of all tools by name. Each of ``designs`` has the names of
        ``component``, ``profile`` and ``device``, the ``fields`` used, ``registers``,
        ``lookup_tables`` and ``runs``: for each ``seed`` the frequency in ``mhz``, ``start`` and
        ``end`` of the critical path and its ``levels`` of logic. If there are runs, also
        ``median``, the run in the middle (the slower, if there are two), and
        ``bytes_per_second`` at its frequency.
    """
    versions = package_versions(packages_for(one.job.device for one in measured))
    return {
        "tools": {"utf8-hdl": __version__} | versions,
        "designs": [_design(one) for one in measured],
    }


def _design(measured: Measured) -> dict[str, Any]:
    job, netlist, runs = measured
    found: dict[str, Any] = {
        "component": f"compact {job.component}" if job.compact else job.component,
        "profile": short_name(job.profile),
        "device": job.device,
        "fields": list(job.fields),
        **netlist.area._asdict(),
        "runs": [run._asdict() for run in runs],
    }
    if runs:
        median = sorted(runs, key=lambda run: run.mhz)[(len(runs) - 1) // 2]
        found["median"] = median._asdict()
        # The decoder takes a byte in every cycle, and the encoder gives one.
        found["bytes_per_second"] = round(median.mhz * 1e6)
    return found


def summary(results: dict[str, Any]) -> list[str]:
    """The versions of the tools and a table, in Markdown that can be read as it is.

    Parameters
    ----------
    results : dict
        A document.

    Returns
    -------
    list of str
        Lines.
    """
    rows = [HEADS, *map(_cells, results["designs"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in (rows[0], rule, *rows[1:])
    ]
    return [versions_line(results["tools"]), "", *(f"| {line} |" for line in lines)]


def _cells(design: dict[str, Any]) -> tuple[str, ...]:
    speed = ("", "", "", "")
    if runs := design["runs"]:
        median, every = design["median"], [run["mhz"] for run in runs]
        speed = (
            f"{median['mhz']:.0f}",
            f"{min(every):.0f} to {max(every):.0f}",
            f"{design['bytes_per_second'] / 1e6:.0f}",
            f"{median['start']} -> {median['end']}",
        )
    return (
        f"{design['component']}, {design['profile']}",
        design["device"],
        str(design["lookup_tables"]),
        str(design["registers"]),
        *speed,
    )
