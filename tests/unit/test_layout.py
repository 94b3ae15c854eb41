"""Imports point one way only: hdl <- sim <- flow, and inside these between the rooms."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BELOW = {
    "hdl/utf8_hdl": {"utf8_hdl"},
    "hdl/utf8_demo": {"utf8_hdl", "utf8_demo"},
    "sim/utf8_sim": {"utf8_hdl", "utf8_sim"},
    "sim/utf8_sim/tools": {"utf8_sim"},
    "flow/utf8_flow": {"utf8_hdl", "utf8_demo", "utf8_sim", "utf8_flow", "utf8_check"},
}
"""The packages that each package may import."""

ROOMS = {
    "sim/utf8_sim": [
        *("tools", "command_line", "trace", "stimulus", "shown", "golden", "campaign", "hostile"),
        *("components", "subject", "scoreboard", "engines", "lockstep", "minimise", "waves"),
        "running",
    ],
    "flow/utf8_flow": [
        *("failure", "terminal", "designs", "export", "formal", "fpga", "live", "verify", "cli"),
    ],
}
"""The folders and modules of a package: each may import only itself and those before it."""


def imported(source: str, place: tuple[str, ...]) -> set[str]:
    """Whole names of what a module in a package imports, anywhere in it."""
    used = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = place[: len(place) - node.level + 1] if node.level else ()
            module = [*base, *filter(None, [node.module])]
            used |= {".".join([*module, alias.name]) for alias in node.names}
    return used


def modules_of(room: str) -> list[tuple[Path, set[str]]]:
    """The modules, and what they import."""
    modules = list((ROOT / room).rglob("*.py"))
    assert modules
    return [
        (module, imported(module.read_text(), module.parent.relative_to(ROOT).parts[1:]))
        for module in modules
    ]


@pytest.mark.parametrize("package", BELOW)
def test_a_package_imports_only_those_below_it(package):
    for module, names in modules_of(package):
        others = {name.partition(".")[0] for name in names if name.startswith("utf8_")}
        assert others <= BELOW[package], module


@pytest.mark.parametrize("package", ROOMS)
def test_no_arrow_between_rooms_runs_upward(package):
    folder, rooms = Path(ROOT / package), ROOMS[package]
    doors = {"__init__", "__main__"}  # from outside into any room
    modules = (path.relative_to(folder).parts[0] for path in folder.rglob("*.py"))
    assert {name.removesuffix(".py") for name in modules} - doors == {*rooms}
    for module, names in modules_of(package):
        room = module.relative_to(folder).parts[0].removesuffix(".py")
        if room in doors:
            continue
        allowed = rooms[: rooms.index(room) + 1]
        for name in names:
            owner, _, inside = name.partition(".")
            if owner == folder.name:
                assert inside.partition(".")[0] in allowed, (module, name)


@pytest.mark.parametrize(
    "source",
    [
        "from ..cli.output import x",
        "from .. import cli",
        "import utf8_flow.cli.output",
        "def f():\n    from utf8_flow.cli import output",
    ],
)
def test_the_check_sees_every_way_to_import(source):
    (name,) = imported(source, ("utf8_flow", "verify"))
    assert name.startswith("utf8_flow.cli")


def test_the_checker_of_proofs_uses_nothing_of_this_project():
    used = imported((ROOT / "flow/utf8_check.py").read_text(), ())
    others = {name.split(".")[0] for name in used} - {*sys.stdlib_module_names}
    assert others == {"pysat", "pysolvers"}


def test_gateware_needs_nothing_but_amaranth_and_the_standard_library():
    allowed = {"amaranth", "utf8_hdl", *sys.stdlib_module_names}
    for module, names in modules_of("hdl/utf8_hdl"):
        assert {name.split(".")[0] for name in names} <= allowed, module


def test_type_checkers_read_the_annotations_of_every_package():
    project = (ROOT / "pyproject.toml").read_text()
    packages = [
        init.parent
        for root in ("hdl", "sim", "flow")
        for init in ROOT.glob(f"{root}/*/__init__.py")
    ]
    assert len(packages) == 4
    for package in packages:
        assert f'"{package.relative_to(ROOT).as_posix()}"' in project  # all of it is in the wheel
        assert (package / "py.typed").is_file()
