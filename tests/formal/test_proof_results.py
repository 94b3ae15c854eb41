"""Results of proofs over many runs, their tables, and the theorems of the components."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from command import assert_refused, names, run
from utf8_flow.cli.choices import AllRules
from utf8_flow.designs import DesignSpec, designs, small_designs
from utf8_flow.formal.properties import every_property, proofs_of
from utf8_flow.formal.prover import Proof
from utf8_flow.formal.theorems import THEOREMS
from utf8_flow.verify import code_digest, proofs
from utf8_flow.verify.proof_report import theorem_lines, theorem_of
from utf8_flow.verify.proof_results import Results, digest_of
from utf8_hdl import UNICODE
from utf8_sim.tools.cores import Cores

pytest.importorskip("pyosys", reason="pyosys is not installed")

KEPT = "results.json"
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/proofs.md").read_text(encoding="utf-8")
PAGE_RESULTS = str(ROOT / "docs/proofs.json")

PROVED = Proof("proved", "induction", 1.5, 1)
ENDLESS = Proof("UNDECIDED", "limit of 900 s", 900.4)


@pytest.fixture
def prove(folder, monkeypatch):
    """Runs `prove` on the compact encoder: each proof has the result that is named, at once."""

    def prove(result: Proof, *arguments: str) -> list[str]:
        """The names of the properties that are tried."""
        tried = []

        def do(_, work, goals):
            tried.extend(goal.property.name for goal in goals)
            return ((goal, result) for goal in goals)

        monkeypatch.setattr(Cores, "do", do)
        design = "--component", "encoder", "--compact", "--profile", "unicode"
        ran = run("prove", *design, "--json", KEPT, *arguments)
        assert (ran.status, ran.err) == (result is not PROVED, "")
        return tried

    return prove


def rows() -> dict[str, dict]:
    return {row["property"]: row for row in json.loads(Path(KEPT).read_text())["results"]}


def cells() -> list[str]:
    """The table's row of the compact encoder."""
    result = run("prove", "--status", "--json", KEPT)
    assert (result.status, result.err) == (0, "")
    [row] = re.findall(r"^\| compact encoder \| (.*) \|$", result.out, re.MULTILINE)
    return row.split(" | ")


OWN = [what.name for what in proofs_of(DesignSpec("encoder", compact=True))]


# --- the file -----------------------------------------------------------------------------------


def test_a_file_that_holds_no_results_is_refused(folder):
    status = "prove", "--status", "--json", KEPT
    assert_refused(run(*status), f"{KEPT!r} does not exist: choose a file that prove")
    Path(KEPT).write_text('{"results": {}}')
    assert_refused(run(*status), f"{KEPT!r} holds no results of proofs: choose a file that")
    os.mkfifo("pipe")
    for option in "--status", "--missing":
        assert_refused(run("prove", option, "--json", "pipe"), "'pipe' must be a regular file")


def test_results_of_runs_are_merged(prove):
    assert prove(PROVED, "--property", "rate") == ["rate"]
    assert prove(ENDLESS, "--property", "bytes") == ["bytes"]
    assert names(Path()) == {"text.txt", KEPT}
    assert rows().keys() == {"rate", "bytes"}
    row = rows()["rate"]
    assert (row["component"], row["compact"], row["lanes"]) == ("encoder", True, 1)
    assert (row["profile"], row["verdict"], row["method"]) == ("unicode", "proved", "induction")
    assert row["seconds"] == 1.5
    assert re.fullmatch(r"pyosys [\d.]+", row["tool"])
    assert re.fullmatch(r"[\d.]+", row["version"])
    assert re.fullmatch(r"[0-9a-f]{16}", row["digest"])


def test_a_proof_of_the_same_code_stays_if_an_attempt_does_not_end(prove):
    prove(PROVED, "--property", "rate")
    prove(ENDLESS, "--property", "rate")
    assert rows()["rate"]["verdict"] == "proved"
    change(digest="0" * 16)
    prove(ENDLESS, "--property", "rate")
    assert rows()["rate"]["verdict"] == "UNDECIDED"


def test_only_what_is_missing_is_proved(prove):
    prove(PROVED, "--property", "rate")
    prove(ENDLESS, "--property", "bytes", "--timeout", "900")
    assert sorted(prove(PROVED, "--missing")) == sorted({*OWN} - {"rate", "bytes"})
    assert prove(PROVED, "--missing", "--timeout", "901") == ["bytes"]
    assert prove(PROVED, "--missing") == []
    change(digest="0" * 16)
    assert sorted(prove(PROVED, "--missing")) == sorted(OWN)


def test_a_property_that_is_no_more_is_forgotten(prove):
    prove(PROVED, "--property", "rate")
    change(property="speed")
    prove(PROVED, "--property", "bytes")
    assert rows().keys() == {"bytes"}


def change(**values) -> None:
    """Change all rows of the file."""
    document = {"results": [{**row, **values} for row in rows().values()]}
    Path(KEPT).write_text(json.dumps(document))


# --- the table ----------------------------------------------------------------------------------


def test_each_state_has_its_column(prove):
    prove(PROVED, "--property", "latency")
    change(digest="0" * 16)
    prove(PROVED, "--property", "rate")
    prove(ENDLESS, "--property", "bytes")
    untried = ", ".join(f"`{name}`" for name in OWN if name not in ("latency", "rate", "bytes"))
    assert cells() == ["`rate` 2 s", "`latency` 2 s", untried, "`bytes` within 900 s"]


def test_all_or_nothing_is_said(prove):
    prove(PROVED)
    everything = ", ".join(f"`{name}` 2 s" for name in OWN)
    assert cells() == [f"all {len(OWN)}: {everything}", "–", "–", "–"]
    result = run("prove", "--status", "--json", KEPT)
    assert f"| encoder | – | – | all {len(proofs_of(DesignSpec('encoder')))} | – |" in result.out


def test_the_table_has_the_designs_that_are_chosen(prove):
    prove(PROVED, "--property", "rate")
    result = run("prove", "--status", "--json", KEPT, "--component", "encoder", "--compact")
    assert (result.status, result.err) == (0, "")
    assert re.findall(r"^\| (\w[\w ]*) \|", result.out, re.MULTILINE) == [
        "design",
        "compact encoder",
    ]


# --- the digest ---------------------------------------------------------------------------------

SAMPLE = {
    "__init__": "from .inner import size",
    "inner": "size = 1",
    "rule": '"""R."""\nfrom utf8_sample import size\ndef rule():\n    "A rule."\n    return size',
}


@pytest.mark.parametrize(
    ("module", "code", "is_other"),
    [
        ("rule", "from utf8_sample import size\ndef rule( ):\n    return size  # why", False),
        ("rule", "from utf8_sample import size\ndef rule():\n    return -size", True),
        ("inner", "size = 1  # of a thing", False),
        ("inner", "size = 2", True),
        ("__init__", "from .inner import size\nother = 3", False),
    ],
    ids=["layout", "code", "comment elsewhere", "code elsewhere", "not imported"],
)
def test_the_digest_is_that_of_the_code_that_is_imported(
    tmp_path, monkeypatch, module, code, is_other
):
    package = tmp_path / "utf8_sample"
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("utf8_sample", "utf8_sample.inner"):  # of another test
        monkeypatch.delitem(sys.modules, name, raising=False)
    first, second = (
        digest_of_sample(package, files) for files in (SAMPLE, SAMPLE | {module: code})
    )
    assert (first != second) == is_other


def digest_of_sample(package, files):
    for name, code in files.items():
        (package / f"{name}.py").write_text(code)
    for function in (code_digest.code_digest, code_digest._read):
        function.cache_clear()
    return code_digest.code_digest(frozenset({"utf8_sample.rule"}), frozenset({"utf8_sample"}))


# --- the theorems -------------------------------------------------------------------------------

DESIGNS = {theorem_of(spec): spec for spec in [*designs(), *small_designs()]}


def test_each_design_has_a_theorem():
    assert THEOREMS.keys() == DESIGNS.keys()


@pytest.mark.parametrize("name", THEOREMS)
def test_the_theorem_has_every_property_and_no_other(name):
    theorem = THEOREMS[name]
    steps = [by for step in theorem.steps for by in step.by]
    others = [by for step in theorem.steps for each in step.assumes for by in each.by]
    own = [what.name for what in proofs_of(DESIGNS[name])]
    assert {by for by in steps if ": " not in by} == {*own}
    for by in [*steps, *others]:
        component, _, what = by.rpartition(": ")
        assert what in [each.name for each in proofs_of(DESIGNS[component or name])]


@pytest.mark.parametrize("name", THEOREMS)
def test_every_assumption_is_discharged_or_marked_as_an_argument(name):
    text = "\n".join(theorem_lines(None, None))
    lines = text.partition(f"**{name[0].upper()}{name[1:]}.** ")[2].partition("\n**")[0]
    for step in THEOREMS[name].steps:
        mark = "" if step.by else "**Argument, not proved:** "
        assert re.search(rf"^\d+\. {re.escape(mark + step.text)}", lines, re.MULTILINE)
        for assumption in step.assumes:
            assert assumption.by or assumption.argument
            [line] = {line for line in lines.splitlines() if f"Assumes: {assumption.text}" in line}
            assert ("**argument, not proved:**" in line) == bool(assumption.argument)


def test_theorems_of_a_component_are_printed():
    result = run("prove", "--theorem", "--component", "decoder")
    assert (result.status, result.err) == (0, "")
    found = re.findall(r"^\*\*([^*]*)\.\*\*", result.out, re.MULTILINE)
    assert found == ["Decoder", "Compact decoder", "Decoder with lanes"]


# --- the page -----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["status", "theorem"])
def test_the_page_has_what_the_command_prints(option):
    result = run("prove", f"--{option}", "--json", PAGE_RESULTS)
    begin = f"<!-- from make prove-{option} -->\n"
    shown = PAGE.partition(begin)[2].partition("<!-- end -->")[0]
    assert shown == result.out, "run make prove-status"


def test_the_numbers_on_the_page_are_right():
    goals = proofs.choose_goals(designs(), None, AllRules().profiles(), small=True)
    assert f"proves all {len(goals):,} properties" in PAGE
    checker = (ROOT / "flow/utf8_check.py").read_text().splitlines()
    assert f"`flow/utf8_check.py` has {len(checker)} lines." in PAGE


def test_the_results_on_the_page_are_of_real_properties_and_of_the_present_code():
    table = PAGE.partition("<!-- from make prove-status -->")[2].partition("In other profiles")[0]
    table = table.partition("<!-- end -->")[0]
    proved = 0
    for result in Results(PAGE_RESULTS):
        spec = result.spec
        known = {what.name: what for what in every_property(spec)}
        assert result.name in known
        if result.profile == UNICODE.name:
            row = rf"^\| {re.escape(spec.label)} \| ([^|]*) \|"
            [now] = re.findall(row, table, re.MULTILINE)
            is_current = result.digest == digest_of(spec, known[result.name])
            assert (f"`{result.name}` " in now) == (result.is_proved and is_current)
            proved += result.is_proved
    assert proved
