"""Copies of modules with edited source: designs and models with a fault."""

import builtins
import re
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from importlib.util import find_spec, resolve_name
from inspect import getsource, signature
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

from utf8_flow.designs import DesignSpec
from utf8_hdl import Profile

SHARED = {"checks", "encoding_scheme", "layouts", "profile"}
"""Modules that are not copied, because tools and golden model use their types."""

GOLDEN = "utf8_sim.golden"
OF_EVERY_MODEL = {"kernels", "model"}
"""The package of the golden model, and its modules that are not copied."""

Edit = tuple[str, str]
"""Old and new text."""


def edits_in(table: str) -> dict[tuple[str, ...], Edit]:
    """The edits in a table: under each headline the changed text, as in a diff.

    The key of an edit is its headline, split at colons.
    """
    edits: dict[tuple[str, ...], Edit] = {}
    for entry in re.split(r"\n(?! )", dedent(table).strip()):
        headline, *lines = entry.split("\n")
        old, new = ("\n".join(line[4:] for line in lines if line[2] == sign) for sign in "-+")
        key = tuple(headline.split(": "))
        assert key not in edits
        edits[key] = old, new
    return edits


def edited(module: ModuleType, edit: Edit) -> ModuleType:
    """A copy of a module with an edit; the module itself is unchanged."""
    copy = ModuleType(module.__name__)
    copy.__package__ = module.__package__
    [source] = _applied([getsource(module)], edit)
    exec(compile(source, f"<edited {module.__name__}>", "exec"), vars(copy))
    return copy


def _applied(sources: list[str], edit: Edit) -> list[str]:
    """Apply an edit to sources, which must contain its old text exactly once.

    The error is not an `AssertionError`, because some tests expect one from a design.
    """
    old, new = edit
    if (count := sum(source.count(old) for source in sources)) != 1:
        raise LookupError(f"{old!r} must be in the source once, not {count} times")
    return [source.replace(old, new) for source in sources]


class Altered:
    """A package with edits; its names and modules are attributes.

    Modules of subpackages are attributes, too; their names are unique.

    Parameters
    ----------
    edits : Edit
        The named modules must contain the old text of each exactly once; otherwise a `LookupError`
        is raised.
    within : iterable of str
        Names of the modules to edit; by default, all copied modules.
    package : str
        Name of the package.
    shared : set of str
        Modules of the package that are not copied.
    """

    def __init__(
        self,
        *edits: Edit,
        within: Iterable[str] = (),
        package: str = "utf8_hdl",
        shared: Collection[str] = SHARED,
    ) -> None:
        self._package, self._shared = package, shared
        folder = Path(find_spec(package).origin).parent
        paths = {
            path.stem: path
            for path in folder.rglob("*.py")
            if path.stem not in shared and (path.stem != "__init__" or path.parent == folder)
        }
        self._packages = {
            name: ".".join([package, *path.parent.relative_to(folder).parts])
            for name, path in paths.items()
        }
        self._sources = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
        self._loaded: dict[str, ModuleType] = {}
        names = [*(within or paths)]
        for edit in edits:
            sources = _applied([self._sources[name] for name in names], edit)
            self._sources.update(zip(names, sources, strict=True))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._shared or name in self._sources:
            return self._module(name)
        home = self._module("__init__")._HOMES[name]
        return getattr(self._module(home.rsplit(".")[-1]), name)

    def like(self, design: Any) -> Any:
        """A component with the edits, and with the parameters of a design without them."""
        made = getattr(self, type(design).__name__)
        return made(**{name: getattr(design, name) for name in signature(made).parameters})

    def maker(self, spec: DesignSpec) -> Callable[[Profile], Any]:
        """A function from a profile to the specified design with the edits."""
        return lambda profile: self.like(spec.make(profile))

    def _module(self, name: str) -> ModuleType:
        if name in self._shared:
            return import_module(f"{self._package}.{name}")
        if name not in self._loaded:
            module = self._loaded[name] = ModuleType(f"altered.{name}")
            module.__package__ = self._packages[name]
            module.__builtins__ = {**vars(builtins), "__import__": self._import}
            exec(compile(self._sources[name], f"<altered {name}>", "exec"), vars(module))
        return self._loaded[name]

    def _import(
        self, name: str, variables: Any = None, local: Any = None, names: Any = (), level: int = 0
    ) -> Any:
        """Import into one of the modules; a relative import finds the copies."""
        if level == 0:
            return builtins.__import__(name, variables, local, names, level)
        absolute = resolve_name("." * level + name, variables["__package__"])
        if not f"{absolute}.".startswith(f"{self._package}."):
            return import_module(absolute)
        module = absolute.rsplit(".")[-1]
        return self._module(module) if module in self._sources or module in self._shared else self


def altered_golden(*edits: Edit, within: Iterable[str]) -> Altered:
    """The golden model with edits."""
    return Altered(*edits, within=within, package=GOLDEN, shared=OF_EVERY_MODEL)
