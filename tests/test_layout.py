"""Imports point one way only: hdl <- sim <- flow, and inside these between the rooms."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BELOW_FLOW = {"utf8_hdl", "utf8_demo", "utf8_sim"}
MAY_IMPORT = {
    "hdl/utf8_hdl": {"utf8_hdl"},
    "hdl/utf8_demo": {"utf8_hdl", "utf8_demo"},
    "sim/utf8_sim": {"utf8_hdl", "utf8_sim"},
    "sim/utf8_sim/tools": {"utf8_sim.tools"},
    "flow/utf8_flow": {*BELOW_FLOW, "utf8_flow", "utf8_check"},
    **{
        f"flow/utf8_flow/{room}": {*BELOW_FLOW, *(f"utf8_flow.{name}" for name in (room, *others))}
        for room, others in {
            "components": ["verify.report", "formal", "terminal"],
            "export": ["components", "terminal"],
            "formal": ["export", "components", "terminal"],
            "fpga": ["export", "components", "verify.report", "terminal"],
            "live": ["components", "terminal"],
            "verify": ["formal", "fpga", "export", "components", "terminal"],
        }.items()
    },
}
"""What a room may use of this project: tools are below all, and the command line above all."""


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


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_is_beside_or_below_it(room):
    for module, names in modules_of(room):
        for name in names:
            allowed = any(f"{name}.".startswith(f"{above}.") for above in MAY_IMPORT[room])
            assert allowed or not name.startswith("utf8_"), (module, name)


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
