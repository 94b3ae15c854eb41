"""Draw traces as timing diagrams in SVG."""

import importlib
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..components import Component
from ..format import has_error, shortened
from ..subject import Subject
from ..tools.errors import ToolError
from ..trace import RESET, Trace

LEVELS = "01"
UNDEFINED = "x"
"""WaveDrom's symbols for a pin of one bit."""

STATE, INPUT, RESULT, ERROR = "2", "3", "5", "9"
"""WaveDrom's symbols for a box with a label: white, yellow, blue and red."""

COLUMN = 40
"""Width of a clock cycle in pixels, before scaling by ``hscale``; fixed by wavedrom."""

EDGES = 9
"""Width of the slanted ends of a box in pixels."""

FONT_SIZE = 11

DARK_MODE = (
    "@media (prefers-color-scheme:dark)"
    "{:root{background:#121212;filter:invert(.93) hue-rotate(180deg)}}"
)
"""Style of a drawing on white ground: in dark mode light and dark are exchanged, hues are kept."""

STYLE = f"svg{{background:#fff}} text{{font-size:{FONT_SIZE}px}} .muted{{fill:#555}} {DARK_MODE}"
"""Changes to wavedrom's style: smaller text, a background, and darker cycle numbers."""

Lane = dict[str, Any]
"""A lane in WaveJSON; other objects in WaveJSON have the same type."""


def timing_diagram(trace: Trace, subject: Subject, first_cycle: int = 0) -> str:
    """Draw every cycle of a trace: the handshakes, the inputs, the state and the outputs.

    A payload that is valid for several cycles is one long box; the next payload begins a new box,
    even if it is the same. Errors are red. A payload that is not valid is drawn as undefined.

    The result is SVG, the same on every run.
    """
    try:
        wavedrom = importlib.import_module("wavedrom")
    except ModuleNotFoundError as error:
        raise ToolError("drawing needs wavedrom: in a clone, pip install '.[wave]'") from error
    drawing = wavedrom.render(json.dumps(_source(trace, subject, first_cycle)))
    drawing.add(drawing.style(STYLE))
    return f"{drawing.tostring()}\n"


def groups_of(component: Component) -> tuple[str, str]:
    """The titles of a component's inputs and outputs."""
    return f"{component.item}s in", f"{component.result}s out"


def _source(trace: Trace, subject: Subject, first_cycle: int) -> Lane:
    """The diagram in WaveJSON."""
    compact = "compact " if getattr(subject.design, "compact", False) else ""
    with_lanes = f", {subject.lanes} lanes" * (subject.lanes > 1)
    component = f"{compact}{trace.interface.component}{with_lanes}"
    title = f"utf8-hdl {component}, profile {subject.profile.name}"
    head: Lane = {"text": ["tspan", {"x": "0", "text-anchor": "start"}, title]}
    if len(trace) > 1:  # wavedrom cannot number fewer cycles
        head["tick"] = first_cycle
    clock = {"name": "clk", "wave": "p".ljust(len(trace), ".")}
    inside = [_state_lane(trace, subject)] if trace.interface.state_width else []
    inputs, results = _input_lanes(trace, subject), _output_lanes(trace, subject)
    resets = [_level_lane(RESET, trace[RESET])] if trace[RESET].any() else []
    lanes = [*resets, *inputs, *inside, *results]
    stretch = max(
        _stretch(title, max(1, len(trace))),
        _stretch(str(first_cycle + len(trace)), 1),
        *(_stretch(*box) for lane in lanes for box in _boxes(lane)),
    )
    for lane in lanes:
        _begin_with_an_edge(lane, stretch)
    groups = groups_of(subject.component)
    signal = [clock, *resets, [groups[0], *inputs], *inside, [groups[1], *results]]
    return {"signal": signal, "head": head, "config": {"hscale": stretch}}


def _state_lane(trace: Trace, subject: Subject) -> Lane:
    return _lane("state", [(STATE, subject.state_name(n)) for n in trace["state"].tolist()])


def _input_lanes(trace: Trace, subject: Subject) -> list[Lane]:
    valid, ready, (item, *others) = trace["i.valid"], trace["i.ready"], trace.interface.inputs
    show = subject.component.show_item
    cells = [(INPUT, shortened(show(row)) if row else "") for row in trace.offered("i")]
    return [
        _level_lane("i.valid", valid),
        _level_lane("i.ready", ready),
        _offer_lane(item.name, cells, valid, ready),
        *(_level_lane(pin.name, trace[pin.name], valid) for pin in others if pin.width == 1),
    ]


def _output_lanes(trace: Trace, subject: Subject) -> list[Lane]:
    valid, ready, component = trace["o.valid"], trace["o.ready"], subject.component
    rows = list(trace.offered("o"))
    colours = [ERROR if has_error(row) else RESULT for row in rows]
    lanes = [_level_lane("o.valid", valid), _level_lane("o.ready", ready)]
    for lane in component.rows:
        labels = [shortened(lane.label(row)) if row else "" for row in rows]
        cells = list(zip(colours, labels, strict=True))
        lanes.append(_offer_lane(lane.name, cells, valid, ready))
    return [*lanes, *(_level_lane(pin, trace[pin], valid) for pin in component.levels)]


def _level_lane(name: str, levels: np.ndarray, valid: np.ndarray | None = None) -> Lane:
    """A pin of one bit; undefined in cycles without ``valid``."""
    symbols = [LEVELS[level] for level in levels.tolist()]
    if valid is not None:
        symbols = np.where(valid, symbols, UNDEFINED).tolist()
    return _lane(name, [(symbol, "") for symbol in symbols])


def _offer_lane(
    name: str, cells: list[tuple[str, str]], valid: np.ndarray, ready: np.ndarray
) -> Lane:
    """The payloads of a stream, a box for each transfer."""
    shown = [
        cell if is_valid else (UNDEFINED, "") for cell, is_valid in zip(cells, valid, strict=True)
    ]
    ends = (valid & ready).astype(bool).tolist()
    return _lane(name, shown, [False, *ends])


def _lane(name: str, cells: Sequence[tuple[str, str]], begins: Sequence[bool] = ()) -> Lane:
    """A lane from the symbol and the label of each cycle.

    In cycles in ``begins`` a new box begins even if the label stays the same.
    """
    wave, labels = "", []
    before = None
    for cycle, cell in enumerate(cells):
        symbol, label = cell
        if cell == before and not (begins and begins[cycle] and _is_box(symbol)):
            wave += "."
            continue
        before = cell
        wave += symbol
        if _is_box(symbol):
            labels.append(label)
    return {"name": name, "wave": wave, "data": labels}


def _is_box(symbol: str) -> bool:
    return symbol in (STATE, INPUT, RESULT, ERROR)


def _boxes(lane: Lane) -> Iterator[tuple[str, int]]:
    """Label and cycles of each box of a lane."""
    return zip(lane["data"], map(len, re.findall(r"[2-9]\.*", lane["wave"])), strict=True)


def _begin_with_an_edge(lane: Lane, stretch: int) -> None:
    """Begin a box in the first cycle with an edge; without one, wavedrom does not centre its label.

    The edge comes from an additional first cycle, which the phase shifts out of sight.
    """
    if _is_box(lane["wave"][:1]):
        lane["wave"] = UNDEFINED + lane["wave"]
        lane["phase"] = stretch


def _stretch(label: str, cycles: int) -> int:
    """The ``hscale`` at which a label fits into a box of ``cycles`` cycles."""
    return math.ceil((_width(label) + EDGES) / (COLUMN * cycles))


def _width(text: str) -> float:
    """Approximate width of a text in pixels, in the wider of the usual fonts."""
    em = 0.0
    for symbol in text:
        if unicodedata.east_asian_width(symbol) in "WF":
            em += 1.2
        elif symbol == " ":
            em += 0.35
        else:
            em += 0.55 if symbol.islower() else 0.65
    return em * FONT_SIZE
