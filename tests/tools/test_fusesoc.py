"""Core files for FuseSoC, as FuseSoC itself takes them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command import assert_refused, run
from needs import needs
from utf8_hdl import __version__

ROOT = Path(__file__).parents[2]
FUSESOC = Path(sys.executable).with_name("fusesoc")

needs_fusesoc = pytest.mark.skipif(not FUSESOC.exists(), reason="fusesoc is not installed")


USER = """\
CAPI=2:
name: ::user:1.0
filesets:
  rtl:
    depend: ["utf8-hdl:stream:utf8_decoder", "utf8-hdl:stream:wide_decoder"]
    files: [top.v]
    file_type: verilogSource
targets:
  default:
    filesets: [rtl]
    toplevel: top
    flow: sim
    flow_options: {tool: icarus}
"""

PAGE = (ROOT / "docs/integration.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^(fusesoc [^#\n]*)", PAGE, re.M)
GENERATING_USER = re.search(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)[1]


def fusesoc(*arguments: object) -> subprocess.CompletedProcess:
    """FuseSoC in the current folder, with no settings of the user's."""
    path = f"{FUSESOC.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [FUSESOC, *map(str, arguments)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, "XDG_CONFIG_HOME": str(Path.cwd())},
    )  # fmt: skip


def run_line(line: str) -> subprocess.CompletedProcess:
    """A line of the page, as somebody would paste it who has no settings."""
    _, *arguments = line.replace("path/to/utf8-hdl", str(ROOT)).split()
    return fusesoc(*arguments)


def lint_of(component: str) -> subprocess.CompletedProcess:
    core = f"utf8-hdl:stream:utf8_{component}:{__version__}"
    return fusesoc("--cores-root", ".", "run", "--target=lint", core)


def write_user(core: str, instances: str = "") -> None:
    """A core of a user's own: a top that prints that it runs."""
    Path("user.core").write_text(core)
    Path("top.v").write_text(f'module top;\n{instances}initial $display("it runs");\nendmodule\n')


@needs_fusesoc
@needs("verilator")
@pytest.mark.parametrize("component", ["decoder", "encoder"])
def test_lint_target(component, folder):
    arguments = ("--component", component, "-o", "design.v", "--fusesoc")
    assert run("generate", *arguments) == (0, "", "")
    lint = lint_of(component)
    assert lint.returncode == 0, lint.stderr
    assert "%Warning" not in lint.stdout + lint.stderr


BROKEN = {
    "wrong path": ("design.core", "[design.v]", "[missing.v]"),
    "wrong module": ("design.core", "toplevel: utf8_decoder", "toplevel: decoder"),
    "a warning": ("design.v", "endmodule", "wire spare = 2'd2;\nendmodule"),
}


@needs_fusesoc
@needs("verilator")
def test_lint_target_of_broken_files_fails(folder):
    run("generate", "-o", "design.v", "--fusesoc")
    for what, (name, good, bad) in BROKEN.items():
        text = (folder / name).read_text()
        assert good in text
        (folder / name).write_text(text.replace(good, bad))
        lint = lint_of("decoder")
        assert lint.returncode != 0, what
        assert ("%Warning-WIDTH" in lint.stdout + lint.stderr) == (what == "a warning")
        (folder / name).write_text(text)


@needs_fusesoc
@needs("iverilog")
def test_a_core_of_the_user_depends_on_two_of_them(folder):
    (folder / "cores").mkdir()
    assert run("generate", "-o", "cores/utf8_decoder.v", "--fusesoc").status == 0
    wide = ("--profile", "ucs4", "--module", "wide_decoder", "-o", "cores/wide.v", "--fusesoc")
    assert run("generate", *wide).status == 0
    write_user(USER, "utf8_decoder narrow ();\nwide_decoder wide ();\n")
    built = fusesoc("--cores-root", ".", "run", "user")
    assert (built.returncode, "it runs" in built.stdout) == (0, True), built.stderr


@pytest.mark.long
@needs_fusesoc
@needs("iverilog", "verilator")
def test_the_commands_and_the_core_on_the_page_about_integration(folder):
    instances = "wire clk;\nwide_decoder wide (.aclk(clk));\n"
    instances += "utf8_compact_encoder encoder (.clk(clk));\n"
    write_user(GENERATING_USER, instances)
    assert run("generate", "-o", "utf8_decoder.v", "--fusesoc").status == 0
    for line in COMMANDS:
        built = run_line(line)
        assert built.returncode == 0, built.stderr
    assert "it runs" in built.stdout
    [encoder] = folder.glob("build/*/*/src/*encoder*/utf8_hdl.v")
    assert encoder.read_text() == run("generate", "--component", "encoder", "--compact").out


@needs_fusesoc
def test_generator_passes_on_what_is_wrong(folder):
    write_user(GENERATING_USER.replace("ucs4", "ucs5"))
    failed = fusesoc("--cores-root", ".", "--cores-root", ROOT, "run", "my_design")
    assert failed.returncode != 0
    assert "utf8-hdl: unknown --profile 'ucs5'" in failed.stderr


@pytest.mark.parametrize("content", [None, "", "parameters: 3", "[", "a: 1"])
def test_the_generator_alone_shows_how_it_is_used(folder, content):
    arguments = [sys.executable, str(ROOT / "flow" / "fusesoc_generator.py")]
    if content is not None:
        Path("job.yml").write_text(content)
        arguments.append("job.yml")
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: fusesoc_generator.py FILE")
    assert done.stderr.count("\n") == 1


def test_core_of_the_generator_has_the_version_of_the_package():
    core = (ROOT / "utf8-hdl.core").read_text()
    assert f"\nname: utf8-hdl:stream:generator:{__version__}\n" in core


def test_a_core_file_has_no_path_in_it(folder):
    assert run("generate", "-o", folder / "design.v", "--fusesoc").status == 0
    assert str(folder) not in (folder / "design.core").read_text()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "output", ["-", "/dev/null", "design.core", "design", ".v", "two words.v", "naïve.v", "-x.v"]
)
def test_a_name_that_a_core_file_cannot_use_is_refused(output, folder):
    assert_refused(run("generate", f"--output={output}", "--fusesoc"), repr(output))
    assert os.listdir(folder) == ["text.txt"]


def test_both_files_or_none(folder):
    (folder / "design.core").mkdir()
    assert_refused(run("generate", "-o", "design.v", "--fusesoc"), "design.core")
    assert sorted(os.listdir(folder)) == ["design.core", "text.txt"]
