"""The golden model of the transcoder: text in one encoding scheme to text in another.

A *reader* finds the code points of a text, with U+FFFD for each error. Each code point belongs to
the input unit with which it ends. A *writer* produces its output units, which belong to the same
input unit and are packed into dense beats. ``index`` is the index of an input unit in its beat; it
is negative for units of the previous beat.

The output units of a beat are complete only if it has ``last``, or when the next beat of its text
arrives. A beat therefore produces the output of the previous beat, and with ``last`` also its own.
"""

from typing import Any, NamedTuple

import numpy as np

from utf8_hdl import EncodingScheme
from utf8_hdl.profile import REPLACEMENT

from ..trace import Columns
from .compactor import Dense, dense_columns, emit
from .decoder import (
    CODE_POINT,
    CUT,
    KIND,
    LENGTH,
    NONE,
    OWN,
    PENDING,
    TRUNCATED,
    Reader,
    decode_lane,
)
from .encoder import byte_of, kind_of, shortest_form
from .kernels import integers, kernel
from .model import Outputs

BOM = 0xFEFF

HIGH, LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
"""High and low surrogates: first and second in a pair."""

FIRST_HIGH, LAST_HIGH, FIRST_LOW, LAST_LOW = HIGH[0], HIGH[-1], LOW[0], LOW[-1]

FIRST_OF_PAIRS = 0x10000
"""The lowest code point that is encoded as a pair."""

UTF_8, UTF_16, UTF_32 = 1, 2, 4
"""Encoding forms (Unicode D90 to D92), by the size of a code unit in bytes."""

UNIT_BYTES = {
    EncodingScheme.UTF_8: UTF_8,
    EncodingScheme.UTF_16LE: UTF_16,
    EncodingScheme.UTF_16BE: UTF_16,
    EncodingScheme.UTF_32LE: UTF_32,
    EncodingScheme.UTF_32BE: UTF_32,
}
BIG_ENDIAN = EncodingScheme.UTF_16BE, EncodingScheme.UTF_32BE


class Forms(NamedTuple):
    """The parameters of a transcoder, as numbers.

    ``beat_units`` is the number of units in an input beat. ``early_high`` is 1 if a code point that
    becomes a surrogate pair has at least two input units; its high surrogate then belongs to the
    unit before its last. ``out_lanes`` is the maximum number of output bytes for an input beat.
    """

    from_unit: int
    to_unit: int
    from_big_endian: int
    to_big_endian: int
    beat_units: int
    strip_bom: int
    early_high: int
    out_lanes: int

    @classmethod
    def of(cls, design: Any) -> "Forms":
        """The parameters of a design, from its attributes."""
        from_unit, to_unit = UNIT_BYTES[design.source], UNIT_BYTES[design.target]
        beat_units = design.lanes // from_unit
        early_high = to_unit == UTF_16 and from_unit != UTF_32
        return cls(
            from_unit,
            to_unit,
            int(design.source in BIG_ENDIAN),
            int(design.target in BIG_ENDIAN),
            beat_units,
            int(design.strip_bom),
            int(early_high),
            beat_units * (2 if early_high else 4),
        )


class State(NamedTuple):
    """State kept between two beats."""

    decoder: np.ndarray
    """The state of the UTF-8 decoder."""
    two: np.ndarray
    """The tokens of the decoder's current byte."""
    found: np.ndarray
    """The code points that end with a unit: see `FOUND_ARRAY_SIZE`."""
    buffer: np.ndarray
    """Bytes that are not in an output beat yet."""
    text: np.ndarray
    """State of the text: see `FILLED`."""


FOUND_SIZE = 4
INDEX, VALUE, ERROR, SIZE = range(FOUND_SIZE)
FOUND_ARRAY_SIZE = 2 * FOUND_SIZE
"""Length of the array for the code points that a unit produces, at most two. Each code point has
the index of the unit with which it ends; its value, U+FFFD for an error; the kind of error, or 0;
and for an error, its length in units."""

FILLED, UNITS_BEFORE, IS_BEFORE, UNPAIRED, FIRST_KIND, FIRST_UNIT, ERRORS = range(7)
"""Indices of the state of the text: bytes in the buffer; units in earlier beats; 1 while no unit of
this beat is in the buffer; an unpaired high surrogate in the previous unit, or 0; the kind of the
first error, or 0, and the unit with which it begins; the number of errors so far."""


@kernel
def transcode(forms, rules, state, begins, data, keep, last, dense):  # type: ignore[no-untyped-def]
    """Fill in the dense beats; return their number."""
    count = 0
    lanes = forms.beat_units * forms.from_unit
    for beat in range(len(last)):
        if begins[beat]:
            state.decoder[PENDING] = 0
            _begin_text(state)
        state.text[IS_BEFORE] = 1
        for index in range(forms.beat_units + last[beat]):
            found = _read(forms, rules, state, data, keep, beat * lanes, index)
            for at in range(0, found * FOUND_SIZE, FOUND_SIZE):
                count = _write(forms, state, at, dense, count, beat)
        count = _reach(forms, state, dense, count, beat, 0)
        state.text[UNITS_BEFORE] += forms.beat_units
        if last[beat]:
            count = _end_of_beat(forms, state, dense, count, beat, 0)
            emit(state.buffer, state.text[FILLED], forms.out_lanes, 1, dense, count)
            dense.brought_by[count], dense.last[count] = beat, 1
            dense.kind[count] = state.text[FIRST_KIND]
            dense.offset[count] = state.text[FIRST_UNIT] * forms.from_unit
            dense.errors[count] = state.text[ERRORS]
            count += 1
            _begin_text(state)
    return count


@kernel
def _begin_text(state):  # type: ignore[no-untyped-def]
    for number in range(len(state.text)):
        state.text[number] = 0


@kernel
def _end_of_beat(forms, state, dense, count, beat, cut):  # type: ignore[no-untyped-def]
    """When all bytes of an input beat are buffered, emit a full output beat if more bytes follow.

    With ``cut``, they are the bytes of the previous beat. Returns the number of beats emitted so
    far.
    """
    if state.text[FILLED] <= forms.out_lanes:
        return count
    filled = emit(state.buffer, state.text[FILLED], forms.out_lanes, 1, dense, count)
    state.text[FILLED] = filled
    dense.brought_by[count], dense.cut[count] = beat, cut
    return count + 1


@kernel
def _read(forms, rules, state, data, keep, begin, index):  # type: ignore[no-untyped-def]
    """Read a unit; return the number of code points that it produces.

    A unit after the last one of a beat ends the text.
    """
    size = forms.from_unit
    kept, unit = 0, 0
    if index < forms.beat_units:
        for byte in range(size):
            at = begin + index * size
            kept += keep[at + byte]
            unit = unit << 8 | data[at + (byte if forms.from_big_endian else size - 1 - byte)]
    if size == UTF_8:
        return _read_8(rules, state, index, unit, kept)
    if size == UTF_16:
        return _read_16(rules, state, index, unit, kept)
    if kept == size:
        return _check(rules, state, 0, index, unit, 1)
    return _found(state, 0, index, REPLACEMENT, TRUNCATED, 1) if kept else 0


@kernel
def _found(state, number, index, value, error, size):  # type: ignore[no-untyped-def]
    """Record a code point; return the number recorded."""
    at = number * FOUND_SIZE
    state.found[at + INDEX] = index
    state.found[at + VALUE] = value
    state.found[at + ERROR] = error
    state.found[at + SIZE] = size
    return number + 1


@kernel
def _check(rules, state, number, index, value, size):  # type: ignore[no-untyped-def]
    """Record a value of ``size`` units; it is an error if it is not a character."""
    kind = kind_of(value, rules)
    return _found(state, number, index, value if kind == NONE else REPLACEMENT, kind, size)


@kernel
def _read_8(rules, state, index, byte, kept):  # type: ignore[no-untyped-def]
    """Read UTF-8: a unit is a lane."""
    decode_lane(state.decoder, byte if kept else 0, kept, rules, state.two)
    number = 0
    for where, token in ((index - 1, CUT), (index, OWN)):
        if state.two[token + LENGTH]:
            value, kind = state.two[token + CODE_POINT], state.two[token + KIND]
            number = _found(state, number, where, value, kind, state.two[token + LENGTH])
    return number


@kernel
def _read_16(rules, state, index, unit, kept):  # type: ignore[no-untyped-def]
    """Read UTF-16. A unit with a single byte is an error."""
    high, number = state.text[UNPAIRED], 0
    state.text[UNPAIRED] = 0
    if kept == 1:
        # An unpaired high surrogate before it is part of this error, unless the profile allows it.
        size = 2 if high else 1
        if high and rules.accept_surrogates:
            number, size = _check(rules, state, number, index - 1, high, 1), 1
        return _found(state, number, index, REPLACEMENT, TRUNCATED, size)
    if kept and high and FIRST_LOW <= unit <= LAST_LOW:
        value = FIRST_OF_PAIRS + (high - FIRST_HIGH << 10) + unit - FIRST_LOW
        return _check(rules, state, number, index, value, 2)
    if high:
        number = _check(rules, state, number, index - 1, high, 1)
    if kept and FIRST_HIGH <= unit <= LAST_HIGH:
        state.text[UNPAIRED] = unit
    elif kept:
        number = _check(rules, state, number, index, unit, 1)
    return number


@kernel
def _reach(forms, state, dense, count, beat, index):  # type: ignore[no-untyped-def]
    """Prepare for an output unit: if it is the first of this beat, the previous beat is complete.

    Returns the number of beats emitted so far.
    """
    if state.text[IS_BEFORE] and index >= 0:
        state.text[IS_BEFORE] = 0
        return _end_of_beat(forms, state, dense, count, beat, 1)
    return count


@kernel
def _write(forms, state, at, dense, count, beat):  # type: ignore[no-untyped-def]
    """Put the units of a code point into the buffer; return the number of beats emitted so far."""
    index, value = state.found[at + INDEX], state.found[at + VALUE]
    if state.found[at + ERROR] != NONE:
        if state.text[FIRST_KIND] == NONE:
            state.text[FIRST_KIND] = state.found[at + ERROR]
            state.text[FIRST_UNIT] = state.text[UNITS_BEFORE] + index + 1 - state.found[at + SIZE]
        state.text[ERRORS] += 1
    units_of_bom = 3 if forms.from_unit == UTF_8 else 1
    is_first = state.text[UNITS_BEFORE] + index + 1 == units_of_bom
    if forms.strip_bom and value == BOM and is_first:
        return count
    if forms.to_unit == UTF_16 and value >= FIRST_OF_PAIRS:
        bits = value - FIRST_OF_PAIRS
        count = _reach(forms, state, dense, count, beat, index - forms.early_high)
        _put_unit(forms, state, FIRST_HIGH + (bits >> 10))
        value = FIRST_LOW + (bits & 0x3FF)
    count = _reach(forms, state, dense, count, beat, index)
    if forms.to_unit == UTF_8:
        length = shortest_form(value)
        for number in range(length):
            _put(state, byte_of(value, length, number))
    else:
        _put_unit(forms, state, value)
    return count


@kernel
def _put(state, byte):  # type: ignore[no-untyped-def]
    state.buffer[state.text[FILLED]] = byte
    state.text[FILLED] += 1


@kernel
def _put_unit(forms, state, unit):  # type: ignore[no-untyped-def]
    for byte in range(forms.to_unit):
        number = forms.to_unit - 1 - byte if forms.to_big_endian else byte
        _put(state, unit >> 8 * number & 0xFF)


class TranscoderModel(Reader):
    """Beats in one encoding scheme to dense beats in another."""

    def __init__(self, design: Any) -> None:
        super().__init__(design.profile)
        self._forms = Forms.of(design)
        #: Bits of the numbers in the report; 0 without a report.
        self._report_width = design.report_width if design.errors else 0
        sizes = FOUND_ARRAY_SIZE, 4 * self._forms.out_lanes, ERRORS + 1
        others = (np.zeros(size, dtype=np.int64) for size in sizes)
        self._all = State(self._state, self._two, *others)

    def feed(self, items: Columns, begins: np.ndarray) -> Outputs:
        beats, out_lanes = len(begins), self._forms.out_lanes
        dense = Dense.of(3 * beats, out_lanes)
        given = [integers(items[name]) for name in ("i.data", "i.keep", "i.last")]
        steps = beats * out_lanes
        arguments = self._forms, self._rules, self._all, integers(begins), *given, dense
        count = transcode.run(steps, *arguments)
        columns = dense_columns(dense, count, (out_lanes, out_lanes), np.dtype(np.uint8))
        columns["o.error"] = (dense.kind[:count] != NONE).astype(np.uint8)
        if self._report_width:
            columns["o.kind"] = dense.kind[:count].astype(np.uint8)
            numbers = {"o.offset": dense.offset, "o.count": dense.errors}
            for name, column in numbers.items():
                shown = np.minimum(column[:count], 2**self._report_width - 1)
                columns[name] = shown.astype(np.min_scalar_type(2**self._report_width - 1))
        return Outputs(columns, dense.brought_by[:count], dense.cut[:count])
