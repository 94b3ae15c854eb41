"""A chart of frequency and area, as SVG with nothing outside."""

from html import escape
from itertools import count
from typing import Any, NamedTuple

from ..terminal import plural
from .families import DEVICES
from .results import design_name

LABELS, PANEL, GAP, MARGIN = 350, 250, 30, 16
"""Widths: the names of the designs, one panel, what is between and around them."""

LINE, BAR = 18, 12
"""Heights: a line of text, a bar."""

TICKS = 5
"""At most this many lines across a panel, beside zero."""

# Light and dark each have their own ground, so that both can be read on any page.
STYLE = """\
text{font:13px system-ui,sans-serif;fill:#1f2328}.head{font-weight:600}.small{font-size:11px}
.middle{text-anchor:middle}.ground{fill:#ffffff}.grid{stroke:#d1d9e0}
.range{stroke:#1f2328;stroke-width:1.5}.beyond{opacity:.35}.bar0{fill:#4c8dd6}.bar1{fill:#e0943a}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.ground{fill:#0d1117}.grid{stroke:#3d444d}
.range{stroke:#f0f6fc}.bar0{fill:#3a78bf}.bar1{fill:#b8701f}}
"""


class Bar(NamedTuple):
    """What one design came to: a value, the part of it that is of use, and its range, if any."""

    value: float
    usable: float
    ends: tuple[float, float] | None = None


def _frequency(design: dict[str, Any]) -> Bar:
    every = [run["mhz"] for run in design["runs"]]
    return Bar(design["median"]["mhz"], design["usable_mhz"], (min(every), max(every)))


PANELS = {
    "clock frequency in MHz": _frequency,
    "four-input lookup tables": lambda design: Bar(
        design["lookup_tables"], design["lookup_tables"]
    ),
    "logic cells": lambda design: Bar(design["logic_cells"], design["logic_cells"]),
}
"""What each panel shows of a design, by its heading."""


def chart(results: dict[str, Any]) -> str:
    """An SVG with bars for frequency and area of each design, one colour a device.

    All designs of the results are placed and routed.
    """
    designs = results["designs"]
    devices = list(dict.fromkeys(design["device"] for design in designs))
    rows = list(dict.fromkeys(map(design_name, designs)))
    height = len(devices) * BAR + 8
    top = MARGIN + len(devices) * LINE + 8 + LINE
    bottom = top + len(rows) * height

    lines = []
    for number, device in enumerate(devices):
        y = MARGIN + number * LINE
        lines.append(f'<rect class="bar{number}" x="{MARGIN}" y="{y}" width="12" height="12"/>')
        lines.append(_text(MARGIN + 18, y + 11, DEVICES[device].label))
    for number, name in enumerate(rows):
        lines.append(_text(MARGIN, top + number * height + len(devices) * BAR // 2 + 5, name))
    for number, (head, bar_of) in enumerate(PANELS.items()):
        left = MARGIN + LABELS + number * (PANEL + GAP)
        lines.append(_text(left, top - 12, head, "head"))
        bars = [bar_of(design) for design in designs]
        step = _step(max(max(bar.ends or [bar.value]) for bar in bars))
        scale = PANEL / (step * (TICKS + 1))  # what is above the last line has room for its number
        for tick in range(0, step * TICKS + 1, step):
            x = left + tick * scale
            lines.append(f'<path class="grid" d="M{x:.1f} {top}V{bottom}"/>')
            lines.append(_text(x, bottom + LINE, str(tick), "small middle"))
        for design, bar in zip(designs, bars, strict=True):
            device = devices.index(design["device"])
            y = top + rows.index(design_name(design)) * height + device * BAR
            lines += _bar(bar, f"bar{device}", left, y, scale)
    seeds = plural(len(designs[0]["runs"]), "seed")
    remark = f"median of {seeds}, lowest to highest; pale: above the clock tree"
    lines.append(_text(MARGIN + LABELS + PANEL / 2, bottom + 2 * LINE, remark, "small middle"))

    width, end = MARGIN + LABELS + len(PANELS) * (PANEL + GAP), bottom + 2 * LINE + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {end}" '
            f'width="{width}" height="{end}" role="img">',
            "<title>Clock frequency and area of each component and profile</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{width}" height="{end}" rx="6"/>',
            *lines,
            "</svg>\n",
        ]
    )


def _bar(bar: Bar, color: str, left: float, y: int, scale: float) -> list[str]:
    """A bar, pale from where it is of no use, with its range and its number."""
    usable, end = left + bar.usable * scale, left + bar.value * scale
    lines = [
        f'<rect class="{kind}" x="{begin:.1f}" y="{y}" width="{stop - begin:.1f}" '
        f'height="{BAR - 1}"/>'
        for kind, begin, stop in ((color, left, usable), (f"{color} beyond", usable, end))
        if begin < stop
    ]
    if bar.ends:
        low, end = (left + value * scale for value in bar.ends)
        lines.append(f'<path class="range" d="M{low:.1f} {y + BAR / 2}H{end:.1f}"/>')
    return [*lines, _text(end + 5, y + BAR - 2, f"{bar.usable:.0f}", "small")]


def _step(highest: float) -> int:
    """The round distance of lines so that at most ``TICKS`` of them reach the highest value."""
    sizes = (factor * 10**power for power in count() for factor in (1, 2, 5))
    return next(size for size in sizes if size * TICKS >= highest)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text{kind} x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'
