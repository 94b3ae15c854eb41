"""Inputs and outputs of components with dense beats."""

from collections.abc import Iterable

import numpy as np

from utf8_sim.components import component_of
from utf8_sim.subject import interface_of
from utf8_sim.trace import Columns


def packed(design, *pieces) -> Columns:
    """The inputs for pieces of texts."""
    interface = interface_of(design)
    parts = list(component_of(design).pack(pieces, interface))
    return {pin.name: np.concatenate([p[pin.name] for p in parts]) for pin in interface.inputs}


def texts_as_piece(texts: Iterable[bytes]) -> tuple[bytes, np.ndarray]:
    """Texts that are not empty, as one piece."""
    texts = list(texts)
    ends = np.zeros(sum(map(len, texts)), dtype=bool)
    ends[np.cumsum(list(map(len, texts))) - 1] = True
    return b"".join(texts), ends


def fed(design, items: Columns) -> list[tuple]:
    """For each output: the number of the input that causes it, its `cut` flag, its payload."""
    model, pins = component_of(design).model(design), interface_of(design).outputs
    outputs = model.feed(items, np.zeros(len(items["i.last"]), dtype=bool))
    columns = [outputs.columns[pin.name] for pin in pins]
    assert [column.dtype for column in columns] == [pin.dtype for pin in pins]
    rows = outputs.brought_by, outputs.cut, *columns
    return list(zip(*(column.tolist() for column in rows), strict=True))
