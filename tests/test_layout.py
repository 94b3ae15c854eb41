"""Imports point one way only: hdl <- sim <- flow, and inside these between the rooms."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "hdl/utf8_hdl": {"utf8_hdl"},
    "hdl/utf8_demo": {"utf8_hdl", "utf8_demo"},
    "sim/utf8_sim": {"utf8_hdl", "utf8_sim"},
    "flow/utf8_flow": {"utf8_hdl", "utf8_demo", "utf8_sim", "utf8_flow"},
}

ROOMS = {
    "sim/utf8_sim/tools": {"tools"},
    "flow/utf8_flow/components": {"components", "verify.report", "formal"},
    "flow/utf8_flow/export": {"export", "components", "terminal"},
    "flow/utf8_flow/formal": {"formal", "export", "components", "terminal"},
    "flow/utf8_flow/fpga": {"fpga", "export", "components", "verify.report", "terminal"},
    "flow/utf8_flow/verify": {"verify", "formal", "fpga", "export", "components", "terminal"},
}
"""What a room may use of its own package: tools are below all, and the command line above all."""


def project_imports(source: str) -> set[str]:
    """Packages of this project that a module imports by name, anywhere in it."""
    return {name[0] for name in rooms_used(source, ())}


def rooms_used(source: str, place: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Modules of this project that a module in a folder imports, by their whole names."""
    used = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            used |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = place[: len(place) - node.level + 1] if node.level else ()
            module = (*base, *(node.module or "").split("."))
            used |= {(*filter(None, module), alias.name) for alias in node.names}
    return {name for name in used if name[0].startswith("utf8_")}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_is_beside_or_below_it(room):
    place = Path(room).parts[1:]
    modules = list((ROOT / room).rglob("*.py"))
    assert modules
    for module in modules:
        for name in rooms_used(module.read_text(), place):
            allowed = ROOMS[room] & {name[1], ".".join(name[1:3])}
            assert name[0] != place[0] or allowed, (module, name)


def test_the_check_sees_every_way_to_import_a_room():
    for source in (
        "from ..cli.output import x",
        "from .. import cli",
        "import utf8_flow.cli.output",
        "def f():\n    from utf8_flow.cli import output",
    ):
        (name,) = rooms_used(source, ("utf8_flow", "verify"))
        assert name[:2] == ("utf8_flow", "cli")


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_is_below_it(package):
    modules = list((ROOT / package).rglob("*.py"))
    assert modules
    for module in modules:
        assert project_imports(module.read_text()) <= MAY_IMPORT[package], module


def test_the_check_sees_an_import_inside_a_function():
    assert project_imports("def f():\n    from utf8_flow.cli.session import main\n") == {
        "utf8_flow"
    }


def test_gateware_needs_nothing_but_amaranth_and_the_standard_library():
    allowed = {"amaranth", *sys.stdlib_module_names}
    for module in (ROOT / "hdl/utf8_hdl").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert (node.module or "").split(".")[0] in allowed, module
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= allowed, module
