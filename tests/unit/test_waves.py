"""Pictures of what happened on the pins: `--vcd` with its save file, and `--wave`."""

import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command import assert_is_waveform, assert_refused, both_commands, break_design, names, run
from needs import needs, needs_full_disk, needs_icarus
from utf8_flow.export.verilog import generate
from utf8_flow.verify import engines
from utf8_sim.engines.icarus import IcarusEngine

HOSTILE = "Aé≠😀".encode() * 5 + b"\xc0\xaf\xe2\x82|\xed\xa0\x80\xff"

SAVED_BY_USER = "[*]\n[*] GTKWave Analyzer v3.3.118 (w)1999-2023 BSI\n[*]\n"
OURS = "[*] written by utf8-hdl\n"

needs_wavedrom = needs(modules=["wavedrom"])


def labels(svg: str) -> list[str]:
    """The texts of a picture, in order."""
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def ticks(svg: str) -> list[int]:
    """The numbers of the cycles of a picture; they and that of the end stand before the clock."""
    shown = labels(svg)
    return list(map(int, shown[1 : shown.index("clk") - 1]))


# In a text of 40 letters before ED BF, the latter is accepted in cycle 41.
DIFFERENCE = "DIFFERENCE: cycle 48, pin o.valid: expected 1, actual 0"


@pytest.fixture
def wrong_decoder(folder, monkeypatch):
    """A design with a mistake, which the file `wrong.bin` brings to light."""
    break_design(monkeypatch, "range: ED BF is no surrogate")
    Path("wrong.bin").write_bytes(b"A" * 40 + b"\xed\xbf\xbf" + b"B" * 40)


# --- VCD and its save file ----------------------------------------------------------------------


@needs_icarus
def test_the_waveform_is_the_same_from_another_engine(folder):
    Path("hostile.bin").write_bytes(HOSTILE)
    stalls = ["--stall-input", 0.3, "--stall-output", 0.3]
    for name in ("icarus", "amaranth"):
        arguments = ["simulate", "hostile.bin", "--engine", name, "--vcd", f"{name}.vcd", *stalls]
        assert run(*arguments).status == 0
        assert_is_waveform(f"{name}.vcd")
    assert Path("icarus.vcd").read_bytes() == Path("amaranth.vcd").read_bytes()


@pytest.mark.parametrize(
    ("vcd", "save"), [("out.vcd", "out.gtkw"), ("out.1/out", "out.1/out.gtkw")]
)
def test_a_save_file_stands_beside_the_waveform(folder, vcd, save):
    Path("out.1").mkdir()
    for _ in range(2):
        assert run("simulate", "text.txt", "--vcd", vcd).status == 0
        text = Path(save).read_text()
        assert text.startswith(OURS)
        assert "stale" not in text
        assert f'[dumpfile] "{Path(vcd).name}"\n' in text
        assert "\ndecoder.state\n" in text
        Path(save).write_text(f"{OURS}stale\n")
    Path(save).write_text(SAVED_BY_USER)
    assert run("simulate", "text.txt", "--vcd", vcd).status == 0
    assert Path(save).read_text() == SAVED_BY_USER
    assert_is_waveform(vcd)


def test_a_waveform_that_is_no_file_has_no_save_file(folder):
    for vcd in ("-", "/dev/null"):
        assert run("simulate", "text.txt", "--vcd", vcd).status == 0
    assert names(folder) == {"text.txt"}
    assert not Path("/dev/null.gtkw").exists()


@needs_wavedrom
def test_what_would_be_in_the_way_is_refused(folder):
    Path("in.gtkw").write_bytes(b"A")
    for arguments, named in (
        ("simulate text.txt --vcd out.gtkw", "'out.gtkw'"),
        ("simulate text.txt --vcd out.vcd --tokens out.gtkw", "'out.gtkw'"),
        ("simulate in.gtkw --vcd in.vcd", "'in.gtkw'"),
        ("simulate text.txt --vcd ..", "'..'"),
        ("simulate text.txt --wave out.gtkw --vcd out.vcd", "'out.gtkw'"),
        ("simulate text.txt --wave out --vcd ./out", "'./out'"),
        ("simulate text.txt --wave - --vcd -", "'-'"),
        ("simulate text.txt --wave .", "'.'"),
        ("simulate text.txt --wave=", "--wave"),
        ("compare text.txt --wave ./text.txt", "'text.txt'"),
        ("compare text.txt --wave none/out.svg", "'none/out.svg'"),
    ):
        assert_refused(run(*arguments.split()), named)
    assert names(folder) == {"text.txt", "in.gtkw"}
    assert Path("in.gtkw").read_bytes() == b"A"


# --- timing diagrams ----------------------------------------------------------------------------


@needs_wavedrom
def test_the_picture_shows_pins_states_and_tokens(folder):
    Path("text.txt").write_bytes("A€".encode() + b"\xed\xa0")
    result = run("simulate", "text.txt", "--wave", "-")
    assert result.status == 0
    assert "agree" in result.err
    assert ticks(result.out) == list(range(14))  # six bytes; a token eight cycles after its byte
    shown = labels(result.out)
    assert {"clk", "i.valid", "i.data", "state", "o.ready", "token"} <= set(shown)
    for boxes in (
        ["41 A", "E2", "82", "AC", "ED", "A0"],
        ["START", "NEED_2", "NEED_1", "START", "NEED_2", "START"],
        ["U+0041 A", "U+20AC €", "surrogate", "unexpected-continuation"],
    ):
        assert [label for label in shown if label in boxes] == boxes
    assert names(folder) == {"text.txt"}


@needs_wavedrom
@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ([], range(32)),
        (["--wave-cycles", "50-59"], range(50, 60)),
        (["--wave-cycles", "95-140"], range(95, 108)),  # a token eight cycles after its byte
        (["--wave-cycles", "0-255"], range(108)),
    ],
)
def test_the_cycles_of_the_picture_are_chosen(folder, chosen, shown):
    Path("text.txt").write_bytes(b"A" * 100)
    assert run("simulate", "text.txt", "--wave", "out.svg", *chosen).status == 0
    assert ticks(Path("out.svg").read_text()) == list(shown)


@needs_wavedrom
def test_the_cycles_of_the_picture_may_be_far_into_the_run(folder):
    Path("text.txt").write_bytes(b"A" * 4090 + b"B" * 20)  # a window has 4096 cycles
    arguments = ["--engine", "amaranth", "--wave", "out.svg", "--wave-cycles", "4088-4099"]
    assert run("simulate", "text.txt", *arguments).status == 0
    svg = Path("out.svg").read_text()
    assert ticks(svg) == list(range(4088, 4100))
    boxes = [label for label in labels(svg) if label in ("41 A", "42 B")]
    assert boxes == ["41 A"] * 3 + ["42 B"] * 9  # the first one is accepted in cycle 1


@needs_wavedrom
def test_cycles_that_are_none_are_refused(folder):
    for cycles in ("5-3", "x", "", "0-", "-3", "0-256", "1-2-3", "0-9" * 99):
        wave = "--wave", "out.svg", f"--wave-cycles={cycles}"
        assert_refused(run("simulate", "text.txt", *wave), "--wave-cycles ")
    assert names(folder) == {"text.txt"}


@needs_wavedrom
@pytest.mark.parametrize(
    ("cycles", "options"),
    [("19-27", []), ("999999999999990-999999999999999", ["--stall-input", "0.2"])],
)
def test_cycles_behind_the_end_are_refused(folder, cycles, options):
    result = run("simulate", "text.txt", "--wave", "out.svg", "--wave-cycles", cycles, *options)
    assert result.status == 2
    last = int(re.search(r"in all (\d+) cycles", result.out)[1]) - 1
    # Three bytes, a token eight cycles after them, and eight more in which nothing comes.
    assert last >= 18 if options else last == 18
    expected = f"utf8-hdl: --wave-cycles {cycles} are after the end: there are cycles 0-{last}\n"
    assert result.err == expected
    assert names(folder) == {"text.txt"}


@needs_wavedrom
def test_a_picture_of_nothing_can_be_drawn():
    assert "clk" in labels(run("simulate", "--text", "", "--wave", "-").out)


@both_commands
def test_without_wavedrom_the_message_says_what_to_install(folder, monkeypatch, command):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = run(command, "text.txt", "--wave", "out.svg")
    assert_refused(result, "in a clone, pip install '.[wave]'")
    assert names(folder) == {"text.txt"}
    assert run(command, "text.txt", "--vcd", "out.vcd").status == 0


# --- what is wrong ------------------------------------------------------------------------------


@needs_wavedrom
@pytest.mark.usefixtures("wrong_decoder")
@pytest.mark.parametrize("command", ["simulate --wave-cycles 0-3", "compare"])
def test_a_difference_is_drawn(command):
    result = run(*command.split(), "wrong.bin", "--wave", "-")
    assert result.status == 1
    assert DIFFERENCE in result.err
    assert "timing diagram around it: -" in result.err
    assert ticks(result.out) == list(range(48 - 16, 48 + 5))
    boxes = [label for label in labels(result.out) if label in ("ED", "BF", "42 B")]
    assert boxes[:4] == ["ED", "BF", "BF", "42 B"]
    assert_is_waveform("utf8-hdl-difference.vcd")


@needs_wavedrom
def test_without_a_difference_compare_draws_nothing(folder):
    assert run("compare", "text.txt", "--wave", "out.svg", "--vcd", "out.vcd").status == 0
    assert names(folder) == {"text.txt"}


class Undefined(IcarusEngine):
    """A design whose registers have no level before the first token."""

    def __init__(self, design):
        super().__init__(design, generate(design).replace(" o_valid = 1'b0;", ""))


@pytest.mark.sample(1)
@needs_icarus
@pytest.mark.parametrize(
    "arguments", ["simulate text.txt --vcd out.vcd", "compare text.txt", "compare --exhaustive 1"]
)
def test_an_undefined_level_is_said(folder, monkeypatch, arguments):
    monkeypatch.setitem(engines.ENGINES, "icarus", Undefined)
    result = run(*arguments.split(), "--engine", "icarus")
    assert result.status == 1
    assert "UNDEFINED: cycle 0, m_axis_tvalid is x" in result.out
    assert "agree" not in result.out


# --- full disks ---------------------------------------------------------------------------------


@needs_full_disk
@needs_wavedrom
@pytest.mark.usefixtures("wrong_decoder")
@pytest.mark.parametrize(
    "arguments",
    ["simulate --wave", "compare --vcd", "simulate --vcd", "simulate --tokens", "compare --tokens"],
)
def test_a_difference_counts_even_if_the_disk_is_full(arguments):
    result = run(*arguments.split(), "/dev/full", "wrong.bin")
    assert result.status == 1
    assert DIFFERENCE in result.out
    assert "cannot write '/dev/full': No space left on device" in result.out
