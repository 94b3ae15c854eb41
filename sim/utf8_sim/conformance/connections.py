"""The differences between a core's ports and ours, from the command line."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..tools.errors import UsageError
from ..tools.files import refusing

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BOTH = {"ready": ("s_axis_tready", "m_axis_tready"), "last": ("s_axis_tlast", "m_axis_tlast")}
"""Names that stand for two ports."""

SHORT = {"reset": "rst", "clock": "clk", "tuser": "m_axis_tuser"}
"""Short names of ports."""

NAME = r"[A-Za-z_]\w*"

TABLES = "ports", "parameters", "constants"


@dataclass(frozen=True)
class Connections:
    """The differences between a core's ports and ours."""

    #: Our ports and fields that the core does not have.
    without: frozenset[str] = frozenset()
    #: The core's names for our ports or fields, with the prefix ``~`` if inverted.
    ports: Mapping[str, str] = field(default_factory=dict)
    #: The core's parameters, and the levels of its other inputs.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, without: str, map_file: str | None) -> "Connections":
        """Read the values of ``--without`` and ``--ports``."""
        words = [word.strip() for word in without.split(",") if word.strip()]
        missing = [name for word in words for name in BOTH.get(word, (SHORT.get(word, word),))]
        tables = _tables(map_file) if map_file is not None else {}
        ports = {SHORT.get(name, name): port for name, port in tables.pop("ports", {}).items()}
        return cls(frozenset(missing), ports, **tables)

    def core_port(self, name: str) -> tuple[str, str]:
        """The core's port for one of our ports or fields: ``~`` if it is inverted, and its name."""
        port = self.ports.get(name, name)
        return ("~" if port.startswith("~") else ""), port.removeprefix("~")


def _tables(name: str) -> dict[str, dict[str, Any]]:
    """The tables in a file for ``--ports``."""
    with refusing(f"read {name!r}"):
        content = Path(name).read_bytes()
    try:
        tables: dict[str, Any] = tomllib.loads(content.decode())
    except ValueError as error:
        raise UsageError(f"--ports {name!r} is not TOML: {error}") from error
    for title, table in tables.items():
        if title not in TABLES or not isinstance(table, dict):
            raise UsageError(f"--ports {name!r} has tables {', '.join(TABLES)}, not {title!r}")
        for key, value in table.items():
            where = f"--ports {name!r}: {title}.{key}"
            is_text = isinstance(value, str)
            if title == "ports" and not (is_text and re.fullmatch(f"~?{NAME}", value)):
                rule = "the name of a port, after ~ if it is inverted"
                raise UsageError(f"{where} must be {rule}, not {value!r}")
            if title != "ports" and (isinstance(value, bool) or not isinstance(value, int | str)):
                raise UsageError(f"{where} must be an integer or a text in Verilog, not {value!r}")
            if not re.fullmatch(NAME, key):
                raise UsageError(f"--ports {name!r}: {key!r} in {title} is not a name in Verilog")
    return tables
