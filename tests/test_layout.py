"""Imports point one way only: hdl <- sim <- flow."""

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


def project_imports(source: str) -> set[str]:
    """Packages of this project that a module imports by name, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").split(".")[0])
    return {name for name in names if name.startswith("utf8_")}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_is_below_it(package):
    modules = list((ROOT / package).rglob("*.py"))
    assert modules
    for module in modules:
        assert project_imports(module.read_text()) <= MAY_IMPORT[package], module


def test_the_check_sees_an_import_inside_a_function():
    assert project_imports("def f():\n    from utf8_flow.cli.commands import main\n") == {
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
