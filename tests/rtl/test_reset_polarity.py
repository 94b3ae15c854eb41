"""`utf8-hdl generate --reset-polarity low`: other names, another polarity, the same behaviour."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from command import run
from needs import needs
from rtl import verilog_ports
from utf8_flow.export import verilog
from utf8_hdl import EXTENDED, UCS2, CompactDecoder, CompactEncoder, Decoder, Encoder
from utf8_hdl.axi import module_name

generate = cache(verilog.generate)
BENCH = Path(__file__).with_name("reset_polarity.v")
DESIGNS = [
    *(Decoder(), Encoder(UCS2)),
    *(CompactDecoder(EXTENDED), CompactEncoder()),
]
NAMES = [f"{module_name(d)} {d.profile.name}" for d in DESIGNS]


def side_by_side(folder: Path, high: str, low: str) -> str:
    """What the bench says about Verilog of two modules called `high` and `low`."""
    widths = {"DATA_IN": "s_axis_tdata", "DATA_OUT": "m_axis_tdata", "USER": "m_axis_tuser"}
    macros = [f"-D{macro}={verilog_ports(high)[port]}" for macro, port in widths.items()]
    (folder / "high.v").write_text(high)
    (folder / "low.v").write_text(low)
    subprocess.run(
        ["iverilog", "-g2001", *macros, "-o", "bench", BENCH, "high.v", "low.v"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return subprocess.run(
        ["vvp", "-n", "bench"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@needs("iverilog")
@pytest.mark.parametrize("design", DESIGNS, ids=NAMES)
def test_both_behave_the_same_under_resets_at_any_moment(design, tmp_path):
    low = generate(design, "low", active_low_reset=True)
    high = generate(design, "high")
    counts = re.fullmatch(
        r"PASS (\d+) outputs taken, (\d+) dropped by a reset\n", side_by_side(tmp_path, high, low)
    )
    assert counts
    assert int(counts[1]) > 1000
    assert int(counts[2]) > 100
    # It sees the wrong polarity, and a reset that is ignored.
    assert low.count("if (!aresetn)") > 1
    for wrong in ("if (aresetn)", "if (1'b0)"):
        assert "FAIL" in side_by_side(tmp_path, high, low.replace("if (!aresetn)", wrong))
    # Linters have no warning, and the ports are those of AXI.
    assert [*verilog_ports(low)] == ["aclk", "aresetn", *[*verilog_ports(high)][2:]]
    (tmp_path / "low.v").write_text(low)
    lint = ["iverilog", "-g2001", "-tnull", "-Wall", "low.v"]
    linted = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert linted.stdout + linted.stderr == ""


def test_the_option_chooses_the_polarity():
    high, low = (run("generate", "--reset-polarity", value).out for value in ("high", "low"))
    assert high == run("generate").out == generate(Decoder())
    assert low == generate(Decoder(), active_low_reset=True)


def test_header_says_which_reset_it_is():
    texts = [generate(Decoder(), active_low_reset=low).split("module ")[0] for low in (False, True)]
    assert "// clk, rst         clock; synchronous reset, active high\n" in texts[0]
    assert "// aclk, aresetn    clock; reset, active low and synchronous" in texts[1]
    assert "aresetn" not in texts[0]
    assert "rst," not in texts[1]


@needs("verilator")
def test_verilator_has_no_warning(tmp_path):
    (tmp_path / "low.v").write_text(generate(DESIGNS[0], active_low_reset=True))
    lint = ["verilator", "--lint-only", "-Wall", "low.v"]
    linted = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (linted.returncode, linted.stdout + linted.stderr) == (0, "")
