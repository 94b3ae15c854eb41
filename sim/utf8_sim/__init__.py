"""Golden model, stimulus, simulation engines and comparison for utf8_hdl."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import compare, simulate
    from .engines.engine import DesignError
    from .golden.decoder import Token, decode
    from .golden.encoder import encode
    from .lockstep import Difference
    from .scoreboard import Mismatch, Scoreboard
    from .stimulus import FixedStalls, RandomStalls
    from .tools.errors import ToolError
    from .trace import Trace

__all__ = [
    "DesignError",
    "Difference",
    "FixedStalls",
    "Mismatch",
    "RandomStalls",
    "Scoreboard",
    "Token",
    "ToolError",
    "Trace",
    "compare",
    "decode",
    "encode",
    "simulate",
]

_HOMES = {
    "DesignError": "engines.engine",
    "Difference": "lockstep",
    "FixedStalls": "stimulus",
    "Mismatch": "scoreboard",
    "RandomStalls": "stimulus",
    "Scoreboard": "scoreboard",
    "Token": "golden.decoder",
    "ToolError": "tools.errors",
    "Trace": "trace",
    "compare": "api",
    "decode": "golden.decoder",
    "encode": "golden.encoder",
    "simulate": "api",
}
"""The modules of these names. Each is imported when a name in it is first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
