"""Faults that an engineer could make, as edits of the gateware's source.

`tests/formal/test_planted_faults.py` plants one at a time and shows that a check finds it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from altered import Edit, edits_in
from utf8_flow.designs import DesignSpec
from utf8_hdl import UCS4, ErrorSpan

RESETS, CAMPAIGN, RANDOM = "campaign with resets", "campaign", "random cycles"


class Fault(NamedTuple):
    """An edit of one module, and the check that finds it in the shortest time.

    The check is a stimulus, or the name of a property that is proved for the design.
    """

    name: str
    fault_class: str
    spec: DesignSpec
    module: str
    edit: Edit
    found_by: str


def transcoder(source: str, target: str = "utf-16le", lanes: int = 4, **own: bool) -> DesignSpec:
    return DesignSpec("transcoder", lanes=lanes, own={"source": source, "target": target, **own})


WHOLE_UCS4 = replace(UCS4, error_span=ErrorSpan.WHOLE_SEQUENCE)

SATURATION = """
    far offset in logic: the next text begins with a saturated offset [campaign]
      - for each in (*parts, lowest_full, over, *full)
      + for each in (*parts, lowest_full, *full)
    far offset in logic: a saturated offset restarts from zero [campaign]
      - with m.If(step & lowest_full & all_full):
      + with m.If(step & lowest_full & all_full & ~over):
    far offset in first_error: the lowest bits of an offset do not saturate [campaign]
      - over.replicate(len(position))
      + Const(0, len(position))
    """
"""Faults of an offset with one part, and with several parts."""

TABLES = {
    DesignSpec("decoder"): """
    reset in pipeline: reset leaves the clock enable set
      - control.signal("enable")
      + control.signal("enable", reset_less=True)
    reset in pipeline: reset leaves bytes in the pipeline
      - stage.signal("valid")
      + stage.signal("valid", reset_less=True)
    reset in decoder: reset leaves the state unchanged
      - self.state = Signal(self.State, init=self.State.START)
      + self.state = Signal(self.State, init=self.State.START, reset_less=True)
    reset in decoder: reset leaves the enable of the state set
      - count.signal("steps")
      + count.signal("steps", reset_less=True)
    reset in pipeline: reset leaves the second entry of the output buffer full
      - both_full = buffer.signal("both_full")
      + both_full = buffer.signal("both_full", reset_less=True)
    idle bus in decoder: a gap replaces the previous byte
      - select(split.valid, matches, register)
      + matches
    idle bus in decoder: the state advances while valid is low
      - steps.eq(moves_on)]
      + steps.eq(~pipeline.will_stall)]
    state machine in rules: C1 is a lead byte
      - byte in (0xC0, 0xC1)
      + byte == 0xC0
    state machine in decoder: the next text decides the error of a lead byte
      - refused = byte["refused"] & ~sequence["last"]
      + refused = byte["refused"]
    state machine in decoder: a character cut at the end of a text continues
      - follows_on=follows & ~pair["last"]
      + follows_on=follows
    state machine in decoder: an error token has no last flag
      - last=sequence["last"],
      + last=sequence["last"] & ~sequence["error"],
    flow control in pipeline: the skid register is empty after a stall of two cycles
      - accepts, skid_taken | accepts
      + accepts, accepts
    flow control in pipeline: a byte is accepted while the skid register is full
      - i.ready.eq(~taken_next)
      + i.ready.eq(1)
    flow control in pipeline: the second buffered token is lost after a stall of two cycles
      - both_full.eq(will_stall & (both_full | comes))
      + both_full.eq(will_stall & comes)
    flow control in pipeline: the output changes to the newer token during a stall
      - show.eq(select(will_stall, show, load_next ^ both_full))
      + show.eq(load_next ^ both_full)
    idle bus in decoder: a byte cuts a token while valid is low
      - cut = byte.valid & ~byte["follows"]
      + cut = ~byte["follows"]
    idle bus in decoder: an idle bus sets bits of the previous byte [campaign]
      - select(split.valid, matches, register)
      + matches | (register & ~split.valid)
    """,
    DesignSpec("decoder", profile=WHOLE_UCS4): """
    state machine in decoder: a noncharacter does not count as an error
      - count["known"] | byte["refused"] | byte["noncharacter"]
      + count["known"] | byte["refused"]
    """,
    DesignSpec("decoder", compact=True): """
    idle bus in compact_decoder: a lead byte on an idle bus begins a sequence
      - begins.eq(i.valid & announced.any() & ~now.last)
      + begins.eq(announced.any() & ~now.last)
    state machine in rules: F4 90 is in range [campaign]
      - range(highest_second + 1, 0xC0)
      + range(highest_second + 2, 0xC0)
    flow control in compact_decoder: a stalled token is withdrawn
      - at_output.adopt(o.valid).eq(stalled | (ends & runs))
      + at_output.adopt(o.valid).eq(ends & runs)
    flow control in compact_decoder: the state advances while the output stalls
      - step.eq(~stalled & (i.valid | ~unfinished))
      + step.eq(~(stalled & i.valid) & (i.valid | ~unfinished))
    reset in compact_decoder: reset leaves the state unchanged
      - with m.If(~runs):
      + with m.If(0):
    reset in compact_decoder: a byte that is offered in the cycle after reset becomes a token
      - (ends & runs)
      + ends
    """,
    DesignSpec("decoder", compact=True, profile=UCS4): """
    state machine in compact_decoder: a length bit of the lead byte is a bit of the value
      - lowest_shifted_out = 8 - self.profile.longest_form
      + lowest_shifted_out = 9 - self.profile.longest_form
    """,
    DesignSpec("decoder", compact=True, profile=WHOLE_UCS4): """
    state machine in compact_decoder: an error is forgotten one byte later
      - m.d.sync += before.kind.eq(so_far)
      + m.d.sync += before.kind.eq(before.kind)
    """,
    DesignSpec("decoder", lanes=2): """
    reset in stage: reset leaves beats in the pipeline
      - self.signal("valid")
      + self.signal("valid", reset_less=True)
    reset in credit: reset leaves the increment of the output's number
      - signal(f"flips_if_ready{copy}", width)
      + signal(f"flips_if_ready{copy}", width, reset_less=True)
    idle bus in detection: a lead byte in a lane without keep
      - among(leads) & there
      + among(leads)
    idle bus in detection: an idle bus without last replaces the previous beat
      - with stage.m.If(stage.valid):
      + with stage.m.If(stage.valid | ~stage["last"]):
    lane boundary in detection: bytes before the previous beat are forgotten
      - Cat(carried, mask)[-self._most :]
      + Cat(Const(0, self._most), mask)[-self._most :]
    flow control in credit: a full memory looks empty [random cycles]
      - range(0, self._width, 2)
      + range(0, self._width - 1, 2)
    flow control in credit: the beat after the next is looked up under the wrong number
      - select(self._taken, known[2] & own, known[1] & other)
      + select(self._taken, known[2] & other, known[1] & other)
    """,
    DesignSpec("decoder", lanes=4): """
    reset in detection: reset leaves the bytes of the previous beat
      - stage.signal(f"before_{name}", self._most)
      + stage.signal(f"before_{name}", self._most, reset_less=True)
    reset in credit: reset leaves the copy of ready
      - self._accepts = Signal(name="accepts")
      + self._accepts = Signal(name="accepts", reset_less=True)
    idle bus in detection: a continuation byte in a lane without keep
      - among(rules.CONTINUATION_BYTES) & there
      + among(rules.CONTINUATION_BYTES)
    idle bus in detection: a gap replaces the previous beat
      - with stage.m.If(stage.valid):
      + with stage.m.If(1):
    rare position in detection: an empty beat leaves a sequence unfinished [random cycles]
      - with stage.m.If(stage.valid):
      + for each in self._credit._stages:
      +                 if 'there' not in each._registers:
      +                     each.carry('there')
      +             with stage.m.If(stage.valid & (stage['there'].any() | stage['last'])):
    state machine in rules: ED BF is no surrogate
      - range(0xA0, 0xC0)
      + range(0xA0, 0xBF)
    lane boundary in detection: a sequence that ends its text waits for the next beat
      - needs[-1] & ~attach["last"])
      + needs[-1])
    lane boundary in detection: a sequence that ended in the previous beat is reported again
      - reported = Cat(needs[0],
      + reported = Cat(Const(1, 1),
    lane boundary in detection: bit 6 of a value comes from two bytes before
      - (value & step["character_2"]) | alone
      + (value & step["character_3"]) | alone
    flow control in credit: credit for one beat too many
      - self._control, PLACES * self._banks - self._more
      + self._control, PLACES * self._banks - self._more + 1
    flow control in credit: the beat that may be accepted meanwhile is not counted
      - sum_and(self._newest(), ~self.next, ready, Const(1, 1))
      + sum_and(self._newest(), ~self.next, ready, Const(0, 1))
    """,
    DesignSpec("encoder"): """
    reset in encoder: reset leaves the state unchanged
      - self.state = Signal(self.State, init=self.State.START)
      + self.state = Signal(self.State, init=self.State.START, reset_less=True)
    reset in encoder: reset leaves a long character in stage 3
      - long = classify.signal("long")
      + long = classify.signal("long", reset_less=True)
    reset in encoder: reset leaves the encoder ready
      - advance = pipeline.control.signal("advance")
      + advance = pipeline.control.signal("advance", reset_less=True)
    idle bus in encoder: an invalid value occupies the cycles of a long one
      - comes_long = measure.valid & measure["not_ascii"].any()
      + comes_long = measure["not_ascii"].any()
    value in encoder: 180000 to 18FFFF are in range [campaign]
      - for place in range(len(value)):
      + for place in range(len(value) - 1):
    value in encoder: the highest of four bits is ignored
      - range(low, min(low + 4, end))
      + range(low, min(low + 3, end))
    value in encoder: a surrogate in an even plane
      - (special & ~ones[2:].any())
      + (special & ~measure["code_point"][16])
    value in encoder: 100000 to 10007F in one byte
      - for n in range(0, len(pieces), 4)]
      + for n in range(0, len(pieces) - 4, 4)]
    value in encoder: only the lead byte of a refused value has the error flag
      - error=send["error"],
      + error=send["error"] & is_lead,
    flow control in encoder: bytes advance while the output stalls
      - select(stalled, state, select(start, entered, one_less))
      + select(stalled & start, state, select(start, entered, one_less))
    state machine in encoder: the all-zero state persists [self-synchronisation]
      - one_less = Cat(sends, lost)
      + one_less = Cat(sends, 0)
    """,
    DesignSpec("encoder", compact=True, profile=UCS4): """
    state machine in compact_encoder: an unused state code persists [self-synchronisation]
      - m.d.sync += state.eq(START)
      + m.d.sync += state.eq(state)
    """,
    DesignSpec("encoder", compact=True): """
    reset in compact_encoder: reset leaves the state unchanged
      - self.state = Signal(self.State, init=self.State.START)
      + self.state = Signal(self.State, init=self.State.START, reset_less=True)
    idle bus in compact_encoder: an invalid long value changes the state
      - with m.Default(), m.If(self.i.valid):
      + with m.Default():
    value in compact_encoder: bit 31 is ignored
      - refused = code_point[width:].any()
      + refused = code_point[width:-1].any()
    value in compact_encoder: a surrogate in plane 16 [campaign]
      - & ~code_point[16:].any()
      + & ~code_point[16 : width - 1].any()
    value in compact_encoder: a bit of the plane is not compared [campaign]
      - code_point[second_byte:width] > profile.highest >> second_byte
      + Cat(code_point[second_byte : width - 2], code_point[width - 1]) > 0x8F
    flow control in compact_encoder: the error flag of a value that is not yet accepted
      - with m.If(self.i.valid & self.i.ready):
      + with m.If(self.i.valid & free):
    """,
    DesignSpec("validator", lanes=2): """
    idle bus in first_error: a gap is part of a unit
      - with locate.m.If(found.valid):
      + with locate.m.If(1):
    state machine in rules: E0 9F is not overlong
      - range(0x80, 0x80 + (1 << 8 - length))
      + range(0x80, 0x7F + (1 << 8 - length))
    """,
    DesignSpec("validator", lanes=4): """
    reset in first_error: reset does not begin a text
      - locate.signal("text_begins", init=1)
      + locate.signal("begins", init=1, reset_less=True)
    idle bus in detection: a byte above 7F in a lane without keep is an error
      - among(range(0x80, 0x100)) & there
      + among(range(0x80, 0x100))
    idle bus in first_error: a gap counts as a beat of a unit
      - with count.m.If(located.valid):
      + with count.m.If(1):
    far offset in first_error: an error is counted as if in the next unit
      - select(wrong, ~located["before_unit"], ends_unit)
      + select(wrong, Const(1, 1), ends_unit)
    lane boundary in first_error: the error of the higher lane comes first
      - select(one.error, one.lane, other.lane), ~one.error)
      + select(~other.error, one.lane, other.lane), other.error)
    """,
    DesignSpec("validator", lanes=4, own={"offset_width": 6}): SATURATION,
    DesignSpec("validator", lanes=8): """
    reset in detection: reset leaves an unfinished sequence
      - stage.signal(f"before_{name}", self._most)
      + stage.signal(f"before_{name}", self._most, reset_less=True)
    far offset in logic: the carry at 1,920 occurs in every unit [campaign]
      - lowest_full & is_below
      + is_below
    far offset in logic: the carry at 2,048 is lost [campaign]
      - is_full.eq(part.all() if is_below is None else part.all() & is_below)
      + is_full.eq(0 if is_below is None else part.all() & is_below)
    far offset in logic: a carry occurs while a lower part is not full [campaign]
      - part.all() if is_below is None else part.all() & is_below
      + part.all()
    far offset in logic: the carry at 524,288 is lost [campaign]
      - zip(others, full, below, strict=True)
      + zip(others[:2], full[:2], below[:2], strict=True)
    far offset in logic: the carry at 32,768 occurs at 16,384 [campaign]
      - part.all() & is_below
      + part[:3].all() & is_below
    far offset in logic: the lowest part is still full when a text begins [campaign]
      - for each in (*parts, lowest_full, over, *full)
      + for each in (*parts, over, *full)
    far offset in first_error: units are counted after the first error
      - ends_unit) & due_now & ~seen
      + ends_unit) & due_now
    rare position in first_error: a beat without bytes is no unit
      - locate.register("ends_unit", phase_now.all())
      + for each in self._new_stage.__self__._stages[4:]:
      +             each.carry('there')
      +         locate.register('ends_unit', phase_now.all() & found['there'].any())
    lane boundary in first_error: an unfinished sequence begins a byte late
      - in_unfinished = Cat(Const(1, 1), rest_of_it[self._kinds :])
      + in_unfinished = Cat(rest_of_it[self._kinds :], Const(0, 1))
    """,
    DesignSpec("validator", lanes=8, own={"offset_width": 12}): SATURATION,
    DesignSpec("compactor", lanes=2): """
    idle bus in packing: invalid values fill a beat
      - with stage.m.If(~partial.valid):
      + with stage.m.If(0):
    memory in credit: records of beats share eight addresses of a bank
      - place = chunk.copy("place", number[1 : 1 + PLACE_WIDTH])
      + place = chunk.copy("place", number[1:PLACE_WIDTH])
    memory in packing: a text without values has no beat
      - before.valid & (before["end"] | before["any"])
      + before.valid & before["any"]
    """,
    DesignSpec("compactor", lanes=4): """
    reset in packing: reset leaves the lane of the next value
      - stage.register("clears", partial["end"], init=1)
      + stage.register("clears", partial["end"])
    reset in packing: reset leaves the end of a text
      - stage.signal("text_ends")
      + stage.signal("text_ends", reset_less=True)
    idle bus in packing: an odd number of invalid values counts
      - select(before.valid, sums[-1], top)
      + sums[-1]
    idle bus in packing: a text ends on an idle bus
      - end=fours.valid & fours["last"],
      + end=fours["last"],
    memory in packing: a value of the next beat overwrites a stored one
      - _if_held_{chunk}", comes & fills & following)
      + _if_held_{chunk}", comes & fills & full)
    memory in packing: a text that ends with an empty beat keeps all lanes
      - reached & ~give["was_empty_at_end"].replicate
      + reached | give["was_empty_at_end"].replicate
    flow control in credit: beats without output stay outstanding
      - given.eq(last["newest"] - accepted)
      + given.eq(last["newest"])
    lane boundary in logic: pairs are swapped from the lane after the sum on
      - lows, highs = Cat(Const(1, 1), low),
      + lows, highs = Cat(low, Const(0, 1)),
    """,
    transcoder("utf-8", "utf-16le", lanes=2, strip_bom=True): """
    reset in transcoder: reset leaves the number of the beat in its text
      - make.signal("beat_of_text", 2)
      + make.signal("beat_of_text", 2, reset_less=True)
    """,
    transcoder("utf-16le", "utf-8", lanes=2, strip_bom=True): """
    idle bus in transcoder: a gap before a text counts as a beat
      - with make.m.If(make.valid):
      + with make.m.If(1):
    rare position in transcoder: a byte order mark at beat 4 is removed
      - number + ~number.all()
      + number + 1
    rare position in transcoder: a byte order mark at beat 256 is removed [campaign]
      - "beat_of_text", 2)
      -         with make.m.If(make.valid):
      -             make.m.d.sync += number.eq(select(last, Const(0, 2), number + ~number.all()))
      + "beat_of_text", 8)
      +         with make.m.If(make.valid):
      +             make.m.d.sync += number.eq(select(last, Const(0, 8), number + 1))
    """,
    transcoder("utf-8", "utf-32be", lanes=2): """
    encoding forms in transcoder: the two halves of a unit are in the wrong order
      - self.target.byte_order, self.o
      + [byte ^ 2 for byte in self.target.byte_order], self.o
    """,
    transcoder("utf-16le", "utf-8"): """
    reset in utf16: reset leaves a high surrogate
      - step.signal(f"before_{name}")
      + step.signal(f"before_{name}", reset_less=True)
    idle bus in transcoder: a gap clears the error flag
      - with write.m.If(is_new):
      + with write.m.If(1):
    idle bus in utf16: a high surrogate on an idle bus without last
      - with step.m.If(step.valid):
      + with step.m.If(step.valid | ~last):
    encoding forms in utf16: a high surrogate at the end of a text waits for the next text
      - carried.eq(mask[-1] & ~last)
      + carried.eq(mask[-1])
    encoding forms in utf16: a plane's carry stops after one bit
      - flips = flips & plane
      + flips = plane
    encoding forms in code_points: U+FFFD is two bytes long
      - plane | error if count < MAX_BYTES else plane
      + plane | error if count < MAX_BYTES - 1 else plane
    """,
    transcoder("utf-8", "utf-16le"): """
    reset in transcoder: reset leaves the error flag
      - write.signal("error_seen")
      + write.signal("error_seen", reset_less=True)
    idle bus in transcoder: an error on an idle bus without last
      - with write.m.If(is_new):
      + with write.m.If(is_new | ~ends):
    encoding forms in transcoder: the error flag of a text is kept for the next one
      - seen.eq(error & ~ends)
      + seen.eq((seen & ~ends) | found.any())
    flow control in transcoder: an ended text is output again in every gap
      - m.d.sync += holds.eq(0)
      + m.d.sync += holds.eq(holds)
    """,
    transcoder("utf-32le", "utf-16le"): """
    reset in transcoder: reset leaves a held beat
      - write.signal("holds"),
      + write.signal("holds", reset_less=True),
    encoding forms in utf16: a plane's borrow stops after one bit
      - flips = flips & ~plane
      + flips = ~plane
    """,
    transcoder("utf-16le", "utf-32le"): """
    encoding forms in utf16: a surrogate pair across two beats has the low half of its value
      - ten_of_high = [Cat(no_high, plane[:-1]) for plane in own[:10]]
      + ten_of_high = [Cat(no_high, no_high, plane[1:-1]) for plane in own[:10]]
    """,
    transcoder("utf-32le", "utf-8"): """
    value in utf32: a surrogate in any plane
      - surrogate = (rules.surrogate(value) for
      + surrogate = (rules.surrogate(value[:16]) for
    encoding forms in code_points: two leftover bytes are no error
      - keep.any() & ~keep.all() for keep
      + keep[0] & ~keep[1:].any() for keep
    """,
    transcoder("utf-16be", "utf-8"): """
    encoding forms in utf16: 0800 to 0FFF in two bytes
      - in (2, 7), (3, 11):
      + in (2, 7), (3, 12):
    """,
    transcoder("utf-8", errors=True): """
    encoding forms in report: the number of errors is not cleared between texts
      - with tally.m.If(counted["clears"]):
      + with tally.m.If(counted["clears"] & 0):
    far offset in report: errors are counted with ten bits [campaign]
      - more = (total + number)[: width + 1]
      + more = Cat((total + number)[:10], Const(0, width - 9))
    """,
    transcoder("utf-16le", errors=True): """
    lane boundary in first_error: a complete unit is not counted before an error
      - select(wrong, ~located["before_unit"], ends_unit)
      + select(wrong, Const(0, 1), ends_unit)
    encoding forms in packing: a report comes with the previous text
      - Cat(stage["user"], stage["late"])
      + Cat(stage["user"], before["late"])
    encoding forms in utf16: an error begins half a pair late
      - two_units |= in_slots(part) & behind_high
      + two_units |= in_slots(part) & Const(0, len(behind_high))
    """,
}
"""The faults of each design: a headline, and the changed text, as in a diff.

The headline is ``class in module: name [check]``. The default check is the campaign with resets.
"""

HEADLINE = re.compile(r"([a-z ]+) in (\w+): ([^[]+)(?: \[([a-z- ]+)\])?")


def parse(spec: DesignSpec, table: str) -> Iterator[Fault]:
    """Parse the table of a design."""
    for headline, edit in edits_in(table).items():
        fault_class, module, name, found_by = HEADLINE.fullmatch(": ".join(headline)).groups()
        yield Fault(name, fault_class, spec, module, edit, found_by or RESETS)


FAULTS = [fault for spec, table in TABLES.items() for fault in parse(spec, table)]
