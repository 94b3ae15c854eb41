"""ABC, which decides about circuits."""

import tempfile
from importlib import resources
from pathlib import Path

from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.programs import LONGEST_MESSAGE, run_tool

from .circuit import Circuit

PACKAGE = "pyosys"
"""The PyPI package that has it, and Yosys."""


def ask_abc(
    circuit: Circuit, commands: str, result: str | None = None, seconds: float | None = None
) -> tuple[str, bytes]:
    """What ABC prints about a circuit, and the file of that name that it is told to write.

    Where it writes none, that is empty. After so many ``seconds`` it is ended: `OutOfTime`.
    """
    abc = Path(str(resources.files(PACKAGE))) / "yosys-abc"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "circuit.aig").write_bytes(circuit.file())
        ties = [f"&cof -V {number} -C {level}; " for number, level in circuit.levels]
        read = f"&r circuit.aig; {''.join(ties)}&put; strash"
        said = run_tool([str(abc), "-q", f"{read}; {commands}"], folder, seconds=seconds)
        if "Error" in said:
            raise ToolError(f"yosys-abc failed: {' '.join(said.split())[:LONGEST_MESSAGE]}")
        written = folder / result if result else None
        return said, written.read_bytes() if written and written.exists() else b""
