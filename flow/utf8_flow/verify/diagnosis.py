"""Diagnosis of a difference: the rule that the hardware broke, and CPython's result."""

from collections.abc import Iterator

import numpy as np

from utf8_hdl import UNICODE
from utf8_sim.engines.engine import WATCHDOG, Engine
from utf8_sim.golden.model import feed_all
from utf8_sim.lockstep import OUTPUT_LAST
from utf8_sim.minimise import Found, is_item
from utf8_sim.stimulus import LAST, Table
from utf8_sim.trace import RESET, Columns, Trace, expand_lane_mask

MAX_VALUES, MAX_OPINION = 32, 200
"""Maximum number of values of a text, and of characters of CPython's result, in a report."""


def broken_rule(engine: Engine, found: Found) -> str:
    """The rule that the hardware broke in the cycle of a difference."""
    after = "after a reset in mid-run, " if found.trace[RESET].any() else ""
    try:
        return after + _rule(engine, found)
    except Exception as error:  # a wrong model may raise anything
        return f"unknown: the golden model failed with {type(error).__name__}: {error}"


def _rule(engine: Engine, found: Found) -> str:
    """Compare all outputs since the last reset, until the design has drained."""
    *_, trace = _drained(engine, found).split_at_resets()
    pin, is_due = found.difference.pin, bool(found.difference.expected)
    cycle = len(trace) - WATCHDOG - 1
    if pin != "i.ready" and cycle and _waits(trace[cycle - 1 : cycle]):
        if not trace["o.valid"][cycle]:
            return "handshake: o.valid falls while the output is stalled"
        if pin != "o.valid":
            return "handshake: the payload changes while the output is stalled"
    expected = feed_all(engine.component.model(engine.design), trace.accepted())
    model, hardware = (_outputs(engine, columns) for columns in (expected, trace.taken()))
    if model != hardware:
        return _between(model, hardware)
    if pin == "i.ready":
        if is_due:
            return "throughput: an input is refused that must be accepted"
        return "flow control: an input is accepted that must be refused"
    return f"latency: an output is {'late' if is_due else 'early'}"


def _waits(trace: Trace) -> bool:
    return bool(trace["o.valid"].any() and not trace["o.ready"].any())


def _outputs(engine: Engine, columns: Columns) -> list[bytes]:
    """Outputs as bytes, to compare them; don't cares are zero."""
    columns = {pin.name: columns[pin.name] for pin in engine.interface.outputs}
    for name, where in engine.component.dont_care_unless.items():
        columns[name] = columns[name] * expand_lane_mask(columns[where] != 0, columns[name])
    return [
        b"".join(level.tobytes() for level in row) for row in zip(*columns.values(), strict=True)
    ]


def _between(model: list[bytes], hardware: list[bytes]) -> str:
    """Describe the difference between the outputs of the hardware and of the golden model."""
    pairs = enumerate(zip(model, hardware, strict=False))
    shorter = min(len(model), len(hardware))
    first = next((n for n, (ours, theirs) in pairs if ours != theirs), shorter)
    if first == len(hardware) or hardware[first:] == model[first + 1 :]:
        return "tokens: an output is lost"
    if first == len(model) or hardware[first + 1 :] == model[first:]:
        repeated = first > 0 and hardware[first] == hardware[first - 1]
        return f"tokens: an output is {'repeated' if repeated else 'invented'}"
    return "tokens: an output is wrong"


def _drained(engine: Engine, found: Found) -> Trace:
    """Run the design with a stimulus, then with an idle input and a ready consumer."""
    columns = {}
    for name, column in found.table.columns.items():
        rest = np.zeros_like(column[:1]) if name != "o.ready" else np.ones_like(column[:1])
        columns[name] = np.concatenate([column, np.repeat(rest, WATCHDOG, axis=0)])
    return Trace.join(list(engine.run(Table(engine.interface, columns))))


def offered_values(engine: Engine, trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """The values of accepted inputs and of an input offered in the last cycle; ends of texts."""
    items = trace.inputs(is_item(trace))
    values, counts = engine.component.values(items)
    return values, np.cumsum(counts)[items[LAST].view(bool)]


def opinions(engine: Engine, trace: Trace) -> Iterator[str]:
    """CPython's result for the text of the output in the last cycle.

    Only for the profile ``unicode``, whose rules CPython implements.
    """
    *_, segment = trace.split_at_resets()
    values, ends = offered_values(engine, segment)
    if engine.profile != UNICODE or values.ndim > 1 or OUTPUT_LAST not in segment.columns:
        return
    ended = int(segment[OUTPUT_LAST][:-1][segment.is_taken[:-1]].sum())
    for text in np.split(values, ends)[ended : ended + 1]:
        said = engine.component.cpython_result(text, engine.design)
        if said and len(text):
            digits = 2 if text.dtype.itemsize == 1 else 4
            shown = " ".join(f"{value:0{digits}X}" for value in text[:MAX_VALUES].tolist())
            more = f" ... ({len(text)} in all)" if len(text) > MAX_VALUES else ""
            yield f"{shown}{more}: {said[:MAX_OPINION]}{' ...' * (len(said) > MAX_OPINION)}"
