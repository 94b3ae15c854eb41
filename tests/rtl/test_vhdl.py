"""`utf8-hdl generate --vhdl-component`: the Verilog in a VHDL design, as GHDL reads it."""

import re
import subprocess
from pathlib import Path

import pytest

from command import assert_refused, run
from needs import needs
from reference import ref_tokens
from rtl import verilog_ports

HERE = Path(__file__).parent
HOSTILE = b"A\xc3\xa9\xe0\x80\x80\xed\xa0\x80 \xf0\x9f\x98\x80\xff\xf0\x90\x80B\xc0\xaf"


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


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "options",
    [(), ("--profile", "extended"), ("--component", "encoder"), ("--reset-polarity", "low")],
    ids=lambda options: " ".join(options) or "decoder",
)
def test_the_component_has_the_ports_of_the_module(options, folder):
    generate(*options)
    verilog, vhdl = Path("utf8.v").read_text(), Path("utf8.vhd").read_text()
    assert vhdl_ports(vhdl) == verilog_ports(verilog)
    for name in vhdl_ports(vhdl):
        way = re.search(rf"^  (in|out)put wire .*\b{name},?$", verilog, re.M)[1]
        assert re.search(rf"^      {name} +: {way} ", vhdl, re.M)
    module = re.search(r"^module (\w+)", verilog, re.M)[1]
    assert f"  component {module} is\n" in vhdl


@needs("ghdl")
def test_every_vhdl_takes_it(folder):
    generate("--component", "encoder")
    for language in ("93", "02", "08"):
        assert ghdl("-a", "utf8.vhd", language=language) == ""


@needs("ghdl", "iverilog", "vvp")
def test_the_instantiation_in_its_comment_can_be_pasted(folder):
    generate()
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
def test_a_vhdl_design_with_the_decoder_counts_errors(folder):
    """GHDL makes Verilog of the VHDL, and Icarus Verilog runs it with the generated module."""
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


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["signal", "Entity", "two__words", "_first", "last_"])
def test_a_name_that_vhdl_cannot_have_is_refused(name, folder):
    result = run("generate", "-o", "utf8.v", "--vhdl-component", "--module", name)
    assert_refused(result, "--module must be a name in VHDL too: ")
    assert not Path("utf8.v").exists()


def test_it_needs_a_file_beside_which_it_can_be(folder):
    assert_refused(run("generate", "--vhdl-component"), "-o NAME.v")
    assert_refused(run("generate", "--vhdl-component", "-o", "utf8.txt"), "'utf8.txt'")
