"""Description of a generated Verilog module for other tools: ports and summary."""

import re
from typing import Any, NamedTuple

from ..designs import DesignSpec


class Port(NamedTuple):
    """A port of the module."""

    #: ``in`` or ``out``.
    direction: str
    name: str
    width: int


def ports_of(verilog: str) -> list[Port]:
    """The ports of a generated module, in order."""
    head = verilog[: verilog.index("\n);")]
    ports = re.findall(r"^  (in|out)put (?:wire|reg) (?:\[(\d+):0\] )?(\w+),?$", head, re.M)
    return [Port(direction, name, int(high or 0) + 1) for direction, high, name in ports]


def summary(component: Any) -> str:
    """One line that names the component, and its profile if it has one."""
    profile = getattr(component, "profile", None)
    rules = f", profile {profile.describe()}" if profile else ""
    return f"UTF-8 {DesignSpec.of(component).label}{rules}"
