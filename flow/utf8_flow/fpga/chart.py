"""SVG charts of frequency and area, or of frequency, area and throughput over lanes.

``python -m utf8_flow.fpga.chart FILE.json ...`` draws the charts of results that ``synthesize``
wrote, beside them.
"""

import io
import json
import logging
import sys
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from utf8_sim.tools.files import open_output
from utf8_sim.tools.words import plural
from utf8_sim.waves.diagram import DARK_MODE

from ..designs import DesignSpec
from .families import DEVICES
from .results import design_name, per_lookup_table

PANELS = {
    "usable_mhz": "clock frequency in MHz",
    "lookup_tables": "four-input lookup tables",
    "logic_cells": "logic cells",
}
"""The result of a design that each panel shows, and the heading of the panel."""

PANELS_OF_LANES = {
    "clock frequency in MHz": lambda design: design["usable_mhz"],
    "four-input lookup tables": lambda design: design["lookup_tables"],
    "GB/s": lambda design: design["bytes_per_second"] / 1e9,
    "GB/s per 1,000 lookup tables": per_lookup_table,
}
"""For results over lanes: the heading of each panel, and a function for the value it shows."""

STYLE = {
    "svg.hashsalt": "utf8-hdl",  # the same identifiers on every run
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,
}

NARROW = 6
"""Width in inches of a figure that a telephone must show as well."""

LARGE_TEXT = 13
"""Size in points of the text in such a figure."""


def chart(results: dict[str, Any]) -> str:
    """An SVG with bars for frequency and area of each design, one colour per device.

    If the results have several numbers of lanes for a component, the SVG has lines over lanes
    instead. All designs in the results must have been placed and routed.
    """
    lines = _lines(results)
    over_lanes = max(map(len, lines.values())) > 1
    title = "Clock frequency and area of each component and profile"
    if over_lanes:
        title = "Clock frequency, area and throughput over lanes"
    return drawn(title, lambda: _figure_of_lanes(lines) if over_lanes else _figure(results))


def drawn(title: str, figure: Callable[[], Any]) -> str:
    """A matplotlib figure as SVG, independent of the user's settings; in dark mode it is dark."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns if it has no cache
    matplotlib = import_module("matplotlib")
    file = io.StringIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure().savefig(file, format="svg", metadata={"Title": title, "Date": None})
    return file.getvalue().replace("</style>", f" {DARK_MODE}</style>", 1)


def _lines(results: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Designs sorted by lanes, grouped by name, profile and device."""
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for design in sorted(results["designs"], key=lambda design: design["lanes"]):
        name, device = DesignSpec.of_row(design).name, DEVICES[design["device"]].label
        lines[f"{name}, {design['profile']},\n{device}"].append(design)
    return lines


def _figure_of_lanes(lines: dict[str, list[dict[str, Any]]]) -> Any:
    import_module("matplotlib").rcParams["font.size"] = LARGE_TEXT
    figure = import_module("matplotlib.figure").Figure((NARROW, 14), layout="constrained")
    panels = figure.subplots(len(PANELS_OF_LANES), 1)
    counts = sorted({design["lanes"] for line in lines.values() for design in line})
    colors = import_module("matplotlib").colormaps["turbo"](np.linspace(0.1, 0.9, len(lines)))
    for axes, (heading, value) in zip(panels, PANELS_OF_LANES.items(), strict=True):
        axes.set_title(heading, loc="left")
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, counts)
        axes.set(frame_on=False, axisbelow=True, xlabel="lanes")
        axes.grid(color="#d1d9e0")
        for (name, designs), color in zip(lines.items(), colors, strict=True):
            lanes = [design["lanes"] for design in designs]
            axes.plot(lanes, [value(design) for design in designs], "o-", color=color, label=name)
            if value is PANELS_OF_LANES["clock frequency in MHz"]:
                medians = [design["median"]["mhz"] for design in designs]
                axes.plot(lanes, medians, "o-", color=color, alpha=0.35)
        axes.set_ylim(bottom=0)
    panels[0].set_xlabel("lanes; pale: above the clock tree")
    labels = panels[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside upper left", frameon=False)
    return figure


def _figure(results: dict[str, Any]) -> Any:
    designs = results["designs"]
    devices = list(dict.fromkeys(design["device"] for design in designs))
    names = list(dict.fromkeys(map(design_name, designs)))
    rows = len(names) * (len(devices) + 1)  # for bars, and spaces between designs
    figure = import_module("matplotlib.figure").Figure((13, 1.4 + rows / 6), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, heading in zip(panels, PANELS.values(), strict=True):
        axes.set_title(heading, loc="left")
        axes.set(frame_on=False, axisbelow=True, xmargin=0.16)  # room for a number
        axes.grid(axis="x", color="#d1d9e0")
        axes.tick_params(left=False)
    seeds = plural(len(designs[0]["runs"]), "seed")
    panels[0].set_xlabel(f"median of {seeds}, lowest to highest\npale: above the clock tree")
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)

    thickness = len(names) / rows
    colors = import_module("matplotlib").colormaps["turbo"](np.linspace(0.15, 0.8, len(devices)))
    for number, (device, color) in enumerate(zip(devices, colors, strict=True)):
        own = [design for design in designs if design["device"] == device]
        shift = (number + 0.5 - len(devices) / 2) * thickness
        places = [names.index(design_name(design)) + shift for design in own]
        look = {"height": thickness, "color": color}
        for axes, key in zip(panels, PANELS, strict=True):
            values = np.array([design[key] for design in own])
            bars = axes.barh(places, values, label=DEVICES[device].label, **look)
            if key == "usable_mhz":  # pale: the part up to the median; and the range
                median = np.array([design["median"]["mhz"] for design in own])
                runs = np.array([[run["mhz"] for run in design["runs"]] for design in own])
                ends = [median - runs.min(axis=1), runs.max(axis=1) - median]
                bars = axes.barh(
                    places, median - values, left=values, xerr=ends, alpha=0.35, **look
                )
            axes.bar_label(bars, [f"{value:.0f}" for value in values], padding=4, fontsize=9)
    labels = panels[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside upper left", ncols=4, frameon=False)
    return figure


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        with open_output(str(file.with_suffix(".svg"))) as out:
            out.write(chart(json.loads(file.read_text(encoding="utf-8"))))
