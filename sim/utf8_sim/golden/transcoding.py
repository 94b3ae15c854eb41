"""The golden model of transcoding: text in one encoding form to text in another.

The bytes of a beat belong to *places*, one for each unit. A *reader* finds the code points of a
text, with U+FFFD for each error, and in which place each ends. A *writer* says what their units
are. What belongs to a place is then packed into dense beats. A place of the beat before is -1.

What a beat's places have is only known when the next beat of its text is there, or if it is the
last. So a feed brings about what belongs to the beat before, and with ``last`` also its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from utf8_hdl import ByteOrder, Form, Profile
from utf8_hdl.profile import REPLACEMENT

from ..trace import Columns, levels_of
from .arrays import Outputs
from .arrays import is_refused as are_refused
from .lanes import CODE_POINT, ERROR, ArrayLanes, Lanes
from .packing import ArrayPacker, Packer, beat_of
from .text import Output, encode, is_refused

BOM = 0xFEFF

LAST_BYTE_OF_BOM = {Form.UTF_8: 3, Form.UTF_16: 2, Form.UTF_32: 4}
"""Its number in a text that begins with a byte order mark."""

HIGH, LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
"""The surrogates that come first and second in a pair."""

FIRST_OF_PAIRS = 0x10000
"""The lowest code point that is a pair."""


@dataclass(frozen=True)
class Conversion:
    """What is converted to what: the parameters of a transcoder."""

    profile: Profile
    lanes: int
    from_form: Form
    to_form: Form
    byte_order: ByteOrder = ByteOrder.LITTLE
    strip_bom: bool = False

    @classmethod
    def of(cls, design: Any) -> "Conversion":
        """That of a design."""
        return cls(*(getattr(design, name) for name in cls.__dataclass_fields__))

    @property
    def places(self) -> int:
        """How many units a beat has."""
        return self.lanes // self.from_form.unit_bytes

    @property
    def order(self) -> Literal["little", "big"]:
        """What Python calls the order of bytes."""
        return "little" if self.byte_order is ByteOrder.LITTLE else "big"

    @property
    def early_high(self) -> bool:
        """Whether a high surrogate belongs to the place before the one in which its pair ends.

        Its pair is at least two units there: bytes, or surrogates.
        """
        return self.to_form is Form.UTF_16 and self.from_form is not Form.UTF_32

    @property
    def out_lanes(self) -> int:
        """How many bytes an output beat has: as many as can belong to a beat's places."""
        return self.places * (2 if self.early_high else 4)


class Found(NamedTuple):
    """A code point that a reader found, or an error."""

    place: int
    """Where it ends."""
    code_point: int
    """U+FFFD for an error."""
    error: bool


class Reader(ABC):
    """Beats to code points."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._profile = conversion.profile

    @abstractmethod
    def found(self, data: Any, keep: Any, last: int) -> Iterator[Found]:
        """What a beat brings about, in order."""

    def units(self, data: Any, keep: Any) -> Iterator[tuple[int, int, int]]:
        """The number of each place, the unit in it, and how many of its bytes are kept."""
        size = self._conversion.from_form.unit_bytes
        data, keep = levels_of(data), levels_of(keep)
        for place in range(self._conversion.places):
            lanes = slice(place * size, (place + 1) * size)
            unit = int.from_bytes(bytes(data[lanes]), self._conversion.order)
            yield place, unit, sum(keep[lanes])

    def checked(self, place: int, value: int) -> Found:
        """A value, which is an error if it is no character."""
        refused = is_refused(value, self._profile)
        return Found(place, REPLACEMENT if refused else value, refused)

    @staticmethod
    def error(place: int) -> Found:
        return Found(place, REPLACEMENT, True)


class Utf8Reader(Reader):
    """UTF-8: as the decoder with lanes says."""

    def __init__(self, conversion: Conversion) -> None:
        super().__init__(conversion)
        self._lanes = Lanes(conversion.profile)

    def found(self, data: Any, keep: Any, last: int) -> Iterator[Found]:
        for number, fields in self._lanes.tokens(data, keep, last):
            yield Found(number - 1, fields[CODE_POINT], bool(fields[ERROR]))


class Utf16Reader(Reader):
    """UTF-16. Where only one byte of a unit is kept, it is left over, which is an error."""

    def __init__(self, conversion: Conversion) -> None:
        super().__init__(conversion)
        self._high: int | None = None
        """A high surrogate in the place before."""

    def found(self, data: Any, keep: Any, last: int) -> Iterator[Found]:
        for place, unit, kept in self.units(data, keep):
            yield from self._found_at(place, unit, kept)
        if last:
            yield from self._unpaired(self._conversion.places)

    def _found_at(self, place: int, unit: int, kept: int) -> Iterator[Found]:
        if kept == 1:
            if not self._profile.accept_surrogates:
                self._high = None  # one error together with the byte behind it
            yield from self._unpaired(place)
            yield self.error(place)
        elif kept and self._high is not None and unit in LOW:
            value = FIRST_OF_PAIRS + ((self._high - HIGH.start) << 10) + unit - LOW.start
            self._high = None
            yield self.checked(place, value)
        else:
            yield from self._unpaired(place)
            if kept and unit in HIGH:
                self._high = unit
            elif kept:
                yield self.checked(place, unit)

    def _unpaired(self, place: int) -> Iterator[Found]:
        """The high surrogate before a place, if there is one: it ends there."""
        if self._high is not None:
            yield self.checked(place - 1, self._high)
            self._high = None


class Utf32Reader(Reader):
    """UTF-32. Where not all bytes of a unit are kept, they are left over, which is an error."""

    def found(self, data: Any, keep: Any, last: int) -> Iterator[Found]:
        for place, unit, kept in self.units(data, keep):
            if kept == Form.UTF_32.unit_bytes:
                yield self.checked(place, unit)
            elif kept:
                yield self.error(place)


READERS: dict[Form, Callable[[Conversion], Reader]] = {
    Form.UTF_8: Utf8Reader,
    Form.UTF_16: Utf16Reader,
    Form.UTF_32: Utf32Reader,
}


def write(conversion: Conversion, place: int, value: int) -> list[tuple[int, bytes]]:
    """The units of a code point that ends in a place, and the place that each belongs to."""
    if conversion.to_form is Form.UTF_8:
        return [(place, encode(value))]
    order, size = conversion.order, conversion.to_form.unit_bytes
    if conversion.to_form is Form.UTF_32 or value < FIRST_OF_PAIRS:
        return [(place, value.to_bytes(size, order))]
    high, low = divmod(value - FIRST_OF_PAIRS, len(LOW))
    return [
        (place - conversion.early_high, (HIGH.start + high).to_bytes(size, order)),
        (place, (LOW.start + low).to_bytes(size, order)),
    ]


class TranscoderTransducer:
    """Beats in one form to dense beats in another; a :class:`~utf8_sim.golden.text.Transducer`."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._reader: Reader = READERS[conversion.from_form](conversion)
        self._packer = Packer(conversion.out_lanes)
        self._begin_text()

    def _begin_text(self) -> None:
        self._lanes_before = 0
        self._error = False
        self._waiting: list[int] | None = None
        """The bytes of the beat before, as far as they are known."""

    def feed(self, *item: Any) -> list[Output]:
        *_, last = item
        of_before, own = self._written(*item)
        outputs = []
        if self._waiting is not None:
            outputs += self._full(self._waiting + of_before, cut=True)
        self._waiting = own
        self._lanes_before += self._conversion.lanes
        if last:
            outputs += self._full(own, cut=False)
            beat = beat_of(self._packer.rest(), self._conversion.out_lanes)
            outputs.append(Output((*beat, 1, int(self._error))))
            self._begin_text()
        return outputs

    def _full(self, values: list[int], cut: bool) -> list[Output]:
        lanes = self._conversion.out_lanes
        return [
            Output((*beat_of(beat, lanes), 0, 0), cut=cut) for beat in self._packer.full(values)
        ]

    def _written(self, data: Any, keep: Any, last: int) -> tuple[list[int], list[int]]:
        """The bytes that a beat adds to those of the beat before, and those of its own."""
        written: tuple[list[int], list[int]] = [], []
        for found in self._reader.found(data, keep, last):
            self._error |= found.error
            if self._conversion.strip_bom and self._is_bom(found):
                continue
            for place, unit in write(self._conversion, found.place, found.code_point):
                written[place >= 0].extend(unit)
        return written

    def _is_bom(self, found: Found) -> bool:
        form = self._conversion.from_form
        lanes = self._lanes_before + (found.place + 1) * form.unit_bytes
        return found.code_point == BOM and lanes == LAST_BYTE_OF_BOM[form]


class ArrayFound(NamedTuple):
    """Code points and errors, in order; places are counted on from the first beat's first one."""

    place: np.ndarray
    code_point: np.ndarray
    error: np.ndarray


class ArrayReader(ABC):
    """Many beats to code points, by whole arrays."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._profile = conversion.profile

    @abstractmethod
    def found(self, items: Columns) -> ArrayFound: ...

    def units(self, items: Columns) -> tuple[np.ndarray, np.ndarray]:
        """The units in all places, and how many of the bytes of each are kept."""
        size = self._conversion.from_form.unit_bytes
        data = np.ascontiguousarray(items["i.data"]).ravel()
        units = data.view(_unit_type(size, self._conversion.byte_order)).astype(np.uint32)
        kept = np.add.reduce(items["i.keep"].reshape(-1, size), axis=1, dtype=np.uint8)
        return units, kept


def _unit_type(size: int, order: ByteOrder) -> str:
    """What numpy calls units of so many bytes."""
    return f"{'<' if order is ByteOrder.LITTLE else '>'}u{size}"


class ArrayUtf8Reader(ArrayReader):
    def __init__(self, conversion: Conversion) -> None:
        super().__init__(conversion)
        self._lanes = ArrayLanes(conversion.profile, conversion.lanes)

    def found(self, items: Columns) -> ArrayFound:
        beat, slot, fields = self._lanes.tokens(items)
        place = beat * self._conversion.lanes + slot - 1
        return ArrayFound(place, fields["o.code_point"], fields["o.error"] != 0)


class ArrayUtf16Reader(ArrayReader):
    """A pair is wherever a low surrogate is behind a high one: so all are found at once."""

    def __init__(self, conversion: Conversion) -> None:
        super().__init__(conversion)
        self._high = np.zeros(0, dtype=np.uint32)
        """A high surrogate in the last place, of a text that has not ended; or none."""

    def found(self, items: Columns) -> ArrayFound:
        before = len(self._high)
        units, kept = self.units(items)
        units = np.concatenate([self._high, units])
        whole = np.append(np.ones(before, dtype=bool), kept == Form.UTF_16.unit_bytes)
        part = np.append(np.zeros(before, dtype=bool), kept == 1)
        goes_on = np.ones(len(units), dtype=bool)
        goes_on[before:].reshape(-1, self._conversion.places)[:, -1] = items["i.last"] == 0
        is_high = whole & (units >= HIGH.start) & (units < HIGH.stop)
        is_low = whole & (units >= LOW.start) & (units < LOW.stop)

        # Those with another unit behind them in their text; the last unit's is yet to come.
        high = is_high & goes_on
        self._high = units[-1:].compress(high[-1:])
        is_first = high & np.append(is_low, True)[1:]
        second = np.flatnonzero(is_first[:-1] & is_low[1:]) + 1
        if not self._profile.accept_surrogates:
            is_first |= high & np.append(part, False)[1:]
        ends = np.flatnonzero((whole & ~is_first) | part)
        top, bottom = units.take(second - 1) - HIGH.start, units.take(second) - LOW.start
        units[second] = FIRST_OF_PAIRS + (top << 10) + bottom
        values = units.take(ends)
        error = are_refused(values, self._profile) | part.take(ends)
        values[error] = REPLACEMENT
        return ArrayFound(ends - before, values, error)


class ArrayUtf32Reader(ArrayReader):
    def found(self, items: Columns) -> ArrayFound:
        units, kept = self.units(items)
        place = np.flatnonzero(kept)
        values = units.take(place)
        error = are_refused(values, self._profile) | (kept.take(place) < Form.UTF_32.unit_bytes)
        values[error] = REPLACEMENT
        return ArrayFound(place, values, error)


ARRAY_READERS: dict[Form, Callable[[Conversion], ArrayReader]] = {
    Form.UTF_8: ArrayUtf8Reader,
    Form.UTF_16: ArrayUtf16Reader,
    Form.UTF_32: ArrayUtf32Reader,
}


class Written(NamedTuple):
    """Bytes, and of each code point's parts, which belong to a place, how many they have."""

    data: np.ndarray
    place: np.ndarray
    size: np.ndarray | int


def write_arrays(conversion: Conversion, place: np.ndarray, values: np.ndarray) -> Written:
    """The units of code points that end in some places."""
    if conversion.to_form is Form.UTF_8:
        return _write_utf_8(place, values)
    size = conversion.to_form.unit_bytes
    if conversion.to_form is Form.UTF_16:
        pair = values >= FIRST_OF_PAIRS
        if pair.any():
            bits = values.compress(pair) - FIRST_OF_PAIRS
            low = np.flatnonzero(pair) + np.arange(1, len(bits) + 1)
            values, place = np.repeat(values, 1 + pair), np.repeat(place, 1 + pair)
            values[low - 1] = HIGH.start + (bits >> 10)
            values[low] = LOW.start + (bits & 0x3FF)
            place[low - 1] -= conversion.early_high
    units = values.astype(_unit_type(size, conversion.byte_order))
    return Written(units.view(np.uint8), place, size)


def _write_utf_8(place: np.ndarray, values: np.ndarray) -> Written:
    """Each byte by its number in its code point, as if all had four; then those that are there."""
    size = 1 + (values > 0x7F).view(np.uint8) + (values > 0x7FF) + (values > 0xFFFF)
    if size.size and size.max() == 1:
        return Written(values.astype(np.uint8), place, 1)
    data = np.empty((len(values), 4), dtype=np.uint8)
    shift = 6 * (size - 1)
    lead = np.array([0, 0, 0xC0, 0xE0, 0xF0], dtype=np.uint8).take(size)
    data[:, 0] = lead | (values >> shift)
    for number in range(1, 4):
        bits = values >> (np.maximum(shift, 6 * number) - 6 * number)
        data[:, number] = 0x80 | (bits & 0x3F)
    return Written(data[np.arange(4) < size[:, np.newaxis]], place, size)


class ArrayTranscoder:
    """Beats in one form to dense beats in another; an array transducer."""

    def __init__(self, conversion: Conversion) -> None:
        self._conversion = conversion
        self._reader: ArrayReader = ARRAY_READERS[conversion.from_form](conversion)
        self._packer = ArrayPacker(conversion.out_lanes)
        self._beats_before = 0
        """Beats of the text that has not ended."""
        self._error = False
        """Whether there is an error in it."""
        self._waiting = np.zeros(0, dtype=np.uint8)
        """The bytes of the last beat, as far as they are known."""

    def feed(self, items: Columns) -> Outputs:
        found = self._reader.found(items)
        is_last = items["i.last"] != 0
        (ends,) = np.nonzero(is_last)
        errors = self._errors(found, ends)
        found = self._without_bom(found, ends)
        written = write_arrays(self._conversion, found.place, found.code_point)

        # The beat before goes with these, if its text goes on; and the last one goes with those
        # that come, unless it ends its text.
        before = min(1, self._beats_before)
        sizes = self._sizes(written, len(is_last))[1 - before :]
        sizes[:1] += len(self._waiting)
        is_last = np.append(np.zeros(before, dtype=bool), is_last)
        known = len(is_last) - int(not is_last[-1:].all())
        data = np.concatenate([self._waiting, written.data])
        stop = int(sizes[:known].sum())
        dense = self._packer.feed(data[:stop], sizes[:known], is_last[:known])
        self._waiting = data[stop:]
        self._beats_before += len(items["i.last"])
        if len(ends):
            self._beats_before = len(items["i.last"]) - int(ends[-1]) - 1

        error = np.zeros(len(dense.last), dtype=np.uint8)
        error[dense.last != 0] = errors
        columns = {
            "o.data": dense.data,
            "o.keep": dense.keep,
            "o.last": dense.last,
            "o.error": error,
        }
        cut = ~is_last.take(dense.brought_by)
        return Outputs(columns, dense.brought_by - before + cut, cut)

    def _texts(self, place: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """The numbers of the texts that places are in."""
        return np.searchsorted(ends, place // self._conversion.places)

    def _errors(self, found: ArrayFound, ends: np.ndarray) -> np.ndarray:
        """Which of the texts that end have an error."""
        wrong = np.zeros(len(ends) + 1, dtype=bool)
        wrong[0] = self._error
        wrong[self._texts(found.place.compress(found.error), ends)] = True
        self._error = bool(wrong[-1])
        return wrong[:-1]

    def _without_bom(self, found: ArrayFound, ends: np.ndarray) -> ArrayFound:
        """Without the byte order marks that texts begin with, if they are to be left out."""
        if not self._conversion.strip_bom:
            return found
        form = self._conversion.from_form
        (marks,) = np.nonzero((found.code_point == BOM) & ~found.error)
        place = found.place.take(marks)
        begins = np.append(-self._beats_before, ends + 1) * self._conversion.places
        lanes = (place + 1 - begins.take(self._texts(place, ends))) * form.unit_bytes
        first = marks.compress(lanes == LAST_BYTE_OF_BOM[form])
        return ArrayFound(*(np.delete(column, first) for column in found))

    def _sizes(self, written: Written, beats: int) -> np.ndarray:
        """How many bytes belong to each beat, the one before the first included."""
        beat = written.place // self._conversion.places + 1
        if isinstance(written.size, int):
            return np.bincount(beat, minlength=beats + 1) * written.size
        return np.bincount(beat, written.size, minlength=beats + 1).astype(np.int64)
