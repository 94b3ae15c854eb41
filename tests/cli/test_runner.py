"""The loop of `compare`: units, budgets, the state file, and work in other processes."""

import io
import json
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

from command import Process, assert_refused, break_design, names, output_of, run
from needs import needs_compiler
from utf8_flow.cli.choices import Stalling
from utf8_flow.designs import DesignSpec
from utf8_flow.terminal import Interrupted, VerificationFailed
from utf8_flow.verify import sources, state
from utf8_flow.verify.runner import Budget, Runner, outcome_of
from utf8_flow.verify.sources import Campaign, Exhaustive, RandomUnits
from utf8_flow.verify.state import SEQUENCES, Outcome, State
from utf8_hdl import UCS4
from utf8_sim.tools.cores import Cores
from utf8_sim.tools.errors import ToolError, UsageError

STATE = "utf8-hdl-compare.json"


class SerialWorkers:
    """Workers that process all items in this process, in order, and record them in ``done``.

    The work fails with ``error`` after ``limit`` items.
    """

    def __init__(self, limit: int = 1 << 62, error: type[BaseException] | None = None) -> None:
        self._limit = limit
        self._error = error
        self.done: list[int] = []

    def __str__(self) -> str:
        return "2 cores"

    def do(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            if len(self.done) == self._limit:
                raise self._error("a worker process died")
            self.done.append(item)
            yield item, work(item)


class ShuffledWorkers(SerialWorkers):
    """Workers that receive and return copies, and finish in another order."""

    def do(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        sent = pickle.dumps(work)
        done = super().do(pickle.loads(sent), items)
        while some := list(islice(done, 3)):
            yield from pickle.loads(pickle.dumps(some[::-1]))


def console() -> Console:
    return Console(file=io.StringIO(), width=200, highlight=False)


# --- the campaign -------------------------------------------------------------------------------


def run_campaign(plan: Campaign, workers: Any) -> tuple[str, bytes]:
    """Run a campaign; return its report and its file of tokens."""
    show = console()
    Runner(show, plan, workers=workers, tokens="tokens.jsonl").compare("difference.vcd", None)
    return show.file.getvalue(), Path("tokens.jsonl").read_bytes()


@pytest.mark.long
@needs_compiler
def test_campaign_is_the_same_in_workers(folder):
    spec, modes = DesignSpec("decoder", compact=True), Stalling(0).modes()[::2]
    plan = Campaign(spec=spec, engine="cxxrtl", seed=0, modes=modes)
    report, tokens = run_campaign(plan, None)
    assert "agree on every output pin" in report
    assert "not covered" not in report
    assert len(tokens) > 10_000
    shuffled = ShuffledWorkers()
    assert run_campaign(plan, shuffled) == (report, tokens)
    assert sorted(shuffled.done) == [*range(plan.units)]
    assert run_campaign(plan, Cores()) == (report, tokens)


# --- random units -------------------------------------------------------------------------------

COMPACT = DesignSpec("decoder", compact=True)

UNIT = 512
"""Number of cycles of a unit in these tests."""


def plan(spec: DesignSpec = COMPACT, **other: Any) -> RandomUnits:
    short = RandomUnits(spec=spec, engine="amaranth", seed=0, cycles=UNIT)
    return replace(short, **other)


def compared(
    of: RandomUnits, budget: Budget, workers: Any, state: str | None = "state.json",
    kept: bool = True, show: Console | None = None,
) -> str:  # fmt: skip
    """Run a comparison; return its report."""
    show = show or console()
    run_all = Runner(show, of, workers=workers, budget=budget, state_file=state)
    run_all.compare("difference.vcd", None, keeps_state=kept)
    return show.file.getvalue()


def outcome(of: RandomUnits, unit: int) -> Outcome:
    return outcome_of(of, False, unit)


def without_heading(out: str) -> list[str]:
    return [line for line in out.splitlines() if not line.startswith("random stimuli of")]


@pytest.mark.long
@pytest.mark.parametrize("end", [KeyboardInterrupt, ToolError])
def test_interrupted_run_resumes(folder, end):
    of, budget, show = plan(), Budget(cycles=7 * UNIT), console()
    whole = compared(of, budget, SerialWorkers())
    assert "random stimuli of seed 0, from unit 0 on" in whole.splitlines()
    assert re.search(r"^units 0-6 of seed 0: \d+ bytes accepted in 3584 cycles$", whole, re.M)
    seen, of_all = map(int, re.search(r"in a row: (\d+) of (\d+) sequences", whole).groups())
    assert 50 < seen < of_all == 2 * 17**4
    state = Path("state.json").read_bytes()
    Path("state.json").unlink()
    workers = ShuffledWorkers(4, end)  # the fourth is lost with the others of its batch
    with pytest.raises(Interrupted if end is KeyboardInterrupt else ToolError):
        compared(of, budget, workers, show=show)
    if end is KeyboardInterrupt:
        lines = show.file.getvalue().splitlines()
        assert "the same command resumes at unit 3 (state.json)" in lines
        assert f"interrupted after {3 * UNIT} cycles, which agree" in lines
    assert json.loads(Path("state.json").read_text())["units"] == 3
    again = SerialWorkers()
    assert without_heading(compared(of, budget, again)) == without_heading(whole)
    assert again.done == [3, 4, 5, 6]
    assert Path("state.json").read_bytes() == state


def test_larger_budget_runs_more_units(folder):
    of, workers = plan(), SerialWorkers()
    for cycles, done in ((1, 1), (UNIT, 1), (UNIT + 1, 2), (4 * UNIT, 4), (UNIT, 4)):
        out = compared(of, Budget(cycles), workers)
        assert workers.done == [*range(done)]
        assert f"in all {done * UNIT} cycles" in out
        content = json.loads(Path("state.json").read_text())
        assert (content["seed"], content["units"]) == (0, done)
        assert content["total"]["cycles"] == done * UNIT
    assert "units 0-3 were compared earlier (state.json)" in out
    at_once = compared(of, Budget(4 * UNIT), SerialWorkers(), state=None)
    assert at_once.splitlines()[-5:] == out.splitlines()[-5:]


def test_hours_end_a_run(folder):
    for budget in Budget(hours=0.0), Budget(1 << 40, 0.0):
        workers = SerialWorkers()
        assert f"in all {UNIT} cycles" in compared(plan(), budget, workers, STATE, kept=False)
        assert workers.done == [0]
        assert names(folder) == {"text.txt"}
    budget = Budget(2 * UNIT, 1e6)
    assert f"in all {2 * UNIT} cycles" in compared(plan(), budget, SerialWorkers(), STATE, False)


def test_units_differ_and_stalls_have_their_rates(folder):
    free, fixed = plan(), plan(rates=(0.0, 0.5))
    outcomes = [outcome(free, unit) for unit in range(3)] + [outcome(plan(seed=1), 0)]
    assert len({each.counts[SEQUENCES].tobytes() for each in outcomes}) == 4
    assert pickle.dumps(outcome(free, 1)) == pickle.dumps(outcomes[1])
    total, seen = Outcome(), []
    for each in outcomes:
        total.add(each)
        seen.append(np.count_nonzero(total.counts[SEQUENCES]))
    assert 0 < seen[0] < seen[1] < seen[2]
    assert total.values == sum(each.values for each in outcomes) > 0
    i, o = fixed.stimulus(0).input_stalls, fixed.stimulus(0).output_stalls
    assert not next(i.windows(20_000)).any()
    assert 0.45 < next(o.windows(20_000)).mean() < 0.55


# --- the state file -----------------------------------------------------------------------------


@pytest.fixture
def same_rtlil(monkeypatch):
    """Use the same RTLIL for all designs, because its generation is slow."""
    monkeypatch.setattr(sources, "design_rtlil", lambda design: "the same for all")


@pytest.mark.usefixtures("same_rtlil")
def test_state_of_another_comparison_is_refused(folder):
    compared(plan(), Budget(1), SerialWorkers())
    before = Path("state.json").read_bytes()
    every_text = Exhaustive(spec=COMPACT, engine="amaranth", seed=0, length=1)
    others = [
        plan(seed=1),
        plan(rates=(0.0, None)),
        plan(cycles=4096),
        plan(replace(COMPACT, profile=UCS4)),
        every_text,
        replace(every_text, length=2),
    ]
    for other in others:
        with pytest.raises(UsageError, match=r"^state 'state.json' is not from this comparison"):
            State(other, "state.json")
    assert len({each.identity() for each in [*others, plan()]}) == len(others) + 1
    result = run("compare", "--exhaustive", 1, "--compact", "--state", "state.json")
    assert_refused(result, "--state 'state.json' is not from this comparison (other options")
    assert Path("state.json").read_bytes() == before


def test_identity_depends_on_design_sources_and_numpy(monkeypatch):
    usual = plan().identity()
    with monkeypatch.context() as patch:
        patch.setattr(np, "__version__", "0.1")
        assert plan().identity() != usual
    with monkeypatch.context() as patch:
        patch.setattr(sources, "contents", lambda folder: [b"something else"])
        assert plan().identity() != usual
    break_design(monkeypatch, "compact: range: F5 is in range")
    assert plan().identity() != usual


@pytest.mark.usefixtures("same_rtlil")
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'["identity", 1000, [true, false], 42]', "a file of an earlier version"),
        (b"7", "another kind of file"),
        (b'{"format": "other"}', "another kind of file"),
        (b"[" * 100_000, ""),
        (b"\xff\xfe", ""),
    ],
    ids=["earlier", "number", "other", "deep", "binary"],
)
def test_file_without_a_state_is_refused(folder, content, why):
    Path("state.json").write_bytes(content)
    message = rf"^state 'state.json' is not from this comparison \({why}"
    with pytest.raises(UsageError, match=message):
        State(plan(), "state.json")
    assert Path("state.json").read_bytes() == content


@pytest.mark.usefixtures("same_rtlil")
def test_damaged_state_and_folder_are_refused(folder):
    path = Path("state.json")
    compared(plan(), Budget(1), SerialWorkers())
    whole = path.read_text()
    damaged = whole.replace('"units": 1', '"units": -5')
    assert damaged != whole
    path.write_text(damaged)
    with pytest.raises(UsageError, match=r"from this comparison \(damaged\)"):
        State(plan(), "state.json")
    assert path.read_text() == damaged
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError, match=r"^state 'state.json' is not from .*Is a directory"):
        State(plan(), "state.json")


@pytest.mark.parametrize("kept", [False, True])
def test_link_to_a_state_is_kept(folder, kept):
    """Its target is written and removed."""
    Path("state.json").symlink_to("target.json")
    compared(plan(), Budget(1), SerialWorkers(), kept=kept)
    assert Path("state.json").is_symlink()
    assert Path("target.json").exists() == kept


def test_state_is_not_written_for_each_unit(folder, monkeypatch):
    written, usual = [], state.open_output
    monkeypatch.setattr(state, "SAVED_EVERY", 1e9)
    monkeypatch.setattr(state, "open_output", lambda path: [written.append(path), usual(path)][1])
    compared(plan(), Budget(7 * UNIT), SerialWorkers())
    assert len(written) == 2
    assert json.loads(Path("state.json").read_text())["units"] == 7


# --- differences --------------------------------------------------------------------------------


@needs_compiler
def test_failed_unit_is_not_recorded(folder, monkeypatch):
    options = break_design(monkeypatch, "compact: range: F5 is in range")
    out = output_of("compare", *options, "--engine", "cxxrtl", "--cycles", 1, status=1)
    assert "hardware and golden model differ\nstimulus: unit 0, seed 0\n" in out
    assert "shortest input found" in out
    assert "agree" not in out
    assert STATE not in names(folder)


def test_first_wrong_unit_is_explained(folder, monkeypatch):
    agree = outcome(plan(), 0)

    class Unordered(SerialWorkers):
        def do(self, work, items):
            for unit in [1, 0, 5, 3, 2, 4]:
                yield unit, replace(agree, wrong=f"unit {unit}" * (unit > 3))

    show = console()
    with pytest.raises(VerificationFailed):
        compared(plan(), Budget(9 * UNIT), Unordered(), STATE, show=show)
    out = show.file.getvalue()
    assert "stimulus: unit 4, seed 0" in out
    assert "not reproducible: unit 4; the same stimulus" in out
    assert "agree" not in out
    assert json.loads(Path(STATE).read_text())["units"] == 4


# --- the command --------------------------------------------------------------------------------


@needs_compiler
def test_compare_cycles(folder):
    options = ["compare", "--compact", "--cycles", 1, "--state", "mine.json"]
    first = output_of(*options)
    assert "unit 0 of seed 0: " in first
    assert names(folder) == {"text.txt", "mine.json"}
    again = output_of(*options)
    assert "units 0-0 were compared earlier (mine.json)" in again
    assert again.splitlines()[4:] == first.splitlines()[4:]
    assert run("compare", "--compact", "--unit", 1).status == 0
    assert names(folder) == {"text.txt", "mine.json"}


@pytest.mark.long
@needs_compiler
def test_compare_hours_resumes_after_an_interrupt(folder):
    saved = signal.SIGINT, "os.rename", r"/\.utf8-hdl-\w+$"
    with Process("compare", "--compact", "--hours", 9, signals=[saved]) as first:
        status, out, err = first.end()
    assert (status, err) == (130, "")
    done = int(re.search(rf"the same command resumes at unit (\d+) \({STATE}\)", out)[1])
    assert re.search(rf"^interrupted after {done << 20} cycles, which agree$", out, re.M)
    assert "in all" not in out
    assert names(folder) == {"text.txt", STATE}
    out = output_of("compare", "--compact", "--cycles", (done + 1) << 20)
    assert "every class occurred with every state" in out.splitlines()
    assert f"units 0-{done} of seed 0: " in out
    assert f"in all {(done + 1) << 20} cycles" in out
    assert names(folder) == {"text.txt"}
