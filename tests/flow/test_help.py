"""What the command line says of itself: help, examples, completion, and errors of usage."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command import assert_no_traceback, assert_refused, replace_design, run, run_process
from utf8_flow.cli import proving, synthesis
from utf8_flow.components import ENTRIES
from utf8_flow.formal import mutation
from utf8_flow.fpga import placement
from utf8_flow.verify import proofs
from utf8_hdl import Decoder
from utf8_sim.tools.errors import ToolError

QUICK = ["simulate", "compare", "generate"]
SLOW = ["prove", "mutate", "synthesize", "bitstream"]


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


@pytest.mark.sample(4)
@pytest.mark.parametrize("line", ALL_QUICK)
def test_an_example_in_the_help_works_when_it_is_pasted(line, tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        check=False, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_no_traceback(done.stderr)
    for name in re.findall(r"(?:-o|--vcd|--bytes) (\S+)", line):
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize("line", ALL_SLOW)
def test_an_example_in_the_help_that_takes_long_is_accepted(line, folder, monkeypatch):
    """All is checked but the work itself."""
    begun = []
    monkeypatch.setattr(proving, "prover_version", lambda: "")
    monkeypatch.setattr(placement, "need_packages", lambda *_: None)
    monkeypatch.setattr(synthesis, "document", lambda _: {})
    monkeypatch.setattr(synthesis, "summary", lambda _: [])
    works = {proving: ("prove_all", "mutation_score"), synthesis: ("measure", "write_bitstream")}
    for module, names in works.items():
        for name in names:
            monkeypatch.setattr(module, name, lambda *_: begun.append(1) or True)
    program, *arguments = shlex.split(line)
    assert program == "utf8-hdl"
    result = run(*arguments)
    assert (result.status, result.err) == (0, "")
    assert begun


@pytest.mark.parametrize("command", [[], *([name] for name in QUICK + SLOW)])
def test_h_is_help(command):
    result = run(*command, "-h")
    assert (result.status, result.out) == (0, help_of(*command))
    assert result.out.startswith(" ".join(["Usage: utf8-hdl", *command, "["]))


@pytest.mark.parametrize("command", QUICK + SLOW)
def test_help_says_which_component_an_option_is_for(command):
    text = help_of(command)
    for option in re.findall(r"^  (--[\w-]+) ", text, re.M):
        owners = [name for name, entry in ENTRIES.items() if option in entry.options]
        if 0 < len(owners) < len(ENTRIES):
            expected = rf"{option}\s+\S+\s+For\s+an?\s+{'|'.join(owners)}:"
            assert re.search(expected, text), option


def test_the_commands_are_described_in_whole_sentences():
    commands = help_of().partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in commands] == QUICK + SLOW
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


def test_the_command_alone_prints_its_help_and_counts_as_wrong_usage():
    result = run()
    assert (result.status, result.out, result.err) == (2, "", help_of())


# --- completion ---------------------------------------------------------------------------------


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("com", ["compare"]),
        ("compare --sur", ["--surrogates"]),
        ("simulate --profile u", ["unicode", "ucs2", "ucs4"]),
        ("compare --engine c", ["cxxrtl"]),
        ("mutate --component ", ["decoder", "encoder"]),
        ("simulate --error-span w", ["whole-sequence"]),
        ("simulate --noncharacters ", ["accept", "reject"]),
        ("generate --reset-polarity l", ["low"]),
        ("prove --property li", ["line-rate"]),
        ("synthesize --device e", ["ecp5-25f"]),
        ("bitstream --board i", ["icebreaker"]),
    ],
)
def test_the_shell_completes(words, expected):
    environment = {
        "_UTF8_HDL_COMPLETE": "complete_bash",
        "COMP_WORDS": f"utf8-hdl {words}",
        "COMP_CWORD": str(1 + words.count(" ")),
    }
    done = run_process(stdout=subprocess.PIPE, env=os.environ | environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_set_up(shell):
    environment = {"_UTF8_HDL_COMPLETE": f"source_{shell}"}
    done = run_process(stdout=subprocess.PIPE, env=os.environ | environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "utf8-hdl" in done.stdout.decode()


def test_completion_is_installed_for_the_shell_that_is_used(tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "utf8-hdl --install-completion; exit $?"],
        check=False, capture_output=True, text=True,
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "bash completion installed" in done.stdout
    assert (tmp_path / ".bashrc").exists()


@pytest.mark.parametrize("variable", ["complete_tcsh", "nonsense"])
def test_a_shell_that_is_not_known_is_wrong_usage(variable):
    environment = os.environ | {"_UTF8_HDL_COMPLETE": variable}
    done = run_process(stdout=subprocess.PIPE, env=environment)
    assert done.returncode == 2
    assert_no_traceback(done.stderr)


# --- errors of usage ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("simulate a --seed abc", "--seed must be a whole number, not 'abc'"),
        ("simulate a --seed 1.5", "--seed must be a whole number, not '1.5'"),
        ("simulate a --seed=", "--seed must be a whole number, not ''"),
        ("compare --stall-input often", "--stall-input must be a number, not 'often'"),
        ("simulate a --stall-output 25%", "--stall-output must be a number, not '25%'"),
        ("compare --exhaustive three", "--exhaustive must be a whole number, not 'three'"),
        ("mutate --mutants 1e3", "--mutants must be a whole number, not '1e3'"),
        ("synthesize --seeds x", "--seeds must be a whole number, not 'x'"),
        ("synthesize --seed x", "--seed must be a whole number, not 'x'"),
        ("bitstream --board ulx3s --baud x", "--baud must be a whole number, not 'x'"),
        ("bitstream", "Missing option '--board'"),
        ("generate --sede 1", "No such option: --sede"),
        ("compare --seed", "Option '--seed' requires an argument"),
        ("simulate a b", "Got unexpected extra argument(s) (b)"),
        ("compere", "No such command 'compere'. Did you mean 'compare'?"),
        (
            "text.txt",
            "No such command 'text.txt': choose from simulate, compare, generate, prove, mutate, "
            "synthesize, bitstream",
        ),
        ("--version=3", "Option '--version' does not take a value"),
    ],
)
def test_an_error_of_usage_is_in_plain_words_and_points_to_the_commands_help(arguments, message):
    result = run(*arguments.split())
    assert_refused(result, message)
    command = next((word for word in arguments.split() if word in QUICK + SLOW), "")
    path = f"utf8-hdl {command}".rstrip()
    assert result.err == f"utf8-hdl: {message} (see {path} --help)\n"


# --- options without effect ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("simulate text.txt --wave-cycles 0-9", "--wave-cycles has no effect without --wave"),
        (
            "simulate text.txt --seed 7",
            "--seed has no effect without --stall-input or --stall-output",
        ),
        (
            "simulate text.txt --code-points 41",
            "--code-points has no effect with --component decoder",
        ),
        ("simulate text.txt --bytes o", "--bytes has no effect with --component decoder"),
        (
            "simulate text.txt --component encoder --error-span whole-sequence",
            "--error-span has no effect with --component encoder",
        ),
        (
            "compare --component encoder --error-span whole-sequence",
            "--error-span has no effect with --component encoder",
        ),
        (
            "generate --component encoder --error-span whole-sequence",
            "--error-span has no effect with --component encoder",
        ),
        (
            "synthesize --component encoder --error-span whole-sequence",
            "--error-span has no effect with --component encoder",
        ),
        (
            "prove --component encoder --error-span whole-sequence",
            "--error-span has no effect with --component encoder",
        ),
        (
            "mutate --component encoder --error-span whole-sequence",
            "--error-span has no effect with --component encoder",
        ),
        ("compare text.txt --state s.json", "--state has no effect without --exhaustive"),
        (
            "compare --exhaustive 1 --seed 7",
            "--seed has no effect with --exhaustive, without --stall-input or --stall-output",
        ),
        (
            "compare text.txt --stall-input-cycles 3 --seed 7",
            "--seed has no effect with stalls by cycles, without --stall-input or --stall-output",
        ),
        ("synthesize --seeds 0 --seed 7", "--seed has no effect with --seeds 0"),
    ],
)
def test_an_option_without_effect_is_refused(folder, arguments, message):
    result = run(*arguments.split())
    assert (result.status, result.out, result.err) == (2, "", f"utf8-hdl: {message}\n")
    assert os.listdir(folder) == ["text.txt"]


@pytest.mark.parametrize(
    "arguments",
    [
        "simulate text.txt --stall-input 0 --seed 7",  # one of many runs of somebody's script
        "compare text.txt --seed 7",
        "compare text.txt --stall-input-cycles 3 --stall-output 0.5 --seed 7",
        "simulate text.txt --engine auto --profile unicode",
        "compare --exhaustive 1 --state s.json",
    ],
)
def test_an_option_that_may_have_an_effect_is_taken(folder, arguments):
    assert run(*arguments.split()).status == 0


@pytest.mark.parametrize(
    "command",
    [
        "simulate --text A",
        "compare --text A",
        "compare --exhaustive 1",
        "generate",
        "prove --component decoder --profile unicode --property reset",
        "mutate --component decoder",
        "synthesize --component decoder --profile unicode",
    ],
)
@pytest.mark.parametrize("option", ["", "--compact"])
def test_a_compact_design_is_made_where_it_is_asked_for(folder, monkeypatch, command, option):
    asked = []

    def make(profile, compact=False):
        asked.append(compact)
        return Decoder(profile)

    def work(*_arguments):
        raise ToolError("that is enough")

    replace_design(monkeypatch, "decoder", make)
    monkeypatch.setattr(proofs, "prove", work)
    monkeypatch.setattr(mutation, "run_yosys", work)
    monkeypatch.setattr(synthesis, "measure", work)
    run(*command.split(), *option.split())
    assert asked
    assert set(asked) == {option == "--compact"}
