"""Golden model, stimulus, simulation engines and comparison for utf8_hdl."""

from .engines.engine import DesignError
from .golden.text import Token, decode
from .lockstep import Difference
from .running import compare, encode, simulate
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
