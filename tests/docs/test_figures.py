"""Test the figures: drawn from the present code, readable on light and on dark ground."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from utf8_flow.fpga.chart import chart
from utf8_hdl import Compactor
from verilog_cache import verilog_of

ROOT = Path(__file__).parents[2]
FIGURES = sorted(ROOT.glob("docs/**/*.svg"))
BLOCKS = runpy.run_path(str(ROOT / "site/block_diagrams.py"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", BLOCKS["FIGURES"])
def test_block_diagram_is_drawn_from_the_verilog(name):
    drawn = BLOCKS["FIGURES"][name]().svg()
    assert (ROOT / f"docs/figures/{name}.svg").read_text(encoding="utf-8") == drawn, (
        "run make figures"
    )


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("decoder-stages", "utf8_decoder"),
        ("encoder-stages", "utf8_encoder"),
        ("wide-decoder-stages", "utf8_decoder_8"),
        ("validator-stages", "utf8_validator_8"),
        ("transcoder-stages", "utf8_transcoder_8"),
        pytest.param("compactor-stages", "", marks=pytest.mark.long),  # verilog/ has none
    ],
)
def test_block_diagram_has_every_stage(name, module):
    file = ROOT / f"verilog/{module}.v"
    verilog = file.read_text(encoding="utf-8") if module else verilog_of(Compactor(lanes=2))
    stages = re.findall(r"// Stage (\d+), (\w+)", verilog)
    assert len(stages) >= 7
    texts = ElementTree.parse(ROOT / f"docs/figures/{name}.svg").iter(f"{SVG}text")
    assert [text.text for text in texts if re.match(r"\d+  ", text.text)] == [
        f"{number}  {stage}" for number, stage in stages
    ]


@pytest.mark.parametrize("file", FIGURES, ids=lambda file: file.stem)
def test_figure_has_a_dark_mode_and_scales(file):
    root = ElementTree.parse(file).getroot()
    assert root.get("viewBox")
    styles = "".join(style.text for style in root.iter(f"{SVG}style"))
    dark = styles.partition("prefers-color-scheme:")[2]
    assert "background:" in dark
    assert not re.search(r"@import|url\((?!#)", styles)


@pytest.mark.long
def test_charts_are_drawn_again_from_the_results_beside_them(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    kept = ROOT / "docs/synthesis-gatemate.json"
    file = tmp_path / kept.name
    file.write_bytes(kept.read_bytes())
    subprocess.run([sys.executable, "-m", "utf8_flow.fpga.chart", file], check=True)
    assert file.with_suffix(".svg").read_text() == chart(json.loads(kept.read_text()))
