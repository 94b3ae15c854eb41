"""Compare the golden model of the encoder with its specification."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from amaranth.hdl import Cat

from utf8_hdl import Profile
from utf8_sim.campaign import boundary_values, toggled_values
from utf8_sim.golden.encoder import EncoderModel

from .bench import Bench
from .specification import EncoderSpecification
from .ternary import Asked

EVERY = 0x21_0000
"""Every value below this is encoded: all forms of up to four bytes, and some of five bytes."""

AT_ONCE = 1 << 16
"""Maximum number of values that are encoded at the same time."""

REFUSED = 4
PARTLY = 5
"""Bit positions above the byte count: value refused; only some of its bytes have ``error``."""


def values_of(profile: Profile) -> list[int]:
    """Values to encode: each below `EVERY`; boundaries, and these with one bit inverted."""
    width = profile.utf32_width
    edges = {*boundary_values(profile), *toggled_values(profile), (1 << width) - 1}
    toggled = {edge ^ 1 << bit for edge in edges for bit in range(width)}
    return [*range(EVERY), *sorted(each for each in edges | toggled if EVERY <= each < 1 << width)]


class Specification:
    """The answers of the specification: the bytes as a number; their count and ``refused``."""

    def __init__(self, profile: Profile) -> None:
        bench = Bench(profile, {})
        encoder = EncoderSpecification(bench.model, profile)
        self._width = len(encoder.code_point)
        bench.m.d.comb += encoder.code_point.eq(bench.free(self._width, "value"))
        reported = [*encoder.count[:REFUSED], encoder.refused]
        values = [dict(enumerate(bits)) for bits in (Cat(*encoder.sequence), reported)]
        self._asked = Asked(bench, values)

    def __call__(self, values: Sequence[int]) -> np.ndarray:
        given = np.array(values, dtype=np.uint64)
        bits = range(self._width)
        answers = self._asked.answers(
            {f"value[{n}]": (given >> np.uint64(n) & 1).astype(np.uint8) for n in bits}
        )
        return np.stack([answers.numbers(bits) for bits in self._asked.numbers], axis=1)


class Model:
    """The answers of the golden model."""

    def __init__(self, profile: Profile) -> None:
        self._encoder = EncoderModel(profile)

    def __call__(self, values: Sequence[int]) -> np.ndarray:
        given = np.array(values, dtype=np.uint64)
        items = {"i.code_point": given, "i.last": np.ones_like(given)}
        found = self._encoder.feed(items, np.zeros(len(given), dtype=bool))
        counts = np.bincount(found.brought_by, minlength=len(given))
        place = np.arange(len(found.brought_by)) - (counts.cumsum() - counts)[found.brought_by]
        encoded = np.zeros((len(given), 8), dtype=np.uint8)
        encoded[found.brought_by, place] = found.columns["o.data"]
        refused = np.bincount(found.brought_by, found.columns["o.error"], len(given)).astype(int)
        counts |= (refused == counts) << REFUSED | (refused % counts != 0) << PARTLY
        return np.stack([encoded.view("<u8").ravel(), counts.astype(np.uint64)], axis=1)


def encode_all(profile: Profile) -> tuple[Counter[str], str]:
    """Encode values: the number that agree, and a difference in words or an empty string."""
    specification = Specification(profile)
    model, values = Model(profile), values_of(profile)
    for begin in range(0, len(values), AT_ONCE):
        some = values[begin : begin + AT_ONCE]
        expected, actual = specification(some), model(some)
        wrong = (actual != expected).any(axis=1)
        if wrong.any():
            row = wrong.argmax()
            answers = {"specification": expected[row], "golden model": actual[row]}
            lines = [f"{who}: {_in_words(*reported.tolist())}" for who, reported in answers.items()]
            shown = "\n".join([f"code point {some[row]:X}", *lines, ""])
            return Counter({"code points": begin + int(row)}), shown
    return Counter({"code points": len(values)}), ""


def _in_words(encoded: int, reported: int) -> str:
    shown = encoded.to_bytes(8, "little")[: reported % (1 << REFUSED)].hex(" ").upper()
    flag = {0: "", 1: ", refused"}.get(reported >> REFUSED, ", refused in part")
    return shown + flag
