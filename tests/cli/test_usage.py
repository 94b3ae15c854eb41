"""Wrong usage: one line of message, exit status 2, and no file is touched."""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command import COMMAND, Run, assert_refused, names, run
from needs import needs
from utf8_flow.cli import texts
from utf8_flow.verify import waves

LINUX = pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="needs /dev/stdin")
EVERY_DESIGN = "simulate a", "compare", "generate", "synthesize", "prove", "mutate"
PROVE = "prove --component encoder --profile ucs2"
COMPACTOR = "simulate --component compactor"

REFUSALS = {
    # input
    "simulate": "give one text: FILE, - for standard input, --text TEXT, --hex BYTES",
    "simulate text.txt other.txt": "unexpected extra argument(s) (other.txt) (see utf8-hdl",
    "compare text.txt --hex 41": "give FILEs or --hex, not both",
    "compare - -": "- is standard input, which can be read only once",
    "simulate missing.txt": "cannot read 'missing.txt': No such file or directory",
    "simulate /dev/zero": "cannot read '/dev/zero': a device without an end, give a file or a pipe",
    # commands and options
    "compere": "No such command 'compere'. Did you mean 'compare'? (see utf8-hdl",
    "text.txt": "No such command 'text.txt': choose from simulate, compare, generate,",
    "simulate text.txt --qqq": "No such option: --qqq (see utf8-hdl simulate --help)",
    "generate text.txt": "(text.txt): did you mean -o text.txt? (see utf8-hdl generate --help)",
    "compare --seed": "Option '--seed' requires an argument (see utf8-hdl compare --help)",
    "bitstream": "Missing option '--board' (see utf8-hdl bitstream --help)",
    "simulate --text a --text b": "--text is given more than once: give it once\n",
    "synthesize --device ecp5-25f,ecp5-25f": "--device names 'ecp5-25f' more than once",
    # choices
    "prove --profile utf7": "unknown --profile 'utf7': choose from unicode, ucs2, ucs4, extended\n",
    "prove --component codec": (
        "unknown --component 'codec': choose from decoder, encoder, validator, compactor, "
        "transcoder; docs/python.md describes how to register another one\n"
    ),
    "compare a --engine verilog": "unknown --engine 'verilog': choose from auto, amaranth, cxxrtl",
    "simulate a --surrogates maybe": "unknown --surrogates 'maybe': choose from accept, reject\n",
    "simulate a --error-span x": "unknown --error-span 'x': choose from maximal-subpart, whole",
    "generate --reset-polarity 0": "unknown --reset-polarity '0': choose from high, low\n",
    "simulate a --lanes 3": "unknown --lanes '3': choose from 1, 2, 4, 8, 16, 32, 64, 128\n",
    "prove --from utf-8 --width 8": "no component has all of --from, --width",
    # numbers
    "simulate a --seed=": "value for '--seed': Input should be a valid integer, unable to parse",
    "compare text.txt --seed -1": "'--seed': Input should be greater than or equal to 0 (see utf8",
    "compare --exhaustive 0": "'--exhaustive': Input should be greater than or equal to 1",
    "compare --exhaustive 5": "'--exhaustive': Input should be less than or equal to 4",
    "compare --cycles 0": "'--cycles': Input should be greater than or equal to 1",
    f"compare --cycles {10**19}": "Input should be less than or equal to 1000000000000000000",
    "compare --hours -1": "'--hours': Input should be greater than or equal to 0",
    "compare --hours inf": "'--hours': Input should be less than or equal to 1000000",
    "compare --hours nan": "Invalid value for '--hours'",
    "prove --timeout 0": "'--timeout': Input should be greater than or equal to 1",
    # stalls
    "simulate text.txt --stall-input 1": "Input should be less than or equal to 0.999",
    "compare text.txt --stall-input -0.1": "Input should be greater than or equal to 0",
    "simulate text.txt --stall-input-cycles x": "such as 3 or 5-9, not 'x'",
    "simulate text.txt --stall-input-cycles 5-3": "'5-3'",
    "simulate text.txt --stall-output-cycles 0-999999999999": "up to 1048575",
    "compare a --stall-input-cycles 1 --stall-input 0": "give --stall-input or",
    # bytes and code points
    "simulate --hex 4": "--hex takes bytes of two hexadecimal digits, and / between texts, not '4'",
    "compare --hex 'E 282A C'": "not 'E 282A C'",
    "simulate --hex 410x42": "not '410x42'",
    "simulate --hex '\\x4'": "not '\\\\x4'",
    "compare --component encoder --code-points 41/xyz": "to FFFFFFFF, not 'xyz'",
    "simulate --component encoder --code-points U+U+41": "'U+U+41'",
    "simulate --component encoder --profile extended --code-points 10000000000000000": "FFFF,",
    # output
    f"{PROVE} --vcd none/out.vcd": "cannot write 'none/out.vcd'",
    f"{PROVE} --json none/out.json": "cannot write 'none/out.json'",
    "compare --exhaustive 1 --state none/state.json": "'none/state.json'",
    "simulate text.txt --tokens=": "--tokens needs the name of a file, or -",
    f"{PROVE} --vcd -": "--vcd needs the name of a file\n",
    f"{PROVE} --json -": "--json needs the name of a file",
    "compare --cycles 1 --state -": "--state needs the name of a file",
    "simulate text.txt --tokens text.txt": "--tokens would overwrite the input 'text.txt'",
    "simulate text.txt --tokens link.txt": "the input 'text.txt'",
    "simulate text.txt --tokens hard.txt": "the input 'text.txt'",
    "simulate --component encoder text.txt --bytes link.txt": "--bytes would overwrite the input",
    "simulate text.txt --tokens out --vcd ./out": "--tokens and --vcd both name 'out'",
    "simulate text.txt --tokens - --vcd -": "--tokens and --vcd both name '-': choose another",
    "simulate text.txt --tokens .": "cannot write '.': Is a directory",
    "compare --exhaustive 1 --state /dev/null": "must be a regular file, not '/dev/null'",
    "compare --cycles 1 --state out --vcd out": "--state",
    # a named pipe, where opening it would block
    "compare --exhaustive 1 --state pipe": "--state must be a regular file, not 'pipe'",
    "simulate text.txt --vcd pipe.vcd": "--vcd must be a regular file, not 'pipe.gtkw'",
    # results of proofs
    "prove --missing": "--missing needs --json FILE",
    "prove --status": "--status needs --json FILE",
    f"{PROVE} --json text.txt": "'text.txt' holds no results of proofs: choose a file that prove",
    "prove --json . --status": "cannot read '.': Is a directory",
    "prove --component decoder --profile ucs2 --property speed": (
        "--property must be one of tokens, self-synchronisation, "
    ),
    # options that exclude each other
    "compare --cycles 1 --exhaustive 1": "give --exhaustive or --cycles, not both",
    "compare --unit 1 --hours 1": "give --unit or --hours, not both",
    "simulate a --compact --lanes 8": "a compact decoder has one lane: omit --compact or --lanes",
    # options without effect
    "simulate text.txt --wave-cycles 0-9": "--wave-cycles has no effect without --wave",
    "simulate text.txt --seed 7": "--seed has no effect unless --stall-input or --stall-output",
    "compare text.txt --stall-input-cycles 3 --seed 7": "--seed has no effect",
    "compare --exhaustive 1 --seed 7": "--seed has no effect with --exhaustive unless --stall-in",
    "synthesize --seeds 0 --seed 7": "--seed has no effect with --seeds 0",
    "compare --exhaustive 1 --component encoder": "--exhaustive has no effect with",
    "compare --cycles 1 text.txt": "FILE has no effect with --cycles",
    "compare --unit 1 --tokens -": "--tokens has no effect with --unit",
    "compare --cycles 1 --stall-input-cycles 3": "--stall-input-cycles has no effect with --cycles",
    "compare --unit 1 --state out": "--state has no effect with --unit",
    "compare --state out": "--state has no effect without --exhaustive, --cycles or --hours",
    "compare --text A --cluster tcp://a:1": "--cluster has no effect on texts that are given",
    "prove --theorem --profile ucs2": "--profile has no effect with --theorem",
    "prove --status --json x --profile ucs2": "--profile has no effect with --status",
    "simulate text.txt --code-points 41": "has no effect without --component encoder\n",
    "simulate text.txt --bytes o": "no effect without --component encoder or transcoder\n",
    "compare --component validator --compact": "--compact has no effect with --component validator",
    "generate --component validator --lanes 64 --offset-width 6": (
        "offset_width (lanes=64) must be 7 to 32, not 6"
    ),
    "prove --component validator --offset-width 33": "Input should be less than or equal to 32",
    **{
        f"{command} --component encoder --lanes 1": "--lanes has no effect with --component encoder"
        for command in EVERY_DESIGN
    },
    "simulate a --component encoder --error-span whole-sequence": (
        "--error-span has no effect with --component encoder"
    ),
    # the transcoder and the compactor
    "compare --component transcoder --profile ucs4": "a transcoder needs a profile up to U+10FFFF",
    "prove --component transcoder --from utf-16 --lanes 1": "lanes",
    "synthesize --component transcoder --to utf-8 --lanes 64": "may be up to 32 lanes, not 64\n",
    "generate --component transcoder --from latin-1": "unknown --from 'latin-1': choose from",
    "prove --component transcoder --to utf-8 --byte-order big": "with --from utf-8 --to utf-8\n",
    "simulate a --component transcoder --from utf-16be --byte-order little --to utf-8": (
        "--byte-order has no effect with --from utf-16be --to utf-8\n"
    ),
    "mutate --component transcoder --from utf-16 --error-span whole-sequence": (
        "--error-span has no effect with --component transcoder --from utf-16"
    ),
    "simulate text.txt --byte-order big": "--byte-order has no effect without --component transco",
    f"{COMPACTOR} --hex 1FF": "--hex takes hexadecimal values of 8 bits, -- for an empty lane",
    f"{COMPACTOR} --hex 41-": "not '41-'",
    f"{COMPACTOR} --hex 4 --width 2": "values of 2 bits",
    f"{COMPACTOR} --text A --width 6": "values of 6 bits are too narrow for these bytes",
    f"{COMPACTOR} --text A --width 0": "'--width': Input should be greater than or equal to 1",
    f"{COMPACTOR} --text A --profile ucs2": "--profile has no effect with --component compactor\n",
}
"""Command lines, each with a part of its message."""

NEEDS_PYOSYS = needs(modules=["pyosys"])


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=NEEDS_PYOSYS if line.startswith(("prove", "mutate")) else ())
        for line in REFUSALS
    ],
)
def test_wrong_usage_is_refused(folder, line):
    Path("link.txt").symlink_to("text.txt")
    Path("hard.txt").hardlink_to("text.txt")
    for pipe in ("pipe", "pipe.gtkw"):
        os.mkfifo(pipe)
    before = names(folder)
    assert_refused(run(*shlex.split(line)), REFUSALS[line])
    assert names(folder) == before
    assert Path("text.txt").read_bytes() == b"A\xc2\xa9"


@pytest.mark.parametrize(
    "line",
    [
        "simulate text.txt --stall-input 0 --seed 7",  # scripts vary the rate only
        "compare text.txt --seed 7",
        f"simulate {os.devnull} --tokens {os.devnull}",  # not a regular file: nothing is lost
    ],
)
def test_option_with_possible_effect_is_accepted(folder, line):
    assert run(*line.split()).status == 0


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("simulate - --tokens text.txt < text.txt", "--tokens would overwrite the input '-'"),
        pytest.param("simulate /dev/stdin --tokens hard.txt < text.txt", "/dev/stdin", marks=LINUX),
        ("simulate text.txt --tokens - >> text.txt", "--tokens would overwrite the input"),
        pytest.param("simulate - --tokens /dev/stdout <text.txt >>text.txt", "'-'", marks=LINUX),
    ],
)
def test_redirected_input_is_not_overwritten(folder, command, named):
    Path("hard.txt").hardlink_to("text.txt")
    done = subprocess.run(
        ["sh", "-c", f"exec {COMMAND} {command}"], capture_output=True, text=True, check=False
    )
    assert_refused(Run(done.returncode, done.stdout, done.stderr), named)
    assert Path("text.txt").read_bytes() == b"A\xc2\xa9"
    assert names(folder) == {"hard.txt", "text.txt"}


def test_unreadable_save_file_is_refused_before_the_run(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    Path("out.gtkw").touch()
    monkeypatch.setattr(waves.Path, "read_bytes", refuse)
    assert_refused(run("simulate", "text.txt", "--vcd", "out.vcd"), "cannot read 'out.gtkw': Perm")
    assert names(folder) == {"text.txt", "out.gtkw"}


@pytest.mark.parametrize(
    ("line", "package", "named"),
    [
        (PROVE, "pyosys", "prove needs pyosys: in a clone, pip install '.[formal]'\n"),
        ("mutate", "pyosys", "utf8-hdl: mutate needs pyosys: "),
        ("compare --cluster tcp://127.0.0.1:1", "distributed", "--cluster needs distributed: "),
    ],
)
def test_missing_package_is_named(monkeypatch, line, package, named):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == package else find(name)
    )
    assert_refused(run(*line.split()), named)


def test_truncated_input_is_refused(folder, monkeypatch):
    def pieces(stream):
        yield stream.read(1), False
        yield b"", True

    monkeypatch.setattr(texts, "file_pieces", pieces)
    result = run("compare", "text.txt")
    assert result.status == 2
    assert "cannot read 'text.txt': truncated to 1 of 3 bytes" in result.err
    assert "in all" not in result.out


def test_endless_stream_is_refused(folder, monkeypatch):
    monkeypatch.setattr(texts, "MAX_COPY", 2)
    with open("text.txt") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert_refused(run("simulate", "-"), "cannot read '-': more than 2 bytes")


def test_closed_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert_refused(run("compare", "-"), "cannot read '-': standard input is closed")


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("no\nsuch luck")


def test_unexpected_error_has_its_own_status(folder, monkeypatch):
    monkeypatch.setattr("utf8_flow.verify.engine_choice.prepare_engine", fail)
    failed = run("simulate", "text.txt")
    assert (failed.status, failed.out) == (70, "")
    assert failed.err.startswith("utf8-hdl: unexpected error: RuntimeError: no such luck")
    assert failed.err.endswith(" (set UTF8_HDL_TRACEBACK=1 to see where, and please report it)\n")
    assert failed.err.count("\n") == 1
    monkeypatch.setenv("UTF8_HDL_TRACEBACK", "1")
    failed = run("simulate", "text.txt")
    assert failed.status == 70
    assert "Traceback (most recent call last):\n" in failed.err
    assert "in fail\n" in failed.err


def test_missing_dependency_is_an_unexpected_error():
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
def test_unwritable_output_is_refused_before_the_work(folder, monkeypatch, options):
    monkeypatch.setattr("utf8_flow.export.verilog.generate", fail)
    Path("a.core").mkdir()
    assert_refused(run("generate", *options.split()), "cannot write '")
    assert names(folder) == {"a.core", "text.txt"}


@pytest.mark.parametrize(
    "name",
    ["1st", "naïve", "x\n", "module", "logic", "will_stall"],  # the last is a signal inside
)
def test_impossible_module_name_is_refused(name, folder):
    assert_refused(run("generate", "--module", name, "-o", "x.v"), repr(name))
    assert names(folder) == {"text.txt"}
