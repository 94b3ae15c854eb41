"""Command line and tool flows of utf8-hdl.

Names are imported on first use, because the command line must handle signals before slow imports.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .export.verilog import generate
    from .verify.engines import engine

__all__ = ["engine", "generate"]

_HOMES = {"engine": "verify.engines", "generate": "export.verilog"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
