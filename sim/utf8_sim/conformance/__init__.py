"""Conformance of any core: the rules, the cases, the comparison and the scorecard.

`utf8-hdl conform` runs them on Verilog with AXI4-Stream ports. :class:`Checks` is for a test bench
of your own, which drives any other interface.
"""

from .checks import Case, Checks
from .scorecard import Failure, Result, Scorecard, Verdict
from .spans import SPANS

__all__ = ["SPANS", "Case", "Checks", "Failure", "Result", "Scorecard", "Verdict"]
