"""A difference is shown by less and less input, until each part of it is needed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtl import broken
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.lockstep import Lockstep
from utf8_sim.shrink import Case, Shown, attempts, shortest, shrunk
from utf8_sim.stimulus import RandomStalls, Stimulus

patterns = st.lists(st.booleans(), max_size=12).map(tuple)


@st.composite
def cases(draw) -> Case:
    values = tuple(draw(st.lists(st.integers(0, 5), max_size=12)))
    ends = tuple(sorted(draw(st.lists(st.integers(0, len(values)), max_size=6))))
    return Case(values, ends, draw(patterns), draw(patterns))


@st.composite
def bugs(draw):
    """A predicate that needs some values, an end of a text, and pauses somewhere."""
    needed = draw(st.lists(st.integers(0, 5), max_size=3))
    ends, gaps, stalls = (draw(st.integers(0, 2)) for _ in range(3))

    def shows(case: Case) -> bool:
        rest = iter(case.values)
        return (
            all(value in rest for value in needed)  # in this order
            and len(case.ends) >= ends
            and sum(case.gaps) >= gaps
            and sum(case.stalls) >= stalls
        )

    return shows


LATE = 1000
"""A cycle after everything."""


def attempt_of(shows):
    def attempt(case: Case) -> Shown | None:
        return Shown(LATE, range(len(case.values))) if shows(case) else None

    return attempt


def removals(case: Case):
    """The case without a single thing."""
    for index in range(len(case.values)):
        yield case.without(index, index + 1)
    for index in range(len(case.ends)):
        yield replace(case, ends=(*case.ends[:index], *case.ends[index + 1 :]))
    for name in ("gaps", "stalls"):
        marks = getattr(case, name)
        for index, mark in enumerate(marks):
            if mark:
                yield replace(case, **{name: (*marks[:index], False, *marks[index + 1 :])})


@given(cases(), bugs())
@settings(max_examples=300, deadline=None)
def test_what_is_left_is_needed(case, shows):
    attempt = attempt_of(shows)
    shown = attempt(case)
    if not shown:
        return
    *_, result = shrunk(case, shown, attempt)
    assert shows(result)
    assert not any(map(shows, removals(result)))


def test_without_time_the_first_case_stays():
    case = Case((1, 2, 3) * 100, tuple(range(3, 301, 3)))
    time_left = iter([True] * 4)
    attempt = attempt_of(lambda case: len(case.values) > 200)
    shown = Shown(LATE, range(300))
    assert list(shrunk(case, shown, attempt, lambda: False)) == [case]
    *_, result = shrunk(case, shown, attempt, lambda: next(time_left, False))
    assert 200 < len(result.values) <= 300


def test_what_comes_too_late_is_cut():
    case = Case((1, 2, 3, 4, 5), (2, 4, 5), (True,) * 9, (False,) * 9)
    # In cycle 3 the second input is on offer: it ends its text.
    assert case.until(3, [2, 3, 4, 5, 6]) == Case((1, 2), (2,), (True,) * 4, ())
    # In cycle 4 the third one is, which does not: it must not seem to.
    assert case.until(4, [2, 3, 4, 5, 6]).values == (1, 2, 3, 4)
    # In cycle 3 the first two are, in lanes of one input.
    assert case.until(3, [3, 3, 4, 4, 6]).values == (1, 2)


def test_texts_are_told_apart():
    assert list(Case((1, 2, 3), (1,)).texts()) == [(1,), (2, 3)]
    assert list(Case((1, 2, 3), (0, 1, 3)).texts()) == [(), (1,), (2, 3)]
    assert list(Case(()).texts()) == [()]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("range: ED BF is no surrogate", 2),
        ("wrong kind", 2),
        ("byte changes under stall", 3),
        ("skid: byte lost in it", 3),
        ("payload changes under stall", 3),
        ("compact: interrupting byte swallowed", 2),
        ("compact: taken while sending", 2),
    ],
)
def test_the_shortest_case_of_a_broken_design_shows_the_same(name, most):
    engine = AmaranthEngine(broken(name))
    data = [0x41, 0xE2, 0x82, 0xAC, 0xED, 0xBF, 0xBF, 0xC2, 0xA9, 0xF0, 0x80, 0x80] * 40
    stimulus = Stimulus([(data, True)], RandomStalls(0.2, 1), RandomStalls(0.3, 2))
    lockstep = Lockstep(engine, stimulus)
    difference = lockstep.run()
    attempt = attempts(engine, difference.pin)
    *_, found = shortest(lockstep.recording(), engine.component, difference, attempt)
    assert len(found.values) <= most
    assert sum(found.gaps) + sum(found.stalls) <= 2
    assert attempt(found)


def test_a_difference_far_into_a_run_is_found_in_its_last_cycles():
    engine = AmaranthEngine(broken("range: ED BF is no surrogate"))
    lockstep = Lockstep(engine, Stimulus([([0x41] * 10_000 + [0xED, 0xBF], True)]))
    difference = lockstep.run()
    assert lockstep.recording().first_cycle > 0
    attempt = attempts(engine, difference.pin)
    *_, found = shortest(lockstep.recording(), engine.component, difference, attempt)
    assert found.values == (0xED, 0xBF)


def test_a_case_that_shows_nothing_gives_none():
    engine = AmaranthEngine(broken("wrong kind"))
    lockstep = Lockstep(engine, Stimulus([([0xE0, 0x80], True)]))
    difference = lockstep.run()
    recording = lockstep.recording()
    assert list(shortest(recording, engine.component, difference, lambda case: None)) == []
