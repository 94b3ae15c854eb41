"""Test `utf8-hdl generate --vhdl-component` with GHDL."""

import re
import subprocess
from pathlib import Path

import pytest

from command import assert_refused, run
from needs import needs
from reference import ref_tokens
from rtl import verilog_ports
from verilog_cache import patch_generate

HERE = Path(__file__).parent
HOSTILE = b"A\xc3\xa9\xe0\x80\x80\xed\xa0\x80 \xf0\x9f\x98\x80\xff\xf0\x90\x80B\xc0\xaf"


@pytest.fixture(autouse=True)
def cached_verilog(monkeypatch):
    patch_generate(monkeypatch)


def generate(*options: str) -> None:
    assert run("generate", "-o", "utf8.v", "--vhdl-component", *options) == (0, "", "")


def ghdl(*arguments: str, language: str = "08") -> str:
    command, *rest = arguments
    return subprocess.run(
        ["ghdl", command, f"--std={language}", *rest], check=True, capture_output=True, text=True
    ).stdout


def vhdl_ports(vhdl: str) -> dict[str, int]:
    ports = re.findall(
        r"^      (\w+) +: (?:in |out) std_logic(?:_vector\((\d+) downto 0\))?;?$", vhdl, re.M
    )
    return {name: int(highest or 0) + 1 for name, highest in ports}


@pytest.mark.parametrize(
    "options",
    [(), ("--component", "encoder", "--profile", "extended", "--reset-polarity", "low")],
    ids=["decoder", "encoder"],
)
def test_component_has_the_ports_of_the_module(options, folder):
    generate(*options)
    verilog, vhdl = Path("utf8.v").read_text(), Path("utf8.vhd").read_text()
    assert vhdl_ports(vhdl) == verilog_ports(verilog)
    for name in vhdl_ports(vhdl):
        direction = re.search(rf"^  (in|out)put wire .*\b{name},?$", verilog, re.M)[1]
        assert re.search(rf"^      {name} +: {direction} ", vhdl, re.M)
    module = re.search(r"^module (\w+)", verilog, re.M)[1]
    assert f"  component {module} is\n" in vhdl


@needs("ghdl")
def test_component_and_its_instantiation_are_legal(folder):
    generate()
    for language in ("93", "02", "08"):
        assert ghdl("-a", "utf8.vhd", language=language) == ""
    vhdl = Path("utf8.vhd").read_text()
    use, instance = re.search(
        r"^--   (use .*?;)\n.*?^--   (\w+ : .*?\);)$", vhdl, re.M | re.S
    ).groups()
    wires = "".join(
        f"signal {name} : std_logic{f'_vector({width - 1} downto 0)' if width > 1 else ''};\n"
        for name, width in vhdl_ports(vhdl).items()
    )
    Path("top.vhd").write_text(
        f"library ieee;\nuse ieee.std_logic_1164.all;\n{use}\nentity top is end entity;\n"
        f"architecture a of top is\n{wires}begin\n"
        f"{re.sub('^-- ', '', instance, flags=re.M)}\nend architecture;\n"
    )
    ghdl("-a", "utf8.vhd", "top.vhd")


@needs("ghdl", "iverilog", "vvp")
def test_vhdl_design_with_the_decoder_counts_errors(folder):
    """GHDL converts the VHDL to Verilog; Icarus Verilog runs it with the generated module."""
    generate()
    ghdl("-a", "utf8.vhd", str(HERE / "error_counter.vhd"))
    design = ghdl("--synth", "--out=verilog", "error_counter")
    without_black_box = re.sub(
        r"^module utf8_decoder\b.*?^endmodule\n", "", design, flags=re.M | re.S
    )
    Path("design.v").write_text(without_black_box)
    Path("bytes.hex").write_text(HOSTILE.hex("\n"))
    sources = ["design.v", "utf8.v", str(HERE / "error_counter.v")]
    subprocess.run(
        ["iverilog", "-g2012", "-s", "bench", f"-DCOUNT={len(HOSTILE)}", "-o", "bench", *sources],
        check=True,
    )
    printed = subprocess.run(["vvp", "-n", "bench"], check=True, capture_output=True, text=True)
    errors = sum(token.error is not None for token in ref_tokens(HOSTILE))
    assert printed.stdout.splitlines()[0] == f"{errors} errors"


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["Entity", "two__words", "_first"])
def test_illegal_vhdl_name_is_refused(name, folder):
    result = run("generate", "-o", "utf8.v", "--vhdl-component", "--module", name)
    assert_refused(result, "--module must be a name in VHDL too: ")
    assert not Path("utf8.v").exists()


def test_option_needs_a_verilog_file(folder):
    assert_refused(run("generate", "--vhdl-component"), "-o NAME.v")
    assert_refused(run("generate", "--vhdl-component", "-o", "utf8.txt"), "'utf8.txt'")
