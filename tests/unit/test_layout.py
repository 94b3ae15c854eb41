"""Import directions: hdl <- sim <- flow, and between the subpackages of each."""

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

LAYERS = {
    "sim/utf8_sim": (
        "tools command_line trace stimulus format golden campaign coverage fuzz "
        "components subject scoreboard engines lockstep minimise waves conformance api"
    ),
    "flow/utf8_flow": "failure markdown terminal designs fpga export formal live verify cli",
}
"""The folders and modules of a package; each may only import itself and earlier entries."""


def imported(source: str, package: tuple[str, ...]) -> set[str]:
    """Absolute names of all imports of a module."""
    used = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = [*base, *filter(None, [node.module])]
            used |= {".".join([*module, alias.name]) for alias in node.names}
    return used


def modules_of(layer: str) -> dict[Path, set[str]]:
    """The modules of a folder, and the names they import."""
    found = {
        module: imported(module.read_text(), module.parent.relative_to(ROOT).parts[1:])
        for module in (ROOT / layer).rglob("*.py")
    }
    assert found
    return found


@pytest.mark.parametrize("package", BELOW)
def test_packages_import_lower_packages_only(package):
    for module, names in modules_of(package).items():
        others = {name.partition(".")[0] for name in names if name.startswith("utf8_")}
        assert others <= BELOW[package], module


@pytest.mark.parametrize("package", LAYERS)
def test_layers_import_lower_layers_only(package):
    folder, layers = ROOT / package, LAYERS[package].split()
    entry_points = {"__init__", "__main__"}  # may import any layer
    modules = (path.relative_to(folder).parts[0] for path in folder.rglob("*.py"))
    assert {name.removesuffix(".py") for name in modules} - entry_points == {*layers}
    for module, names in modules_of(package).items():
        layer = module.relative_to(folder).parts[0].removesuffix(".py")
        if layer in entry_points:
            continue
        allowed = layers[: layers.index(layer) + 1]
        for name in names:
            owner, _, inside = name.partition(".")
            if owner == folder.name:
                assert inside.partition(".")[0] in allowed, (module, name)


@pytest.mark.parametrize(
    "source",
    ["from ..cli.output import x", "from .. import cli", "def f():\n  import utf8_flow.cli"],
)
def test_imports_are_resolved(source):
    (name,) = imported(source, ("utf8_flow", "verify"))
    assert name.startswith("utf8_flow.cli")


def test_proof_checker_is_independent():
    used = imported((ROOT / "flow/utf8_check.py").read_text(), ())
    others = {name.split(".")[0] for name in used} - {*sys.stdlib_module_names}
    assert others == {"pysat", "pysolvers"}


def test_gateware_depends_on_amaranth_only():
    allowed = {"amaranth", "utf8_hdl", *sys.stdlib_module_names}
    for module, names in modules_of("hdl/utf8_hdl").items():
        assert {name.split(".")[0] for name in names} <= allowed, module


def test_packages_are_typed():
    project = (ROOT / "pyproject.toml").read_text()
    packages = [package for package in BELOW if package.count("/") == 1]
    for package in packages:
        assert f'"{package}"' in project  # the wheel contains it
        assert (ROOT / package / "py.typed").is_file()
