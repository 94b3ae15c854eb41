"""Wrong usage: one line says what is wrong and what would be right, and no file is touched."""

import importlib.util
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command import COMMAND, Run, assert_refused, both_commands, names, run, run_process, told
from utf8_flow.cli import texts
from utf8_flow.verify import waves
from utf8_sim.tools.cores import on_all_cores

LINUX = pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="needs /dev/stdin")

WRONG = {
    # no text, or two
    "simulate": "give one text: FILE, - for standard input, --text TEXT, --hex BYTES",
    "simulate --component encoder": "--code-points LIST",
    "simulate text.txt --text A": "give one text",
    "simulate --hex 41 --text A": "give one text",
    "simulate --component encoder --text A --code-points 41": "give one text",
    "simulate text.txt other.txt": "unexpected extra argument(s) (other.txt) (see utf8-hdl",
    "compare text.txt --hex 41": "give FILEs or --hex, not both",
    "compare --component encoder text.txt --code-points 41": "FILEs or --code-points, not both",
    "compare - -": "- is standard input, which can be read only once",
    "compare --exhaustive 1 --hex 41": "--hex has no effect with --exhaustive",
    "compare --exhaustive 1 text.txt": "FILE has no effect with --exhaustive",
    "compare --exhaustive 1 --stall-input-cycles 4": "--stall-input-cycles has no effect",
    # no such file
    "simulate missing.txt": "cannot read 'missing.txt': No such file or directory",
    "simulate .": "cannot read '.': Is a directory",
    "compare text.txt missing.txt": "'missing.txt'",
    # no such choice
    "simulate text.txt --profile utf8": "unknown --profile 'utf8': choose from unicode, ucs2,",
    "simulate text.txt --surrogates maybe": "'maybe': choose from accept, reject",
    "compare text.txt --noncharacters maybe": "'maybe': choose from accept, reject",
    "generate --error-span long": "'long': choose from maximal-subpart, whole-sequence",
    "compare text.txt --engine warp": "unknown --engine 'warp': choose from auto, amaranth,",
    "simulate text.txt --component coder": "'coder': choose from decoder, encoder",
    "generate --component=": "unknown --component ''",
    "generate --reset-polarity up": "'up': choose from high, low",
    # no such option or command
    "simulate text.txt --qqq": "No such option: --qqq (see utf8-hdl simulate --help)",
    "generate --sede 1": "No such option: --sede",
    "generate text.txt": "(text.txt): did you mean -o text.txt? (see utf8-hdl generate --help)",
    # twice, where once is meant
    "simulate --text a --text b": "--text is given more than once: give it once\n",
    "generate -o a.v --output b.v": "-o is given more than once",
    "synthesize --device ecp5-25f,ecp5-25f": "--device names 'ecp5-25f' more than once",
    "--wrong": "No such option: --wrong",
    "--version=3": "Option '--version' does not take a value (see utf8-hdl --help)",
    "compare --seed": "Option '--seed' requires an argument (see utf8-hdl compare --help)",
    "bitstream": "Missing option '--board' (see utf8-hdl bitstream --help)",
    "compere": "No such command 'compere'. Did you mean 'compare'? (see utf8-hdl",
    "text.txt": "No such command 'text.txt': choose from simulate, compare, generate,",
    "simulate a --lanes 3": "unknown --lanes '3': choose from 1, 2, 4, 8, 16, 32, 64, 128\n",
    # numbers
    "simulate a --seed 1.5": "value for '--seed': Input should be a valid integer, unable to parse",
    "simulate a --seed=": "value for '--seed': Input should be a valid integer, unable to parse",
    "compare text.txt --seed -1": "'--seed': Input should be greater than or equal to 0 (see utf8",
    "mutate --mutants 1e3": "Invalid value for '--mutants': Input should be a valid integer",
    "compare --stall-input often": "value for '--stall-input': Input should be a valid number",
    "simulate a --stall-output 25%": "'--stall-output': Input should be a valid number",
    "simulate text.txt --stall-input 1": "Input should be less than or equal to 0.999",
    "compare text.txt --stall-input -0.1": "Input should be greater than or equal to 0",
    "simulate text.txt --stall-output nan": "Invalid value for '--stall-output'",
    "simulate text.txt --stall-input-cycles x": "such as 3 or 5-9, not 'x'",
    "simulate text.txt --stall-input-cycles 5-3": "'5-3'",
    "simulate text.txt --stall-output-cycles 1,,2": "--stall-output-cycles takes",
    "simulate text.txt --stall-output-cycles 0-999999999999": "up to 1048575",
    "compare a --stall-input-cycles 1 --stall-input 0": "give --stall-input or",
    # bytes and code points
    "simulate --hex 4": "--hex takes bytes of two hexadecimal digits, and / between texts, not '4'",
    "compare --hex 41/4x": "not '4x'",
    "compare --hex 'E 282A C'": "not 'E 282A C'",
    "simulate --hex 0x": "not '0x'",
    "simulate --hex 410x42": "not '410x42'",
    "simulate --hex '\\x4'": "not '\\\\x4'",
    "simulate --component encoder --code-points 41,xyz": "takes hexadecimal numbers to FFFFFFFF,",
    "compare --component encoder --code-points 41/xyz": "not 'xyz'",
    "simulate --component encoder --code-points U+U+41": "'U+U+41'",
    "simulate --component encoder --code-points 41_42": "'41_42'",
    "simulate --component encoder --code-points 100000000": "to FFFFFFFF, not '100000000'",
    "simulate --component encoder --profile extended --code-points 10000000000000000": "FFFF,",
    # outputs
    "simulate text.txt --tokens none/out.jsonl": "cannot write 'none/out.jsonl'",
    "generate -o none/decoder.v": "cannot write 'none/decoder.v'",
    "simulate text.txt --tokens .": "cannot write '.'",
    "simulate text.txt --tokens=": "--tokens needs the name of a file, or -",
    "simulate text.txt --tokens text.txt": "--tokens would overwrite the input 'text.txt'",
    "simulate text.txt --tokens link.txt": "'text.txt'",
    "simulate text.txt --tokens out --vcd ./out": "--tokens and --vcd both name 'out'",
    "simulate text.txt --tokens - --vcd -": "both name '-'",
    "simulate --component encoder text.txt --bytes out --tokens ./out": "both name",
    "simulate --component encoder text.txt --bytes link.txt": "--bytes would overwrite the input",
    "prove --property reset --vcd -": "--vcd needs the name of a file\n",
    "compare --exhaustive 1 --state /dev/null": "--state must be a regular file, not '/dev/null'",
    "simulate /dev/zero": "cannot read '/dev/zero': a device without an end, give a file or a pipe",
    # without effect
    "simulate text.txt --wave-cycles 0-9": "--wave-cycles has no effect without --wave",
    "simulate text.txt --seed 7": "--seed has no effect unless --stall-input or --stall-output",
    "compare --exhaustive 1 --seed 7": "--seed has no effect with --exhaustive unless --stall-in",
    "compare text.txt --stall-input-cycles 3 --seed 7": "--seed has no effect",
    "synthesize --seeds 0 --seed 7": "--seed has no effect with --seeds 0",
    "compare text.txt --state s.json": "--state has no effect without --exhaustive",
    "simulate text.txt --code-points 41": "has no effect without --component encoder\n",
    "simulate a --component decoder --code-points 1": "has no effect with --component decoder\n",
    "simulate text.txt --bytes o": "no effect without --component encoder or transcoder\n",
    "compare --component validator --compact": "--compact has no effect with --component validator",
    "simulate a --compact --lanes 8": "a compact decoder has one lane: omit --compact or --lanes",
    "prove --compact --lanes 8": "a compact decoder has one lane: omit --compact or --lanes",
    **{
        f"{command} --component {component} --offset-width {width}": message
        for command in ("simulate text.txt", "compare", "generate", "prove", "synthesize")
        for component, width, message in (
            ("decoder", 6, "--offset-width has no effect with --component decoder"),
            ("validator --lanes 64", 6, "offset_width (lanes=64) must be 7 to 32, not 6"),
            ("validator", 33, "'--offset-width': Input should be less than or equal to 32"),
        )
    },
    "prove --from utf-8 --width 8": "no component has all of --from, --width",
    **{
        f"{command} --component encoder --lanes 1": "--lanes has no effect with --component encoder"
        for command in ("simulate a", "compare", "generate", "synthesize", "prove", "mutate")
    },
    **{
        f"{command} --component encoder --error-span whole-sequence": (
            "--error-span has no effect with --component encoder"
        )
        for command in ("simulate a", "compare", "generate", "synthesize", "prove", "mutate")
    },
}
"""Command lines and what is said about them."""


@pytest.mark.parametrize("line", WRONG)
def test_wrong_usage_is_refused_in_one_line(folder, line):
    Path("link.txt").symlink_to("text.txt")
    assert_refused(run(*shlex.split(line)), WRONG[line])
    assert names(folder) == {"text.txt", "link.txt"}
    assert Path("text.txt").read_bytes() == b"A\xc2\xa9"


@pytest.mark.parametrize(
    "line",
    [
        "simulate text.txt --stall-input 0 --seed 7",  # one of many runs of somebody's script
        "compare text.txt --seed 7",
        "compare text.txt --stall-input-cycles 3 --stall-output 0.5 --seed 7",
        "compare --exhaustive 1 --state s.json",
        f"simulate {os.devnull} --tokens {os.devnull}",  # the input is no file
    ],
)
def test_an_option_that_may_have_an_effect_is_taken(folder, line):
    assert run(*line.split()).status == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("simulate - --tokens text.txt < text.txt", "--tokens would overwrite the input '-'"),
        ("compare - --tokens text.txt < text.txt", "--tokens would overwrite the input '-'"),
        ("simulate text.txt --tokens - >> text.txt", "--tokens would overwrite the input"),
        pytest.param("simulate /dev/stdin --tokens hard.txt < text.txt", "/dev/stdin", marks=LINUX),
        pytest.param("simulate - --tokens /dev/stdout <text.txt >>text.txt", "'-'", marks=LINUX),
    ],
)
def test_an_input_is_known_again_behind_standard_input_and_output(folder, command, named):
    Path("hard.txt").hardlink_to("text.txt")
    done = subprocess.run(
        ["sh", "-c", f"exec {COMMAND} {command}"], capture_output=True, text=True, check=False
    )
    assert_refused(Run(done.returncode, done.stdout, done.stderr), named)
    assert Path("text.txt").read_bytes() == b"A\xc2\xa9"
    assert names(folder) == {"hard.txt", "text.txt"}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("compare --exhaustive 1 --state pipe", "--state must be a regular file, not 'pipe'"),
        ("simulate text.txt --vcd pipe.vcd", "--vcd must be a regular file, not 'pipe.gtkw'"),
    ],
)
def test_a_pipe_is_refused_where_a_file_is_needed(folder, line, named):
    """To open one would wait for ever."""
    os.mkfifo("pipe")
    os.mkfifo("pipe.gtkw")
    result = run_process(*line.split(), stdout=subprocess.PIPE)
    assert_refused(Run(result.returncode, result.stdout.decode(), result.stderr.decode()), named)


def test_a_save_file_that_cannot_be_read_is_refused_before_the_run(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    Path("out.gtkw").touch()
    monkeypatch.setattr(waves.Path, "read_bytes", refuse)
    assert_refused(run("simulate", "text.txt", "--vcd", "out.vcd"), "cannot read 'out.gtkw': Perm")
    assert names(folder) == {"text.txt", "out.gtkw"}


@pytest.mark.parametrize(
    ("line", "package", "named"),
    [
        ("mutate", "pyosys", "utf8-hdl: mutate needs pyosys: "),
        ("compare --cluster tcp://127.0.0.1:1", "distributed", "--cluster needs distributed: "),
    ],
)
def test_a_command_without_its_package_is_refused_at_once(monkeypatch, line, package, named):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else find(name)
    )
    assert_refused(run(*line.split()), named)


@both_commands
def test_an_input_that_is_truncated_while_it_is_read_is_refused(folder, monkeypatch, command):
    def pieces(stream):
        yield stream.read(1), False
        yield b"", True

    monkeypatch.setattr(texts, "file_pieces", pieces)
    result = run(command, "text.txt")
    assert result.status == 2
    assert "cannot read 'text.txt': truncated to 1 of 3 bytes" in result.err
    assert "in all" not in result.out


def test_a_stream_without_an_end_is_refused(folder, monkeypatch):
    monkeypatch.setattr(texts, "MAX_COPY", 2)
    with open("text.txt") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert_refused(run("simulate", "-"), "cannot read '-': more than 2 bytes")


@pytest.mark.parametrize("written", ["0xE2 0x82 0xAC", "E2,82,AC", r"\xE2\x82\xAC", "0xE282AC"])
def test_bytes_are_taken_as_other_languages_write_them(written):
    [token] = told("--hex", written)
    assert token["code_point"] == 0x20AC


@pytest.mark.parametrize("component", ["decoder", "compactor"])
def test_values_are_taken_as_other_languages_write_them(component):
    written = ["--component", component, "--lanes", "2", "--hex"]
    assert told(*written, "0x41,\\x42") == told(*written, "41 42")


def test_an_input_is_known_again_under_another_name(folder):
    Path("hard.txt").hardlink_to("text.txt")
    assert_refused(run("simulate", "text.txt", "--tokens", "hard.txt"), "the input 'text.txt'")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
@both_commands
def test_an_unreadable_file_is_refused(command):
    assert_refused(run(command, "/proc/self/mem"), "'/proc/self/mem'")


@both_commands
def test_closed_standard_input_is_refused(monkeypatch, command):
    monkeypatch.setattr(sys, "stdin", None)
    assert_refused(run(command, "-"), "cannot read '-': standard input is closed")


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("no\nsuch luck")


def fail_in_a_worker(*_: object, **__: object) -> None:
    list(on_all_cores(math.factorial, [-1, -1]))


@pytest.mark.parametrize(
    ("failing", "what"),
    [(fail, "RuntimeError: no such luck"), (fail_in_a_worker, "ValueError: factorial() not ")],
)
def test_an_error_that_nobody_expects_is_no_difference(folder, monkeypatch, failing, what):
    monkeypatch.setattr("utf8_flow.verify.engine_choice.prepare_engine", failing)
    failed = run("simulate", "text.txt")
    assert (failed.status, failed.out) == (70, "")
    assert failed.err.startswith(f"utf8-hdl: unexpected error: {what}")
    assert failed.err.endswith(" (set UTF8_HDL_TRACEBACK=1 to see where, and please report it)\n")
    assert failed.err.count("\n") == 1
    monkeypatch.setenv("UTF8_HDL_TRACEBACK", "1")
    failed = run("simulate", "text.txt")
    assert failed.status == 70
    assert "Traceback (most recent call last):\n" in failed.err
    assert f"in {failing.__name__}\n" in failed.err


def test_a_package_that_is_not_there_is_no_difference():
    program = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "sys.argv[1:] = ['simulate', '--text', 'A']\n"
        "from utf8_flow.__main__ import main\n"
        "sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.startswith("utf8-hdl: unexpected error: ModuleNotFoundError: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("options", ["-o none/a.v", "-o .", "-o a.v --fusesoc"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(folder, monkeypatch, options):
    monkeypatch.setattr("utf8_flow.export.verilog.generate", fail)
    Path("a.core").mkdir()
    assert_refused(run("generate", *options.split()), "cannot write '")
    assert names(folder) == {"a.core", "text.txt"}
