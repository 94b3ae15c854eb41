"""What the command line says of itself: help, examples, completion, and errors of usage."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from itertools import product
from pathlib import Path

import pytest

from command import assert_refused, in_shell, paste, replace_design, run
from utf8_flow.cli import proving, simulation, synthesis
from utf8_flow.formal import mutation, prover
from utf8_flow.fpga import boards, placement, results
from utf8_flow.verify import mutants, proofs, sources
from utf8_hdl import Decoder, layouts
from utf8_sim import command_line
from utf8_sim.components import COMPONENTS
from utf8_sim.tools.errors import ToolError

QUICK = ["simulate", "compare", "generate"]
SLOW = ["prove", "mutate", "check", "synthesize", "bitstream"]


def help_of(*command: str) -> str:
    result = run(*command, "--help")
    assert (result.status, result.err) == (0, "")
    return result.out


def examples(command: str) -> list[str]:
    """The examples in a command's help."""
    lines = help_of(command).partition("\n  Examples:\n")[2].splitlines()
    assert 2 <= len(lines) <= 4
    return [line.strip() for line in lines]


ALL_QUICK = [line for command in QUICK for line in examples(command)]
ALL_SLOW = [line for command in SLOW for line in examples(command)]


@pytest.mark.sample(6)
@pytest.mark.parametrize("line", ALL_QUICK)
def test_an_example_in_the_help_works_when_it_is_pasted(line, folder):
    paste(line)
    for name in re.findall(r"(?:-o|--vcd|--bytes) (\S+)", line):
        assert Path(name).stat().st_size > 0


@pytest.mark.parametrize("line", ALL_SLOW)
def test_an_example_in_the_help_that_takes_long_is_accepted(line, folder, monkeypatch):
    """All is checked but the work itself."""
    begun = []
    monkeypatch.setattr(prover, "tool_version", lambda: "")
    monkeypatch.setattr(placement, "need_packages", lambda *_: None)
    monkeypatch.setattr(results, "document", lambda _: {})
    monkeypatch.setattr(results, "summary", lambda _: [])
    works = {
        proofs: "prove_all",
        mutants: "mutation_score",
        proving: "check_all",
        placement: "measure",
        boards: "write_bitstream",
    }
    for module, name in works.items():
        monkeypatch.setattr(module, name, lambda *_: begun.append(1) or True)
    program, *arguments = shlex.split(line)
    assert program == "utf8-hdl"
    result = run(*arguments)
    assert (result.status, result.err) == (0, "")
    assert begun


def test_h_is_help():
    for command in ([], *([name] for name in QUICK + SLOW)):
        result = run(*command, "-h")
        assert (result.status, result.out) == (0, help_of(*command))
        assert result.out.startswith(" ".join(["Usage: utf8-hdl", *command, "["]))


def test_help_says_which_component_an_option_is_for():
    for text in map(help_of, QUICK + SLOW):
        for option in re.findall(r"^  (--[\w-]+) ", text, re.M):
            owners = command_line.owners(option)
            if 0 < len(owners) < len(COMPONENTS) and option not in command_line.RULES:
                named = r",\s+".join(owners[:-1]) + r"\s+or\s+" * (len(owners) > 1) + owners[-1]
                expected = rf"{option}\s+(\S+\s+)?For\s+an?\s+{named}:"
                assert re.search(expected, text), option


def test_help_has_a_section_for_each_kind_of_option():
    sections = re.findall(r"^(\S.*):\n  -", help_of("compare"), re.M)
    assert sections == [
        *("Input", "Component", "UTF-8 rules", "Simulation", "Output files", "Long runs"),
        *("Cluster", "Other options"),
    ]
    for command in QUICK + SLOW:
        assert re.search(
            r"^Other options:\n  -h, --help .*\n\n  Examples:$", help_of(command), re.M
        )


def test_help_uses_the_width_of_the_terminal(monkeypatch):
    for columns in (60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        longest = max(len(line) for line in help_of("check").splitlines())
        assert columns - 20 < longest <= columns


def test_no_summary_of_a_command_is_cut():
    assert "..." not in help_of().partition("Commands:\n")[2].partition("\n\n")[0]


def test_the_command_alone_prints_its_help_and_counts_as_wrong_usage():
    commands = help_of().partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in commands] == QUICK + SLOW
    result = run()
    assert (result.status, result.out, result.err) == (2, "", help_of())


# --- what is imported ---------------------------------------------------------------------------


HEAVY = {"amaranth", "distributed", "matplotlib", "numpy", "pyosys", "rich", "wavedrom"}
"""Packages that take long to import."""


def imported(*arguments: str) -> set[str]:
    """The modules that the command has imported when it ends."""
    program = "import sys\nfrom utf8_flow.__main__ import main\nmain()\nprint(*sys.modules)"
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def rooms(modules: set[str], package: str) -> set[str]:
    """The modules and rooms of a package that are among some modules."""
    return {name.split(".")[1] for name in modules if name.startswith(f"{package}.")}


@pytest.mark.parametrize(
    "line",
    [
        "--help", "--version", "--wrong", "simulat", "simulate --wrong", "compare --seed",
        "simulate --text A --seed -1", "prove --surrogates maybe", "simulate --text A --text B",
        "bitstream",
    ],
)  # fmt: skip
def test_help_and_errors_import_nothing_that_takes_long(line):
    modules = imported(*line.split())
    assert not HEAVY & modules
    assert rooms(modules, "utf8_hdl") == set()
    assert rooms(modules, "utf8_sim") == {"tools", "command_line"}
    assert rooms(modules, "utf8_flow") == {"cli", "failure", "terminal", "__main__"}


@pytest.mark.parametrize(
    ("line", "unused"),
    [
        ("simulate --text A", {"formal", "export", "live"}),
        ("generate", {"formal", "fpga", "live"}),
        ("synthesize --seeds 0 --plot a.svg", {"formal", "verify.runner", "live"}),
    ],
)
def test_a_command_imports_only_what_it_needs(line, unused):
    modules = imported(*line.split())
    assert {"amaranth", "utf8_flow.designs"} <= modules
    assert not modules & (HEAVY - {"amaranth", "numpy", "rich"})
    assert not modules & {f"utf8_flow.{name}" for name in unused}


def test_numbers_in_the_declarations_of_options_are_those_of_the_code():
    """The declarations must not import the modules that have them."""
    [offset] = command_line.COMMAND_LINES["validator"].own
    assert offset.range == (layouts.MIN_OFFSET_WIDTH, layouts.OFFSET_WIDTH)
    longest = {each.name: each.metadata["option"] for each in fields(simulation.LongRuns)}
    assert longest["exhaustive"].max == sources.LONGEST
    assert proving.Proofs().timeout == prover.LONGEST_PROOF
    assert synthesis.Board("icebreaker").baud == boards.BAUD


# --- completion ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("com", ["compare"]),
        ("compare --sur", ["--surrogates"]),
        ("simulate --profile u", ["unicode", "ucs2", "ucs4"]),
        ("compare --engine c", ["cxxrtl"]),
        ("mutate --component ", ["decoder", "encoder", "validator", "compactor", "transcoder"]),
        ("simulate --byte", ["--byte-order", "--bytes"]),
        ("generate --from utf-1", ["utf-16", "utf-16le", "utf-16be"]),
        ("simulate --error-span w", ["whole-sequence"]),
        ("simulate --noncharacters ", ["accept", "reject"]),
        ("generate --reset-polarity l", ["low"]),
        ("prove --property li", ["line-rate"]),
        ("synthesize --device ecp5-8", ["ecp5-85f", "ecp5-85f-8"]),
        ("bitstream --board i", ["icebreaker"]),
    ],
)
def test_the_shell_completes(monkeypatch, words, expected):
    monkeypatch.setenv("_UTF8_HDL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"utf8-hdl {words}")
    monkeypatch.setenv("COMP_CWORD", str(1 + words.count(" ")))
    result = run()
    assert (result.status, result.out.split(), result.err) == (0, expected, "")


def test_completion_without_the_words_of_the_shell_is_refused(monkeypatch):
    monkeypatch.setenv("_UTF8_HDL_COMPLETE", "complete_bash")
    monkeypatch.delenv("COMP_WORDS", raising=False)
    assert_refused(run(), "_UTF8_HDL_COMPLETE needs COMP_WORDS and COMP_CWORD")


@pytest.mark.parametrize(
    ("variable", "status"),
    [*((f"source_{shell}", 0) for shell in ("bash", "zsh", "fish")), ("complete_tcsh", 2)],
)
def test_completion_is_there_for_the_shells_that_are_known(monkeypatch, variable, status):
    monkeypatch.setenv("_UTF8_HDL_COMPLETE", variable)
    result = run()
    assert result.status == status
    assert ("utf8-hdl" in result.out) == (status == 0)


def test_completion_is_installed_for_the_shell_that_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    done = in_shell("utf8-hdl --install-completion; exit $?", text=True)
    assert done.stderr == ""
    assert "bash completion installed" in done.stdout
    assert (tmp_path / ".bashrc").exists()


# --- designs that are asked for -----------------------------------------------------------------


ASKED = {"": {}, "--compact": {"compact": True}, "--lanes 8": {"lanes": 8}}
"""What a design is made with, by the options."""


COMMANDS = [
    "simulate --text A",
    "compare --text A",
    "compare --exhaustive 1",
    "generate",
    "mutate --component decoder",
    "synthesize --component decoder --profile unicode",
]
PROVE = "prove --component decoder --profile unicode --property reset"


@pytest.mark.parametrize(
    ("command", "option"), [*product(COMMANDS, ASKED), (PROVE, ""), (PROVE, "--compact")]
)
def test_a_design_is_made_as_it_is_asked_for(folder, monkeypatch, command, option):
    asked = []

    def make(profile, **options):
        asked.append(options)
        return Decoder(profile)

    def work(*_arguments):
        raise ToolError("that is enough")

    replace_design(monkeypatch, "decoder", make)
    monkeypatch.setattr(proofs, "prove", work)
    monkeypatch.setattr(mutation, "run_yosys", work)
    monkeypatch.setattr(placement, "measure", work)
    run(*command.split(), *option.split())
    assert all(options == ASKED[option] for options in asked)
    assert asked
    if command.split()[0] in QUICK:  # others make it in every process that works on it
        assert len(asked) == 1
