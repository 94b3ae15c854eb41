"""Proofs of the compactor: flaws anywhere are found out."""

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Array

from altered import Altered, Edit, edited
from refuted import assert_each_has_a_fault, is_refuted
from utf8_flow.designs import DesignSpec
from utf8_flow.export.verilog import generate
from utf8_flow.formal import compactor as formal_compactor
from utf8_flow.formal import streams
from utf8_flow.formal.bench import Bench
from utf8_flow.formal.compactor import STAGES, Slot, network_levels
from utf8_flow.formal.properties import proofs_of
from utf8_flow.formal.prover import prove
from utf8_hdl import UNICODE, Compactor

pytest.importorskip("pyosys", reason="pyosys is not installed")

USER = 2


def altered(*edits: Edit) -> Altered:
    return Altered(*edits, within=("credit", "stage", "packing", "compactor", "logic"))


def bench_of(
    name: str, made: Callable[..., Any] = Compactor, lanes: int = 2, width: int = 2
) -> Bench:
    """A property, of a design with few bits."""
    [what] = (what for what in proofs_of(DesignSpec("compactor", lanes=lanes)) if what.name == name)
    return what.bench(
        UNICODE, {"compactor": lambda profile: made(lanes=lanes, shape=width, user=USER)}
    )


def verdict_of(name: str, *arguments: Any) -> str:
    return prove(bench_of(name, *arguments)).verdict


# What is wrong, and the edit.
FLAWS: dict[tuple[str, str], tuple[str, str] | list[tuple[str, str]]] = {
    ("counted", "a gap counts"): (
        "select(before.valid, sums[-1], top)",
        "sums[-1]",
    ),
    ("counted", "keep is not heeded"): (
        "for part in _parts(keep, GROUP))",
        "for part in _parts(Const(-1, self.lanes), GROUP))",
    ),
    ("counted", "a beat that is full waits no longer"): (
        "| empty & ~comes)",
        "| empty & ~comes | next_top.all())",
    ),
    ("given", "the end of a text gives nothing"): (
        ", text_ends)\n",
        ", Const(0, 1))\n",
    ),
    ("given", "a beat is given as soon as it is full"): (
        'may_give.eq((before.valid & (before["end"] | before["any"])) | ~empty)',
        "may_give.eq(1)",
    ),
    ("given", "values of the text before are kept"): (
        'kept=reached & ~give["was_empty_at_end"].replicate(self.lanes)',
        "kept=reached",
    ),
    ("given", "user comes with every beat"): (
        "user_of_text=user & text_ends.replicate(len(user))",
        "user_of_text=user",
    ),
    ("sums", "a pair is swapped the wrong way"): (
        "swaps.append(~(reached ^",
        "swaps.append((reached ^",
    ),
    ("routes", "a lane is not swapped"): (
        "select(swaps[pair], lanes[lane ^ half], lanes[lane])",
        "select(swaps[pair] & (lane != 1), lanes[lane ^ half], lanes[lane])",
    ),
    ("places", "lanes that have a value are written again"): (
        '_if_held_{chunk}", comes & fills & following)',
        '_if_held_{chunk}", comes & following)',
    ),
    ("places", "all goes to the beat behind"): (
        "comes & select(fills, full, following)",
        "comes & following",
    ),
    ("begins", "what waits survives a reset"): (
        'stage.signal("empty", init=1)',
        'stage.signal("empty", init=1, reset_less=True)',
    ),
    ("begins", "the end of a text survives a reset"): (
        'before.valid & (before["end"] | before["any"])',
        '(before["end"] | before["any"])',
    ),
    ("self-synchronisation", "a text goes on in the next one"): (
        'with stage.m.If(before["clears"]):',
        'with stage.m.If(before["clears"] & 0):',
    ),
    ("timing", "a beat comes out late"): (
        "(1, 0, -1, -2, -3)",
        "(0, -1, -2, -3, -4)",
    ),
    ("credit", "too much credit"): (
        "(outstanding == most - 3) & ~ready",
        "(outstanding == most - 3)",
    ),
    ("credit", "beats that are given do not count"): (
        "sum_and(first, given, ",
        "sum_and(first, Const(0, len(first)), ",
    ),
    ("drains", "credit that does not come back"): (
        'given.eq(last["newest"] - accepted)',
        "given.eq(given)",
    ),
    ("passes", "what is kept is in the place behind"): (
        'place = chunk.copy("place", number[1 : 1 + PLACE_WIDTH])',
        'place = chunk.copy("place", up(number[1 : 1 + PLACE_WIDTH]))',
    ),
    ("passes", "a lane has what another one has"): (
        "chunk.memory(values[lane], writes, places)",
        "chunk.memory(values[max(0, lane - 1)], writes, places)",
    ),
    ("reads", "the even bank's address follows itself"): (
        '"even": next_places(number)[0]',
        '"even": first.get("even")',
    ),
    ("reads", "the address of a chunk follows itself"): (
        "followed(own, now, flips, self._ready)",
        "followed(own, own, flips, self._ready)",
    ),
    ("reads", "a bit of the number flips as it was itself"): (
        "same.eq(now)",
        "same.eq(now & counter)",
    ),
    ("timing", "the counter does not go up with the beat before"): (
        "after.eq(select(own, then, now))",
        "after.eq(now)",
    ),
    # Attempts to pass all proofs. First what a reset leaves as it is.
    ("passes", "the address of a memory survives a reset"): [
        ("followed(own, now, flips, self._ready)", "followed(own, own, flips, self._ready)"),
        ('_{of}", reset_less', '_{of}", init=int(of != "odd_next"), reset_less'),
    ],
    ("credit", "ready survives a reset"): (
        'control.signal("ready")',
        'control.signal("ready", reset_less=True)',
    ),
    ("credit", "the beats outstanding survive a reset"): (
        'control.signal("outstanding", self._width)',
        'control.signal("outstanding", self._width, reset_less=True)',
    ),
    ("begins", "a beat in a stage survives a reset"): (
        'self.signal("valid")',
        'self.signal("valid", reset_less=True)',
    ),
    ("begins", "a dense beat survives a reset"): (
        'stage.signal("may_give")',
        'stage.signal("may_give", reset_less=True)',
    ),
    ("begins", "a reset does not clear the tops"): (
        'stage.register("clears", partial["end"], init=1)',
        'stage.register("clears", partial["end"])',
    ),
    ("timing", "the number at the output survives a reset"): (
        'signal(f"next{copy}", width, init=1)',
        'signal(f"next{copy}", width, init=1, reset_less=True)',
    ),
    ("timing", "a change of that number survives a reset"): (
        'signal(f"flips_if_ready{copy}", width)',
        'signal(f"flips_if_ready{copy}", width, reset_less=True)',
    ),
    ("given", "a text of empty beats gives nothing"): (
        'before.valid & (before["end"] | before["any"])',
        'before.valid & before["any"]',
    ),
    ("sums", "a value counts only beside one in the last lane"): (
        "keep=keep,",
        "keep=keep & keep[-1].replicate(self.lanes),",
    ),
    ("credit", "credit while nothing is at the output"): (
        'given.eq(last["newest"] - accepted)',
        'given.eq(select(self._o.valid, last["newest"], self.next) - accepted)',
    ),
    ("credit", "a beat less"): (
        "self._control, PLACES * self._banks - self._more",
        "self._control, PLACES * self._banks - self._more - 1",
    ),
    ("timing", "a beat that waits is gone"): (
        "self._taken = o.valid & o.ready",
        "self._taken = o.valid",
    ),
    ("passes", "a write to the place that is read is lost"): (
        "write.en.eq(writes_now)",
        "write.en.eq(writes_now & (place != own))",
    ),
    ("passes", "two numbers share a place"): (
        "write.addr.eq(place)",
        "write.addr.eq(select(place.all(), Const(0, len(place)), place))",
    ),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize(("name", "flaw"), list(FLAWS))
def test_a_flaw_is_found_out(name, flaw):
    edits = FLAWS[name, flaw]
    made = altered(*(edits if isinstance(edits, list) else [edits]))
    assert is_refuted(bench_of(name, made.Compactor), 50)


WIDE = 8, 128
"""Lanes and bits with which a value has a chunk of memory to itself: so the number has a copy."""


def test_copies_of_the_number_follow_it():
    assert verdict_of("reads", Compactor, *WIDE) == "proved"


@pytest.mark.parametrize(
    "edit",
    [
        ("followed(copy[name], what, flip", "followed(copy[name], copy[name], flip"),
        ("own.eq(unmerged(flip_next, own))", "own.eq(own)"),
    ],
)
def test_a_copy_that_follows_itself_is_found_out(edit):
    assert is_refuted(bench_of("reads", altered(edit).Compactor, *WIDE), 50)


def test_other_verilog_is_found_out(monkeypatch):
    other = altered(FLAWS["given", "user comes with every beat"]).Compactor(
        lanes=2, shape=2, user=USER
    )
    monkeypatch.setattr(streams, "generate", lambda _: generate(other))
    assert is_refuted(bench_of("verilog"), 50)


OF_OTHER_TESTS = {"verilog", "room"}


@pytest.mark.parametrize("lanes", [2, 8])
def test_for_every_property_there_is_a_fault(lanes):
    killers = {name for name, _ in FLAWS} | OF_OTHER_TESTS
    assert_each_has_a_fault(DesignSpec("compactor", lanes=lanes), killers)


@pytest.mark.parametrize(
    "name", ["counted", "given", "sums", "routes", "places", "begins", "passes"]
)
def test_source_that_is_not_edited_has_the_properties(name):
    assert verdict_of(name, altered().Compactor, 4) == "proved"


def written(b: Bench, name: str) -> None:
    """What `sums`, `routes` and `places` say of each value, all in one."""
    design = b.design(name, any_start=True)
    slot = Slot(b, design)
    lane = b.free(range(design.lanes), "lane")
    into = Array(slot.goes_to)[lane][: network_levels(design)]
    here = slot.agreed & Array(slot.keep)[lane]
    b.never(here & ~slot.stored.writes[into].any())
    b.never(here & (slot.stored.value[into] != slot.beat.data[lane]))
    b.cycles = STAGES + 2


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_each_value_is_written_where_it_belongs(lanes):
    design = DesignSpec("compactor", lanes=lanes)
    b = Bench(UNICODE, {"compactor": design.make})
    written(b, "compactor")
    assert prove(b).verdict == "proved"


def test_with_more_credit_a_value_is_written_where_one_waits(monkeypatch):
    assert verdict_of("room") == "proved"
    monkeypatch.setattr(formal_compactor.PackingTiming, "ahead", lambda: 0)
    assert verdict_of("room") == "FAILED"


def test_there_is_room_only_as_no_first_beat_of_a_text_fills_one(monkeypatch):
    edit = "comes & fills & unfinished", "comes & fills"
    wrong = edited(formal_compactor, edit)
    monkeypatch.setattr(formal_compactor, "PROPERTIES", wrong.PROPERTIES)
    assert verdict_of("room") == "FAILED"
