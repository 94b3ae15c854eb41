"""Faults that an engineer could make, as edits of the gateware's source.

``tests/formal/test_planted_faults.py`` plants them one at a time, and shows that each is found.
"""

from dataclasses import replace
from typing import NamedTuple

from utf8_flow.designs import DesignSpec
from utf8_hdl import UCS4, UNICODE, ErrorSpan, Profile

RESETS = "the campaign with resets"

CAMPAIGN = "the campaign"

RANDOM = "random cycles"

RESET = "reset"
IDLE = "idle bus"
FAR = "far offset"
VALUE = "value"
RARE = "rare place"
FLOW = "flow control"
FSM = "state machine"
LANES = "lane boundary"
FORMS = "encoding forms"
MEMORY = "memory"

CLASSES = RESET, IDLE, FAR, VALUE, RARE, FLOW, FSM, LANES, FORMS, MEMORY


class Fault(NamedTuple):
    """An edit of one module, and by what it is found.

    ``found_by`` is what finds it in the shortest time: a stimulus, or else the name of a property
    that is proved of the design.
    """

    name: str
    fault_class: str
    plain: DesignSpec
    module: str
    old: str
    new: str
    found_by: str = RESETS
    profile: Profile = UNICODE

    @property
    def spec(self) -> DesignSpec:
        return replace(self.plain, profile=self.profile)


DECODER = DesignSpec("decoder")
COMPACT_DECODER = DesignSpec("decoder", compact=True)
DECODER_2, DECODER_4 = (DesignSpec("decoder", lanes=lanes) for lanes in (2, 4))
ENCODER = DesignSpec("encoder")
COMPACT_ENCODER = DesignSpec("encoder", compact=True)
VALIDATOR_2, VALIDATOR_4, VALIDATOR_8 = (DesignSpec("validator", lanes=n) for n in (2, 4, 8))
NARROW_4, NARROW_8 = (
    DesignSpec("validator", lanes=lanes, own={"offset_width": width})
    for lanes, width in ((4, 6), (8, 12))
)
COMPACTOR_2, COMPACTOR_4 = (DesignSpec("compactor", lanes=lanes) for lanes in (2, 4))


def transcoder(source: str, target: str, lanes: int = 4, strip_bom: bool = False) -> DesignSpec:
    own = {"source": source, "target": target, "strip_bom": strip_bom}
    return DesignSpec("transcoder", lanes=lanes, own=own)


UTF_8_TO_16 = transcoder("utf-8", "utf-16le")
UTF_16_TO_8 = transcoder("utf-16le", "utf-8")
UTF_32_TO_8 = transcoder("utf-32le", "utf-8")
UTF_32_TO_16 = transcoder("utf-32le", "utf-16le")
UTF_16_TO_32 = transcoder("utf-16le", "utf-32le")
MARK_FROM_8 = transcoder("utf-8", "utf-16le", lanes=2, strip_bom=True)
MARK_FROM_16 = transcoder("utf-16le", "utf-8", lanes=2, strip_bom=True)
REPORT_FROM_8, REPORT_FROM_16 = (
    DesignSpec("transcoder", lanes=4, own={"source": source, "errors": True})
    for source in ("utf-8", "utf-16le")
)
BIG_16_TO_8 = transcoder("utf-16be", "utf-8")
BIG_8_TO_32 = transcoder("utf-8", "utf-32be", lanes=2)

WHOLE_UCS4 = replace(UCS4, error_span=ErrorSpan.WHOLE_SEQUENCE)

FAULTS = (
    # --- the byte decoder, pipelined ---
    Fault(
        "reset leaves the clock enable set",
        RESET,
        DECODER,
        "pipeline",
        'control.signal("enable")',
        'control.signal("enable", reset_less=True)',
    ),
    Fault(
        "reset leaves bytes in the pipeline",
        RESET,
        DECODER,
        "pipeline",
        'stage.signal("valid")',
        'stage.signal("valid", reset_less=True)',
    ),
    Fault(
        "reset leaves the state alone",
        RESET,
        DECODER,
        "decoder",
        "self.state = Signal(self.State, init=self.State.START)",
        "self.state = Signal(self.State, init=self.State.START, reset_less=True)",
    ),
    Fault(
        "reset leaves the enable of the state set",
        RESET,
        DECODER,
        "decoder",
        'count.signal("steps")',
        'count.signal("steps", reset_less=True)',
    ),
    Fault(
        "reset leaves the second entry of the output buffer full",
        RESET,
        DECODER,
        "pipeline",
        'both_full = buffer.signal("both_full")',
        'both_full = buffer.signal("both_full", reset_less=True)',
    ),
    Fault(
        "a gap replaces the byte before",
        IDLE,
        DECODER,
        "decoder",
        "select(split.valid, matches, register)",
        "matches",
    ),
    Fault(
        "the state follows bytes that are not valid",
        IDLE,
        DECODER,
        "decoder",
        "steps.eq(moves_on)]",
        "steps.eq(~pipeline.will_stall)]",
    ),
    Fault(
        "C1 is a lead byte",
        FSM,
        DECODER,
        "rules",
        "byte in (0xC0, 0xC1)",
        "byte == 0xC0",
    ),
    Fault(
        "a second byte of the next text names the error of a lead byte",
        FSM,
        DECODER,
        "decoder",
        'refused = byte["refused"] & ~sequence["last"]',
        'refused = byte["refused"]',
    ),
    Fault(
        "a cut character at the end of a text goes on",
        FSM,
        DECODER,
        "decoder",
        'follows_on=follows & ~pair["last"]',
        "follows_on=follows",
    ),
    Fault(
        "an error has no last flag",
        FSM,
        DECODER,
        "decoder",
        'last=sequence["last"],',
        'last=sequence["last"] & ~sequence["error"],',
    ),
    Fault(
        "a noncharacter is no error that has been seen",
        FSM,
        DECODER,
        "decoder",
        'count["known"] | byte["refused"] | byte["noncharacter"]',
        'count["known"] | byte["refused"]',
        profile=WHOLE_UCS4,
    ),
    Fault(
        "the skid register is empty after a stall of two cycles",
        FLOW,
        DECODER,
        "pipeline",
        "accepts, skid_taken | accepts",
        "accepts, accepts",
    ),
    Fault(
        "a byte is accepted while the skid register is full",
        FLOW,
        DECODER,
        "pipeline",
        "i.ready.eq(~taken_next)",
        "i.ready.eq(1)",
    ),
    Fault(
        "the second token in the buffer is lost when a stall lasts two cycles",
        FLOW,
        DECODER,
        "pipeline",
        "both_full.eq(will_stall & (both_full | comes))",
        "both_full.eq(will_stall & comes)",
    ),
    Fault(
        "the output changes to the newer token while it waits",
        FLOW,
        DECODER,
        "pipeline",
        "show.eq(select(will_stall, show, load_next ^ both_full))",
        "show.eq(load_next ^ both_full)",
    ),
    Fault(
        "a token is cut by a byte that is not valid",
        IDLE,
        DECODER,
        "decoder",
        'cut = byte.valid & ~byte["follows"]',
        'cut = ~byte["follows"]',
    ),
    Fault(
        "a byte before is added to from an idle bus",
        IDLE,
        DECODER,
        "decoder",
        "select(split.valid, matches, register)",
        "matches | (register & ~split.valid)",
        CAMPAIGN,
    ),
    # --- the byte decoder, compact ---
    Fault(
        "reset leaves the state alone",
        RESET,
        COMPACT_DECODER,
        "compact_decoder",
        "self.state = Signal(self.State, init=self.State.START)",
        "self.state = Signal(self.State, init=self.State.START, reset_less=True)",
    ),
    Fault(
        "a lead byte that is not valid begins a sequence",
        IDLE,
        COMPACT_DECODER,
        "compact_decoder",
        "begins.eq(i.valid & announced.any() & ~now.last)",
        "begins.eq(announced.any() & ~now.last)",
    ),
    Fault(
        "F4 90 is in range",
        FSM,
        COMPACT_DECODER,
        "rules",
        "range(highest_second + 1, 0xC0)",
        "range(highest_second + 2, 0xC0)",
        CAMPAIGN,
    ),
    Fault(
        "a mark of the lead byte is a bit of the value",
        FSM,
        COMPACT_DECODER,
        "compact_decoder",
        "lowest_shifted_out = 8 - self.profile.longest_form",
        "lowest_shifted_out = 9 - self.profile.longest_form",
        profile=UCS4,
    ),
    Fault(
        "an error that has been seen is forgotten one byte later",
        FSM,
        COMPACT_DECODER,
        "compact_decoder",
        "m.d.sync += before.kind.eq(so_far)",
        "m.d.sync += before.kind.eq(before.kind)",
        profile=WHOLE_UCS4,
    ),
    Fault(
        "a token that waits is withdrawn",
        FLOW,
        COMPACT_DECODER,
        "compact_decoder",
        "at_output.adopt(o.valid).eq(stalled | (ends & runs))",
        "at_output.adopt(o.valid).eq(ends & runs)",
    ),
    Fault(
        "a held byte takes the state with it while the output waits",
        FLOW,
        COMPACT_DECODER,
        "compact_decoder",
        "step.eq(~stalled & (i.valid | ~unfinished) & runs)",
        "step.eq(~(stalled & i.valid) & (i.valid | ~unfinished) & runs)",
    ),
    # --- the decoder with lanes ---
    Fault(
        "reset leaves the bytes of the beat before",
        RESET,
        DECODER_4,
        "detection",
        'stage.signal(f"before_{name}", self._most)',
        'stage.signal(f"before_{name}", self._most, reset_less=True)',
    ),
    Fault(
        "reset leaves beats in the pipeline",
        RESET,
        DECODER_2,
        "stage",
        'self.signal("valid")',
        'self.signal("valid", reset_less=True)',
    ),
    Fault(
        "reset leaves the step of the output's number",
        RESET,
        DECODER_2,
        "credit",
        'signal(f"flips_if_ready{copy}", width)',
        'signal(f"flips_if_ready{copy}", width, reset_less=True)',
    ),
    Fault(
        "reset leaves the copy of ready",
        RESET,
        DECODER_4,
        "credit",
        'self._accepts = Signal(name="accepts")',
        'self._accepts = Signal(name="accepts", reset_less=True)',
    ),
    Fault(
        "a continuation byte in a lane without keep",
        IDLE,
        DECODER_4,
        "detection",
        "among(rules.CONTINUATION_BYTES) & there",
        "among(rules.CONTINUATION_BYTES)",
    ),
    Fault(
        "a lead byte in a lane without keep",
        IDLE,
        DECODER_2,
        "detection",
        "among(leads) & there",
        "among(leads)",
    ),
    Fault(
        "a gap replaces the beat before",
        IDLE,
        DECODER_4,
        "detection",
        "with stage.m.If(stage.valid):",
        "with stage.m.If(1):",
    ),
    Fault(
        "an idle bus without last replaces the beat before",
        IDLE,
        DECODER_2,
        "detection",
        "with stage.m.If(stage.valid):",
        'with stage.m.If(stage.valid | ~stage["last"]):',
    ),
    Fault(
        "a beat without bytes leaves a sequence unfinished",
        RARE,
        DECODER_4,
        "detection",
        "with stage.m.If(stage.valid):",
        "for each in self._credit._stages:\n"
        "                if 'there' not in each._registers:\n"
        "                    each.carry('there')\n"
        "            with stage.m.If(stage.valid & (stage['there'].any() | stage['last'])):",
        RANDOM,
    ),
    Fault(
        "ED BF is no surrogate",
        FSM,
        DECODER_4,
        "rules",
        "range(0xA0, 0xC0)",
        "range(0xA0, 0xBF)",
    ),
    Fault(
        "bytes before the beat before are forgotten",
        LANES,
        DECODER_2,
        "detection",
        "Cat(carried, fact)[-self._most :]",
        "Cat(Const(0, self._most), fact)[-self._most :]",
    ),
    Fault(
        "a sequence that ends its text waits for the next beat",
        LANES,
        DECODER_4,
        "detection",
        'needs[-1] & ~join["last"])',
        "needs[-1])",
    ),
    Fault(
        "a sequence that ended in the beat before is reported again",
        LANES,
        DECODER_4,
        "detection",
        "reported = Cat(needs[0], ",
        "reported = Cat(Const(1, 1), ",
    ),
    Fault(
        "bit 6 of a value comes from the second byte before",
        LANES,
        DECODER_4,
        "detection",
        '(value & step["character_2"]) | alone',
        '(value & step["character_3"]) | alone',
    ),
    Fault(
        "credit for a beat more",
        FLOW,
        DECODER_4,
        "credit",
        "self._control, PLACES * self._banks - self._more",
        "self._control, PLACES * self._banks - self._more + 1",
    ),
    Fault(
        "a full memory looks empty",
        FLOW,
        DECODER_2,
        "credit",
        "range(0, self._width, 2)",
        "range(0, self._width - 1, 2)",
        RANDOM,
    ),
    Fault(
        "the beat that may be accepted meanwhile is not counted",
        FLOW,
        DECODER_4,
        "credit",
        "sum_and(self._newest(), ~self.next, ready, Const(1, 1))",
        "sum_and(self._newest(), ~self.next, ready, Const(0, 1))",
    ),
    Fault(
        "the beat after the next is looked up under the wrong number",
        FLOW,
        DECODER_2,
        "credit",
        "select(self._taken, known[2] & own, known[1] & other)",
        "select(self._taken, known[2] & other, known[1] & other)",
    ),
    # --- the encoder, pipelined ---
    Fault(
        "reset leaves the state alone",
        RESET,
        ENCODER,
        "encoder",
        "self.state = Signal(self.State, init=self.State.START)",
        "self.state = Signal(self.State, init=self.State.START, reset_less=True)",
    ),
    Fault(
        "reset leaves a long character in stage 3",
        RESET,
        ENCODER,
        "encoder",
        'long = classify.signal("long")',
        'long = classify.signal("long", reset_less=True)',
    ),
    Fault(
        "reset leaves the encoder ready",
        RESET,
        ENCODER,
        "encoder",
        'advance = pipeline.control.signal("advance")',
        'advance = pipeline.control.signal("advance", reset_less=True)',
    ),
    Fault(
        "a value that is not valid takes the time of a long one",
        IDLE,
        ENCODER,
        "encoder",
        'comes_long = measure.valid & measure["not_ascii"].any()',
        'comes_long = measure["not_ascii"].any()',
    ),
    Fault(
        "180000 to 18FFFF are in range",
        VALUE,
        ENCODER,
        "encoder",
        "for place in range(len(value)):",
        "for place in range(len(value) - 1):",
        CAMPAIGN,
    ),
    Fault(
        "the highest of four bits is not looked at",
        VALUE,
        ENCODER,
        "encoder",
        "range(low, min(low + 4, end))",
        "range(low, min(low + 3, end))",
    ),
    Fault(
        "a surrogate in an even plane",
        VALUE,
        ENCODER,
        "encoder",
        "(special & ~ones[2:].any())",
        '(special & ~measure["code_point"][16])',
    ),
    Fault(
        "100000 to 10007F in one byte",
        VALUE,
        ENCODER,
        "encoder",
        "for n in range(0, len(pieces), 4)]",
        "for n in range(0, len(pieces) - 4, 4)]",
    ),
    Fault(
        "a refused value has its flag with the lead byte only",
        VALUE,
        ENCODER,
        "encoder",
        'error=send["error"],',
        'error=send["error"] & is_lead,',
    ),
    Fault(
        "bytes move on while the output waits",
        FLOW,
        ENCODER,
        "encoder",
        "select(stalled, state, select(start, entered, one_less))",
        "select(stalled & start, state, select(start, entered, one_less))",
    ),
    Fault(
        "a state without any bit lasts",
        FSM,
        ENCODER,
        "encoder",
        "one_less = Cat(sends, lost)",
        "one_less = Cat(sends, 0)",
        "self-synchronisation",
    ),
    # --- the encoder, compact ---
    Fault(
        "a code that no state has lasts",
        FSM,
        COMPACT_ENCODER,
        "compact_encoder",
        "m.d.sync += state.eq(START)",
        "m.d.sync += state.eq(state)",
        "self-synchronisation",
        UCS4,
    ),
    Fault(
        "reset leaves the state alone",
        RESET,
        COMPACT_ENCODER,
        "compact_encoder",
        "self.state = Signal(self.State, init=self.State.START)",
        "self.state = Signal(self.State, init=self.State.START, reset_less=True)",
    ),
    Fault(
        "a value that is not valid leads to the state of a long one",
        IDLE,
        COMPACT_ENCODER,
        "compact_encoder",
        "with m.Default(), m.If(self.i.valid):",
        "with m.Default():",
    ),
    Fault(
        "bit 31 is not looked at",
        VALUE,
        COMPACT_ENCODER,
        "compact_encoder",
        "refused = code_point[width:].any()",
        "refused = code_point[width:-1].any()",
    ),
    Fault(
        "a surrogate in plane 16",
        VALUE,
        COMPACT_ENCODER,
        "compact_encoder",
        "& ~code_point[16:].any()",
        "& ~code_point[16 : width - 1].any()",
        CAMPAIGN,
    ),
    Fault(
        "a bit of the plane is not compared",
        VALUE,
        COMPACT_ENCODER,
        "compact_encoder",
        "code_point[second_byte:width] > profile.highest >> second_byte",
        "Cat(code_point[second_byte : width - 2], code_point[width - 1]) > 0x8F",
        CAMPAIGN,
    ),
    Fault(
        "the error flag of a value that is only offered",
        FLOW,
        COMPACT_ENCODER,
        "compact_encoder",
        "with m.If(self.i.valid & self.i.ready):",
        "with m.If(self.i.valid & free):",
    ),
    # --- the validator ---
    Fault(
        "reset does not begin a text",
        RESET,
        VALIDATOR_4,
        "first_error",
        'locate.signal("text_begins", init=1)',
        'locate.signal("begins", init=1, reset_less=True)',
    ),
    Fault(
        "reset leaves an unfinished sequence",
        RESET,
        VALIDATOR_8,
        "detection",
        'stage.signal(f"before_{name}", self._most)',
        'stage.signal(f"before_{name}", self._most, reset_less=True)',
    ),
    Fault(
        "a byte above 7F in a lane without keep is an error",
        IDLE,
        VALIDATOR_4,
        "detection",
        "among(range(0x80, 0x100)) & there",
        "among(range(0x80, 0x100))",
    ),
    Fault(
        "a gap counts as a beat of a unit",
        IDLE,
        VALIDATOR_4,
        "first_error",
        "with count.m.If(located.valid):",
        "with count.m.If(1):",
    ),
    Fault(
        "a gap is part of a unit",
        IDLE,
        VALIDATOR_2,
        "first_error",
        "with locate.m.If(found.valid):",
        "with locate.m.If(1):",
    ),
    Fault(
        "the carry at 1,920 is made in every unit",
        FAR,
        VALIDATOR_8,
        "logic",
        "lowest_full & is_below",
        "is_below",
        CAMPAIGN,
    ),
    Fault(
        "the carry at 2,048 is lost",
        FAR,
        VALIDATOR_8,
        "logic",
        "is_full.eq(part.all() if is_below is None else part.all() & is_below)",
        "is_full.eq(0 if is_below is None else part.all() & is_below)",
        CAMPAIGN,
    ),
    Fault(
        "a carry is made while a part below is not full",
        FAR,
        VALIDATOR_8,
        "logic",
        "part.all() if is_below is None else part.all() & is_below",
        "part.all()",
        CAMPAIGN,
    ),
    Fault(
        "the carry at 32,768 is lost",
        FAR,
        VALIDATOR_8,
        "logic",
        "zip(others, full, below, strict=True)",
        "zip(others[:1], full[:1], below[:1], strict=True)",
        CAMPAIGN,
    ),
    Fault(
        "the carry at 524,288 is lost",
        FAR,
        VALIDATOR_8,
        "logic",
        "zip(others, full, below, strict=True)",
        "zip(others[:2], full[:2], below[:2], strict=True)",
        CAMPAIGN,
    ),
    Fault(
        "the carry at 32,768 is made at 16,384",
        FAR,
        VALIDATOR_8,
        "logic",
        "part.all() & is_below",
        "part[:3].all() & is_below",
        CAMPAIGN,
    ),
    Fault(
        "the lowest part is still full when a text begins",
        FAR,
        VALIDATOR_8,
        "logic",
        "for each in (*parts, lowest_full, over, *full)",
        "for each in (*parts, over, *full)",
        CAMPAIGN,
    ),
    Fault(
        "the next text begins with an offset that is saturated",
        FAR,
        NARROW_4,
        "logic",
        "for each in (*parts, lowest_full, over, *full)",
        "for each in (*parts, lowest_full, *full)",
        CAMPAIGN,
    ),
    Fault(
        "an offset that is saturated goes on from zero",
        FAR,
        NARROW_4,
        "logic",
        "with m.If(step & lowest_full & all_full):",
        "with m.If(step & lowest_full & all_full & ~over):",
        CAMPAIGN,
    ),
    Fault(
        "the lowest bits of an offset do not saturate",
        FAR,
        NARROW_4,
        "first_error",
        "over.replicate(len(position))",
        "Const(0, len(position))",
        CAMPAIGN,
    ),
    Fault(
        "the next text begins with an offset that is saturated",
        FAR,
        NARROW_8,
        "logic",
        "for each in (*parts, lowest_full, over, *full)",
        "for each in (*parts, lowest_full, *full)",
        CAMPAIGN,
    ),
    Fault(
        "an offset that is saturated goes on from zero",
        FAR,
        NARROW_8,
        "logic",
        "with m.If(step & lowest_full & all_full):",
        "with m.If(step & lowest_full & all_full & ~over):",
        CAMPAIGN,
    ),
    Fault(
        "the lowest bits of an offset do not saturate",
        FAR,
        NARROW_8,
        "first_error",
        "over.replicate(len(position))",
        "Const(0, len(position))",
        CAMPAIGN,
    ),
    Fault(
        "an error is counted as if in the next unit",
        FAR,
        VALIDATOR_4,
        "first_error",
        'select(wrong, ~located["before_unit"], ends_unit)',
        "select(wrong, Const(1, 1), ends_unit)",
    ),
    Fault(
        "units are counted after the first error",
        FAR,
        VALIDATOR_8,
        "first_error",
        "ends_unit) & due_now & ~seen",
        "ends_unit) & due_now",
    ),
    Fault(
        "a beat without bytes is no unit",
        RARE,
        VALIDATOR_8,
        "first_error",
        'locate.register("ends_unit", phase_now.all())',
        "for each in self._new_stage.__self__._stages[4:]:\n"
        "            each.carry('there')\n"
        "        locate.register('ends_unit', phase_now.all() & found['there'].any())",
    ),
    Fault(
        "E0 9F is not overlong",
        FSM,
        VALIDATOR_2,
        "rules",
        "range(0x80, 0x80 + (1 << 8 - length))",
        "range(0x80, 0x7F + (1 << 8 - length))",
    ),
    Fault(
        "the error of the higher lane comes first",
        LANES,
        VALIDATOR_4,
        "first_error",
        "select(one.error, one.lane, other.lane), ~one.error)",
        "select(~other.error, one.lane, other.lane), other.error)",
    ),
    Fault(
        "an unfinished sequence begins a byte late",
        LANES,
        VALIDATOR_8,
        "first_error",
        "in_unfinished = Cat(Const(1, 1), rest_of_it[self._kinds :])",
        "in_unfinished = Cat(rest_of_it[self._kinds :], Const(0, 1))",
    ),
    # --- the compactor ---
    Fault(
        "reset leaves the lane of the next value",
        RESET,
        COMPACTOR_4,
        "packing",
        'stage.register("clears", partial["end"], init=1)',
        'stage.register("clears", partial["end"])',
    ),
    Fault(
        "reset leaves the end of a text",
        RESET,
        COMPACTOR_4,
        "packing",
        'stage.signal("text_ends")',
        'stage.signal("text_ends", reset_less=True)',
    ),
    Fault(
        "an odd number of values that are not valid counts",
        IDLE,
        COMPACTOR_4,
        "packing",
        "select(before.valid, sums[-1], top)",
        "sums[-1]",
    ),
    Fault(
        "values that are not valid fill a beat",
        IDLE,
        COMPACTOR_2,
        "packing",
        "with stage.m.If(~partial.valid):",
        "with stage.m.If(0):",
    ),
    Fault(
        "a text ends on an idle bus",
        IDLE,
        COMPACTOR_4,
        "packing",
        'end=fours.valid & fours["last"],',
        'end=fours["last"],',
    ),
    Fault(
        "facts of beats share eight places of a bank",
        MEMORY,
        COMPACTOR_2,
        "credit",
        'place = chunk.copy("place", number[1 : 1 + PLACE_WIDTH])',
        'place = chunk.copy("place", number[1:PLACE_WIDTH])',
    ),
    Fault(
        "a value of the next beat is written over one that waits",
        MEMORY,
        COMPACTOR_4,
        "packing",
        '_if_held_{chunk}", comes & fills & following)',
        '_if_held_{chunk}", comes & fills & full)',
    ),
    Fault(
        "a text that ends with an empty beat keeps all lanes",
        MEMORY,
        COMPACTOR_4,
        "packing",
        'reached & ~give["was_empty_at_end"].replicate',
        'reached | give["was_empty_at_end"].replicate',
    ),
    Fault(
        "a text without values has no beat",
        MEMORY,
        COMPACTOR_2,
        "packing",
        'before.valid & (before["end"] | before["any"])',
        'before.valid & before["any"]',
    ),
    Fault(
        "beats that have left no beat stay outstanding",
        FLOW,
        COMPACTOR_4,
        "credit",
        'given.eq(last["newest"] - accepted)',
        'given.eq(last["newest"])',
    ),
    Fault(
        "pairs are swapped from the lane after the sum on",
        LANES,
        COMPACTOR_4,
        "logic",
        "lows, highs = Cat(Const(1, 1), low),",
        "lows, highs = Cat(low, Const(0, 1)),",
    ),
    # --- the transcoder ---
    Fault(
        "reset leaves a high surrogate",
        RESET,
        UTF_16_TO_8,
        "utf16",
        'step.signal(f"before_{name}")',
        'step.signal(f"before_{name}", reset_less=True)',
    ),
    Fault(
        "reset leaves the error flag",
        RESET,
        UTF_8_TO_16,
        "transcoder",
        'write.signal("error_seen")',
        'write.signal("error_seen", reset_less=True)',
    ),
    Fault(
        "reset leaves the number of the beat in its text",
        RESET,
        MARK_FROM_8,
        "transcoder",
        'make.signal("beat_of_text", 2)',
        'make.signal("beat_of_text", 2, reset_less=True)',
    ),
    Fault(
        "reset leaves a beat that waits for the next one",
        RESET,
        UTF_32_TO_16,
        "transcoder",
        'write.signal("holds"), ',
        'write.signal("holds", reset_less=True), ',
    ),
    Fault(
        "a gap clears the error flag",
        IDLE,
        UTF_16_TO_8,
        "transcoder",
        "with write.m.If(is_new):",
        "with write.m.If(1):",
    ),
    Fault(
        "an error on an idle bus without last",
        IDLE,
        UTF_8_TO_16,
        "transcoder",
        "with write.m.If(is_new):",
        "with write.m.If(is_new | ~ends):",
    ),
    Fault(
        "a high surrogate on an idle bus without last",
        IDLE,
        UTF_16_TO_8,
        "utf16",
        "with step.m.If(step.valid):",
        "with step.m.If(step.valid | ~last):",
    ),
    Fault(
        "a gap before a text counts as a beat",
        IDLE,
        MARK_FROM_16,
        "transcoder",
        "with make.m.If(make.valid):",
        "with make.m.If(1):",
    ),
    Fault(
        "a byte order mark at beat 4 is removed",
        RARE,
        MARK_FROM_16,
        "transcoder",
        "number + ~number.all()",
        "number + 1",
    ),
    Fault(
        "a byte order mark at beat 256 is removed",
        RARE,
        MARK_FROM_16,
        "transcoder",
        '"beat_of_text", 2)\n        with make.m.If(make.valid):\n            '
        "make.m.d.sync += number.eq(select(last, Const(0, 2), number + ~number.all()))",
        '"beat_of_text", 8)\n        with make.m.If(make.valid):\n            '
        "make.m.d.sync += number.eq(select(last, Const(0, 8), number + 1))",
        CAMPAIGN,
    ),
    Fault(
        "a high surrogate at the end of a text waits for the next text",
        FORMS,
        UTF_16_TO_8,
        "utf16",
        "carried.eq(fact[-1] & ~last)",
        "carried.eq(fact[-1])",
    ),
    Fault(
        "a surrogate pair across two beats has the low half of its value",
        FORMS,
        UTF_16_TO_32,
        "utf16",
        "ten_of_high = [Cat(no_high, levels[:-1]) for levels in own[:10]]",
        "ten_of_high = [Cat(no_high, no_high, levels[1:-1]) for levels in own[:10]]",
    ),
    Fault(
        "a plane's carry stops after a bit",
        FORMS,
        UTF_16_TO_8,
        "utf16",
        "flips = flips & levels",
        "flips = levels",
    ),
    Fault(
        "the borrow of a plane stops after a bit",
        FORMS,
        UTF_32_TO_16,
        "utf16",
        "flips = flips & ~levels",
        "flips = ~levels",
    ),
    Fault(
        "a surrogate in any plane",
        VALUE,
        UTF_32_TO_8,
        "utf32",
        "surrogate = (rules.surrogate(value) for",
        "surrogate = (rules.surrogate(value[:16]) for",
    ),
    Fault(
        "U+FFFD is two bytes long",
        FORMS,
        UTF_16_TO_8,
        "code_points",
        "levels | error if count < MAX_BYTES else levels",
        "levels | error if count < MAX_BYTES - 1 else levels",
    ),
    Fault(
        "0800 to 0FFF in two bytes",
        FORMS,
        BIG_16_TO_8,
        "utf16",
        "in (2, 7), (3, 11):",
        "in (2, 7), (3, 12):",
    ),
    Fault(
        "the two halves of a unit are in the wrong order",
        FORMS,
        BIG_8_TO_32,
        "transcoder",
        "self.target.byte_order, self.o",
        "[byte ^ 2 for byte in self.target.byte_order], self.o",
    ),
    Fault(
        "two bytes that are left over are no error",
        FORMS,
        UTF_32_TO_8,
        "code_points",
        "keep.any() & ~keep.all() for keep",
        "keep[0] & ~keep[1:].any() for keep",
    ),
    Fault(
        "the number of errors goes on from text to text",
        FORMS,
        REPORT_FROM_8,
        "report",
        'with tally.m.If(counted["clears"]):',
        'with tally.m.If(counted["clears"] & 0):',
    ),
    Fault(
        "errors are counted with ten bits",
        FAR,
        REPORT_FROM_8,
        "report",
        "more = (total + number)[: width + 1]",
        "more = Cat((total + number)[:10], Const(0, width - 9))",
        CAMPAIGN,
    ),
    Fault(
        "a unit that is over is not counted before an error",
        LANES,
        REPORT_FROM_16,
        "first_error",
        'select(wrong, ~located["before_unit"], ends_unit)',
        "select(wrong, Const(0, 1), ends_unit)",
    ),
    Fault(
        "a report comes with the text before",
        FORMS,
        REPORT_FROM_16,
        "packing",
        'Cat(stage["user"], stage["late"])',
        'Cat(stage["user"], before["late"])',
    ),
    Fault(
        "an error begins with half a unit, and not with the half of a pair before",
        FORMS,
        REPORT_FROM_16,
        "utf16",
        "two_units |= in_slots(part) & behind_high",
        "two_units |= in_slots(part) & Const(0, len(behind_high))",
    ),
    Fault(
        "the error flag of a text is kept for the next one",
        FORMS,
        UTF_8_TO_16,
        "transcoder",
        "seen.eq(error & ~ends)",
        "seen.eq((seen & ~ends) | found.any())",
    ),
    Fault(
        "a text that has ended is given again in every gap",
        FLOW,
        UTF_8_TO_16,
        "transcoder",
        "m.d.sync += holds.eq(0)",
        "m.d.sync += holds.eq(holds)",
    ),
)
