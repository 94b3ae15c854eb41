"""Dense beats: what components with them make of inputs, readable and by whole arrays."""

from collections.abc import Iterable

import numpy as np

from utf8_sim.components import component_of
from utf8_sim.engines.engine import interface_of
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


def readable(design, items: Columns) -> list[tuple]:
    """For each output the input that brings it about, whether it is cut, and its payload."""
    model = component_of(design).transducer(design)
    rows = zip(*(column.tolist() for column in items.values()), strict=True)
    return [(n, cut, *payload) for n, row in enumerate(rows) for payload, cut in model.feed(*row)]


def by_arrays(design, items: Columns, parts: Iterable[slice]) -> list[tuple]:
    """The same, of some inputs after the other."""
    model, pins = component_of(design).array_transducer(design), interface_of(design).outputs
    outputs: list[tuple] = []
    for part in parts:
        fed = model.feed({name: column[part] for name, column in items.items()})
        columns = [fed.columns[pin.name] for pin in pins]
        assert [column.dtype for column in columns] == [pin.dtype for pin in pins]
        number = (fed.brought_by + part.start).tolist()
        outputs += zip(number, fed.cut.tolist(), *(c.tolist() for c in columns), strict=True)
    return outputs


def with_holes(items: Columns, rng, wrong: bool) -> None:
    """Let texts end elsewhere, and with broken rules lanes have no byte that have one."""
    for name in ("i.keep", "i.last")[not wrong :]:
        flips = rng.choices((0, 1), (8, 1), k=items[name].size)
        items[name] ^= np.array(flips, dtype=np.uint8).reshape(items[name].shape)
