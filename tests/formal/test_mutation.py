"""`utf8-hdl mutate`: wrong designs are noticed, and if they were not it would say so."""

import re
from dataclasses import replace
from itertools import product

import pytest

from command import assert_refused, run
from rtl import STALLS
from utf8_hdl import UCS2

pytest.importorskip("pyosys", reason="pyosys is not installed")

from utf8_flow.designs import DesignSpec
from utf8_flow.formal import mutation
from utf8_flow.formal.circuit import Circuit
from utf8_flow.formal.mutation import Trial, circuits, make_mutants
from utf8_flow.formal.prover import decide, fails_within
from utf8_flow.verify import mutants as command_mutants
from utf8_sim.campaign import Mode
from utf8_sim.tools.cores import Cores

COUNT = 16
ENCODER = DesignSpec("encoder", profile=UCS2)


@pytest.fixture(scope="module")
def mutants():
    return make_mutants(ENCODER, COUNT, seed=1)


@pytest.fixture(scope="module")
def trial(mutants):
    return Trial(
        mutants, circuits(mutants), [Mode(name, *stalls) for name, stalls in STALLS.items()], seed=0
    )


def test_a_seed_always_gives_the_same_mutants(mutants):
    assert make_mutants(ENCODER, COUNT, seed=1) == mutants
    assert make_mutants(ENCODER, COUNT, seed=2).places != mutants.places


def test_every_gate_can_be_wrong(mutants):
    every = make_mutants(ENCODER, 10**6, seed=1)
    gates = {place.split(",")[0] for place in every.places}
    assert len(gates) == every.gates == mutants.gates
    assert len(set(every.places)) > 1000


def test_every_mutant_is_killed_or_equivalent(trial):
    design, *others = map(trial.judge, range(1 + COUNT))
    assert design.equivalent
    assert not any(fate.survives for fate in others)
    assert sum(fate.stimulus is not None for fate in others) > COUNT / 2
    assert sum(fate.promise is not None for fate in others) > COUNT / 2
    assert all(bool(fate.stimulus or fate.promise) != fate.equivalent for fate in others)


def test_a_register_that_reset_leaves_alone_is_noticed():
    mutants = make_mutants(ENCODER, COUNT, seed=2)
    circuit = circuits(mutants)["reset"]
    [place] = [place for place in mutants.places if re.search("DFF.* port R: const0", place)]
    assert decide(mutation._alive(circuit, 0))[0] == "proved"
    assert decide(mutation._alive(circuit, 1 + mutants.places.index(place)))[0] == "FAILED"


def test_mutants_of_a_compactor_meet_what_is_said_of_pins():
    """All else that is proved of one is about names inside, which a netlist has not."""
    compactor = make_mutants(DesignSpec("compactor", lanes=2), 1, seed=1)
    assert list(circuits(compactor)) == ["drains", ""]


def test_a_decoder_without_a_fault_has_every_property():
    """`drains`, too, which states something about the first cycles only."""
    mutants = make_mutants(DesignSpec("decoder", compact=True), 1, seed=1)
    asked = circuits(mutants)
    assert "drains" in asked
    assert Trial(mutants, asked, [], seed=0)._broken_property(0) is None


def test_checks_that_look_at_nothing_kill_nothing(trial):
    idle = replace(trial, modes=[], circuits={"": trial.circuits[""]})
    assert sum(idle.judge(number).survives for number in range(1 + COUNT)) > COUNT / 2


def test_an_equivalence_that_a_stimulus_refutes_is_an_error(trial):
    never = replace(trial.circuits[""], outputs={"wrong": 0})
    gullible = replace(trial, circuits={"": never})
    with pytest.raises(RuntimeError, match="proved equivalent and differs"):
        list(map(gullible.judge, range(1 + COUNT)))


def test_an_equivalence_that_takes_too_long_is_none(trial, monkeypatch):
    monkeypatch.setattr(mutation, "decide", lambda *_, seconds: ("UNDECIDED", f"in {seconds} s"))
    assert replace(trial, circuits={"": trial.circuits[""]}).judge(0).survives


def test_a_prover_ties_inputs():
    """The output is low, and the input on which it depends, only if the first one is."""
    circuit = Circuit(("first", "second"), (0,), {"wrong": 8}, ((4, 2),))
    for number, level in product(range(2), range(2)):
        tied = replace(circuit, levels=((number, level),))
        assert decide(tied)[0] == ("FAILED" if level else "proved")
        assert fails_within(tied, 2) == level


# --- the command --------------------------------------------------------------------------------


@pytest.mark.long
def test_the_table_counts_every_mutant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("mutate", "--component", "encoder", "--profile", "ucs2", "--mutants", COUNT)
    assert (result.status, result.err) == (0, "")
    assert re.search(rf"^encoder, ucs2: {COUNT} mutants of \d+ gates, seed 0$", result.out, re.M)
    killed, equivalent, survived = (
        int(re.search(rf"(\d+)  {what}", result.out)[1])
        for what in ("killed by a property", "proved to do the same", "survived")
    )
    assert killed + equivalent == COUNT
    assert survived == 0
    assert list(tmp_path.iterdir()) == []


def test_survivors_are_named_and_make_it_fail(monkeypatch, mutants, trial):
    blind = {"": trial.circuits[""]}
    monkeypatch.setattr(command_mutants, "make_mutants", lambda *_: mutants)
    monkeypatch.setattr(command_mutants, "circuits", lambda _: blind)
    monkeypatch.setattr(Cores, "do", lambda _, work, items: ((item, work(item)) for item in items))
    monkeypatch.setattr(mutation.Trial, "parts", [])
    result = run("mutate", "--component", "encoder", "--profile", "ucs2", "--mutants", COUNT)
    assert result.status == 1
    survived = int(re.search(r"(\d+)  survived", result.out)[1])
    assert survived > COUNT / 2
    assert len(re.findall(r"^ +\d+: \$_\w+_ .*, port \w: \w+$", result.out, re.M)) == survived


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--mutants", 0], "'--mutants': Input should be greater than or equal to 1"),
        (["--component", "coder"], "decoder, encoder"),
        (["--profile", "utf7"], "unicode"),
    ],
)
def test_wrong_options_are_refused(arguments, named):
    assert_refused(run("mutate", *arguments), named)
