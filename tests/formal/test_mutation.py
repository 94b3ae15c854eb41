"""`utf8-hdl mutate`: mutants are killed or proved equivalent, and survivors are reported."""

import re
from dataclasses import replace
from itertools import product

import pytest

from command import names, run
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

pytestmark = pytest.mark.xdist_group("mutants")

COUNT = 12
ENCODER = DesignSpec("encoder", profile=UCS2)
COMMAND = "mutate", "--component", "encoder", "--profile", "ucs2", "--mutants", COUNT


@pytest.fixture(scope="module")
def mutants():
    return make_mutants(ENCODER, COUNT, seed=1)


@pytest.fixture(scope="module")
def others():
    """Mutants of another seed, and four more."""
    return make_mutants(ENCODER, COUNT + 4, seed=2)


@pytest.fixture(scope="module")
def trial(mutants):
    """A trial with the campaign, but without properties."""
    modes = [Mode(name, *stalls) for name, stalls in STALLS.items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mutation, "proofs_of", lambda _: [])
        return Trial(mutants, circuits(mutants), modes, seed=0)


# --- mutants --------------------------------------------------------------------------------------


@pytest.mark.long
def test_mutants_cover_every_gate_and_depend_on_the_seed(mutants, others):
    assert make_mutants(ENCODER, COUNT, seed=1) == mutants
    assert others.places[:COUNT] != mutants.places
    every = make_mutants(ENCODER, 10**6, seed=1)
    gates = {place.split(",")[0] for place in every.places}
    assert len(gates) == every.gates == mutants.gates
    assert len(set(every.places)) > 1000


# --- trials ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_stimulus_kills_mutants(trial):
    design, *others = map(trial.judge, range(4))
    assert design.equivalent
    assert all(fate.stimulus and not fate.equivalent for fate in others)


@pytest.mark.long
def test_reset_property_kills_register_without_reset(others):
    circuit = circuits(others)["reset"]
    [place] = [place for place in others.places if re.search("DFF.* port R: const0", place)]
    assert decide(mutation._alive(circuit, 0))[0] == "proved"
    assert decide(mutation._alive(circuit, 1 + others.places.index(place)))[0] == "FAILED"


@pytest.mark.long
def test_trial_of_compactor_has_only_properties_of_pins():
    """The other properties use names of internal signals, which a netlist does not have."""
    compactor = make_mutants(DesignSpec("compactor", lanes=2), 1, seed=1)
    assert list(circuits(compactor)) == ["drains", ""]


@pytest.mark.long
def test_unaltered_decoder_breaks_no_property():
    """This includes `drains`, which only applies to the first cycles."""
    mutants = make_mutants(DesignSpec("decoder", compact=True), 1, seed=1)
    asked = circuits(mutants)
    assert "drains" in asked
    assert Trial(mutants, asked, [], seed=0)._broken_property(0) is None


@pytest.mark.long
def test_contradictory_verdicts_raise_an_error(trial):
    """A mutant is proved equivalent, but a stimulus kills it."""
    never = replace(trial.circuits[""], outputs={"wrong": 0})
    wrong = replace(trial, circuits={"": never})
    with pytest.raises(RuntimeError, match="proved equivalent and differs"):
        wrong.judge(1)


@pytest.mark.long
def test_undecided_equivalence_counts_as_survival(trial, monkeypatch):
    monkeypatch.setattr(mutation, "decide", lambda *_, seconds: ("UNDECIDED", f"in {seconds} s"))
    assert trial.judge(0).survives


@pytest.mark.long
def test_prover_ties_inputs_to_levels():
    """The output is the conjunction of both inputs."""
    circuit = Circuit(("first", "second"), (0,), {"wrong": 8}, ((4, 2),))
    for number, level in product(range(2), range(2)):
        tied = replace(circuit, levels=((number, level),))
        assert decide(tied)[0] == ("FAILED" if level else "proved")
        assert fails_within(tied, 2) == level


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.long
def test_mutate_kills_or_proves_every_mutant(folder):
    result = run(*COMMAND)
    assert (result.status, result.err) == (0, "")
    assert re.search(rf"^encoder, ucs2: {COUNT} mutants of \d+ gates, seed 0$", result.out, re.M)
    by_property, by_stimulus, equivalent, survived = (
        int(re.search(rf"(\d+)  {what}", result.out)[1])
        for what in ("killed by a prop", "killed by a stim", "proved equivalent to", "survived")
    )
    assert (by_property + equivalent, survived) == (COUNT, 0)
    assert by_stimulus > COUNT / 2
    assert names(folder) == {"text.txt"}


def test_mutate_lists_survivors_of_blind_checks(monkeypatch, mutants, trial):
    """The checks consist of no properties and no stimuli."""
    monkeypatch.setattr(command_mutants, "make_mutants", lambda *_: mutants)
    monkeypatch.setattr(command_mutants, "circuits", lambda _: trial.circuits)
    monkeypatch.setattr(Cores, "do", lambda _, work, items: ((item, work(item)) for item in items))
    monkeypatch.setattr(mutation.Trial, "parts", [])
    result = run(*COMMAND)
    assert result.status == 1
    survived = int(re.search(r"(\d+)  survived", result.out)[1])
    assert survived > COUNT / 2
    assert len(re.findall(r"^ +\d+: \$_\w+_ .*, port \w: \w+$", result.out, re.M)) == survived
