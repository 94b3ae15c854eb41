"""A digest of the code of a proof. It does not depend on comments, docstrings and layout."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DIGITS = 16
"""Number of hexadecimal digits of a digest."""


@cache
def code_digest(modules: frozenset[str], packages: frozenset[str]) -> str:
    """The SHA-256 of the code of ``modules``, and of all their imports from ``packages``."""
    found: dict[str, str] = {}
    left = sorted(modules)
    while left:
        module = left.pop()
        if module in found:
            continue
        code, imports = _read(module)
        found[module] = code
        left += [each for each in imports if _is_in(each, packages)]
    text = "\n".join(f"{module} {found[module]}" for module in sorted(found))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _is_in(module: str, packages: frozenset[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@cache
def _read(module: str) -> tuple[str, frozenset[str]]:
    """The digest of a module's code without imports, and the modules that it imports."""
    tree = ast.parse(_source(module))
    digest = hashlib.sha256(repr(_code(tree)).encode()).hexdigest()
    return digest, frozenset(_imports(module, tree))


def _path(module: str) -> Path | None:
    spec = find_spec(module)
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _source(module: str) -> str:
    path = _path(module)
    return path.read_text(encoding="utf-8") if path else ""


def _code(node: Any) -> Any:
    """A syntax tree without positions and docstrings, the same in all versions of Python.

    `ast.dump` and `ast.unparse` differ between versions.
    """
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if name != "kind")
        given = [(name, _code(value)) for name, value in fields if value not in (None, [])]
        return type(node).__name__, given
    if isinstance(node, list):
        return [_code(each) for each in node if not _is_docstring(each)]
    return node


def _is_docstring(node: Any) -> bool:
    """True if a statement is only a string: a docstring, also of an attribute."""
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant and isinstance(node.value.value, str)


def _imports(module: str, tree: ast.Module) -> Iterator[str]:
    """The modules that a module imports anywhere in its code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source, names = _absolute(module, node), [alias.name for alias in node.names]
            # The version of a package, which only comments of its output contain, is not code.
            yield from (_defining(source, name) for name in names if name != "__version__")


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """The absolute name of the module in a ``from`` statement."""
    if not node.level:
        return node.module or ""
    path = _path(module)
    parts = module.split(".")
    if path is None or path.name != "__init__.py":
        parts = parts[:-1]
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _defining(source: str, name: str) -> str:
    """The module that has ``name`` in ``from source import name``; ``source`` may be a package."""
    path = _path(source) if source.startswith("utf8_") else None
    if path is None or path.name != "__init__.py":
        return source
    if find_spec(f"{source}.{name}"):
        return f"{source}.{name}"
    for node in ast.walk(ast.parse(_source(source))):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return _defining(_absolute(source, node), name)
    return source
