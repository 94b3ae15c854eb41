"""The loop of `compare`: units, their order, the state file, budgets, whoever does the work."""

import io
import json
import os
import pickle
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from command import (
    Process,
    assert_is_waveform,
    assert_refused,
    break_design,
    names,
    needs_proc,
    run,
    wait_until,
)
from needs import needs_compiler
from utf8_flow.cli.choices import Stalling
from utf8_flow.designs import DesignSpec
from utf8_flow.terminal import Interrupted, VerificationFailed
from utf8_flow.verify import runner, sources, state
from utf8_flow.verify.engines import ENGINES
from utf8_flow.verify.runner import Budget, Runner, outcome_of
from utf8_flow.verify.sources import Campaign, Exhaustive, RandomUnits
from utf8_flow.verify.state import SEQUENCES, Outcome, State
from utf8_hdl import UCS4
from utf8_sim.engines.compiled import CxxrtlEngine
from utf8_sim.tools.cores import Cores
from utf8_sim.tools.errors import ToolError, UsageError

STATE = "utf8-hdl-compare.json"


class Here:
    """Work in this process, in order; of which it is noted what was done."""

    def __init__(self, most: int = 1 << 62, then: type[BaseException] | None = None) -> None:
        self._most = most
        self._then = then
        self.done: list[int] = []

    def __str__(self) -> str:
        return "2 cores"

    def do(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            if len(self.done) == self._most:
                raise self._then("a worker process died")
            self.done.append(item)
            yield item, work(item)


class Elsewhere(Here):
    """As if it was done by others, who are sent the work, and finish in another order."""

    def do(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        sent = pickle.dumps(work)
        done = super().do(pickle.loads(sent), items)
        while some := list(islice(done, 3)):
            yield from pickle.loads(pickle.dumps(some[::-1]))


def console() -> Console:
    return Console(file=io.StringIO(), width=200, highlight=False)


# --- the campaign -------------------------------------------------------------------------------

SPECS = {
    "decoder": DesignSpec("decoder"),
    "compact decoder": DesignSpec("decoder", compact=True),
    "encoder": DesignSpec("encoder"),
    "compact encoder": DesignSpec("encoder", compact=True),
}
WITH_LANES = {
    "decoder, 2 lanes": DesignSpec("decoder", lanes=2),
    "validator, 2 lanes": DesignSpec("validator", lanes=2),
    "compactor, 2 lanes": DesignSpec("compactor", lanes=2),
    "transcoder, 4 lanes": DesignSpec("transcoder", lanes=4),
}


def campaign(spec: DesignSpec, **other: Any) -> Campaign:
    modes = Stalling(0).modes()[::2]
    plan = Campaign(spec=spec, engine="cxxrtl", seed=0, modes=modes)
    return replace(plan, **other)


def ran(plan: Campaign, workers: Any) -> tuple[str, bytes]:
    """The report of a campaign, and its file of tokens."""
    show = console()
    Runner(show, plan, workers=workers, tokens="tokens.jsonl").compare("difference.vcd", None)
    return show.file.getvalue(), Path("tokens.jsonl").read_bytes()


@needs_compiler
@pytest.mark.parametrize(
    "name", [*SPECS, *(pytest.param(n, marks=pytest.mark.long) for n in WITH_LANES)]
)
def test_a_campaign_is_the_same_whoever_does_it(folder, name):
    plan = campaign((SPECS | WITH_LANES)[name])
    first = ran(plan, None)
    assert "agree on every output pin" in first[0]
    assert "never met" not in first[0]
    assert len(first[1]) > 10_000
    for workers in Here(), Elsewhere():
        assert ran(plan, workers) == first
        assert sorted(workers.done) == [*range(plan.units)]


@needs_compiler
def test_a_campaign_is_the_same_on_all_cores(folder):
    plan = campaign(DesignSpec("decoder", compact=True))
    assert ran(plan, Cores()) == ran(plan, None)


def broken_campaign(monkeypatch, name: str) -> Campaign:
    options = break_design(monkeypatch, name)
    return campaign(DesignSpec("decoder", "--compact" in options), engine="amaranth")


def difference(plan: Campaign, workers: Any) -> str:
    show = console()
    with pytest.raises(VerificationFailed):
        Runner(show, plan, workers=workers).compare("difference.vcd", None)
    return show.file.getvalue()


def test_a_difference_that_others_find_is_explained_here(folder, monkeypatch):
    plan = broken_campaign(monkeypatch, "compact: range: F5 is in range")
    here = difference(plan, None)
    assert "DIFFERENCE: cycle" in here
    assert "shortest input found: 1 byte" in here
    there = difference(plan, Elsewhere())
    assert there == here.replace("stimulus:", "hardware and golden model differ\nstimulus:", 1)


def test_a_difference_that_does_not_come_again_is_believed(folder, monkeypatch):
    seen, plan = "cycle 9, pin o.valid: expected 1, actual 0", campaign(DesignSpec("decoder"))
    plan = replace(plan, engine="amaranth", modes=plan.modes[:1])
    outcome = Outcome(10, 10, seen)
    monkeypatch.setattr(runner, "outcome_of", lambda *_: outcome)
    out = difference(plan, Here())
    assert f"not reproducible: {seen}" in out
    assert "agree" not in out


def test_what_is_kept_is_not_sent():
    plan = campaign(DesignSpec("decoder"))
    assert plan.parts
    assert "parts" not in vars(pickle.loads(pickle.dumps(plan)))
    assert pickle.loads(pickle.dumps(plan)) == plan


# --- random units -------------------------------------------------------------------------------


def plan(spec: DesignSpec = SPECS["compact decoder"], **other: Any) -> RandomUnits:
    """Short units."""
    short = RandomUnits(spec=spec, engine="amaranth", seed=0, cycles=2048)
    return replace(short, **other)


def compared(
    of: RandomUnits, budget: Budget, workers: Any, state: str | None = "state.json",
    kept: bool = True, show: Console | None = None,
) -> str:  # fmt: skip
    show = show or console()
    run_all = Runner(show, of, workers=workers, budget=budget, state_file=state)
    run_all.compare("difference.vcd", None, keeps_state=kept)
    return show.file.getvalue()


def outcome(of: RandomUnits, unit: int) -> Outcome:
    return outcome_of(of, False, unit)


def without_its_beginning(out: str) -> list[str]:
    """What a run says that does not depend on where it began."""
    return [line for line in out.splitlines() if not line.startswith("random stimuli of")]


def test_the_order_of_the_units_changes_nothing(folder):
    of, budget = plan(), Budget(cycles=7 * 2048)
    first = compared(of, budget, Here())
    state = Path("state.json").read_bytes()
    Path("state.json").unlink()
    assert compared(of, budget, Elsewhere()) == first
    assert Path("state.json").read_bytes() == state
    assert "random stimuli of seed 0, from unit 0 on" in first.splitlines()
    assert re.search(r"^units 0-6 of seed 0: \d+ bytes accepted in 14336 cycles$", first, re.M)
    assert "agree on every output pin in all 14336 cycles" in first
    seen, of_all = map(int, re.search(r"in a row: (\d+) of (\d+) sequences", first).groups())
    assert 50 < seen < of_all == 2 * 17**4


@pytest.mark.parametrize("end", [KeyboardInterrupt, ToolError])
def test_a_run_that_is_cut_short_goes_on_where_it_was(folder, end):
    of, budget = plan(), Budget(cycles=7 * 2048)
    whole = compared(of, budget, Here())
    state = Path("state.json").read_bytes()
    Path("state.json").unlink()
    workers = Elsewhere(4, end)  # the fourth one is done, but those it is sent with are not
    with pytest.raises(Interrupted if end is KeyboardInterrupt else ToolError):
        compared(of, budget, workers)
    assert json.loads(Path("state.json").read_text())["units"] == 3
    again = Here()
    assert without_its_beginning(compared(of, budget, again)) == without_its_beginning(whole)
    assert again.done == [3, 4, 5, 6]
    assert Path("state.json").read_bytes() == state


def test_what_is_said_of_an_interrupted_run(folder):
    show = console()
    with pytest.raises(Interrupted):
        compared(plan(), Budget(hours=9), Here(2, KeyboardInterrupt), STATE, show=show)
    out = show.file.getvalue().splitlines()
    assert f"the same command resumes at unit 2 ({STATE})" in out
    assert "interrupted after 4096 cycles, which agree" in out
    assert names(folder) == {"text.txt", STATE}


def test_a_larger_budget_goes_on_with_new_units(folder):
    of, workers = plan(), Here()
    for cycles, done in ((1, 1), (2048, 1), (2049, 2), (6 * 2048, 6), (2048, 6)):
        out = compared(of, Budget(cycles), workers)
        assert workers.done == [*range(done)]
        assert f"in all {done * 2048} cycles" in out
        content = json.loads(Path("state.json").read_text())
        assert (content["seed"], content["units"], content["total"]["cycles"]) == (
            0,
            done,
            done * 2048,
        )
    assert "units 0-5 were compared before (state.json)" in out
    assert (
        compared(of, Budget(6 * 2048), Here(), state=None).splitlines()[-5:]
        == out.splitlines()[-5:]
    )


def test_hours_end_a_run(folder):
    for budget in Budget(hours=0.0), Budget(1 << 40, 0.0):
        workers = Here()
        assert "in all 2048 cycles" in compared(plan(), budget, workers, STATE, kept=False)
        assert workers.done == [0]
        assert names(folder) == {"text.txt"}
    assert "in all 4096 cycles" in compared(plan(), Budget(2 * 2048, 1e6), Here(), STATE, False)


def test_coverage_grows(folder):
    of = plan()
    total, seen = Outcome(), []
    for unit in range(3):
        total.add(outcome(of, unit))
        seen.append(np.count_nonzero(total.counts[SEQUENCES]))
    assert 0 < seen[0] < seen[1] < seen[2]


def test_units_are_different_and_stalls_are_those_that_are_given(folder):
    free, fixed = plan(), plan(rates=(0.0, 0.5))
    outcomes = [outcome(free, unit) for unit in range(3)] + [outcome(plan(seed=1), 0)]
    assert len({each.counts[SEQUENCES].tobytes() for each in outcomes}) == 4
    assert pickle.dumps(outcome(free, 1)) == pickle.dumps(outcomes[1])
    windows = [
        next(stalls.windows(20_000))
        for stalls in (fixed.stimulus(0).input_stalls, fixed.stimulus(0).output_stalls)
    ]
    assert not windows[0].any()
    assert 0.45 < windows[1].mean() < 0.55


@needs_compiler
def test_engines_see_the_same(folder):
    here, there = outcome(plan(), 3), outcome(plan(engine="cxxrtl"), 3)
    assert here.counts["cells"].tolist() == there.counts["cells"].tolist()
    assert (here.cycles, here.values) == (there.cycles, there.values)


# --- the state file -----------------------------------------------------------------------------


UCS4_DECODER = DesignSpec("decoder", profile=UCS4)


def exhaustive(**other: Any) -> Exhaustive:
    return replace(
        Exhaustive(spec=DesignSpec("decoder"), engine="amaranth", seed=0, length=1),
        **other,
    )


def test_the_state_of_another_comparison_is_refused(folder, monkeypatch):
    compared(plan(), Budget(1), Here())
    before = Path("state.json").read_bytes()
    others = [
        *(plan(seed=1), plan(rates=(0.0, None)), plan(SPECS["decoder"])),
        plan(replace(SPECS["compact decoder"], profile=UCS4)),
        *(exhaustive(), exhaustive(length=2), exhaustive(rates=(0.3, 0.0))),
        *(exhaustive(engine="cxxrtl"), exhaustive(spec=UCS4_DECODER), exhaustive(seed=1)),
    ]
    for other in others:
        with pytest.raises(UsageError, match=r"^state 'state.json' is not that of this comparison"):
            State(other, "state.json")
    result = run("compare", "--exhaustive", 1, "--compact", "--state", "state.json")
    assert_refused(result, "--state 'state.json' is not that of this comparison (other options")
    assert Path("state.json").read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr(sources, "design_rtlil", lambda design: "the same for all")
        assert len({each.identity() for each in [*others, plan(), plan(cycles=4096)]}) == 12
    usual = exhaustive().identity()
    break_design(monkeypatch, "range: F5 is in range")
    assert exhaustive().identity() != usual


OF_BEFORE = '["identity", 1000, [true, false], 42]', '["identity", {"units": 1}, 42]'


@pytest.mark.parametrize(
    ("content", "why"),
    [
        *((content, "a file of an earlier version") for content in OF_BEFORE),
        *((content, "another kind of file") for content in ("{}", "7", '{"format": "other"}')),
        ("[" * 100_000, ""),
        (b"\xff\xfe", ""),
    ],
)
@pytest.mark.parametrize("option", ["--exhaustive", "--cycles"])
def test_a_file_that_is_no_state_is_refused_and_untouched(folder, option, content, why):
    content = content.encode() if isinstance(content, str) else content
    Path("state.json").write_bytes(content)
    result = run("compare", option, 1, "--state", "state.json")
    assert_refused(result, f"--state 'state.json' is not that of this comparison ({why}")
    assert Path("state.json").read_bytes() == content


def test_a_folder_is_no_state(folder):
    Path("state.json").mkdir()
    with pytest.raises(UsageError, match=r"^state 'state.json' is not that .*Is a directory"):
        State(plan(), "state.json")


@pytest.mark.parametrize(
    ("before", "after"),
    [('"units": 1', '"units": -5'), ('"units"', '"unit"'), ('"cycles": 2048', '"cycles": null')],
)
def test_a_damaged_state_is_refused(folder, before, after):
    compared(plan(), Budget(1), Here())
    damaged = Path("state.json").read_text().replace(before, after)
    Path("state.json").write_text(damaged)
    with pytest.raises(UsageError, match=r"of this comparison \(damaged\)"):
        compared(plan(), Budget(1), Here())
    assert Path("state.json").read_text() == damaged


@pytest.mark.parametrize("option", ["--exhaustive", "--cycles"])
def test_a_state_that_is_a_link_stays_one(folder, option):
    """Its target is written and removed."""
    Path("state.json").symlink_to("target.json")
    result = run("compare", option, 1, "--state", "state.json")
    assert result.status == 0
    assert Path("state.json").is_symlink()
    assert Path("target.json").exists() == (option == "--cycles")  # this one is kept


def test_the_state_is_not_written_for_each_unit(folder, monkeypatch):
    written, usual = [], state.open_output
    monkeypatch.setattr(state, "SAVED_EVERY", 1e9)
    monkeypatch.setattr(state, "open_output", lambda path: [written.append(path), usual(path)][1])
    compared(plan(), Budget(7 * 2048), Here())
    assert len(written) == 2
    assert json.loads(Path("state.json").read_text())["units"] == 7


def test_the_state_of_other_sources_or_another_numpy_is_refused(folder, monkeypatch):
    usual = plan().identity()
    with monkeypatch.context() as patch:
        patch.setattr(np, "__version__", "0.1")
        assert plan().identity() != usual
    monkeypatch.setattr(sources, "contents", lambda folder: [b"something else"])
    assert plan().identity() != usual


# --- differences --------------------------------------------------------------------------------


class Rare(CxxrtlEngine):
    """Of some characters of three bytes the last bit is wrong if they come after a stall."""

    def run(self, stimulus):
        for trace in super().run(stimulus):
            stalled = np.append(False, trace["o.valid"][:-1] > trace["o.ready"][:-1])
            rare = (trace["o.code_point"] & 0x1FF == 0xBC) & (trace["o.length"] == 3)
            trace["o.code_point"][stalled & rare & (trace["o.valid"] != 0)] ^= 1
            yield trace


@needs_compiler
def test_a_rare_difference_is_found_explained_and_shrunk(folder, monkeypatch):
    monkeypatch.setitem(ENGINES, "cxxrtl", Rare)
    result = run("compare", "--compact", "--engine", "cxxrtl", "--unit", 3)
    assert result.status == 1
    assert "hardware and golden model differ\nstimulus: unit 3, seed 0\n" in result.out
    assert re.search(r"DIFFERENCE: cycle \d+, pin o.code_point: expected [\dA-F]+BC", result.out)
    assert "shortest input found: 3 bytes" in result.out
    assert "--stall-output-cycles" in result.out
    assert "agree" not in result.out
    assert_is_waveform("utf8-hdl-difference.vcd")
    assert STATE not in names(folder)


@needs_compiler
def test_a_flaw_is_found(folder, monkeypatch):
    options = break_design(monkeypatch, "compact: range: F5 is in range")
    for _ in range(2):  # the unit is not done, so it comes once more
        result = run("compare", *options, "--engine", "cxxrtl", "--cycles", 1)
        assert result.status == 1
        assert "stimulus: unit 0, seed 0" in result.out.splitlines()
        assert "shortest input found" in result.out
        assert "agree" not in result.out
        assert STATE not in names(folder)


def test_the_first_unit_that_is_wrong_is_explained(folder, monkeypatch):
    agree = outcome(plan(), 0)

    class Others(Here):
        def do(self, work, items):
            for unit in [1, 0, 5, 3, 2, 4]:
                yield unit, replace(agree, wrong=f"unit {unit}" * (unit > 3))

    show = console()
    with pytest.raises(VerificationFailed):
        compared(plan(), Budget(9 * 2048), Others(), STATE, show=show)
    out = show.file.getvalue()
    assert "stimulus: unit 4, seed 0" in out
    assert "not reproducible: unit 4; the same stimulus" in out
    assert json.loads(Path(STATE).read_text())["units"] == 4


# --- the command --------------------------------------------------------------------------------


@needs_compiler
def test_a_whole_run(folder):
    options = ["compare", "--compact", "--cycles", 1 << 21, "--state", "mine.json"]
    first = run(*options)
    assert (first.status, re.sub("^utf8-hdl: working: .*\n", "", first.err, flags=re.M)) == (0, "")
    assert "every class met every state" in first.out.splitlines()
    assert "units 0-1 of seed 0: " in first.out
    assert names(folder) == {"text.txt", "mine.json"}
    again = run(*options)
    assert (again.status, again.err) == (0, "")
    assert "units 0-1 were compared before (mine.json)" in again.out
    assert again.out.splitlines()[4:] == first.out.splitlines()[4:]
    one = run("compare", "--compact", "--unit", 1)
    assert one.status == 0
    assert "unit 1 of seed 0: " in one.out
    assert names(folder) == {"text.txt", "mine.json"}
    short = run("compare", "--compact", "--cycles", 1)
    assert short.status == 0
    assert names(folder) == {"text.txt", "mine.json"}


@pytest.mark.long
@needs_compiler
@needs_proc
def test_an_interrupted_run_goes_on_where_it_stopped(folder):
    with Process("compare", "--compact", "--hours", 9) as first:
        wait_until(Path(STATE).exists)
        os.killpg(first.process.pid, signal.SIGINT)
        status, out, err = first.end()
    assert (status, err) == (130, "")
    done = int(re.search(rf"the same command resumes at unit (\d+) \({STATE}\)", out)[1])
    assert re.search(rf"^interrupted after {done << 20} cycles, which agree$", out, re.M)
    assert "in all" not in out
    assert names(folder) == {"text.txt", STATE}
    result = run("compare", "--compact", "--cycles", (done + 1) << 20)
    assert result.status == 0
    assert f"random stimuli of seed 0, from unit {done} on" in result.out
    assert f"units 0-{done} of seed 0: " in result.out
    assert f"in all {(done + 1) << 20} cycles" in result.out
    assert names(folder) == {"text.txt"}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--cycles 0", "'--cycles': Input should be greater than or equal to 1"),
        (f"--cycles {10**19}", "Input should be less than or equal to 1000000000000000000"),
        ("--hours inf", "'--hours': Input should be less than or equal to 1000000"),
        ("--hours nan", "Invalid value for '--hours'"),
        ("--cycles x", "'--cycles': Input should be a valid integer"),
        ("--hours -1", "'--hours': Input should be greater than or equal to 0"),
        ("--cycles 1 --exhaustive 1", "give --exhaustive or --cycles, not both"),
        ("--unit 1 --hours 1", "give --unit or --hours, not both"),
        ("--cycles 1 text.txt", "FILE has no effect with --cycles"),
        ("--hours 1 --text A", "--text has no effect with --hours"),
        ("--unit 1 --tokens -", "--tokens has no effect with --unit"),
        ("--cycles 1 --stall-input-cycles 3", "--stall-input-cycles has no effect with --cycles"),
        ("--unit 1 --state out", "--state has no effect with --unit"),
        ("--state out", "--state has no effect without --exhaustive, --cycles or --hours"),
        ("--text A --cluster tcp://127.0.0.1:1", "--cluster has no effect on texts that are given"),
        ("--cycles 1 --state -", "--state needs the name of a file"),
        ("--cycles 1 --state out --vcd out", "--state"),
    ],
)
def test_wrong_usage_is_refused(folder, arguments, named):
    assert_refused(run("compare", *arguments.split()), named)
    assert names(folder) == {"text.txt"}
