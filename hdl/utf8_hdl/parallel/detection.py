"""Parallel detection of the sequences in a beat, shared by the components with lanes.

A byte depends only on itself and the few bytes before it, so no carry chain crosses the lanes. Each
property of the bytes is a vector with a bit for each lane. To look back, the vector is extended
below lane 0 by the bits of the last bytes of the previous beat, which are registered until the next
beat arrives and are zero at the beginning of a text. :func:`before` shifts a vector by one lane or
more.

The rules are those of RFC 3629, section 4, and of the Unicode Standard, Table 3-7 and D93b. Two
properties of a continuation byte matter:

- *linked_n*: the byte before it is a lead byte that announces n or more continuation bytes and
  accepts this one. With ``whole-sequence`` errors a refused byte is linked, too.
- *joins*: the byte belongs to the sequence of the byte before it. It is linked_1, or the nth byte
  of a run of continuation bytes whose first byte is linked_n.

A lead byte begins a sequence, whatever comes before it, so a byte depends on at most
``longest_form - 1`` bytes before it: the extension has as many bits.
"""

from functools import reduce
from itertools import pairwise
from operator import and_
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Value

from .. import rules
from ..byte_class import ByteClasses
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..layouts import ErrorKind, elements
from ..logic import any_of, select
from ..profile import REPLACEMENT, ErrorSpan, Profile, form_of_bit


def before(fact: Value, places: int = 1) -> Value:
    """Shift a vector by a number of lanes, filled with zeros."""
    return Cat(Const(0, places), fact)[: len(fact)] if places else fact


def run(fact: Value, places: int) -> Value:
    """True where a bit and the bits before it, ``places`` in total, are all set."""
    return reduce(and_, (before(fact, n) for n in range(places)))


DATA = tuple(f"data_{bit}" for bit in range(7))
"""Registers for bits 0 to 6 of the bytes: vectors with a bit for each lane."""

KINDS = tuple(f"kind_{bit}" for bit in range(3))
"""Registers for the bits of the error kind of a byte by itself: see :func:`.rules.kinds`."""


class SequenceDetector:
    """Six pipeline stages that find the tokens of each beat.

    1. *split* the bytes into nibbles, and look up the sets of the nibbles.
    2. *pair* each byte with the bytes before it: is it a lead byte, and does the byte before refuse
       it?
    3. *link* it to a lead byte.
    4. *attach* it to the sequence of the byte before.
    5. *close* a token where no byte is missing, or the next byte does not join.
    6. *name* its error.

    Registers of the last stage are vectors with a bit for each slot. Slot 0 is the sequence that
    the previous beat left unfinished, if this beat cuts it; the other slots are the lanes. The
    registers are ``ends``, a token ends in the slot; ``error``, the token is an error;
    ``error_kind_0`` to ``_2``, the bits of the error kind, or zero; ``at_least_2`` and so on, the
    token that ends has at least 2 bytes, and so on; ``character_1`` and so on, a character of at
    least 1 byte ends, and so on. ``data_0`` to ``data_6``, bits 0 to 6 of the bytes, have a bit for
    each lane. ``last`` is that of the beat. Stage 2 also has ``beat``, the whole input.

    Parameters
    ----------
    credit : Credit
        The flow control.
    i : stream
        The input.
    profile : Profile
        The UTF-8 profile.

    Attributes
    ----------
    paired, ended : Stage
        Stages 2 and 5.
    """

    def __init__(self, credit: Credit, i: Any, profile: Profile) -> None:
        self._credit = credit
        self._profile = profile
        self._whole_sequence = profile.error_span is ErrorSpan.WHOLE_SEQUENCE
        self._most = profile.longest_form - 1
        #: Only needed if an error may cover more than a maximal subpart.
        self._faulty = ("faulty",) if self._whole_sequence else ()
        self._sets: ByteClasses
        self._named: Stage
        self._carried: dict[tuple[Stage, str], Value] = {}
        self._refused: range  # indices of the registers `refused_0` and so on of stage 2
        self.paired = self._pair(self._split(i))
        self.ended = self._close(self._attach(self._link(self.paired)))

    def places(self, stage: Stage, name: str, fact: Value | None = None) -> Value:
        """A register of a stage, extended below lane 0 by the last bytes of the previous beat.

        The extension is zero at the beginning of a text.
        """
        if (stage, name) not in self._carried:
            fact = stage[name] if fact is None else fact
            carried = stage.signal(f"before_{name}", self._most)
            next_carried = Mux(stage["last"], 0, Cat(carried, fact)[-self._most :])
            with stage.m.If(stage.valid):
                stage.m.d.sync += carried.eq(next_carried)
            self._carried[stage, name] = Cat(carried, fact)
        return self._carried[stage, name]

    def slots(self, fact: Value) -> Value:
        """Of an extended vector, the bit just below lane 0 and the lanes: a bit for each slot."""
        return fact[self._most - 1 :]

    def _lanes(self, fact: Value) -> Value:
        """Of an extended vector, the lanes."""
        return fact[self._most :]

    def _split(self, i: Any) -> Stage:
        """Stage 1: the sets of the nibbles."""
        split = self._credit.stage("split", "the sets that the nibbles are in")
        data = elements(i.p, "data")
        self._sets = ByteClasses(split, *data)
        split.register("beat", i.p)
        split.register("last", i.p.last)
        split.register("there", Value.cast(i.p.keep))
        for bit in range(7):
            split.register(f"data_{bit}", Cat(byte[bit] for byte in data))
        return split

    def _pair(self, split: Stage) -> Stage:
        """Stage 2: the class of a byte, and pairs of a byte and the one or two before it."""
        pair = self._credit.stage("pair", "what a byte begins, and what the one before it refuses")
        profile, among, there = self._profile, self._sets.among, split["there"]
        pair.register("continuation", among(rules.CONTINUATION_BYTES) & there)
        pair.register("high", among(range(0x80, 0x100)) & there)
        for count in range(1, self._most + 1):
            leads = rules.announcing(profile, *range(count, self._most + 1))
            pair.register(f"leads_{count}", among(leads) & there)
        for bit in range(3):
            pair.register(f"kind_{bit}", among(rules.with_kind_bit(profile, bit)))
        # The byte cannot begin a character.
        for name in self._faulty:
            pair.register(name, among(rules.faulty(profile)) & there)

        def after(lead: int, *second: int) -> Value:
            """True where the byte before is a certain one, or the two bytes before are."""
            found = self._before(split, lead, 1 + len(second))
            return reduce(and_, (self._before(split, byte) for byte in second), found)

        # Any byte but a continuation byte may be marked as refused: it is never linked.
        found = rules.second_bytes(profile, after, among, any_top_bits=True)
        self._refused = range(len(found.refused))
        for number in self._refused:
            pair.register(f"refused_{number}", found.refused[number])
        pair.register("beyond", found.beyond & there)
        pair.register("noncharacter", found.noncharacter)
        return pair.carry("beat", "last", "there", *DATA)

    def _before(self, split: Stage, byte: int, places: int = 1) -> Value:
        """True where the byte ``places`` lanes before is ``byte``."""
        found = self.places(split, f"{byte:02X}", self._sets.among([byte]))
        return self._lanes(before(found, places))

    def _link(self, pair: Stage) -> Stage:
        """Stage 3: continuation bytes that the lead byte before them accepts."""
        link = self._credit.stage("link", "whether a byte continues the lead byte before it")
        continuation = pair["continuation"]
        refused = any_of(pair[f"refused_{number}"] for number in self._refused)
        accepted = continuation if self._whole_sequence else continuation & ~refused
        for count in range(1, self._most + 1):
            leads = self._lanes(before(self.places(pair, f"leads_{count}")))
            link.register(f"linked_{count}", accepted & leads)
        for places in range(1, self._most):
            link.register(
                f"run_{places}", self._lanes(run(self.places(pair, "continuation"), places))
            )
        link.register("refused", continuation & refused)
        link.carry("leads_1", "there", "high", "noncharacter", "beyond", *KINDS, *DATA)
        return link.carry("last", *self._faulty)

    def _attach(self, link: Stage) -> Stage:
        """Stage 4: bytes of the sequence of the byte before, and bytes that need another."""
        what = "whether a byte joins the one before, and needs another"
        attach = self._credit.stage("attach", what)
        runs = {places: link[f"run_{places}"] for places in range(1, self._most)}

        def linked(count: int, places: int) -> Value:
            """True if the byte ``places`` lanes before is linked to a lead byte that announces
            ``count`` continuation bytes or more."""
            return self._lanes(before(self.places(link, f"linked_{count}"), places))

        joins = [runs[n - 1] & linked(n, n - 1) for n in range(2, self._most + 1)]
        needs = [runs[n - 2] & linked(n, n - 2) for n in range(3, self._most + 1)]
        attach.register("joins", any_of([linked(1, 0), *joins]))
        attach.register("needs", any_of([link["leads_1"], linked(2, 0), *needs]))
        attach.carry("there", "high", "noncharacter", "refused", "beyond", *KINDS, *DATA)
        return attach.carry("last", *self._faulty)

    def _close(self, attach: Stage) -> Stage:
        """Stage 5: the ends of tokens; for maximal subparts, also the errors."""
        close = self._credit.stage("close", "whether a token ends with a byte")

        def in_slots(name: str) -> Value:
            return self.slots(self.places(attach, name))

        joins, needs, there = in_slots("joins"), in_slots("needs"), in_slots("there")
        goes_on = Cat(attach["joins"], needs[-1] & ~attach["last"])  # unless the next beat cuts it
        noncharacter: Value = Const(0, len(joins))
        if not self._profile.accept_noncharacters:
            noncharacter = joins & ~needs & in_slots("noncharacter")
        # Below lane 0, a sequence that needs no more bytes ended in the previous beat.
        reported = Cat(needs[0], Const(1, 1).replicate(len(attach["joins"])))
        close.register("ends", there & ~goes_on & reported)
        close.register(
            "bad", in_slots("high") & ~goes_on & (~joins | needs | noncharacter) & reported
        )
        close.register("noncharacter", noncharacter)
        for count in range(2, self._most + 2):
            found = run(self.places(attach, "joins"), count - 1)
            close.register(f"at_least_{count}", self.slots(found))
        # `cut`: bytes are missing, and the lead byte does not refuse the next byte. `beyond_next`:
        # the lead byte refuses the next byte as out of range.
        close.register("cut", needs & ~Cat(attach["refused"], Const(0, 1)))
        close.register("beyond_next", Cat(attach["beyond"], Const(0, 1)))
        if self._whole_sequence:
            close.carry("refused", "beyond", *self._faulty)
        return close.carry("last", *KINDS, *DATA)

    def named(self) -> Stage:
        """Stage 6: the errors and their kinds."""
        close = self.ended
        name = self._credit.stage("name", "whether a token is an error, and of which kind")
        if self._whole_sequence:
            known, kinds = self._known_fault(close)
            error = close["bad"] | (close["ends"] & known)
        else:
            # If the second byte is refused, the error is the lead byte alone.
            known, error = ~close["cut"], close["bad"]
            kinds = [
                select(
                    close["beyond_next"],
                    _levels(ErrorKind.OUT_OF_RANGE, bit, error),
                    self.slots(self.places(close, f"kind_{bit}")),
                )
                for bit in range(3)
            ]
        at_least = [f"at_least_{count}" for count in range(2, self._most + 2)]
        name.carry("ends", *at_least, "last", *DATA)
        name.register("error", error)
        character = close["ends"] & ~error
        name.register("character_1", character)
        for count, each in enumerate(at_least, start=2):
            name.register(f"character_{count}", character & close[each])
        for bit, kind in enumerate(kinds):
            truncated = _levels(ErrorKind.TRUNCATED, bit, error)
            found = select(known, kind, truncated) | close["noncharacter"]
            name.register(f"error_kind_{bit}", found & error)
        self._named = name
        return name

    def code_points(self) -> list[Value]:
        """The bits of the code points (RFC 3629, section 3), or of U+FFFD in an error.

        They are computed from stage 6: call :meth:`named` first.
        """
        step, bits = self._named, []
        for bit in range(self._profile.code_point_width):
            back, place = divmod(bit, 6)
            data = self.places(step, f"data_{place}")
            value = self.slots(before(data, back))
            if bit == 6:  # the only bit with two sources
                alone = self.slots(self.places(step, "data_6"))
                alone &= step["character_1"] & ~step["at_least_2"]
                value = (value & step["character_2"]) | alone
            else:
                value &= step[f"character_{form_of_bit(bit)}"]
            bits.append(value | step["error"] if REPLACEMENT >> bit & 1 else value)
        return bits

    def _known_fault(self, close: Stage) -> tuple[Value, list[Value]]:
        """True if the first or second byte of a token is at fault; and the bits of its kind.

        The lead byte of a token of n bytes is n - 1 lanes before its last byte.
        """
        at_least = [close["ends"], *(close[f"at_least_{n}"] for n in range(2, self._most + 2))]
        none = Const(0, len(close["ends"]))

        def in_slots(name: str, more: int) -> Value:
            return self.slots(before(self.places(close, name), more))

        known: list[Value] = []
        kinds: list[list[Value]] = [[], [], []]
        for more, (enough, too_many) in enumerate(pairwise([*at_least, none])):
            exactly = enough & ~too_many
            fault = in_slots("faulty", more)
            beyond: Value = none
            if more:
                fault |= in_slots("refused", more - 1)
                beyond = in_slots("beyond", more - 1)
            known.append(exactly & fault)
            for bit, kind in enumerate(kinds):
                out_of_range = _levels(ErrorKind.OUT_OF_RANGE, bit, beyond)
                found = select(beyond, out_of_range, in_slots(f"kind_{bit}", more))
                kind.append(exactly & found)
        return any_of(known), [any_of(kind) for kind in kinds]


def bit_of_count(at_least: list[Value], bit: int) -> Value:
    """A bit of a number that is given as a thermometer code: at least 1, at least 2, and so on."""
    none = Const(0, len(at_least[0]))
    exactly = [enough & ~more for enough, more in pairwise([*at_least, none])]
    return any_of(found for number, found in enumerate(exactly, start=1) if number >> bit & 1)


def _levels(kind: ErrorKind, bit: int, like: Value) -> Value:
    """A bit of the code of an error kind, replicated to the width of a vector."""
    return Const(kind.value >> bit & 1, 1).replicate(len(like))
