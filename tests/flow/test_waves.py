"""Pictures of what happened on the pins: `--vcd` with its save file, and `--wave`."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command import (
    COMMAND,
    assert_is_waveform,
    assert_no_traceback,
    assert_refused,
    break_design,
    run,
    run_process,
)
from needs import each_engine, needs, needs_icarus
from utf8_flow.export.verilog import generate
from utf8_flow.verify import engines
from utf8_sim.engines.engine import AmaranthEngine, HangError
from utf8_sim.engines.icarus import IcarusEngine

HOSTILE = "Aé≠😀".encode() * 5 + b"\xc0\xaf\xe2\x82|\xed\xa0\x80\xff"

SAVED_BY_USER = "[*]\n[*] GTKWave Analyzer v3.3.118 (w)1999-2023 BSI\n[*]\n"
OURS = "[*] written by utf8-hdl\n"

needs_wavedrom = needs(modules=["wavedrom"])
needs_full_disk = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs a disk that is always full"
)
both_commands = pytest.mark.parametrize("command", ["simulate", "compare"])


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def labels(svg: str) -> list[str]:
    """The texts of a picture, in order."""
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def ticks(svg: str) -> list[int]:
    """The numbers of the cycles of a picture; they and that of the end stand before the clock."""
    shown = labels(svg)
    return list(map(int, shown[1 : shown.index("clk") - 1]))


@pytest.fixture
def no_wavedrom(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *package: None if name == "wavedrom" else find(name, *package),
    )


# In a text of 40 letters before ED BF, the latter is accepted in cycle 41.
DIFFERENCE = "DIFFERENCE: cycle 48, pin o.valid: expected 1, actual 0"


@pytest.fixture
def wrong_decoder(folder, monkeypatch):
    """A design with a mistake, which the file `wrong.bin` brings to light."""
    break_design(monkeypatch, "range: ED BF is no surrogate")
    Path("wrong.bin").write_bytes(b"A" * 40 + b"\xed\xbf\xbf" + b"B" * 40)


# --- VCD and its save file ----------------------------------------------------------------------


@each_engine("cxxrtl", "verilator", "icarus")
def test_the_waveform_is_the_same_from_every_engine(folder, engine):
    Path("hostile.bin").write_bytes(HOSTILE)
    stalls = ["--stall-input", 0.3, "--stall-output", 0.3]
    for name in (engine, "amaranth"):
        arguments = ["simulate", "hostile.bin", "--engine", name, "--vcd", f"{name}.vcd", *stalls]
        assert run(*arguments).status == 0
    assert Path(f"{engine}.vcd").read_bytes() == Path("amaranth.vcd").read_bytes()
    assert_is_waveform(f"{engine}.vcd")


@pytest.mark.parametrize(
    ("vcd", "save"), [("out.vcd", "out.gtkw"), ("out.1/out", "out.1/out.gtkw")]
)
def test_a_save_file_stands_beside_the_waveform(folder, vcd, save):
    Path("out.1").mkdir()
    assert run("simulate", "text.txt", "--vcd", vcd).status == 0
    text = Path(save).read_text()
    assert text.startswith(OURS)
    assert f'[dumpfile] "{Path(vcd).name}"\n' in text
    assert "\ndecoder.state\n" in text


def test_a_save_file_of_the_user_is_left_as_it_is(folder):
    Path("out.gtkw").write_text(SAVED_BY_USER)
    assert run("simulate", "text.txt", "--vcd", "out.vcd").status == 0
    assert Path("out.gtkw").read_text() == SAVED_BY_USER
    assert_is_waveform("out.vcd")


def test_a_save_file_of_ours_is_replaced(folder):
    Path("out.gtkw").write_text(f"{OURS}stale\n")
    assert run("simulate", "text.txt", "--vcd", "out.vcd").status == 0
    assert "stale" not in Path("out.gtkw").read_text()
    assert "decoder.state" in Path("out.gtkw").read_text()


@pytest.mark.parametrize("vcd", ["-", "/dev/null"])
def test_a_waveform_that_is_no_file_has_no_save_file(folder, vcd):
    assert run("simulate", "text.txt", "--vcd", vcd).status == 0
    assert names(folder) == {"text.txt"}
    assert not Path("/dev/null.gtkw").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("text.txt --vcd out.gtkw", "'out.gtkw'"),
        ("text.txt --vcd out.vcd --tokens out.gtkw", "'out.gtkw'"),
        ("in.gtkw --vcd in.vcd", "'in.gtkw'"),
        ("text.txt --vcd .", "'.'"),
        ("text.txt --vcd /", "'/'"),
        ("text.txt --vcd ..", "'..'"),
    ],
)
def test_what_would_be_in_the_way_is_refused(folder, arguments, named):
    Path("in.gtkw").write_bytes(b"A")
    assert_refused(run("simulate", *arguments.split()), named)
    assert names(folder) == {"text.txt", "in.gtkw"}
    assert Path("in.gtkw").read_bytes() == b"A"


# --- timing diagrams ----------------------------------------------------------------------------


@needs_wavedrom
def test_the_picture_shows_pins_states_and_tokens(folder):
    Path("text.txt").write_bytes("A€".encode() + b"\xed\xa0")
    assert run("simulate", "text.txt", "--wave", "out.svg").status == 0
    svg = Path("out.svg").read_text()
    assert ticks(svg) == list(range(14))  # six bytes, the last one's token eight cycles after it
    shown = labels(svg)
    for label in ("clk", "i.valid", "i.data", "state", "o.ready", "token"):
        assert label in shown
    assert [label for label in shown if label in ("41 A", "E2", "82", "AC", "ED", "A0")] == [
        *("41 A", "E2", "82", "AC", "ED", "A0")
    ]
    assert [label for label in shown if label in ("START", "NEED_2", "NEED_1")] == [
        *("START", "NEED_2", "NEED_1", "START", "NEED_2", "START")
    ]
    tokens = ["U+0041 A", "U+20AC €", "surrogate", "unexpected-continuation"]
    assert [label for label in shown if label in tokens] == tokens
    assert names(folder) == {"text.txt", "out.svg"}


@needs_wavedrom
def test_the_picture_of_a_compact_decoder_shows_the_token_a_cycle_later(folder):
    assert run("simulate", "--compact", "--hex", "41 E2 42", "--wave", "out.svg").status == 0
    svg = Path("out.svg").read_text()
    assert ticks(svg) == list(range(5))
    states = [label for label in labels(svg) if label in ("START", "NEED_2", "HELD")]
    assert states == ["START", "NEED_2", "HELD", "START"]
    assert {"i.ready", "U+0041 A", "truncated", "U+0042 B"} <= set(labels(svg))


@needs_wavedrom
@pytest.mark.parametrize("options", [[], ["--compact"]], ids=["pipelined", "compact"])
def test_the_picture_of_an_encoder_shows_code_points_and_bytes(folder, options):
    arguments = ["--component", "encoder", "--code-points", "20AC", "--wave", "out.svg"]
    assert run("simulate", *arguments, *options).status == 0
    assert {"i.code_point", "U+20AC €", "SEND_2", "SEND_1", "E2", "82", "AC"} <= set(
        labels(Path("out.svg").read_text())
    )


@needs_wavedrom
def test_a_picture_on_standard_output_is_alone_there(folder):
    result = run("simulate", "text.txt", "--wave", "-")
    assert result.status == 0
    assert "U+00A9 ©" in labels(result.out)
    assert "agree" in result.err
    assert names(folder) == {"text.txt"}


@needs_wavedrom
@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        ([], range(32)),
        (["--wave-cycles", "0-3"], range(4)),
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
    assert boxes == ["41 A"] * 2 + ["42 B"] * 10


@needs_wavedrom
@pytest.mark.parametrize(
    "cycles",
    ["5-3", "x", "", "7", "-", "0-", "-3", "0-256", "0-100000", "1-2-3", " 0-3", "0-9" * 99],
)
@pytest.mark.parametrize("wave", [[], ["--wave", "out.svg"]])
def test_cycles_that_are_none_are_refused(folder, cycles, wave):
    assert_refused(run("simulate", "text.txt", *wave, f"--wave-cycles={cycles}"), "--wave-cycles")
    assert names(folder) == {"text.txt"}


@needs_wavedrom
@pytest.mark.parametrize(
    ("cycles", "options"), [("19-27", []), ("9000-9005", ["--stall-input", "0.2"])]
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
@pytest.mark.parametrize("cycles", ["30-40", "100000-100010", "999999999999990-999999999999999"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["text.txt"],
        ["--text", "A©"],
        ["--component", "encoder", "--text", "A©"],
        ["--component", "encoder", "--code-points", "41 A9"],
    ],
)
def test_cycles_behind_a_known_end_are_refused_before_the_run(folder, cycles, arguments):
    result = run("simulate", *arguments, "--wave", "out.svg", "--wave-cycles", cycles)
    assert_refused(
        result,
        f"--wave-cycles {cycles} are after the end, which at full rate comes before cycle 27",
    )
    assert names(folder) == {"text.txt"}


@needs_wavedrom
@pytest.mark.parametrize(
    "arguments",
    [
        ["--text", "A€"],
        ["--component", "encoder", "--text", "A€"],
        ["--component", "encoder", "--code-points", "D800 FFFFFFFF FFFF", "--profile", "ucs2"],
    ],
)
def test_the_last_cycle_of_a_run_can_be_drawn(folder, arguments):
    cycles = re.search(r"in all (\d+) cycles", run("simulate", *arguments).out)[1]
    last = f"{int(cycles) - 1}-{cycles}"
    assert run("simulate", *arguments, "--wave", "out.svg", "--wave-cycles", last).status == 0


@needs_wavedrom
@pytest.mark.parametrize("arguments", [["--text", ""], ["empty.txt"]])
def test_a_picture_of_nothing_can_be_drawn(folder, arguments):
    Path("empty.txt").touch()
    assert run("simulate", *arguments, "--wave", "out.svg").status == 0
    assert "clk" in labels(Path("out.svg").read_text())


@needs_wavedrom
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("simulate text.txt --wave out --vcd ./out", "'./out'"),
        ("simulate text.txt --wave - --vcd -", "'-'"),
        ("simulate text.txt --wave out.gtkw --vcd out.vcd", "'out.gtkw'"),
        ("simulate text.txt --wave text.txt", "'text.txt'"),
        ("simulate text.txt --wave none/out.svg", "'none/out.svg'"),
        ("simulate text.txt --wave .", "'.'"),
        ("simulate text.txt --wave=", "--wave"),
        ("compare text.txt --wave out --vcd out", "'out'"),
        ("compare text.txt --wave ./text.txt", "'text.txt'"),
        ("compare text.txt --wave none/out.svg", "'none/out.svg'"),
    ],
)
def test_a_picture_is_not_drawn_over_anything_else(folder, arguments, named):
    assert_refused(run(*arguments.split()), named)
    assert names(folder) == {"text.txt"}
    assert Path("text.txt").read_bytes() == b"A\xc2\xa9"


@pytest.mark.usefixtures("no_wavedrom")
@both_commands
def test_without_wavedrom_the_message_says_what_to_install(folder, command):
    result = run(command, "text.txt", "--wave", "out.svg")
    assert_refused(result, "pip install 'utf8-hdl[wave]'")
    assert names(folder) == {"text.txt"}


@pytest.mark.usefixtures("no_wavedrom")
@both_commands
def test_wavedrom_is_needed_only_for_pictures(folder, command):
    assert run(command, "text.txt", "--vcd", "out.vcd").status == 0


# --- differences --------------------------------------------------------------------------------


@needs_wavedrom
@pytest.mark.usefixtures("wrong_decoder")
@pytest.mark.parametrize("command", ["simulate --wave-cycles 0-3", "compare"])
def test_a_difference_is_drawn(command):
    result = run(*command.split(), "wrong.bin", "--wave", "out.svg")
    assert result.status == 1
    assert DIFFERENCE in result.out
    assert "timing diagram around it: out.svg" in result.out
    svg = Path("out.svg").read_text()
    assert {40, 41, 48} < set(ticks(svg)) < set(range(20, 60))
    boxes = [label for label in labels(svg) if label in ("ED", "BF", "42 B")]
    assert boxes[:4] == ["ED", "BF", "BF", "42 B"]
    assert_is_waveform("utf8-hdl-difference.vcd")


@needs_wavedrom
@pytest.mark.usefixtures("wrong_decoder")
@both_commands
def test_a_difference_is_drawn_on_standard_output(command):
    result = run(command, "wrong.bin", "--wave", "-")
    assert result.status == 1
    assert 48 in ticks(result.out)
    assert DIFFERENCE in result.err


@needs_wavedrom
@pytest.mark.usefixtures("wrong_decoder")
def test_the_save_file_of_a_difference_is_not_the_users(folder):
    Path("kept.gtkw").write_text(SAVED_BY_USER)
    assert run("compare", "wrong.bin", "--vcd", "kept.vcd").status == 1
    assert Path("kept.gtkw").read_text() == SAVED_BY_USER
    assert_is_waveform("kept.vcd")


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
    "arguments",
    [
        "simulate text.txt",
        "simulate text.txt --vcd out.vcd",
        "compare text.txt",
        "compare --exhaustive 1",
    ],
)
def test_an_undefined_level_is_said(folder, monkeypatch, arguments):
    monkeypatch.setitem(engines.ENGINES, "icarus", Undefined)
    result = run(*arguments.split(), "--engine", "icarus")
    assert result.status == 1
    assert "UNDEFINED: cycle 0, m_axis_tvalid is x" in result.out
    assert "agree" not in result.out


@needs_wavedrom
@pytest.mark.parametrize("cycles", ["0-31", "20-27"])
def test_a_hang_is_said_whatever_can_be_drawn(folder, monkeypatch, cycles):
    class Hangs(AmaranthEngine):
        def run(self, stimulus):
            yield from super().run(stimulus)
            raise HangError("nothing moves")

    monkeypatch.setitem(engines.ENGINES, "amaranth", Hangs)
    result = run("simulate", "text.txt", "--wave", "out.svg", "--wave-cycles", cycles)
    assert result.status == 1
    assert "HANG: nothing moves" in result.out


# --- full disks ---------------------------------------------------------------------------------


@needs_full_disk
@needs_wavedrom
@pytest.mark.parametrize("option", ["--vcd", "--wave"])
def test_a_full_disk_is_said_in_one_line(folder, option):
    result = run("simulate", "text.txt", option, "/dev/full")
    assert result.status == 2
    assert result.err == "utf8-hdl: cannot write '/dev/full': No space left on device\n"
    assert names(folder) == {"text.txt"}


@needs_full_disk
@needs_wavedrom
@pytest.mark.usefixtures("wrong_decoder")
@pytest.mark.parametrize("arguments", ["simulate --wave", "compare --wave", "compare --vcd"])
def test_a_difference_counts_even_if_the_disk_is_full(arguments):
    result = run(*arguments.split(), "/dev/full", "wrong.bin")
    assert result.status == 1
    assert DIFFERENCE in result.out
    assert "cannot write '/dev/full': No space left on device" in result.out


@needs_full_disk
@pytest.mark.usefixtures("wrong_decoder")
@pytest.mark.parametrize("command", ["simulate", "compare"])
@pytest.mark.parametrize("option", ["--tokens", "--vcd"])
def test_a_difference_is_said_even_if_another_output_fails(command, option):
    result = run(command, "wrong.bin", option, "/dev/full")
    assert DIFFERENCE in result.out
    assert "agree" not in result.out


@pytest.mark.sample(2)
@needs_wavedrom
@pytest.mark.parametrize("option", ["--vcd", "--wave", "--tokens"])
@pytest.mark.parametrize("there", [False, True])
def test_a_disk_that_fills_up_leaves_nothing_behind(folder, option, there):
    Path("text.txt").write_bytes(b"A" * 300)
    if there:
        Path("out").write_text("old")

    little = ["sh", "-c", 'ulimit -f 8 && exec "$@"', "sh"]  # at most 8 blocks a file
    command = [*little, COMMAND, "simulate", "text.txt", option, "out"]
    result = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert result.returncode == 2
    assert result.stderr == b"utf8-hdl: cannot write 'out': File too large\n"
    assert names(folder) == ({"text.txt", "out"} if there else {"text.txt"})
    assert not there or Path("out").read_text() == "old"


@needs_wavedrom
@pytest.mark.parametrize("option", ["--vcd", "--wave"])
def test_a_reader_that_goes_away_is_no_error(folder, option):
    reader, writer = os.pipe()
    os.close(reader)
    result = run_process("simulate", "text.txt", option, "-", stdout=writer)
    os.close(writer)
    assert result.returncode == 141
    assert_no_traceback(result.stderr)
    assert b"utf8-hdl: " not in result.stderr
    assert names(folder) == {"text.txt"}
