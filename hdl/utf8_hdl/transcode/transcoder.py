"""The transcoder: text in one encoding scheme to text in another, errors replaced by U+FFFD."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from ..checks import DEFAULT_LANES, checked_integer, checked_lanes, checked_type
from ..design import Design
from ..encoding_scheme import EncodingScheme
from ..flow_control.credit import CHUNK, Credit
from ..flow_control.stage import Stage
from ..layouts import OFFSET_WIDTH, TEXT_STATUS, beat_layout, elements, report_layout
from ..logic import named, select
from ..packing import Packing
from ..parallel.first_error import probe_layout
from ..profile import UNICODE, Profile, checked_profile
from . import utf8, utf16, utf32
from .code_points import Reading, any_of_fours
from .report import report_errors

ENCODINGS: dict[int, Any] = {1: utf8, 2: utf16, 4: utf32}
"""The encodings, by the bytes of a code unit."""

MAX_UNITS = 128
"""Maximum number of units of an output beat."""

MIN_REPORT_WIDTH = 6
"""Minimum width of the offset in a report: 5 bits for the bytes of eight UTF-32 units, and one bit
that counts these."""

BYTE_ORDER_MARK = 0xFEFF

HIGHEST = 0x10FFFF
"""Highest code point of the profiles that a transcoder accepts: the highest of UTF-16."""


class Transcoder(Design):
    """Converts text to another encoding scheme and replaces each error by U+FFFD.

    A pipeline of 20 stages with one memory at its output, and the flow control of
    :mod:`utf8_hdl.flow_control.credit`. Seven stages read code points. Stage 8 writes the units of
    each code point into the slot of the input unit that ends it. The high surrogate of a pair goes
    one slot earlier; only from UTF-32, a slot has room for both. Stages 10 to 20 pack the units:
    they are :class:`~utf8_hdl.packing.Packing`, as in a :class:`~utf8_hdl.compactor.Compactor`.

    Stage 9, *merge*, holds a beat until the next beat of its text arrives, or for one cycle if it
    has ``last``: only then are the units of its last lane complete. A sequence may continue in the
    next beat, or be cut by it, or a character may end there whose high surrogate is in this beat.

    Guarantees:

    1. Throughput: accepts one beat in every cycle except the first after reset, on any input, while
       the consumer is ready. A stalled cycle costs at most one cycle: after any stalls there is a
       beat at the output in every cycle, as long as a beat whose units fill an output beat is
       offered in every cycle. A text never has more output beats than input beats.
    2. Latency: a full beat can be output once the unit after it has arrived. If the beat with that
       unit is the last of its text, the full beat is at the output 23 cycles after that beat was
       accepted; otherwise 22 cycles after the next beat of the text was accepted. The last beat of
       a text is at the output 24 cycles after the text's last input beat was accepted. Cycles in
       which the output stalls are not counted.
    3. With the profile ``unicode`` and without ``strip_bom``, the output is that of CPython's
       ``bytes.decode(source, "replace").encode(target)``, and for UTF-8 and UTF-16 sources also
       that of WHATWG's decoders. All beats are full except those with ``last``. Each text ends with
       ``last``, if necessary in a beat without bytes; ``error`` is set in that beat if the text had
       an error. With ``errors``, ``kind`` and ``offset`` are those of the first error, and
       ``count`` is the number of errors; both numbers saturate.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care, and so are the bytes of lanes without ``keep``.
    5. A lane without ``keep`` has no byte. If a byte of the same text follows, the input breaks its
       rules: the empty lane then ends an unfinished sequence before it, like the end of a text.
    6. Self-synchronisation: from any register contents, once it has drained and a beat with
       ``last`` was accepted, later texts are correct. Without input and with a ready consumer, it
       is empty and ready after 95 cycles, in which at most 86 beats that were never accepted are
       taken.

    Parameters
    ----------
    profile : Profile
        The UTF-8 profile. Its rules for code points hold for UTF-16 and UTF-32, too. Its highest
        code point is at most U+10FFFF.
    lanes : int
        Bytes of an input beat: a power of two up to 128, and at least the bytes of a unit. To
        UTF-8, at most 32 from UTF-8 and 64 from UTF-16.
    source, target : EncodingScheme
        Encoding schemes of input and output. If they are the same, ill-formed text is repaired.
    strip_bom : bool
        Remove a byte order mark, U+FEFF at the beginning of a text.
    errors : bool
        Report the first error of a text and the number of its errors in ``o.p.user``.
    report_width : int
        Width of ``offset`` and ``count`` in that report: 6 to 32, at least 7 with 64 lanes and 8
        with 128 lanes.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If the number of lanes, the profile or the width is not supported for these schemes.

    Attributes
    ----------
    profile, lanes, source, target, strip_bom, errors, report_width
        As given.
    places : int
        Units of an input beat.
    out_lanes : int
        Bytes of an output beat: for each unit of an input beat, two to UTF-16 (four from UTF-32),
        and four to UTF-8 and UTF-32.
    packing : Packing
        Stages 10 to 20.
    probes : SimpleNamespace
        Signals for proofs: those of ``packing``; ``dense``, the beat of units whose bytes are at
        the output; for the beat in stage 8 ``arrives``, its valid bit, ``arriving``, its units,
        ``keep`` and ``last``, slot 0 first, and ``errors``, a bit for each 16 slots: one of them
        has an error. With ``errors``, also ``found`` as in a
        :class:`~utf8_hdl.parallel.validator.Validator`, and ``error_count``, the number of errors
        of the beat in stage 11.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats of bytes.
    o : ``Out(stream.Signature(beat_layout(out_lanes, user=TEXT_STATUS)))``
        Beats of bytes. ``user`` is the error flag of their text. With ``errors``, ``user`` has the
        layout ``report_layout(report_width)``.
    """

    i: Any
    o: Any
    component_name = "transcoder"

    def __init__(
        self,
        profile: Profile = UNICODE,
        *,
        lanes: int = DEFAULT_LANES,
        source: EncodingScheme = EncodingScheme.UTF_8,
        target: EncodingScheme = EncodingScheme.UTF_16LE,
        strip_bom: bool = False,
        errors: bool = False,
        report_width: int = OFFSET_WIDTH,
    ) -> None:
        self.profile, lanes = checked_profile(profile), checked_lanes(lanes)
        self.lanes = lanes
        self.source, self.target = EncodingScheme(source), EncodingScheme(target)
        self.strip_bom = checked_type("strip_bom", strip_bom, bool)
        self.errors = checked_type("errors", errors, bool)
        least = max(MIN_REPORT_WIDTH, bits_for(lanes))
        name = f"report_width (lanes={lanes})"
        self.report_width = checked_integer(name, report_width, least, OFFSET_WIDTH)
        if profile.highest > HIGHEST:
            raise ValueError(
                f"a transcoder needs a profile up to U+10FFFF, unicode or ucs2, not {profile.name}"
            )
        size = self.source.unit_bytes
        if lanes < size:
            raise ValueError(f"from {self.source.value} there must be {size} lanes or more")
        self.places = lanes // size
        self._units = self.places * self._in_slot
        if self._units > MAX_UNITS:
            most = lanes * MAX_UNITS // self._units
            names = f"{self.source.value} to {self.target.value}"
            raise ValueError(f"from {names} there may be up to {most} lanes, not {lanes}")
        self.out_lanes = self._units * self.target.unit_bytes
        user = report_layout(self.report_width) if errors else TEXT_STATUS
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(beat_layout(self.out_lanes, user=user))),
            }
        )
        self.packing = Packing(
            self._units, self._width, TEXT_STATUS.size, user.size - TEXT_STATUS.size
        )
        slots = dict(beat_layout(self._units + self._in_slot, self._width).members)
        self.probes = self.packing.probes
        self.probes.arrives = Signal()
        self.probes.arriving = Signal(data.StructLayout(slots), name="arriving")
        self.probes.errors = Signal(-(-(self.places + 1) // 16))
        self.probes.dense = Signal(beat_layout(self._units, self._width, user.size), name="dense")
        if errors:
            lengths = {1: profile.longest_form - 1, 2: 1, 4: 0}[size]  # of `Reading.at_least`
            self.probes.found = Signal(probe_layout(self.places, lengths), name="found")
            self.probes.error_count = Signal(range(self.places + 2), name="error_count")

    @property
    def _has_pairs(self) -> bool:
        """True if a slot has both surrogates of a pair: from UTF-32 to UTF-16."""
        return (self.source.unit_bytes, self.target.unit_bytes) == (4, 2)

    @property
    def _in_slot(self) -> int:
        """Units of a slot."""
        return 4 if self.target.unit_bytes == 1 else 2 if self._has_pairs else 1

    @property
    def _width(self) -> int:
        """Width of a unit without bits that are always zero."""
        return min(8 * self.target.unit_bytes, self.profile.code_point_width)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        credit = Credit(m, self.i, self.o, more=2)
        size, probes = self.source.unit_bytes, self.probes
        credit.part("reader")
        reading: Reading = ENCODINGS[size].read(credit, self.i, self.profile, self.source)
        credit.part("writer")
        write = self._write(credit, reading.made)
        merge = self._merge(credit, reading.made, write)
        m.d.comb += probes.comes.eq(merge.valid)
        beat = (merge[name] for name in ("data", "keep", "last", "error"))
        report = self._report(credit, reading) if self.errors else Const(0, 0)
        credit.part("packing")
        self._deliver(m, self.packing.add(credit, *beat, report))
        credit.finish()
        return m

    def _write(self, credit: Credit, make: Stage) -> Stage:
        """Stage 8: the units of code points."""
        m, write = credit.m, credit.stage("write", "the units")
        target = ENCODINGS[self.target.unit_bytes]
        writer = utf16.write_pairs if self._has_pairs else target.write
        planes, where = [], []
        for number, unit in enumerate(writer(make, self.profile.code_point_width)):
            planes += [
                named(m, f"unit_{number}_{bit}", plane) for bit, plane in enumerate(unit.bits)
            ]
            where.append(named(m, f"unit_{number}_kept", unit.kept))
        slots = range(len(make["token"]))
        kept = [Cat(kept[slot] for kept in where) for slot in slots]
        if self.strip_bom:
            slot, is_mark = self._byte_order_mark(make)
            kept[slot] = kept[slot] & ~is_mark.replicate(self._in_slot)
        write.register("units", Cat(plane[slot] for slot in slots for plane in planes))
        write.register("kept", Cat(*kept))
        write.carry("last")
        probes = self.probes
        m.d.comb += [
            probes.arrives.eq(write.valid),
            Value.cast(probes.arriving).eq(Cat(write["units"], write["kept"], write["last"])),
            probes.errors.eq(write.register("errors", any_of_fours(make["errors"]))),
        ]
        return write

    def _merge(self, credit: Credit, make: Stage, write: Stage) -> Stage:
        """Stage 9: a beat with slot 0 of the next beat of its text merged into its last slot.

        It is held until that beat arrives. With ``last`` it leaves unmerged after one cycle.
        """
        m, some, coming = credit.m, self._in_slot, self.probes.arriving
        holds, ends = write.signal("holds"), write.signal("holds_last")
        with m.If(write.valid):
            m.d.sync += [holds.eq(1), ends.eq(coming.last)]
        with m.Elif(ends):
            m.d.sync += holds.eq(0)
        what = "a beat, and the units that the next beat of its text adds"
        merge = credit.stage("merge", what, holds & (ends | write.valid))
        layout = beat_layout(self._units, self._width)
        held: Any = merge.adopt(Signal(layout, name="held", reset_less=True))
        bits = Value.cast(held)
        own = Cat(
            elements(coming, "data")[some:],
            elements(coming, "keep")[some:],
            coming.last,
        )
        for number, begin in enumerate(range(0, len(bits), CHUNK)):
            chunk = slice(begin, begin + CHUNK)
            # Two copies in series: the first one is far from the loads of the second one.
            arrives = make.copy(f"valid_{number}", make.next_valid)
            with m.If(write.copy(f"valid_{number}", arrives)):
                m.d.sync += bits[chunk].eq(own[chunk])
        for name, width in ("data", self._width), ("keep", 1):
            whole = Value.cast(held[name])
            more = Cat(coming[name][n] for n in range(some)) & ~ends.replicate(some * width)
            merge.register(name, Cat(whole[: -len(more)], whole[-len(more) :] | more))
        merge.register("last", held.last)
        merge.register("error", self._text_error(write, ends))
        return merge

    def _report(self, credit: Credit, reading: Reading) -> Value:
        """The report of a text, in parallel with stages 7 to 12."""
        credit.part("report")
        size = self.source.unit_bytes
        return report_errors(credit.m, reading, size, self.report_width, self.probes)

    def _deliver(self, m: Module, payload: Value) -> None:
        """Connect the output: the units in the byte order of the target."""
        dense = self.probes.dense
        size, order, p = self.target.unit_bytes, self.target.byte_order, self.o.p
        values = elements(dense, "data")
        m.d.comb += [
            Value.cast(dense).eq(payload),
            p.data.eq(Cat(_byte(value, number) for value in values for number in order)),
            p.keep.eq(Cat(keep.replicate(size) for keep in elements(dense, "keep"))),
            p.last.eq(dense.last),
            Value.cast(p.user).eq(dense.user),
        ]

    def _text_error(self, write: Stage, ends: Signal) -> Value:
        """True if a text had an error, while its last beat is held.

        That is one cycle after stage 8, because errors come from all lanes over long wires.
        """
        errors = any_of_fours(self.probes.errors)
        found = write.signal("found_errors", len(errors), reset_less=True)
        is_new, seen = write.signal("is_new"), write.signal("error_seen")
        error = seen | found.any()
        write.m.d.sync += [found.eq(errors), is_new.eq(write.valid)]
        with write.m.If(is_new):
            write.m.d.sync += seen.eq(error & ~ends)
        return error & ends

    def _byte_order_mark(self, make: Stage) -> tuple[int, Value]:
        """The slot in which a byte order mark can be, and True if one is in this beat."""
        last = make["last"]
        unit = 2 if self.source.unit_bytes == 1 else 0  # in UTF-8 it is EF BB BF
        beat, place = divmod(unit, self.places)
        slot, number = place + 1, make.signal("beat_of_text", 2)
        with make.m.If(make.valid):
            make.m.d.sync += number.eq(select(last, Const(0, 2), number + ~number.all()))
        width = self.profile.code_point_width
        value = Cat(make[f"code_point_{bit}"][slot] for bit in range(width))
        return slot, make["token"][slot] & (number == beat) & (value == BYTE_ORDER_MARK)


def _byte(value: Value, number: int) -> Value:
    """A byte of a value, with zeros above its highest bit."""
    bits = value[8 * number : 8 * number + 8]
    return Cat(bits, Const(0, 8 - len(bits)))
