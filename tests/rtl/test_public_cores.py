"""Our adapters and port maps for public cores, as far as they can be tested without the cores."""

import re
import shlex
import subprocess
from functools import partial
from pathlib import Path

import pytest

from needs import needs_icarus
from utf8_hdl import Decoder, Encoder, Validator
from utf8_sim.conformance.connections import Connections
from utf8_sim.conformance.core import Core
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.programs import find, run_tool

ROOT = Path(__file__).parents[2]
CORES = ROOT / "examples" / "conformance" / "cores"
MAPS, VERILOG, VHDL = (sorted(CORES.glob(f"*.{ending}")) for ending in ("toml", "v", "vhd"))
DESIGNS = {"decoder": Decoder, "encoder": Encoder, "validator": partial(Validator, lanes=1)}


def stem(path):
    return path.stem


def core_of(adapter, map_file=None):
    """A core with an adapter as its file, by the options in the adapter's comment."""
    [words] = re.findall("Options: (.*)", adapter.read_text())
    words = shlex.split(words)
    options = dict(zip(words[::2], words[1::2], strict=True))
    design = DESIGNS[options.get("--component", "decoder")]()
    connections = Connections.of(options["--without"], map_file)
    return Core(design, [str(adapter)], options["--top"], connections)


@pytest.mark.parametrize("map_file", MAPS, ids=stem)
def test_map_is_accepted(map_file):
    assert "m_axis_tvalid" in core_of(map_file, str(map_file)).has


@pytest.mark.parametrize("adapter", [*VERILOG, *VHDL], ids=stem)
def test_options_match_the_ports(adapter):
    """Else a rule is not tried, or the adapter does not fit."""
    core = core_of(adapter)
    text = re.sub("(//|--).*", "", adapter.read_text())
    begin = {".v": "module", ".vhd": "entity"}[adapter.suffix]
    header = re.search(rf"\b{begin} {core.sources.top}\b.*?\n *\);", text, re.DOTALL)[0]
    ports = {*re.findall(r"\b(?:clk|rst|[sm]_axis_t\w+)\b", header)}
    assert ports == {name for name in core.has if name in ("clk", "rst") or "_axis_" in name}


def lint(name):
    """The messages of Icarus Verilog about an adapter without its core."""
    words = [find("iverilog"), "-g2012", "-Wall", "-i", "-t", "null", name]
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr


@needs_icarus
@pytest.mark.sample(1)
@pytest.mark.parametrize("adapter", VERILOG, ids=stem)
def test_adapter_compiles(folder, adapter):
    assert lint(adapter) == ""
    Path("broken.v").write_text(adapter.read_text().replace("wire ", "wire x", 1))
    assert "broken.v" in lint("broken.v")


@pytest.mark.long
@pytest.mark.skipif(not find("ghdl"), reason="not installed: ghdl")
@pytest.mark.parametrize("adapter", VHDL, ids=stem)
def test_adapter_in_vhdl_compiles(folder, adapter):
    words = [find("ghdl"), "-a", "--std=08"]
    run_tool([*words, str(adapter)])
    Path("broken.vhd").write_text(adapter.read_text().replace("signal ", "signal x", 1))
    with pytest.raises(ToolError):
        run_tool([*words, "broken.vhd"])
