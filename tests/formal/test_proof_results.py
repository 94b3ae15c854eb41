"""Results of proofs: their file, the tables of `prove --status`, and the theorems."""

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
from utf8_flow.verify.proof_pages import CLAIMS, TABLES, claims, wide
from utf8_flow.verify.proof_report import (
    NOW,
    digests,
    shown_designs,
    state_of,
    theorem_lines,
    theorem_of,
)
from utf8_flow.verify.proof_results import Results
from utf8_hdl import PROFILES
from utf8_sim.tools.cores import Cores

pytest.importorskip("pyosys", reason="pyosys is not installed")

FILE = "results.json"
STATUS = "prove", "--status", "--json", FILE
ROOT = Path(__file__).parents[2]
PAGES = {
    name: (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    for name in ("proofs", "properties", "certificates")
}

PROVED = Proof("proved", "induction", 1.5, 1)
ENDLESS = Proof("UNDECIDED", "limit of 900 s", 900.4)
PROPERTIES = [what.name for what in proofs_of(DesignSpec("encoder", compact=True))]


@pytest.fixture
def prove(folder, monkeypatch):
    """`prove` for the compact encoder, with a given result in place of each proof."""

    def prove(result: Proof, *arguments: str) -> list[str]:
        """Return the names of the properties that are tried."""
        tried = []

        def do(_, work, goals):
            tried.extend(goal.property.name for goal in goals)
            return ((goal, result) for goal in goals)

        monkeypatch.setattr(Cores, "do", do)
        design = "--component", "encoder", "--compact", "--profile", "unicode"
        ran = run("prove", *design, "--json", FILE, *arguments)
        assert (ran.status, ran.err) == (result is not PROVED, "")
        return tried

    return prove


def rows() -> dict[str, dict]:
    return {row["property"]: row for row in json.loads(Path(FILE).read_text())["results"]}


def change(*names: str, **values) -> None:
    """Change the rows of some properties in the file, by default all rows."""
    found = [
        {**row, **values} if name in (names or rows()) else row for name, row in rows().items()
    ]
    Path(FILE).write_text(json.dumps({"results": found}))


# --- the file -----------------------------------------------------------------------------------


def test_file_without_results_is_refused(folder):
    assert_refused(run(*STATUS), f"{FILE!r} does not exist: choose a file that prove")
    Path(FILE).write_text('{"results": {}}')
    assert_refused(run(*STATUS), f"{FILE!r} contains no results of proofs: choose a file that")
    os.mkfifo("pipe")
    for option in "--status", "--missing":
        assert_refused(run("prove", option, "--json", "pipe"), "'pipe' must be a regular file")


def test_results_of_runs_are_merged(prove):
    assert prove(PROVED, "--property", "rate") == ["rate"]
    assert prove(ENDLESS, "--property", "bytes") == ["bytes"]
    assert names(Path()) == {"text.txt", FILE}
    assert rows().keys() == {"rate", "bytes"}
    row = rows()["rate"]
    assert (row["component"], row["compact"], row["profile"]) == ("encoder", True, "unicode")
    assert (row["verdict"], row["method"], row["seconds"]) == ("proved", "induction", 1.5)
    assert re.fullmatch(r"pyosys [\d.]+", row["tool"])
    assert re.fullmatch(r"[0-9a-f]{16}", row["digest"])


def test_undecided_attempt_keeps_proof_of_the_same_code(prove):
    prove(PROVED, "--property", "rate")
    prove(ENDLESS, "--property", "rate")
    assert rows()["rate"]["verdict"] == "proved"
    change(digest="0" * 16)
    prove(ENDLESS, "--property", "rate")
    assert rows()["rate"]["verdict"] == "UNDECIDED"


@pytest.mark.long
def test_missing_selects_properties_without_a_result(prove):
    prove(PROVED, "--property", "rate")
    prove(ENDLESS, "--property", "bytes", "--timeout", "900")
    assert sorted(prove(PROVED, "--missing")) == sorted({*PROPERTIES} - {"rate", "bytes"})
    assert prove(PROVED, "--missing", "--timeout", "901") == ["bytes"]
    assert prove(PROVED, "--missing") == []
    change(digest="0" * 16)
    assert sorted(prove(PROVED, "--missing")) == sorted(PROPERTIES)


def test_result_of_removed_property_is_dropped(prove):
    prove(PROVED, "--property", "rate")
    change(property="speed")
    prove(PROVED, "--property", "bytes")
    assert rows().keys() == {"bytes"}


# --- the table ----------------------------------------------------------------------------------


def status_of_encoder() -> list[str]:
    """The cells of the only row of the table."""
    result = run(*STATUS, "--component", "encoder", "--compact")
    assert (result.status, result.err) == (0, "")
    [head, row] = re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", result.out, re.MULTILINE)
    assert (head[0], row[0]) == ("design", "compact encoder")
    return row[1].split(" | ")


@pytest.mark.long
def test_table_has_a_column_for_each_state(prove):
    prove(PROVED, "--property", "latency")
    change(digest="0" * 16)
    prove(PROVED, "--property", "rate")
    prove(ENDLESS, "--property", "bytes")
    done = "latency", "rate", "bytes"
    untried = ", ".join(f"`{name}`" for name in PROPERTIES if name not in done)
    assert status_of_encoder() == ["`rate` 2 s", "`latency` 2 s", untried, "`bytes` within 900 s"]


def test_table_counts_properties_if_all_have_one_state(prove):
    prove(PROVED)
    everything = ", ".join(f"`{name}` 2 s" for name in PROPERTIES)
    assert status_of_encoder() == [f"all {len(PROPERTIES)}: {everything}", "–", "–", "–"]
    count = len(proofs_of(DesignSpec("encoder")))
    assert f"| encoder | – | – | all {count} | – |" in run(*STATUS, "--component", "encoder").out


# --- the digest ---------------------------------------------------------------------------------

IMPORT = "from utf8_sample import size, __version__"
SAMPLE = {
    "__init__": "from .inner import size\n__version__ = '1'",
    "inner": "size = 1",
    "rule": f'"""R."""\n{IMPORT}\ndef rule():\n    "A rule."\n    return size',
}


@pytest.mark.parametrize(
    ("module", "code", "is_other"),
    [
        ("rule", f"{IMPORT}\ndef rule( ):\n    return size  # why", False),
        ("rule", f"{IMPORT}\ndef rule():\n    return -size", True),
        ("inner", "size = 2", True),
        ("__init__", "from .inner import size\nother = 3", False),
        ("__init__", "from .inner import size\n__version__ = '2'", False),
    ],
    ids=["layout", "code", "code in import", "not imported", "version"],
)
def test_digest_covers_imported_code(tmp_path, monkeypatch, module, code, is_other):
    package = tmp_path / "utf8_sample"
    package.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("utf8_sample", "utf8_sample.inner"):  # of another test
        monkeypatch.delitem(sys.modules, name, raising=False)
    # Without caches, whose results for the project's modules take seconds.
    monkeypatch.setattr(code_digest, "_read", code_digest._read.__wrapped__)
    first, second = (
        digest_of_sample(package, files) for files in (SAMPLE, SAMPLE | {module: code})
    )
    assert (first != second) == is_other


def digest_of_sample(package, files):
    for name, code in files.items():
        (package / f"{name}.py").write_text(code)
    own = frozenset({"utf8_sample.rule"}), frozenset({"utf8_sample"})
    return code_digest.code_digest.__wrapped__(*own)


# --- the theorems -------------------------------------------------------------------------------

DESIGNS = {theorem_of(spec): spec for spec in [*designs(), *small_designs()]}


@pytest.mark.long
def test_theorems_use_all_properties_and_no_others():
    assert THEOREMS.keys() == DESIGNS.keys()
    for name, theorem in THEOREMS.items():
        steps = [by for step in theorem.steps for by in step.by]
        others = [by for step in theorem.steps for each in step.assumes for by in each.by]
        own = {what.name for what in proofs_of(DESIGNS[name])}
        assert {by for by in steps if ": " not in by} == own
        for by in [*steps, *others]:
            component, _, what = by.rpartition(": ")
            assert what in [each.name for each in proofs_of(DESIGNS[component or name])]


def test_theorems_mark_steps_and_assumptions_without_proof():
    text = "\n".join(theorem_lines(None, None))
    for name, theorem in THEOREMS.items():
        lines = text.partition(f"**{name[0].upper()}{name[1:]}.** ")[2].partition("\n**")[0]
        for step in theorem.steps:
            mark = "" if step.by else "**Argument, not proved:** "
            assert re.search(rf"^\d+\. {re.escape(mark + step.text)}", lines, re.MULTILINE)
            for each in step.assumes:
                assert each.by or each.argument
                [line] = {line for line in lines.splitlines() if f"Assumes: {each.text}" in line}
                assert ("**argument, not proved:**" in line) == bool(each.argument)


def test_prove_prints_theorems_of_a_component():
    result = run("prove", "--theorem", "--component", "decoder")
    assert (result.status, result.err) == (0, "")
    found = re.findall(r"^\*\*([^*]*)\.\*\*", result.out, re.MULTILINE)
    assert found == ["Decoder", "Compact decoder", "Decoder with lanes"]


# --- the page -----------------------------------------------------------------------------------


def shown(page: str, table: str) -> str:
    """The part of a page that a command of `make prove-status` has written."""
    filled = PAGES[page].partition(f"<!-- from make prove-{table} -->\n")[2]
    return filled.partition("<!-- end -->")[0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("option", ["status", "theorem"])
def test_page_has_the_output_of_prove(option):
    """`prove` reports as proved only results whose digest is that of the present code."""
    result = run("prove", f"--{option}", "--json", ROOT / "docs/proofs.json")
    assert shown("properties", option) == result.out, "run make prove-status"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("page", "table"), [("proofs", "claims"), ("proofs", "wide"), ("properties", "properties")]
)
def test_page_has_the_table(page, table):
    lines = TABLES[table](Results(ROOT / "docs/proofs.json"))
    assert shown(page, table).splitlines() == lines, "run make prove-status"


def test_readme_claims_no_more_than_the_record():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "Decoder and encoder, both variants, in all four profiles: every output in its" in readme
    assert "validator with 8 and 64 lanes and the compactor with 8, in `unicode`" in readme
    results = Results(str(ROOT / "docs/proofs.json"))
    lanes = {"validator": {8, 64}, "compactor": {8}}
    for spec in shown_designs(results):
        if spec.lanes in lanes.get(spec.component, {1}):
            for profile in PROFILES if spec.lanes == 1 else ["unicode"]:
                states = {state_of(results, spec, profile, name)[0] for name in digests(spec)}
                assert states == {NOW}, (spec.label, profile)


def test_each_property_belongs_to_one_claim_of_the_summary():
    claimed = [name for names in CLAIMS.values() for name in names]
    every = {what.name for spec in DESIGNS.values() for what in every_property(spec)}
    every |= {what.name for spec in small_designs() for what in every_property(spec)}
    assert sorted(claimed) == sorted(every)


@pytest.mark.long
def test_summary_counts_each_state(prove):
    """Of the claim `cycles`: one property of this version, one undecided, the others earlier."""
    prove(PROVED)
    change(digest="0" * 16)
    prove(PROVED, "--property", "latency")
    change("rate", verdict="UNDECIDED", digest=rows()["latency"]["digest"])
    [row] = (line for line in claims(Results(FILE)) if line.startswith("| compact encoder "))
    expected = "proved 1, earlier version 2, failed or did not end 1"
    assert row.split(" | ")[4] == expected


@pytest.mark.long
def test_table_of_wide_designs_has_each_property_once(prove):
    prove(PROVED, "--property", "latency")
    sentence, *lines = wide(Results(FILE), lanes=1)
    assert sentence.startswith("With 1 lanes in `unicode`, 1 of ")
    [row] = (line for line in lines if line.startswith("| compact encoder |"))
    others = f"the other {len(PROPERTIES) - 1}"
    assert row == f"| compact encoder | `latency` | \N{EN DASH} | {others} | \N{EN DASH} |"
    change(digest="0" * 16)
    assert wide(Results(FILE), lanes=1)[0].startswith("With 1 lanes in `unicode`, 0 of ")


@pytest.mark.long
def test_numbers_on_the_pages_are_correct():
    goals = proofs.choose_goals(designs(), None, AllRules().profiles(), small=True)
    assert f"`make prove` tries {len(goals):,} properties," in PAGES["proofs"]
    byte_wide = [DesignSpec(name, each) for name in ("decoder", "encoder") for each in (0, 1)]
    count = sum(len(proofs_of(spec)) for spec in byte_wide)
    assert f"all {count} properties of decoder and encoder" in PAGES["certificates"]
    checker = (ROOT / "flow/utf8_check.py").read_text().splitlines()
    assert f"`flow/utf8_check.py` has {len(checker)} lines." in PAGES["certificates"]
