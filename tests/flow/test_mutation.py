"""`utf8-hdl mutate`: wrong designs are noticed, and if they were not it would say so."""

import random
import re
from dataclasses import replace

import pytest

from command import assert_refused, run
from rtl import STALLS
from utf8_hdl import UCS2, Encoder
from utf8_sim.campaign import campaign
from utf8_sim.engines.engine import AmaranthEngine

pytest.importorskip("pyosys", reason="pyosys is not installed")

from utf8_flow.components import ENTRIES, makers
from utf8_flow.formal.circuit import Circuit
from utf8_flow.formal.mutation import MutantEngine, Trial, circuits, make_mutants
from utf8_flow.verify import mutants as command_mutants

COUNT = 24


@pytest.fixture(scope="module")
def mutants():
    return make_mutants(Encoder(UCS2), COUNT, seed=1)


@pytest.fixture(scope="module")
def trial(mutants):
    engine = MutantEngine(Encoder(UCS2), mutants)
    parts = campaign(AmaranthEngine(Encoder(UCS2)), seed=0)
    return Trial(
        engine,
        parts,
        list(STALLS.items()),
        circuits(mutants, makers(), ENTRIES["encoder"].proofs(False)),
    )


def test_a_seed_always_gives_the_same_mutants(mutants):
    again = make_mutants(Encoder(UCS2), COUNT, seed=1)
    assert (again.verilog, again.code) == (mutants.verilog, mutants.code)
    assert make_mutants(Encoder(UCS2), COUNT, seed=2).places != mutants.places


def test_every_gate_can_be_wrong(mutants):
    every = make_mutants(Encoder(UCS2), 10**6, seed=1)
    gates = {place.split(",")[0] for place in every.places}
    assert len(gates) == every.gates == mutants.gates
    assert len(set(every.places)) > 1000


def test_no_mutant_is_the_design(trial):
    assert trial.judge(0).equivalent


def test_every_mutant_is_killed_or_equivalent(trial):
    fates = [trial.judge(number) for number in range(1, COUNT + 1)]
    assert not any(fate.survives for fate in fates)
    assert sum(fate.stimulus is not None for fate in fates) > COUNT / 2
    assert sum(fate.promise is not None for fate in fates) > COUNT / 2
    assert all(bool(fate.stimulus or fate.promise) != fate.equivalent for fate in fates)


def test_checks_that_look_at_nothing_kill_nothing(trial):
    idle = replace(trial, parts=[], circuits={"": trial.circuits[""]})
    fates = [idle.judge(number) for number in range(1, COUNT + 1)]
    assert sum(fate.survives for fate in fates) > COUNT / 2


def test_mutants_that_differ_are_not_called_equivalent(trial):
    blind = replace(trial, circuits={"": trial.circuits[""].tied({})}, parts=[])
    first_killed = next(n for n in range(1, COUNT + 1) if trial.judge(n).stimulus)
    assert blind.judge(first_killed).survives


def test_an_equivalence_that_a_stimulus_refutes_is_an_error(trial):
    never = Circuit(trial.circuits[""].inputs, (), {"wrong": 0}, ())
    gullible = replace(trial, circuits={"": never})
    first_killed = next(n for n in range(1, COUNT + 1) if trial.judge(n).stimulus)
    with pytest.raises(RuntimeError, match="proved equivalent and differs"):
        gullible.judge(first_killed)


def test_tied_inputs_are_as_if_they_were_driven_so(trial):
    circuit = trial.circuits["bytes"]
    generator = random.Random(5)
    tied = {n: generator.getrandbits(1) for n in range(0, len(circuit.inputs), 3)}
    stimulus = [[generator.getrandbits(1) for _ in circuit.inputs] for _ in range(40)]
    driven = [
        [tied.get(number, level) for number, level in enumerate(levels)] for levels in stimulus
    ]
    assert circuit.tied(tied).simulate(stimulus) == circuit.simulate(driven)
    assert len(circuit.tied(tied).gates) < len(circuit.gates)


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


def test_survivors_are_named_and_make_it_fail(monkeypatch):
    def blind(*arguments):
        return {"": circuits(*arguments)[""]}

    monkeypatch.setattr(command_mutants, "circuits", blind)
    monkeypatch.setattr(command_mutants, "on_all_cores", one_by_one)
    monkeypatch.setattr(command_mutants, "campaign", lambda *_: [])
    result = run("mutate", "--component", "encoder", "--profile", "ucs2", "--mutants", COUNT)
    assert result.status == 1
    survived = int(re.search(r"(\d+)  survived", result.out)[1])
    assert survived > COUNT / 2
    assert len(re.findall(r"^ +\d+: \$_\w+_ .*, port \w: \w+$", result.out, re.M)) == survived


def one_by_one(work, items, start, arguments):
    start(*arguments)
    return ((item, work(item)) for item in items)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--mutants", 0], "--mutants must be 1 or more, not 0"),
        (["--component", "coder"], "decoder, encoder"),
        (["--profile", "utf7"], "unicode"),
        (["--seed", -1], "--seed must be 0 or more"),
    ],
)
def test_wrong_options_are_refused(arguments, named):
    assert_refused(run("mutate", *arguments), named)
