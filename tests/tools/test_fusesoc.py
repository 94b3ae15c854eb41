"""Test core files and the core generator with FuseSoC itself."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import run
from needs import needs
from utf8_hdl import CompactEncoder, __version__
from verilog_cache import patch_generate, verilog_of


@pytest.fixture(autouse=True)
def cached_verilog(monkeypatch):
    patch_generate(monkeypatch)


ROOT = Path(__file__).parents[2]
FUSESOC = Path(sys.executable).with_name("fusesoc")

needs_fusesoc = pytest.mark.skipif(not FUSESOC.exists(), reason="fusesoc is not installed")


PAGE = (ROOT / "docs/integration.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^(fusesoc [^#\n]*)", PAGE, re.M)
GENERATING_USER = re.search(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)[1]


def fusesoc(*arguments: object) -> subprocess.CompletedProcess:
    """Run FuseSoC in the current folder, without the user's settings."""
    path = f"{FUSESOC.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [FUSESOC, *map(str, arguments)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, "XDG_CONFIG_HOME": str(Path.cwd())},
    )  # fmt: skip


def lint() -> subprocess.CompletedProcess:
    core = f"utf8-hdl:stream:utf8_decoder:{__version__}"
    return fusesoc("--cores-root", ".", "run", "--target=lint", core)


def write_user(core: str, instances: str = "") -> None:
    """Write a user's core; its top module prints a message when it runs."""
    Path("user.core").write_text(core)
    Path("top.v").write_text(f'module top;\n{instances}initial $display("it runs");\nendmodule\n')


BROKEN = {
    "a warning": ("design.v", "endmodule", "wire spare = 2'd2;\nendmodule"),
    "wrong module": ("design.core", "toplevel: utf8_decoder", "toplevel: decoder"),
    "wrong path": ("design.core", "[design.v]", "[missing.v]"),
}


@pytest.mark.sample(1)
@needs_fusesoc
@needs("verilator")
@pytest.mark.parametrize("flaw", BROKEN)
def test_lint_target_detects_broken_files(flaw, folder):
    assert run("generate", "-o", "design.v", "--fusesoc") == (0, "", "")
    done = lint()
    assert done.returncode == 0, done.stderr
    assert "%Warning" not in done.stdout + done.stderr
    name, good, bad = BROKEN[flaw]
    text = (folder / name).read_text()
    assert good in text
    shutil.rmtree("build")
    (folder / name).write_text(text.replace(good, bad))
    done = lint()
    assert done.returncode != 0
    assert ("%Warning-WIDTH" in done.stdout + done.stderr) == (flaw == "a warning")


@pytest.mark.long
@needs_fusesoc
@needs("iverilog", "verilator")
def test_commands_and_core_of_the_page(folder):
    instances = "wire clk;\nwide_decoder wide (.aclk(clk));\n"
    instances += "utf8_compact_encoder encoder (.clk(clk));\n"
    write_user(GENERATING_USER, instances)
    assert run("generate", "-o", "utf8_decoder.v", "--fusesoc").status == 0
    for line in COMMANDS:
        built = fusesoc(*line.replace("path/to/utf8-hdl", str(ROOT)).split()[1:])
        assert built.returncode == 0, built.stderr
    assert "it runs" in built.stdout
    [encoder] = folder.glob("build/*/*/src/*encoder*/utf8_hdl.v")
    assert encoder.read_text() == verilog_of(CompactEncoder())


@pytest.mark.long
@needs_fusesoc
def test_generator_prints_the_error_of_the_command(folder):
    write_user(GENERATING_USER.replace("ucs4", "ucs5"))
    failed = fusesoc("--cores-root", ".", "--cores-root", ROOT, "run", "my_design")
    assert failed.returncode != 0
    assert "utf8-hdl: unknown --profile 'ucs5'" in failed.stderr


@pytest.mark.parametrize("files", [[], ["number.yml"], ["syntax.yml"]])
def test_generator_prints_usage_without_a_job(folder, files):
    Path("number.yml").write_text("parameters: 3")
    Path("syntax.yml").write_text("[")
    command = [sys.executable, ROOT / "flow" / "fusesoc_generator.py", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: fusesoc_generator.py FILE")
    assert done.stderr.count("\n") == 1


def test_core_of_the_generator_has_the_version():
    core = (ROOT / "utf8-hdl.core").read_text()
    assert f"\nname: utf8-hdl:stream:generator:{__version__}\n" in core


def test_core_file_contains_no_folder(folder):
    assert run("generate", "-o", folder / "design.v", "--fusesoc").status == 0
    assert str(folder) not in (folder / "design.core").read_text()
