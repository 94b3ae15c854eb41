"""A chart of frequency and area, as SVG with nothing outside."""

from html import escape
from typing import Any, NamedTuple

from ..terminal import plural
from .families import DEVICES
from .results import variant

LABELS, PANEL, GAP, MARGIN = 260, 250, 30, 16
"""Widths: the names of the profiles, one panel, what is between and around them."""

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


def chart(results: dict[str, Any]) -> str:
    """An SVG with bars for frequency and area of each profile, one colour a device.

    All designs of the results are placed and routed.
    """
    designs = results["designs"]
    devices = list(dict.fromkeys(design["device"] for design in designs))
    seeds = len(designs[0]["runs"])
    panels = {"clock frequency in MHz": {_place(design): _frequency(design) for design in designs}}
    for head, name in (
        ("four-input lookup tables", "lookup_tables"),
        ("logic cells", "logic_cells"),
    ):
        panels[head] = {_place(design): Bar(design[name], design[name]) for design in designs}
    rows = list(dict.fromkeys((variant(design), design["profile"]) for design in designs))

    top = MARGIN + len(devices) * LINE + 8
    lines, places, bottom = _labels(rows, len(devices), top)
    for number, (head, bars) in enumerate(panels.items()):
        left = MARGIN + LABELS + number * (PANEL + GAP)
        lines.append(_text(left, top - 12, head, "head"))
        lines += _panel(left, top, bottom, bars, places, devices)
    remark = f"median of {plural(seeds, 'seed')}, lowest to highest; pale: above the clock tree"
    lines.append(_text(MARGIN + LABELS + PANEL / 2, bottom + 2 * LINE, remark, "small middle"))
    for number, device in enumerate(devices):
        y = MARGIN + number * LINE
        lines.append(f'<rect class="bar{number}" x="{MARGIN}" y="{y}" width="12" height="12"/>')
        lines.append(_text(MARGIN + 18, y + 11, DEVICES[device].label))

    width, height = MARGIN + LABELS + len(panels) * (PANEL + GAP), bottom + 2 * LINE + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            "<title>Clock frequency and area of each component and profile</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{width}" height="{height}" rx="6"/>',
            *lines,
            "</svg>\n",
        ]
    )


def _place(design: dict[str, Any]) -> tuple[str, str, str]:
    return variant(design), design["profile"], design["device"]


def _frequency(design: dict[str, Any]) -> Bar:
    every = [run["mhz"] for run in design["runs"]]
    return Bar(design["median"]["mhz"], design["usable_mhz"], (min(every), max(every)))


def _labels(
    rows: list[tuple[str, str]], bars: int, top: int
) -> tuple[list[str], dict[tuple[str, str], int], int]:
    """The names at the left, where the bars of each profile begin, and where all of them end."""
    lines, places, y, before = [], {}, top, ""
    for component, profile in rows:
        if component != before:
            y += LINE
            lines.append(_text(MARGIN, y, component, "head"))
            y, before = y + 8, component
        places[component, profile] = y
        lines.append(_text(MARGIN + 12, y + bars * BAR // 2 + 5, profile))
        y += bars * BAR + 8
    return lines, places, y


def _panel(
    left: int,
    top: int,
    bottom: int,
    bars: dict[tuple[str, str, str], Bar],
    places: dict[tuple[str, str], int],
    devices: list[str],
) -> list[str]:
    """Grid, numbers and bars of one panel."""
    step = _step(max(bar.ends[1] if bar.ends else bar.value for bar in bars.values()))
    scale = PANEL / (step * (TICKS + 1))  # what is above the last line has room for its number
    lines = []
    for tick in range(0, step * TICKS + 1, step):
        x = left + tick * scale
        lines.append(f'<path class="grid" d="M{x:.1f} {top}V{bottom}"/>')
        lines.append(_text(x, bottom + LINE, str(tick), "small middle"))
    for (component, profile, device), bar in bars.items():
        number = devices.index(device)
        y = places[component, profile] + number * BAR
        usable, end = left + bar.usable * scale, left + bar.value * scale
        for kind, begin, stop in (("", left, usable), (" beyond", usable, end)):
            if begin < stop:
                lines.append(
                    f'<rect class="bar{number}{kind}" x="{begin:.1f}" y="{y}" '
                    f'width="{stop - begin:.1f}" height="{BAR - 1}"/>'
                )
        if bar.ends:
            low, end = (left + value * scale for value in bar.ends)
            lines.append(f'<path class="range" d="M{low:.1f} {y + BAR / 2}H{end:.1f}"/>')
        lines.append(_text(end + 5, y + BAR - 2, f"{bar.usable:.0f}", "small"))
    return lines


def _step(highest: float) -> int:
    """The round distance of lines so that at most ``TICKS`` of them reach the highest value."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            if factor * size * TICKS >= highest:
                return factor * size
        size *= 10


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text{kind} x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'
