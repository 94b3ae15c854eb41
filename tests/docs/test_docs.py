"""Test the examples in README, docs/ and docstrings, and the tables against the data."""

import doctest
import inspect
import json
import re
import shlex
import subprocess
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

import utf8_flow
import utf8_hdl
import utf8_sim
from command import in_shell, narrow, paste, run
from needs import needs
from rtl import run_bench
from utf8_flow.designs import DesignSpec
from utf8_hdl import CompactDecoder, Decoder, Encoder
from utf8_sim.components import COMPONENTS
from utf8_sim.components.decoder import PIPELINED
from verilog_cache import patch_generate, verilog_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
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


def example(text: str) -> Any:
    """An example as a parameter. Verilog of a transcoder takes seconds."""
    is_slow = "generate --component transcoder" in text
    return pytest.param(text, marks=[pytest.mark.long] * is_slow, id=text.splitlines()[0])


@pytest.mark.sample(7)
@pytest.mark.parametrize("block", [*map(example, CONSOLE)])
def test_console_example(block):
    prompt, expected = block.split("\n", 1)
    line = prompt.removeprefix("$ ")
    program, *arguments = shlex.split(line.removesuffix(" 2>/dev/null"))
    if "|" in arguments or program != "utf8-hdl":
        assert in_shell(line, encoding="utf-8").stdout == expected
    else:
        assert run(*arguments).out == expected


def test_latencies_match_the_timing():
    page, properties = (
        (ROOT / name).read_text() for name in ("docs/decoder.md", "docs/properties.md")
    )
    for component, design, event in (
        (COMPONENTS["decoder"], Decoder, "after its last byte was accepted"),
        (COMPONENTS["encoder"], Encoder, "after its code point was"),
    ):
        timing = component.timing(component.make())
        for text in (page, properties, design.__doc__):
            assert f"{timing.latency} cycles {event}" in " ".join(text.split())
    compact = COMPONENTS["decoder"].timing(CompactDecoder())
    assert f"| latency | {PIPELINED.latency} cycles | {compact.latency} cycle" in page
    cut = f"{PIPELINED.latency_of_cut} cycles after the byte that cuts it"
    assert cut in page
    assert cut in Decoder.__doc__


def options_of(words: str) -> frozenset[str]:
    """The options of a command line, without a transcoder's defaults."""
    options = {option.strip() for option in words.split("--") if option.strip()}
    return frozenset(options - {"from utf-8", "to utf-16"})


def test_figures_of_readme_match_the_measurements():
    measured = {}
    for file in ROOT.glob("docs/synthesis*.json"):
        for design in json.loads(file.read_text())["designs"]:
            if design["device"] in ("ecp5-25f", "ecp5-85f") and design["profile"] == "unicode":
                figures = design["lookup_tables"], design["registers"], design["usable_mhz"]
                rate = f"{design['bytes_per_second'] / 1e9:.3g}"
                options = options_of(" ".join(DesignSpec.of_row(design).options))
                measured[options] = (*(f"{figure:,.0f}" for figure in figures), rate)
    row = r"\| ([\d,]+) / ([\d,]+) \| (\d+) \| ([\d.]+) \| `?([^|`]*?)`? ?\|$"
    stated = {
        options_of(command): (*figures,) for *figures, command in re.findall(row, README, re.M)
    }
    assert len(stated) == 10
    assert stated == {options: measured[options] for options in stated}


def test_readme_is_short():
    words = re.sub(r"```.*?```|[|]", "", README, flags=re.S).split()
    assert 0 < len(words) <= 1200  # a limit of ours, without code


def test_citation_has_the_version():
    assert f"\nversion: {utf8_hdl.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_pages_and_messages_install_from_a_clone():
    """The package is not on PyPI."""
    sources = [path for name in ("hdl", "sim", "flow") for path in (ROOT / name).rglob("*.py")]
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    files = [path for path in (*sources, *pages) if "utf8-hdl[" in path.read_text("utf-8")]
    assert files == []


def test_make_targets_of_the_pages_exist():
    targets = re.findall(r"^([\w-]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    named = [line.split()[1] for line in SHELL if line.startswith("make ")]
    assert named
    assert set(named) <= set(targets)


EXAMPLES = dict.fromkeys(
    line for line in SHELL if re.search(r"utf8-hdl (simulate|generate)|\bFILE\b", line)
)


@pytest.mark.sample(10)
@pytest.mark.parametrize("line", [*map(example, EXAMPLES)])
def test_shell_example(line, tmp_path, monkeypatch):
    """Components with lanes have two lanes in this test: wider designs take minutes."""
    monkeypatch.chdir(tmp_path)
    patch_generate(monkeypatch)
    line = narrow(line, 2)
    if re.search("--component (transcoder|validator|compactor)", line) and "--lanes" not in line:
        line += " --lanes 2"
    (tmp_path / "text").write_bytes(b"a \xe2\x82\xac, \xff")
    line = line.replace("FILE...", "text text").replace("FILE", "text")
    paste(line)


def test_timing_diagrams_are_those_of_the_makefile(tmp_path, monkeypatch):
    pytest.importorskip("wavedrom", reason="wavedrom is not installed")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^diagram:.*\n((?:\t.*\n|    .*\n)+)", makefile, re.M)[1]
    (tmp_path / "docs/figures").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for line in recipe.replace("\\\n", "").replace("$(BIN)/", "").splitlines():
        paste(line)
    drawn = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.svg")}
    assert drawn == {path: (ROOT / path).read_bytes() for path in drawn}
    kept = [ROOT / "docs/decoder.svg", *ROOT.glob("docs/figures/timing-*.svg")]
    assert {ROOT / path for path in drawn} == {*kept}


def design_of(name: str) -> Any:
    """A design whose class is in an example."""
    namespace: dict[str, Any] = {}
    exec(next(block for _, block in BLOCKS if f"class {name}" in block), namespace)
    return namespace[name]()


def test_amaranth_example_counts_characters():
    counter, counts = design_of("CharacterCounter"), []

    async def bench(ctx):
        stream = counter.decoder.i
        await ctx.tick()  # ready is low in the first cycle
        ctx.set(stream.valid, 1)
        for byte in "a€😀".encode() + b"\xff\xc2":
            ctx.set(stream.p.data, byte)
            await ctx.tick()
        ctx.set(stream.valid, 0)
        await ctx.tick().repeat(20)  # more than any latency
        counts.append(ctx.get(counter.count))

    run_bench(counter, bench)
    assert counts == [3]


@needs("iverilog")
def test_verilog_example_fits_the_generated_module(tmp_path):
    instance = next(block for language, block in BLOCKS if language == "verilog")
    wires = dict.fromkeys(re.findall(r"\((\w+)\)", instance), 1)
    wires |= {"byte_data": 8, "token_code_point": 32, "token_user": 8}
    declarations = "".join(f"wire [{width - 1}:0] {name};\n" for name, width in wires.items())
    (tmp_path / "top.v").write_text(f"module top;\n{declarations}{instance}endmodule\n")
    (tmp_path / "utf8_decoder.v").write_text(verilog_of(Decoder()))
    compiled = subprocess.run(
        ["iverilog", "-g2001", "-Wall", "-s", "top", "-o", "top", "top.v", "utf8_decoder.v"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "port" not in compiled.stderr


@needs("iverilog")
def test_tutorial_prints_its_tokens(tmp_path):
    page = (ROOT / "docs/tutorial.md").read_text()
    [bench] = re.findall(r"^```verilog\n(.*?)^```", page, re.M | re.S)
    [expected] = re.findall(r"^```text\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "bench.v").write_text(bench)
    (tmp_path / "utf8_decoder.v").write_text(verilog_of(Decoder()))
    [line] = [line for line in SHELL if line.startswith("iverilog -o bench bench.v")]
    assert in_shell(line, cwd=tmp_path, encoding="utf-8").stdout == expected


COMMAND_LINE = (ROOT / "docs/command-line.md").read_text()


def test_page_lists_the_commands():
    commands = re.findall(r"^  (\w+)  ", run("--help").out.split("Commands:")[1], re.M)
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| \[", COMMAND_LINE, re.M)
    assert sorted(rows) == sorted(commands)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "component", ["decoder", "encoder", "validator", "transcoder", "compactor"]
)
def test_page_shows_the_json(component):
    [stated] = re.findall(rf"^\| {component} \| `(.*?}})`", COMMAND_LINE, re.M)
    text = ("--hex", "41") if component == "compactor" else ("--text", "A")
    lanes = ("--lanes", "2") if component in ("validator", "transcoder", "compactor") else ()
    shown = run("simulate", "--component", component, *lanes, *text, "--tokens", "-")
    assert shown.out == f"{stated}\n"


def missing_paths(text: str) -> list[str]:
    """The files and folders of the repository that a page names and that do not exist."""
    named = re.findall(r"`((?:hdl|sim|flow|tests)/[\w/.]*)`", text)
    assert named
    return [path for path in named if not (ROOT / path).exists()]


def test_page_names_files_that_exist():
    page = (ROOT / "docs/how-it-is-built.md").read_text()
    assert missing_paths(page) == []
    assert missing_paths(page.replace("rules.py", "rule.py")) != []


def test_pipeline_example_makes_letters_upper_case():
    upper, taken = design_of("Upper"), []

    async def bench(ctx):
        ctx.set(upper.o.ready, 1)
        await ctx.tick()  # ready is low in the first cycle
        for byte in b"aZ{`z" + bytes(3):
            ctx.set(upper.i.valid, byte > 0)
            ctx.set(upper.i.p.data, byte)
            _, _, valid, output = await ctx.tick().sample(upper.o.valid, upper.o.payload)
            taken.append(chr(output.data) if valid else "")

    run_bench(upper, bench)
    assert taken == ["", "", "", *"AZ{`Z"]


PACKAGES = utf8_hdl, utf8_sim, utf8_flow


def run_sessions(tests: list[doctest.DocTest]) -> int:
    """Run examples, which print the expected text; return their number."""
    runner = doctest.DocTestRunner(verbose=False)
    printed: list[str] = []
    for test in tests:
        runner.run(test, out=printed.append)
    failed, attempted = runner.summarize(verbose=False)
    assert not failed, "".join(printed)
    return attempted


def test_python_examples():
    for language, block in BLOCKS:
        if language == "python" and not block.startswith("m."):  # see test_composition.py
            exec(block, {})
    session = "\n".join(block for language, block in BLOCKS if language == "pycon")
    parsed = doctest.DocTestParser().get_doctest(session, {}, "docs", None, 0)
    assert run_sessions([parsed]) > 20


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_docstrings_are_complete_and_examples_work(package):
    for name in package.__all__:
        what = getattr(package, name)
        if inspect.isfunction(what) or (inspect.isclass(what) and not issubclass(what, Enum)):
            check_docstring(name, what)


def check_docstring(name: str, what: Any) -> None:
    text = inspect.getdoc(what)
    sections = set(re.findall(r"^(\w+)\n-{3,}$", text, re.M))
    source = inspect.getsource(what)
    if inspect.isfunction(what):
        assert "Returns" in sections, name
    else:
        makers = r"    def (?:__init__|__post_init__)\(.*?(?=\n    (?:def|@)|\Z)"
        source = "".join(re.findall(makers, source, re.S))
    if "raise " in source:
        assert "Raises" in sections, name
    if not (inspect.isclass(what) and issubclass(what, Exception)):
        for parameter in inspect.signature(what).parameters:
            pattern = rf"^(?:[*\w]+, )*\*?{parameter}(?:, \w+)*(?: : .*)?$"
            assert re.search(pattern, text, re.M), f"{name}: {parameter}"
    examples = run_sessions(doctest.DocTestFinder(recurse=False).find(what, name, globs={}))
    assert ("Examples" in sections) == (examples > 0), name


def test_page_has_every_public_name_and_an_example():
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    blocks = "\n".join(block for language, block in BLOCKS if language in ("python", "pycon"))
    for package in PACKAGES:
        for name in package.__all__:
            documented = inspect.getdoc(getattr(package, name))
            assert name.startswith("__") or f"`{name}`" in page
            assert re.search(rf"\b{name}\b", blocks) or ">>> " in documented, name
