"""What the command line says of itself: help, examples, completion, and errors of usage."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command import assert_no_traceback, replace_design, run, run_process
from utf8_flow.cli import proving, synthesis
from utf8_flow.components import ENTRIES
from utf8_flow.fpga import placement
from utf8_flow.verify import mutants, proofs
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


# --- compact designs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "simulate --text A",
        "compare --text A",
        "compare --exhaustive 1",
        "generate",
        "prove --component decoder --profile unicode --property latency",
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

    def prove(_property, profile, makers):
        makers["decoder"](profile)
        work()

    def work(*_arguments):
        raise ToolError("that is enough")

    replace_design(monkeypatch, "decoder", make)
    monkeypatch.setattr(proofs, "prove", prove)
    monkeypatch.setattr(mutants, "make_mutants", work)
    monkeypatch.setattr(synthesis, "measure", work)
    run(*command.split(), *option.split())
    assert asked
    assert set(asked) == {option == "--compact"}
