"""The transcoder: text in one encoding scheme to text in another, errors replaced by U+FFFD."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .checks import DEFAULT_LANES, checked_lanes, checked_type
from .compactor import Compactor
from .credit import CHUNK, NUMBER_WIDTH, Credit, Step
from .design import Design
from .encoding_scheme import EncodingScheme
from .layouts import TEXT_STATUS, beat_layout, elements
from .logic import named, select
from .profile import UNICODE, Profile, checked_profile
from .readers import READERS, any_of_fours
from .writers import WRITERS, write_pairs

MOST_UNITS = 128
"""How many units a beat of the output may have."""

COUNTED_CHUNK = 32
"""So many bits of memory share registers where something is done with them at once."""

BYTE_ORDER_MARK = 0xFEFF

HIGHEST = 0x10FFFF
"""The highest code point of a profile that a transcoder takes: UTF-16 has no higher one."""


class Transcoder(Design):
    """Converts text to another encoding scheme and replaces each error by U+FFFD.

    It is made of two parts with a flow control each. The first, :class:`.Units`, reads code points
    and writes their units, which are in the places of a beat where they end. The second is a
    :class:`~utf8_hdl.compactor.Compactor`. A beat waits in the last stage of the first part until
    the next one of its text is there, or for no other one if it has ``last``: only then is it known
    what is in its last place. A sequence may go on in the next beat, or be cut by it; or a
    character ends there, of which the high surrogate is in this beat.

    What it promises:

    1. Throughput: one beat in every cycle but the first after reset, on any input, while the
       consumer is ready. A stalled cycle costs at most one cycle. A text never has more beats out
       than in.
    2. Latency: a full beat comes out once there is a unit behind it. It is at the output 22 cycles
       after the beat was accepted that follows the one with that unit, or 23 cycles after that one
       itself if it is its text's last. The last beat of a text is at the output 24 cycles after the
       last one of the input was accepted. Cycles in which the output waits are not counted.
    3. The output is that of CPython's ``bytes.decode(source, "replace").encode(target)``, and from
       UTF-8 and UTF-16 also that of WHATWG's decoders. All beats are full except those with
       ``last``. Each text ends with ``last``, if need be in a beat without bytes, and there
       ``error`` is high if the text had an error.
    4. Stream rules: once ``o.valid`` is high, it and ``o.payload`` hold until ``o.ready``. No
       output depends on an input within a cycle. While ``o.valid`` is low the payload is a don't
       care, and so is what is in a lane without ``keep``.
    5. A lane without ``keep`` has no byte. Where that breaks the rules of the input, in front of a
       byte of the same text, it ends what is unfinished before it, as the end of a text does.
    6. Self-synchronisation: from any register contents, once what is in it is out and a beat with
       ``last`` was accepted, later texts are right. Without input, its first part is empty
       and ready after 48 cycles in which its compactor is ready; the compactor is, after 50 cycles
       without a beat from the first part and with a ready consumer.

    Parameters
    ----------
    profile : Profile
        Which UTF-8 is spoken, and which code points there are in all forms. It may have none above
        U+10FFFF.
    lanes : int
        How many bytes a beat of the input may have: a power of two up to 128, and one unit's at
        least.
    source, target : EncodingScheme
        Encoding schemes of input and output. If they are the same, ill-formed text is repaired.
    strip_bom : bool
        Whether a byte order mark, U+FEFF at the beginning of a text, is left out.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If there is no such transcoder.

    Attributes
    ----------
    profile, lanes, source, target, strip_bom
        As given.
    out_lanes : int
        How many bytes a beat of the output may have: for each unit that a beat of the input may
        have, two to UTF-16 (four from UTF-32), and four to UTF-8 and UTF-32.
    units, compactor : Units, Compactor
        Its two parts, for proofs.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats of bytes.
    o : ``Out(stream.Signature(beat_layout(out_lanes, user=TEXT_STATUS)))``
        Beats of bytes, and whether their text had an error.
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
    ) -> None:
        self.profile, lanes = checked_profile(profile), checked_lanes(lanes)
        self.lanes = lanes
        self.source, self.target = EncodingScheme(source), EncodingScheme(target)
        self.strip_bom = checked_type("strip_bom", strip_bom, bool)
        if profile.highest > HIGHEST:
            raise ValueError(
                f"a transcoder needs a profile up to U+10FFFF, unicode or ucs2, not {profile.name}"
            )
        size = self.source.unit_bytes
        if lanes < size:
            raise ValueError(f"from {self.source.value} there must be {size} lanes or more")
        self.places = lanes // size
        self._units = self.places * self._in_slot
        if self._units > MOST_UNITS:
            most = lanes * MOST_UNITS // self._units
            names = f"{self.source.value} to {self.target.value}"
            raise ValueError(f"from {names} there may be up to {most} lanes, not {lanes}")
        self.out_lanes = self._units * self.target.unit_bytes
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(beat_layout(self.out_lanes, user=TEXT_STATUS))),
            }
        )
        self.units = Units(self, self._units, self._in_slot, self._width)
        self.compactor = Compactor(lanes=self._units, shape=self._width, user=1)
        for part in (self.units, self.compactor):
            part._MustUse__silence = True  # Amaranth warns of the whole if it is not used.

    @property
    def _in_slot(self) -> int:
        """How many units a slot has."""
        sizes = self.source.unit_bytes, self.target.unit_bytes
        return 4 if sizes[1] == 1 else 2 if sizes == (4, 2) else 1

    @property
    def _width(self) -> int:
        """Bits of a unit, as far as any is ever set."""
        return min(8 * self.target.unit_bytes, self.profile.code_point_width)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.units, m.submodules.compactor = units, compactor = self.units, self.compactor
        wiring.connect(m, wiring.flipped(self.i), units.i)
        wiring.connect(m, units.o, compactor.i)
        self._deliver(m, compactor.o)
        return m

    def _deliver(self, m: Module, dense: Any) -> None:
        """The bytes of units."""
        size, order, o = self.target.unit_bytes, self.target.byte_order, self.o
        values = elements(dense.p, "data")
        m.d.comb += [
            dense.ready.eq(o.ready),
            o.valid.eq(dense.valid),
            o.p.data.eq(Cat(_byte(value, number) for value in values for number in order)),
            o.p.keep.eq(Cat(keep.replicate(size) for keep in elements(dense.p, "keep"))),
            o.p.last.eq(dense.p.last),
            o.p.user.error.eq(dense.p.user),
        ]


def _byte(value: Value, number: int) -> Value:
    """A byte of a value, with zeros above its highest bit."""
    bits = value[8 * number : 8 * number + 8]
    return Cat(bits, Const(0, 8 - len(bits)))


class Units(wiring.Component):
    """The first part of a transcoder: for each beat of bytes one of units, in slots.

    A pipeline of nine stages, behind credit as in :mod:`utf8_hdl.credit`: seven of the reader, one
    that writes, and one in which a beat waits for the next one of its text.

    Parameters
    ----------
    transcoder : Transcoder
        Of which it is a part.
    units, in_slot, width : int
        How many units there are in all slots but slot 0, and in each; and the bits of a unit.

    Attributes
    ----------
    transcoder : Transcoder
        As given; also its ``profile`` and ``lanes``.
    wrong : Signal
        For proofs, and so are the others: whether there is an error in the beat in stage 8,
        slot 0 included.
    arrives, arriving : Signal, View
        Whether there is a beat in stage 8, and what it is: units, those of slot 0 first, ``last``,
        and with that ``error``.
    gives, stored : Signal, View
        Whether a beat is given, known in stage 3: one that waits, when the next one comes, or if it
        ended its text, in the slot behind it. And what goes to the memory from the last stage: the
        beat, whether one is given, and the number of the newest one given.

    Members
    -------
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Beats of bytes.
    o : ``Out(stream.Signature(beat_layout(units, width, 1)))``
        For each of them, in order, the units of its places; in the last place also what slot 0 of
        the next one of its text has. With ``last`` comes as ``user`` whether there was an error in
        the text.
    """

    i: Any
    o: Any

    def __init__(self, transcoder: Transcoder, units: int, in_slot: int, width: int) -> None:
        self.transcoder, self._in_slot = transcoder, in_slot
        self.profile, self.lanes = transcoder.profile, transcoder.lanes
        self._width = width
        dense = beat_layout(units, width, 1)
        slots = dict(beat_layout(units + in_slot, width).members)
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(transcoder.lanes))),
                "o": Out(stream.Signature(dense)),
            }
        )
        self.wrong, self.arrives, self.gives = Signal(), Signal(), Signal()
        self.arriving: Any = Signal(data.StructLayout({**slots, "error": 1}))
        to_memory = {"beat": dense, "gives": 1, "newest": NUMBER_WIDTH}
        self.stored: Any = Signal(data.StructLayout(to_memory))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        transcoder = self.transcoder
        profile, source = transcoder.profile, transcoder.source
        sizes = source.unit_bytes, transcoder.target.unit_bytes
        credit = Credit(m, self.i, self.o, waits=True)
        make = READERS[sizes[0]](credit, self.i, profile, source)
        writer = write_pairs if sizes == (4, 2) else WRITERS[sizes[1]]
        units = writer(make, profile.code_point_width)
        write = credit.step("write", "the units")
        planes, where = [], []
        for number, unit in enumerate(units):
            planes += [
                named(m, f"unit_{number}_{bit}", plane) for bit, plane in enumerate(unit.bits)
            ]
            where.append(named(m, f"unit_{number}_kept", unit.kept))
        slots = range(len(make["token"]))
        bits = (plane[slot] for slot in slots for plane in planes)
        kept = [Cat(kept[slot] for kept in where) for slot in slots]
        if transcoder.strip_bom:
            slot, is_mark = self._byte_order_mark(make)
            kept[slot] = kept[slot] & ~is_mark.replicate(self._in_slot)
        write.keep("units", Cat(bits))
        write.keep("kept", Cat(*kept))
        error = self._error(make, write)
        facts = Cat(write["units"], write["kept"], write["last"], error)
        m.d.comb += [self.arrives.eq(write.comes), Value.cast(self.arriving).eq(facts)]
        self._join(credit, make, write)
        return m

    def _join(self, credit: Credit, make: Step, write: Step) -> None:
        """The last stage: a beat goes on with slot 0 of the next one of its text in its last place.

        It is held until that comes. If it ended its text, it goes on in the slot behind its own.
        """
        m, some = credit.m, self._in_slot
        join = credit.step("join", "a beat, and what the next one of its text adds to it")
        held: Any = join.adopt(Signal(self.o.p.shape(), name="held", reset_less=True))
        bits, coming = Value.cast(held), self.arriving
        own = Cat(
            elements(coming, "data")[some:],
            elements(coming, "keep")[some:],
            coming.last,
            coming.error,
        )
        for number, begin in enumerate(range(0, len(bits), CHUNK)):
            chunk = slice(begin, begin + CHUNK)
            with m.If(write.copy(f"comes_{number}", make.comes)):
                m.d.sync += bits[chunk].eq(own[chunk])
        added = [
            Cat(coming[part][n] for n in range(some)) & ~held.last.replicate(some * width)
            for part, width in (("data", self._width), ("keep", 1))
        ]
        values, kept = (
            Cat(whole[: -len(more)], whole[-len(more) :] | more)
            for whole, more in zip(map(Value.cast, (held.data, held.keep)), added, strict=True)
        )
        stored = join.keep("joined", Cat(values, kept, held.last, held.user))
        # Behind its memory, the compactor counts `keep` at once.
        data, others = stored[: len(values)], stored[len(values) :]
        m.d.comb += [
            Value.cast(self.o.p).eq(
                Cat(credit.store(join, data), credit.store(join, others, COUNTED_CHUNK))
            ),
            self.gives.eq(credit.gives),
            Value.cast(self.stored).eq(Cat(stored, join.valid, join.newest)),
        ]
        credit.finish()

    def _error(self, make: Step, write: Step) -> Value:
        """With the last beat of a text, whether there was an error in it."""
        last, seen = write["last"], write.register("error_seen")
        write.m.d.comb += self.wrong.eq(write.keep("errors", any_of_fours(make["errors"])).any())
        seen_now = seen | self.wrong
        with write.m.If(write.comes):
            write.m.d.sync += seen.eq(seen_now & ~last)
        return seen_now & last

    def _byte_order_mark(self, make: Step) -> tuple[int, Value]:
        """In which slot a byte order mark is, and whether there is one in this beat."""
        transcoder, last = self.transcoder, make["last"]
        unit = 2 if transcoder.source.unit_bytes == 1 else 0  # in UTF-8 it is EF BB BF
        beat, place = divmod(unit, transcoder.places)
        slot, number = place + 1, make.register("beat_of_text", 2)
        with make.m.If(make.comes):
            make.m.d.sync += number.eq(select(last, Const(0, 2), number + ~number.all()))
        width = transcoder.profile.code_point_width
        value = Cat(make[f"code_point_{bit}"][slot] for bit in range(width))
        return slot, make["token"][slot] & (number == beat) & (value == BYTE_ORDER_MARK)
