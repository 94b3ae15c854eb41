"""Traces as timing diagrams: an SVG picture for a document or a browser."""

import importlib
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from utf8_hdl import Kind

from ..engines.engine import Engine, state_name
from ..trace import DECODER, Trace

LEVELS = "01"
UNDEFINED = "x"
"""WaveDrom's symbols for a pin of one bit."""

STATE, INPUT, RESULT, ERROR = "2", "3", "5", "9"
"""WaveDrom's symbols for a box with a label: white, yellow, blue and red."""

COLUMN = 40
"""Width of a clock cycle in pixels before ``hscale`` stretches it; fixed by wavedrom."""

EDGES = 9
"""Pixels of a box that its slanted ends take from the label."""

FONT_SIZE = 11

STYLE = f"svg{{background:#fff}} text{{font-size:{FONT_SIZE}px}} .muted{{fill:#555}}"
"""What is better than in wavedrom: smaller text, a background, numbers of cycles not so pale."""

GROUPS = {"decoder": ("bytes in", "tokens out"), "encoder": ("code points in", "bytes out")}
"""What goes into a component and what comes out."""

Lane = dict[str, Any]
"""A lane in WaveJSON, as all of it is."""


class DiagramError(Exception):
    """A diagram cannot be drawn."""


def timing_diagram(trace: Trace, engine: Engine, first_cycle: int = 0) -> str:
    """Draw every cycle of a trace: the handshakes, what is offered, the state, what comes out.

    What stays on offer for several cycles is one long box; what is offered next begins a new one,
    even if it looks the same. Errors are red. Where nothing is offered, nothing is shown.

    Parameters
    ----------
    trace : Trace
        What to draw; some dozen cycles are a readable picture.
    engine : Engine
        Whose trace it is: profile and names of states.
    first_cycle : int
        The number of the first cycle.

    Returns
    -------
    str
        SVG, the same on every run.

    Raises
    ------
    DiagramError
        If the package ``wavedrom`` is not installed.
    """
    try:
        wavedrom = importlib.import_module("wavedrom")
    except ModuleNotFoundError as error:
        raise DiagramError("drawing needs wavedrom: pip install 'utf8-hdl[wave]'") from error
    drawing = wavedrom.render(json.dumps(_source(trace, engine, first_cycle)))
    drawing.add(drawing.style(STYLE))
    return f"{drawing.tostring()}\n"


def character(code_point: int) -> str:
    """A code point as people may see it; nothing if it is invisible or would do harm."""
    if code_point > 0x10FFFF:
        return ""
    text = chr(code_point)
    category = unicodedata.category(text)
    if category[0] == "M":
        return f"\N{DOTTED CIRCLE}{text}"
    return "" if category[0] in "CZ" and text != " " else text


def named(code_point: int) -> str:
    """A code point by number, and as people may see it."""
    return f"U+{code_point:04X} {character(code_point)}".rstrip()


def _source(trace: Trace, engine: Engine, first_cycle: int) -> Lane:
    """The diagram in WaveJSON."""
    title = f"utf8-hdl {trace.interface.component}, profile {engine.profile.name}"
    head: Lane = {"text": ["tspan", {"x": "0", "text-anchor": "start"}, title]}
    if len(trace) > 1:  # wavedrom fails if it has to number less
        head["tick"] = first_cycle
    clock = {"name": "clk", "wave": "p".ljust(len(trace), ".")}
    states = [(STATE, state_name(engine.state_names, state)) for state in trace.state.tolist()]
    inputs, state, outputs = _input_lanes(trace), _lane("state", states), _output_lanes(trace)
    stretch = max(
        _stretch(title, max(1, len(trace))),
        _stretch(str(first_cycle + len(trace)), 1),
        *(_stretch(*box) for lane in (*inputs, state, *outputs) for box in _boxes(lane)),
    )
    for lane in (*inputs, state, *outputs):
        _begin_with_an_edge(lane, stretch)
    groups = GROUPS[trace.interface.component]
    signal = [clock, [groups[0], *inputs], state, [groups[1], *outputs]]
    return {"signal": signal, "head": head, "config": {"hscale": stretch}}


def _input_lanes(trace: Trace) -> list[Lane]:
    valid, ready, item = trace["i.valid"], trace["i.ready"], f"i.{trace.interface.item}"
    label = _byte if trace.interface == DECODER else named
    cells = [(INPUT, label(value)) for value in trace[item].tolist()]
    return [
        _level_lane("i.valid", valid),
        _level_lane("i.ready", ready),
        _offer_lane(item, cells, valid, ready),
        _level_lane("i.last", trace["i.last"], valid),
    ]


def _output_lanes(trace: Trace) -> list[Lane]:
    valid, ready, errors = trace["o.valid"], trace["o.ready"], trace["o.error"]
    colours = np.where(errors, ERROR, RESULT).tolist()
    lanes = [_level_lane("o.valid", valid), _level_lane("o.ready", ready)]
    if trace.interface == DECODER:
        cells = list(zip(colours, _tokens(trace), strict=True))
        lengths = list(zip(colours, map(str, trace["o.length"].tolist()), strict=True))
        lanes.append(_offer_lane("token", cells, valid, ready))
        lanes.append(_offer_lane("o.length", lengths, valid, ready))
    else:
        cells = list(zip(colours, map(_byte, trace["o.data"].tolist()), strict=True))
        lanes.append(_offer_lane("o.data", cells, valid, ready))
        lanes.append(_level_lane("o.error", errors, valid))
    return [*lanes, _level_lane("o.last", trace["o.last"], valid)]


def _tokens(trace: Trace) -> list[str]:
    levels = (trace[pin].tolist() for pin in ("o.error", "o.kind", "o.code_point"))
    return [
        Kind(kind).label if error else named(code_point)
        for error, kind, code_point in zip(*levels, strict=True)
    ]


def _byte(byte: int) -> str:
    return f"{byte:02X} {character(byte) if byte < 0x80 else ''}".rstrip()


def _level_lane(name: str, levels: np.ndarray, valid: np.ndarray | None = None) -> Lane:
    """A pin of one bit; undefined in cycles in which it is not valid."""
    symbols = [LEVELS[level] for level in levels.tolist()]
    if valid is not None:
        symbols = np.where(valid, symbols, UNDEFINED).tolist()
    return _lane(name, [(symbol, "") for symbol in symbols])


def _offer_lane(
    name: str, cells: list[tuple[str, str]], valid: np.ndarray, ready: np.ndarray
) -> Lane:
    """What a stream offers, a box for each transfer."""
    shown = [
        cell if is_valid else (UNDEFINED, "") for cell, is_valid in zip(cells, valid, strict=True)
    ]
    ends = (valid & ready).astype(bool).tolist()
    return _lane(name, shown, [False, *ends])


def _lane(name: str, cells: Sequence[tuple[str, str]], begins: Sequence[bool] = ()) -> Lane:
    """A lane from the symbol and the label of each cycle.

    Parameters
    ----------
    begins : sequence of bool
        The cycles in which a new box begins even if the label stays the same.
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
    """Let a box in the first cycle begin with an edge; wavedrom centres no label without one.

    The edge comes from one more cycle at the beginning, which the phase shifts out of sight.
    """
    if _is_box(lane["wave"][:1]):
        lane["wave"] = UNDEFINED + lane["wave"]
        lane["phase"] = stretch


def _stretch(label: str, cycles: int) -> int:
    """The ``hscale`` at which a label fits into so many cycles."""
    return math.ceil((_width(label) + EDGES) / (COLUMN * cycles))


def _width(text: str) -> float:
    """Width of a text in pixels, about, in the wider ones of the usual fonts."""
    em = 0.0
    for symbol in text:
        if unicodedata.east_asian_width(symbol) in "WF":
            em += 1.2
        elif symbol == " ":
            em += 0.35
        else:
            em += 0.55 if symbol.islower() else 0.65
    return em * FONT_SIZE
