"""The examples in README and docs/ are run, and print what they say."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.sim import Simulator

from command import run
from needs import needs
from utf8_flow.components import ENTRIES
from utf8_flow.export.verilog import generate
from utf8_hdl import Decoder

PROPERTIES = [what for entry in ENTRIES.values() for what in entry.proofs(False)]

ROOT = Path(__file__).parents[1]
TEXTS = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))]
BLOCKS = [
    block for text in TEXTS for block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S)
]
CONSOLE = [block for language, block in BLOCKS if language == "console"]
SHELL = [
    line.split("#")[0].strip()
    for language, block in BLOCKS
    if language == "sh"
    for line in block.splitlines()
]


@pytest.mark.parametrize("block", CONSOLE, ids=[block.splitlines()[0] for block in CONSOLE])
def test_console_example_prints_what_it_says(block):
    prompt, expected = block.split("\n", 1)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-c", prompt.removeprefix("$ ")],
        capture_output=True, encoding="utf-8", check=True, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert run.stdout == expected


def test_every_property_is_stated_on_the_page_about_proofs():
    page = (ROOT / "docs/proofs.md").read_text()
    components = {}
    for what in PROPERTIES:
        components.setdefault((what.name, what.statement), []).append(what.component)
    rows = [
        f"| `{name}` | {' and '.join(of)} | {statement} |"
        for (name, statement), of in components.items()
    ]
    assert re.findall(r"^\| `[a-z-]+` \| (?:decoder|encoder).*", page, re.M) == rows


def test_make_targets_named_in_the_docs_exist():
    targets = re.findall(r"^([\w-]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    named = [line.split()[1] for line in SHELL if line.startswith("make ")]
    assert named
    assert set(named) <= set(targets)


@pytest.mark.parametrize(
    "line",
    dict.fromkeys(line for line in SHELL if re.search("utf8-hdl (simulate|generate)|FILE", line)),
)
def test_shell_example_works(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_bytes(b"a \xe2\x82\xac, \xff")
    line = line.replace("FILE...", "text text").replace("FILE", "text")
    if "|" in line:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path}
        subprocess.run(["bash", "-c", line], check=True, env=environment, capture_output=True)
    else:
        program, *arguments = shlex.split(line)
        assert program == "utf8-hdl"
        assert run(*arguments).status == 0


def test_timing_diagram_is_what_the_makefile_draws(tmp_path):
    pytest.importorskip("wavedrom", reason="wavedrom is not installed")
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^diagram:.*\n((?:\t.*\n|    .*\n)+)", makefile, re.M)[1]
    line = recipe.replace("\\\n", " ").replace("$(BIN)/", "")
    assert "docs/decoder.svg" in line
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "docs").mkdir()
    subprocess.run(
        ["sh", "-c", line], check=True, cwd=tmp_path, env={**os.environ, "PATH": path},
        capture_output=True,
    )  # fmt: skip
    drawn = (tmp_path / "docs/decoder.svg").read_bytes()
    assert drawn == (ROOT / "docs/decoder.svg").read_bytes()


def test_amaranth_example_counts_characters():
    namespace = {}
    exec(next(block for language, block in BLOCKS if language == "python"), namespace)
    counter = namespace["CharacterCounter"]()
    simulator = Simulator(counter)
    simulator.add_clock(10e-9)
    counts = []

    async def bench(ctx):
        stream = counter.decoder.i
        ctx.set(stream.valid, 1)
        for byte in "a€😀".encode() + b"\xff\xc2":
            ctx.set(stream.p.data, byte)
            await ctx.tick()
        ctx.set(stream.valid, 0)
        await ctx.tick().repeat(20)  # more than any latency
        counts.append(ctx.get(counter.count))

    simulator.add_testbench(bench)
    simulator.run()
    assert counts == [3]


@needs("iverilog")
def test_verilog_example_fits_the_generated_module(tmp_path):
    instance = next(block for language, block in BLOCKS if language == "verilog")
    wires = dict.fromkeys(re.findall(r"\((\w+)\)", instance), 1)
    wires |= {"byte_data": 8, "token_code_point": 32, "token_user": 8}
    declarations = "".join(f"wire [{width - 1}:0] {name};\n" for name, width in wires.items())
    (tmp_path / "top.v").write_text(f"module top;\n{declarations}{instance}endmodule\n")
    (tmp_path / "utf8_decoder.v").write_text(generate(Decoder()))
    run = subprocess.run(
        ["iverilog", "-g2001", "-Wall", "-s", "top", "-o", "top", "top.v", "utf8_decoder.v"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "port" not in run.stderr


def test_python_examples_run():
    for language, block in BLOCKS:
        if language == "python":
            exec(block, {})
