"""What a difference means: the rule that the hardware broke, and what CPython says of the text."""

from collections.abc import Iterator

import numpy as np

from utf8_hdl import UNICODE
from utf8_sim.engines.engine import WATCHDOG, Engine
from utf8_sim.minimise import Found, is_item
from utf8_sim.stimulus import LAST, Table
from utf8_sim.trace import RESET, Columns, Trace, by_parts

from ..components.entry import entry_of

MOST_TEXTS, MOST_VALUES = 3, 64
"""Texts before a difference of which CPython is asked, and values of one that are shown."""


def broken_rule(engine: Engine, found: Found) -> str:
    """The rule that the hardware broke in the first cycle of a difference."""
    after = "after a reset in mid-run, " if found.trace[RESET].any() else ""
    return after + (
        _at_input(found) if found.difference.pin == "i.ready" else _at_output(engine, found)
    )


def _at_input(found: Found) -> str:
    if found.difference.expected:
        return "throughput: an input is refused that must be accepted"
    return "flow control: an input is accepted that must be refused"


def _at_output(engine: Engine, found: Found) -> str:
    """Compare all outputs since the last reset, until nothing more comes."""
    *_, trace = _drained(engine, found).lives()
    cycle = len(trace) - WATCHDOG - 1
    if cycle and trace["o.valid"][cycle - 1] and not trace["o.ready"][cycle - 1]:
        if not trace["o.valid"][cycle]:
            return "handshake: o.valid falls while the output waits"
        if found.difference.pin != "o.valid":
            return "handshake: the payload changes while the output waits"
    expected = engine.component.array_transducer(engine.design).feed(trace.accepted()).columns
    model, hardware = (_outputs(engine, columns) for columns in (expected, trace.taken()))
    return _between(model, hardware, is_due=bool(found.difference.expected))


def _outputs(engine: Engine, columns: Columns) -> list[bytes]:
    """Outputs that can be compared; what does not matter is zero."""
    columns = {pin.name: columns[pin.name] for pin in engine.interface.outputs}
    for name, where in engine.component.matters.items():
        columns[name] = columns[name] * by_parts(columns[where] != 0, columns[name])
    return [
        b"".join(level.tobytes() for level in row) for row in zip(*columns.values(), strict=True)
    ]


def _between(model: list[bytes], hardware: list[bytes], is_due: bool) -> str:
    """What sets the outputs of the hardware apart from those of the golden model."""
    first = next(
        (n for n, both in enumerate(zip(model, hardware, strict=False)) if both[0] != both[1]),
        min(len(model), len(hardware)),
    )
    if model == hardware:
        return f"latency: an output is {'late' if is_due else 'early'}"
    if first == len(hardware) or hardware[first:] == model[first + 1 :]:
        return "tokens: an output is lost"
    if first == len(model) or hardware[first + 1 :] == model[first:]:
        repeated = first > 0 and hardware[first] == hardware[first - 1]
        return f"tokens: an output is {'repeated' if repeated else 'invented'}"
    return "tokens: an output is wrong"


def _drained(engine: Engine, found: Found) -> Trace:
    """What the design does in the cycles of a stimulus, and then with nothing more offered."""
    columns = {}
    for name, column in found.table.columns.items():
        rest = np.zeros_like(column[:1]) if name != "o.ready" else np.ones_like(column[:1])
        columns[name] = np.concatenate([column, np.repeat(rest, WATCHDOG, axis=0)])
    return Trace.join(list(engine.run(Table(engine.interface, columns))))


def opinions(engine: Engine, trace: Trace) -> Iterator[str]:
    """What CPython says of the last texts before a difference, for the rules that it knows."""
    *_, life = trace.lives()
    items = life.inputs(is_item(life))
    values, counts = engine.component.values(items)
    ends = np.cumsum(counts)[items[LAST].view(bool)]
    if engine.profile != UNICODE or values.ndim > 1:
        return
    texts = [text for text in np.split(values, ends) if len(text)]
    for text in texts[-MOST_TEXTS:]:
        said = entry_of(engine).opinion(text, engine.design)
        if said and len(text) <= MOST_VALUES:
            width = 2 * text.dtype.itemsize if text.dtype.itemsize == 1 else 4
            yield f"{' '.join(f'{value:0{width}X}' for value in text.tolist())}: {said}"
