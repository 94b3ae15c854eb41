"""Options `--vcd`, with its save file, and `--wave`."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command import assert_is_waveform, break_design, names, run
from needs import needs, needs_full_disk

SAVED_BY_USER = "[*]\n[*] GTKWave Analyzer v3.3.118 (w)1999-2023 BSI\n[*]\n"
OURS = "[*] written by utf8-hdl\n"

needs_wavedrom = needs(modules=["wavedrom"])


def labels(svg: str) -> list[str]:
    """The texts of a diagram, in order."""
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def ticks(svg: str) -> list[int]:
    """The cycle numbers of a diagram, without the number at its end. They precede the clock."""
    shown = labels(svg)
    return list(map(int, shown[1 : shown.index("clk") - 1]))


# In a text of 40 letters before ED BF, the latter is accepted in cycle 41.
DIFFERENCE = "DIFFERENCE: cycle 48, pin o.valid: expected 1, actual 0"


@pytest.fixture
def wrong_decoder(folder, monkeypatch):
    """A flawed decoder, and a file `wrong.bin` that reveals the flaw."""
    break_design(monkeypatch, "range: ED BF is no surrogate")
    Path("wrong.bin").write_bytes(b"A" * 40 + b"\xed\xbf\xbf" + b"B" * 40)


def test_save_file(folder):
    for vcd in ("-", "/dev/null"):  # it has no folder
        assert run("simulate", "text.txt", "--vcd", vcd).status == 0
    assert names(folder) == {"text.txt"}
    assert not Path("/dev/null.gtkw").exists()
    Path("out.1").mkdir()
    vcd, save = "out.1/out", "out.1/out.gtkw"
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


@pytest.mark.long
@needs_wavedrom
def test_chosen_cycles(folder):
    result = run("simulate", "text.txt", "--wave", "-")
    assert (result.status, ticks(result.out)) == (0, list(range(3 + 8)))  # the whole run
    assert "agree" in result.err
    Path("text.txt").write_bytes(b"A" * 4090 + b"B" * 20)  # a window has 4096 cycles
    draw = "simulate", "text.txt", "--engine", "amaranth", "--wave"
    assert ticks(run(*draw, "-").out) == list(range(32))
    assert run(*draw, "out.svg", "--wave-cycles", "4088-4099").status == 0
    svg = Path("out.svg").read_text()
    assert ticks(svg) == list(range(4088, 4100))
    boxes = [label for label in labels(svg) if label in ("41 A", "42 B")]
    assert boxes == ["41 A"] * 3 + ["42 B"] * 9  # the first one is accepted in cycle 1


@needs_wavedrom
@pytest.mark.parametrize("cycles", ["19-27", "999999999999990-999999999999999"])
def test_cycles_after_the_end_are_refused(folder, cycles):
    """The run has three bytes, a token eight cycles after them, and eight idle cycles."""
    result = run("simulate", "text.txt", "--wave", "out.svg", "--wave-cycles", cycles)
    assert result.status == 2
    assert f"--wave-cycles {cycles} are after the end: the run has cycles 0-18\n" in result.err
    assert "in all 19 cycles" in result.out
    assert names(folder) == {"text.txt"}


@needs_wavedrom
def test_without_wavedrom(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        assert run("compare", "text.txt", "--vcd", "out.vcd").status == 0
    assert run("compare", "text.txt", "--wave", "out.svg").status == 0
    assert names(folder) == {"text.txt"}  # there is no difference to draw


@pytest.mark.sample(1)
@needs_wavedrom
@pytest.mark.usefixtures("wrong_decoder")
@pytest.mark.parametrize("command", ["simulate --wave-cycles 0-3", "compare"])
def test_diagram_of_difference(command):
    result = run(*command.split(), "wrong.bin", "--wave", "-")
    assert result.status == 1
    assert DIFFERENCE in result.err
    assert "timing diagram around it: -" in result.err
    assert ticks(result.out) == list(range(48 - 16, 48 + 5))
    boxes = [label for label in labels(result.out) if label in ("ED", "BF", "42 B")]
    assert boxes[:4] == ["ED", "BF", "BF", "42 B"]
    assert_is_waveform("utf8-hdl-difference.vcd")


@pytest.mark.sample(1)
@needs_full_disk
@needs_wavedrom
@pytest.mark.usefixtures("wrong_decoder")
@pytest.mark.parametrize("arguments", ["simulate --wave", "compare --vcd", "simulate --tokens"])
def test_difference_is_reported_on_full_disk(arguments):
    result = run(*arguments.split(), "/dev/full", "wrong.bin")
    assert result.status == 1
    assert DIFFERENCE in result.out
    assert "cannot write '/dev/full': No space left on device" in result.out
