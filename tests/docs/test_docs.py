"""The examples in README, docs/ and docstrings are run, and print what they say."""

import doctest
import inspect
import json
import re
import subprocess
from enum import Enum
from pathlib import Path

import pytest
from amaranth.sim import Simulator

import utf8_flow
import utf8_hdl
import utf8_sim
from command import in_shell, narrow, paste
from needs import needs
from utf8_flow.designs import DesignSpec, designs
from utf8_flow.export.verilog import generate
from utf8_flow.formal.properties import proofs_of
from utf8_hdl import CompactDecoder, Decoder, Encoder
from utf8_sim.components import DECODER, ENCODER
from utf8_sim.components.decoder import PIPELINED

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


@pytest.mark.parametrize("block", CONSOLE, ids=[block.splitlines()[0] for block in CONSOLE])
def test_console_example_prints_what_it_says(block):
    prompt, expected = block.split("\n", 1)
    assert in_shell(prompt.removeprefix("$ "), encoding="utf-8").stdout == expected


def test_every_property_is_stated_on_the_page_about_proofs():
    page = (ROOT / "docs/proofs.md").read_text()
    components = {}
    reports = DesignSpec("transcoder", lanes=8, own={"errors": True})
    for spec in [*designs(), reports]:
        for what in proofs_of(spec):
            of = components.setdefault((what.name, what.statement), [])
            label = spec.label.split(" from ")[0].replace(", 8 lanes", " with lanes")
            if not {label, spec.component} & {*of}:
                of.append(label)
    rows = [
        f"| `{name}` | {' and '.join(of)} | {statement} |"
        for (name, statement), of in components.items()
    ]
    component = r"(?:compact )?(?:(?:de|en|trans)coder|validator|compactor)"
    found = re.findall(rf"^\| `[a-z-]+` \| {component}.*", page, re.M)
    assert sorted(found) == sorted(rows)


def test_latencies_are_those_of_the_timing():
    page, proofs = ((ROOT / name).read_text() for name in ("docs/decoder.md", "docs/proofs.md"))
    pages = {
        DECODER: (page, proofs, Decoder.__doc__),
        ENCODER: (page, proofs, Encoder.__doc__),
    }
    begins = {DECODER: "after its last byte was accepted", ENCODER: "after its code point was"}
    for component, texts in pages.items():
        timing = component.timing(component.make())
        for text in texts:
            words = " ".join(text.split())
            assert f"{timing.latency} cycles {begins[component]}" in words
    compact = DECODER.timing(CompactDecoder())
    assert f"| latency | {PIPELINED.latency} cycles | {compact.latency} cycle" in page
    cut = f"{PIPELINED.latency_of_cut} cycles after the byte that cuts it"
    assert cut in page
    assert cut in Decoder.__doc__


def options_of(words: str) -> frozenset[str]:
    """The options of a command line, without those that a transcoder has by default."""
    options = {option.strip() for option in words.split("--") if option.strip()}
    return frozenset(options - {"from utf-8", "to utf-16"})


def test_figures_of_readme_are_those_measured():
    measured = {}
    for file in ROOT.glob("docs/synthesis*.json"):
        for design in json.loads(file.read_text())["designs"]:
            if design["device"] in ("ecp5-25f", "ecp5-85f") and design["profile"] == "unicode":
                figures = design["lookup_tables"], design["registers"], design["median"]["mhz"]
                options = options_of(" ".join(DesignSpec.of_row(design).options))
                measured[options] = tuple(f"{figure:,.0f}" for figure in figures)
    rows = re.findall(r"\| ([\d,]+) / ([\d,]+) \| (\d+) \| `?([^|`]*?)`? ?\|$", README, re.M)
    stated = {options_of(command): tuple(figures) for *figures, command in rows}
    assert len(stated) == 10
    assert stated == {options: measured[options] for options in stated}


def test_readme_is_short():
    words = re.sub(r"^```.*?^```", "", README, flags=re.M | re.S).split()
    assert len(words) <= 1400


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "proofs.md"], ids=lambda page: page.name
)
def test_page_installs_from_a_clone_and_counts_no_lines_of_source(page):
    """No index has the package, and such counts go out of date."""
    text = page.read_text(encoding="utf-8")
    assert "utf8-hdl[" not in text
    assert re.findall(r"\.py\)?`?,? (?:is |some )*\d+ lines", text) == []


def test_no_message_installs_from_an_index():
    sources = [path for name in ("hdl", "sim", "flow") for path in (ROOT / name).rglob("*.py")]
    assert sources
    assert [path.name for path in sources if "utf8-hdl[" in path.read_text("utf-8")] == []


def test_make_targets_named_in_the_docs_exist():
    targets = re.findall(r"^([\w-]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    named = [line.split()[1] for line in SHELL if line.startswith("make ")]
    assert named
    assert set(named) <= set(targets)


@pytest.mark.parametrize(
    "line",
    dict.fromkeys(
        line for line in SHELL if re.search(r"utf8-hdl (simulate|generate)|\bFILE\b", line)
    ),
)
def test_shell_example_works(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = narrow(line, 4)
    (tmp_path / "text").write_bytes(b"a \xe2\x82\xac, \xff")
    line = line.replace("FILE...", "text text").replace("FILE", "text")
    paste(line)


def test_timing_diagram_is_what_the_makefile_draws(tmp_path):
    pytest.importorskip("wavedrom", reason="wavedrom is not installed")
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^diagram:.*\n((?:\t.*\n|    .*\n)+)", makefile, re.M)[1]
    line = recipe.replace("\\\n", " ").replace("$(BIN)/", "")
    assert "docs/decoder.svg" in line
    (tmp_path / "docs").mkdir()
    in_shell(line, cwd=tmp_path)
    drawn = (tmp_path / "docs/decoder.svg").read_bytes()
    assert drawn == (ROOT / "docs/decoder.svg").read_bytes()


def test_amaranth_example_counts_characters():
    namespace = {}
    exec(next(block for _, block in BLOCKS if "class CharacterCounter" in block), namespace)
    counter = namespace["CharacterCounter"]()
    simulator = Simulator(counter)
    simulator.add_clock(10e-9)
    counts = []

    async def bench(ctx):
        stream = counter.decoder.i
        await ctx.tick()  # nothing is accepted in the first cycle
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
        if language == "python" and not block.startswith("m."):  # see test_composition.py
            exec(block, {})


def test_pipeline_example_makes_letters_upper_case():
    namespace = {}
    exec(next(block for language, block in BLOCKS if "class Upper" in block), namespace)
    upper = namespace["Upper"]()
    taken = []

    async def bench(ctx):
        ctx.set(upper.o.ready, 1)
        await ctx.tick()  # nothing is accepted in the first cycle
        for byte in b"aZ{`z" + bytes(3):
            ctx.set(upper.i.valid, byte > 0)
            ctx.set(upper.i.p.data, byte)
            _, _, valid, output = await ctx.tick().sample(upper.o.valid, upper.o.payload)
            taken.append(chr(output.data) if valid else "")

    simulator = Simulator(upper)
    simulator.add_clock(10e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert taken == ["", "", "", *"AZ{`Z"]


# --- the Python interface -----------------------------------------------------------------------

INTERFACE = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in (utf8_hdl, utf8_sim, utf8_flow)
    for name in package.__all__
}
CALLABLE = {
    name: what
    for name, what in INTERFACE.items()
    if inspect.isfunction(what) or (inspect.isclass(what) and not issubclass(what, Enum))
}
PYTHON_PAGE = (ROOT / "docs/python.md").read_text(encoding="utf-8")


def run_sessions(tests: list[doctest.DocTest]) -> int:
    """How many examples there are; each prints what it says."""
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    for test in tests:
        runner.run(test, out=said.append)
    failed, attempted = runner.summarize(verbose=False)
    assert not failed, "".join(said)
    return attempted


def test_python_sessions_print_what_they_say():
    session = "\n".join(block for language, block in BLOCKS if language == "pycon")
    parsed = doctest.DocTestParser().get_doctest(session, {}, "docs", None, 0)
    assert run_sessions([parsed]) > 20


def test_a_session_that_prints_something_else_is_noticed():
    parsed = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "docs", None, 0)
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run_sessions([parsed])


@pytest.mark.parametrize("name", CALLABLE)
def test_docstring_is_complete_and_its_examples_work(name):
    what = CALLABLE[name]
    text = inspect.getdoc(what)
    sections = set(re.findall(r"^(\w+)\n-{3,}$", text, re.M))
    source = inspect.getsource(what)
    if inspect.isfunction(what):
        assert "Returns" in sections
    else:  # what is called to make one
        makers = r"    def (?:__init__|__post_init__)\(.*?(?=\n    (?:def|@)|\Z)"
        source = "".join(re.findall(makers, source, re.S))
    if "raise " in source:
        assert "Raises" in sections
    if not (inspect.isclass(what) and issubclass(what, Exception)):
        for parameter in inspect.signature(what).parameters:
            assert re.search(rf"^(?:[*\w]+, )*\*?{parameter}(?:, \w+)*(?: : .*)?$", text, re.M)
    examples = run_sessions(doctest.DocTestFinder(recurse=False).find(what, name, globs={}))
    assert ("Examples" in sections) == (examples > 0)


@pytest.mark.parametrize("name", INTERFACE)
def test_every_name_is_on_the_page_and_has_an_example(name):
    own = name.rpartition(".")[2]
    assert own.startswith("__") or f"`{own}`" in PYTHON_PAGE
    blocks = "\n".join(block for language, block in BLOCKS if language in ("python", "pycon"))
    assert re.search(rf"\b{own}\b", blocks) or ">>> " in inspect.getdoc(INTERFACE[name])
