"""Test `utf8-hdl generate --vivado --quartus`: run the Tcl scripts with recorders of the commands.

The interfaces that the scripts define are compared with the ports of the Verilog module.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from command import assert_refused, names, run
from needs import needs
from rtl import verilog_ports
from utf8_hdl import __version__
from verilog_cache import patch_generate

FILES = {"--vivado": "val_ip.tcl", "--quartus": "val_hw.tcl"}
OPTIONAL = "tready", "tstrb", "tkeep", "tlast"
READY = {"s_axis": "output", "m_axis": "input"}
"""The direction of `tready`; all others go the other way."""

VALIDATOR = "--component", "validator", "--lanes", "8", "--reset-polarity", "low"
DESIGNS = [
    ("--compact", "--profile", "ucs2", "--reset-polarity", "low"),
    ("--component", "encoder", "--profile", "ucs4"),
    VALIDATOR,
    ("--component", "transcoder", "--lanes", "2"),
    ("--component", "compactor", "--lanes", "4"),
    ("--lanes", "2", "--profile", "extended", "--module", "wide"),
]


class Port(NamedTuple):
    direction: str
    width: int


@pytest.fixture(autouse=True)
def cached_verilog(monkeypatch):
    patch_generate(monkeypatch)


def generate(*options: str) -> tuple[str, dict[str, Port]]:
    """Write the three files; the module and its ports."""
    assert run("generate", "-o", "val.v", *FILES, *options) == (0, "", "")
    text = Path("val.v").read_text()
    [module] = re.findall(r"^module (\w+)", text, re.M)
    ports = {
        name: Port(re.search(rf"^  ((?:in|out)put) wire .*\b{name},?$", text, re.M)[1], width)
        for name, width in verilog_ports(text).items()
    }
    return module, ports


def streams_of(ports: dict[str, Port]) -> dict[str, dict[str, int]]:
    """The widths of the signals of each stream; checks their directions."""
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
    """An error of the interpreter."""


# Words are sent in hexadecimal with the prefix x, because they may contain any character.
ASK = """
proc ask {args} {
    set words {}
    foreach word $args { lappend words x[binary encode hex [encoding convertto utf-8 $word]] }
    puts $words
    flush stdout
    return [encoding convertfrom utf-8 [binary decode hex [gets stdin]]]
}
"""


def recorded(script: Path, answers: dict[str, Callable[..., str]], before: str = "") -> list:
    """Run a script with some commands of a vendor; return each call: the command and its words.

    Any other command is an error.
    """
    lines = [ASK, before]
    for command in answers:
        if "::" in command:
            lines.append(f"namespace eval {command.rpartition('::')[0]} {{}}")
        lines.append(f"proc {command} args {{ ::ask {command} {{*}}$args }}")
    recorders = script.with_name("recorders.tcl")
    recorders.write_text("\n".join([*lines, "source [lindex $argv 0]", ""]))
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    calls = []
    with subprocess.Popen(["tclsh", recorders, script], text=True, **pipes) as process:
        try:
            for line in process.stdout:
                command, *words = (bytes.fromhex(word[1:]).decode() for word in line.split())
                calls.append([command, *words])
                answer = answers[command](*words)
                process.stdin.write(f"{answer.encode().hex()}\n")
                process.stdin.flush()
            error = process.stderr.read()
        finally:
            process.kill()
    recorders.unlink()
    if error:
        raise TclError(error)
    return calls


def words_of(calls: list, command: str) -> list:
    """The words of each call of a command."""
    return [words for name, *words in calls if name == command]


def nothing(*_words: str) -> str:
    return ""


FAMILIES = {
    "xc7z020clg400-1": "zynq",
    "xcku5p-ffvb676-2-e": "kintexuplus",
    "xc7z010clg400-1": "zynq",
}
FINISH = [
    ["ipx::update_checksums", "core"],
    ["ipx::check_integrity", "core"],
    ["ipx::save_core", "core"],
    ["close_project", "-delete"],
]
VIVADO = {
    **dict.fromkeys(["create_project", "add_files", "set_property"], nothing),
    **dict.fromkeys(["ipx::package_project", "ipx::remove_all_bus_interface"], nothing),
    **dict.fromkeys(["ipx::create_xgui_files", *(command for command, _ in FINISH)], nothing),
    "current_fileset": lambda: "sources",
    "get_parts": lambda: " ".join(FAMILIES),
    "get_property": lambda _, part: FAMILIES[part],
    "ipx::current_core": lambda: "core",
    "ipx::add_bus_interface": lambda name, _: name,
    "ipx::add_port_map": lambda signal, bus: f"{bus}.{signal}",
    "ipx::add_bus_parameter": lambda parameter, bus: f"{bus}:{parameter}",
}
"""Commands as AMD documents them, in UG835 and UG1118, and their results."""


def check_vivado(script: Path, module: str, ports: dict[str, Port]) -> None:
    """Each port is in one interface with the parameters Vivado needs, and the core is saved."""
    calls = recorded(script, VIVADO)
    here = script.parent.resolve()
    [(force, _, project)] = words_of(calls, "create_project")
    assert (force, Path(project).parent) == ("-force", here)
    assert words_of(calls, "add_files") == [["-norecurse", str(here / "val.v")]]
    assert (here / "val.v").is_file()
    [package] = words_of(calls, "ipx::package_project")
    assert package[:2] == ["-root_dir", str(here / "val_ip")]
    assert {*package[2:8:2]} == {"-vendor", "-library", "-taxonomy"}
    assert package[8:] == ["-import_files", "-force"]
    assert calls[-4:] == FINISH
    order = [name for name, *_ in calls]
    assert order.index("ipx::package_project") > order.index("add_files")
    assert "ipx::remove_all_bus_interface" in order
    first = order.index("ipx::add_bus_interface")
    assert order.index("ipx::remove_all_bus_interface") < first

    properties = defaultdict(dict)
    for name, value, target in words_of(calls, "set_property"):
        assert name not in properties[target]
        properties[target][name] = value
    assert properties["sources"] == {"top": module}
    core = properties["core"]
    assert core["name"] == module
    assert core["supported_families"] == "kintexuplus Production zynq Production"
    assert __version__.startswith(core["version"] + ".")

    clock, reset = clock_and_reset(ports)
    streams = streams_of(ports)
    kinds = {
        clock: ("xilinx.com:signal:clock", "slave"),
        reset: ("xilinx.com:signal:reset", "slave"),
        "s_axis": ("xilinx.com:interface:axis", "slave"),
        "m_axis": ("xilinx.com:interface:axis", "master"),
    }
    added = words_of(calls, "ipx::add_bus_interface")
    assert sorted(added) == sorted([bus, "core"] for bus in kinds)
    for bus, (kind, mode) in kinds.items():
        assert properties[bus] == {
            "bus_type_vlnv": f"{kind}:1.0",
            "abstraction_type_vlnv": f"{kind}_rtl:1.0",
            "interface_mode": mode,
        }
    maps = {clock: ("CLK", clock), reset: ("RST", reset)}
    for bus, widths in streams.items():
        maps |= {f"{bus}_{signal}": (signal.upper(), bus) for signal in widths}
    assert maps.keys() == ports.keys()
    assert sorted(words_of(calls, "ipx::add_port_map")) == sorted(map(list, maps.values()))
    for port, (signal, bus) in maps.items():
        assert properties[f"{bus}.{signal}"] == {"physical_name": port}

    parameters = defaultdict(dict)
    for name, bus in words_of(calls, "ipx::add_bus_parameter"):
        [(key, value)] = properties[f"{bus}:{name}"].items()
        assert key == "value"
        parameters[bus][name] = value
    assert parameters[clock] == {"ASSOCIATED_BUSIF": "s_axis:m_axis", "ASSOCIATED_RESET": reset}
    active = "ACTIVE_LOW" if reset.endswith("n") else "ACTIVE_HIGH"
    assert parameters[reset] == {"POLARITY": active}
    for bus, widths in streams.items():
        assert widths.get("tkeep", widths["tdata"] // 8) * 8 == widths["tdata"]
        assert {name: int(value) for name, value in parameters[bus].items()} == {
            "TDATA_NUM_BYTES": widths["tdata"] // 8,
            "TUSER_WIDTH": widths.get("tuser", 0),
            "TID_WIDTH": 0,
            "TDEST_WIDTH": 0,
            **{f"HAS_{each.upper()}": int(each in widths) for each in OPTIONAL},
        }


QUARTUS = (
    *("set_module_property", "add_fileset", "set_fileset_property", "add_fileset_file"),
    *("add_interface", "set_interface_property", "add_interface_port"),
)
"""Commands as Intel documents them: the component interface Tcl reference."""


def check_platform_designer(script: Path, module: str, ports: dict[str, Port]) -> None:
    """Each port is in one interface, with its width and direction; each fileset has the file."""
    calls = recorded(script, dict.fromkeys(QUARTUS, nothing), "package provide qsys 16.1")
    properties = dict(words_of(calls, "set_module_property"))
    assert (properties["NAME"], properties["VERSION"]) == (module, __version__)
    assert (script.parent / "val.v").is_file()
    expected = []
    for kind in ("QUARTUS_SYNTH", "SIM_VERILOG", "SIM_VHDL"):
        expected.append(["add_fileset", kind, kind, "", ""])
        expected.append(["set_fileset_property", kind, "TOP_LEVEL", module])
        expected.append(["add_fileset_file", "val.v", "VERILOG", "PATH", "val.v"])
    assert [call for call in calls if "fileset" in call[0]] == expected

    clock, reset = clock_and_reset(ports)
    interfaces = {
        clock: ("clock", "end"),
        reset: ("reset", "end"),
        "s_axis": ("axi4stream", "end"),
        "m_axis": ("axi4stream", "start"),
    }
    added = words_of(calls, "add_interface")
    assert sorted(added) == sorted([name, *kind] for name, kind in interfaces.items())
    expected = [[reset, "synchronousEdges", "BOTH"]]
    expected += [[name, "associatedClock", clock] for name in (reset, "s_axis", "m_axis")]
    expected += [[bus, "associatedReset", reset] for bus in ("s_axis", "m_axis")]
    assert sorted(words_of(calls, "set_interface_property")) == sorted(expected)
    roles = {clock: (clock, "clk"), reset: (reset, "reset_n" if reset.endswith("n") else "reset")}
    for bus, widths in streams_of(ports).items():
        roles |= {f"{bus}_{signal}": (bus, signal) for signal in widths}
    expected = [
        [interface, port, role, ports[port].direction.capitalize(), str(ports[port].width)]
        for port, (interface, role) in roles.items()
    ]
    assert roles.keys() == ports.keys()
    assert sorted(words_of(calls, "add_interface_port")) == sorted(expected)


CHECKS = {"val_ip.tcl": check_vivado, "val_hw.tcl": check_platform_designer}


@pytest.mark.sample(2)
@needs("tclsh")
@pytest.mark.parametrize("options", DESIGNS, ids=" ".join)
def test_every_port_is_in_an_interface(options, folder, monkeypatch):
    odd = folder / "two words; [exit] $x {"
    odd.mkdir()
    monkeypatch.chdir(odd)
    module, ports = generate(*options)
    monkeypatch.chdir("/")  # the scripts do not depend on the current folder
    for name, check in CHECKS.items():
        check(odd / name, module, ports)


BROKEN = {
    "val_ip.tcl": [
        ("TDATA s_axis_tdata", "TDATA m_axis_tdata"),
        ("        TKEEP s_axis_tkeep\n", ""),
        ("HAS_TKEEP 1", "HAS_TKEEP 0"),
        ("ACTIVE_LOW", "ACTIVE_HIGH"),
        ("$here val.v", "$here missing.v"),
        ("ipx::remove_all_bus_interface $core\n", ""),
        ("ipx::save_core $core\n", ""),
    ],
    "val_hw.tcl": [
        ("s_axis_tdata tdata Input 64", "s_axis_tdata tdata Input 63"),
        ("s_axis_tready tready Output", "s_axis_tready tready Input"),
        ("add_interface_port m_axis m_axis_tuser tuser Output 36\n", ""),
        ("set_interface_property m_axis associatedReset aresetn\n", ""),
        ("PATH val.v", "PATH missing.v"),
        ("qsys 16.1", "qsys 17.0"),
    ],
}
"""Faults in the scripts of the validator."""


@pytest.mark.long
@needs("tclsh")
@pytest.mark.parametrize("name", CHECKS)
def test_checks_detect_a_broken_script(name, folder):
    module, ports = generate(*VALIDATOR)
    text = Path(name).read_text()
    for good, bad in BROKEN[name]:
        assert good in text
        Path(name).write_text(text.replace(good, bad, 1))
        with pytest.raises((AssertionError, KeyError, TclError)):
            CHECKS[name](folder / name, module, ports)
    Path(name).write_text(text)
    width = ports["m_axis_tuser"].width + 1
    for more in ({"s_axis_tuser": Port("input", 1)}, {"m_axis_tuser": Port("output", width)}):
        with pytest.raises(AssertionError):
            CHECKS[name](folder / name, module, ports | more)
    CHECKS[name](folder / name, module, ports)


def test_scripts_name_no_folder(folder):
    generate("--compact")
    for name in FILES.values():
        assert not re.search(r"/(?!UserIP)", Path(name).read_text())


@pytest.mark.long
@pytest.mark.parametrize("option", FILES)
def test_lanes_of_twelve_bits_are_refused(option, folder):
    odd = ("--component", "compactor", "--width", "12", "-o", "val.v", option)
    assert_refused(run("generate", *odd), "s_axis_tdata has 96 bits, s_axis_tkeep 8")
    assert names(folder) == {"text.txt"}
