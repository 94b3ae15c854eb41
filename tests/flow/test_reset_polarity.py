"""`utf8-hdl generate --reset-polarity low`: other names, another polarity, the same behaviour."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from command import assert_refused, run
from needs import needs
from rtl import verilog_ports
from utf8_flow.export import verilog
from utf8_hdl import EXTENDED, UCS2, Decoder, Encoder

generate = cache(verilog.generate)
BENCH = Path(__file__).with_name("reset_polarity.v")
DESIGNS = [
    *(Decoder(), Decoder(EXTENDED), Encoder(), Encoder(UCS2)),
    *(Decoder(compact=True), Encoder(compact=True)),
]
NAMES = [f"{'compact ' * d.compact}{type(d).__name__.lower()} {d.profile.name}" for d in DESIGNS]


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


@pytest.mark.sample(2)
@needs("iverilog")
@pytest.mark.parametrize("design", DESIGNS, ids=NAMES)
def test_both_behave_the_same_under_resets_at_any_moment(design, tmp_path):
    low = generate(design, "low", active_low_reset=True)
    printed = side_by_side(tmp_path, generate(design, "high"), low)
    counts = re.fullmatch(r"PASS (\d+) outputs taken, (\d+) dropped by a reset\n", printed)
    assert counts, printed
    assert int(counts[1]) > 1000
    assert int(counts[2]) > 100


@pytest.mark.sample
@needs("iverilog")
@pytest.mark.parametrize("design", DESIGNS[1:3], ids=NAMES[1:3])
@pytest.mark.parametrize(
    "wrong", ["if (aresetn)", "if (1'b0)"], ids=["active high after all", "reset ignored"]
)
def test_bench_sees_the_wrong_polarity(design, wrong, tmp_path):
    low = generate(design, "low", active_low_reset=True)
    assert low.count("if (!aresetn)") > 1
    broken = low.replace("if (!aresetn)", wrong)
    assert "FAIL" in side_by_side(tmp_path, generate(design, "high"), broken)


@pytest.mark.sample(1)
@pytest.mark.parametrize("component", ["decoder", "encoder"])
def test_names_and_order_of_the_ports(component):
    high = run("generate", "--component", component)
    assert run("generate", "--component", component, "--reset-polarity", "high") == high
    low = run("generate", "--component", component, "--reset-polarity", "low")
    assert low.status == 0
    assert [*verilog_ports(high.out)][:2] == ["clk", "rst"]
    assert [*verilog_ports(low.out)] == ["aclk", "aresetn", *[*verilog_ports(high.out)][2:]]


def test_header_says_which_reset_it_is():
    texts = [generate(Decoder(), active_low_reset=low).split("module ")[0] for low in (False, True)]
    assert "// clk, rst         clock; synchronous reset, active high\n" in texts[0]
    assert "// aclk, aresetn    clock; reset, active low and synchronous" in texts[1]
    assert "aresetn" not in texts[0]
    assert "rst," not in texts[1]


@pytest.mark.sample
@pytest.mark.parametrize("design", DESIGNS, ids=NAMES)
@pytest.mark.parametrize(
    "linter",
    [
        pytest.param(("verilator", "--lint-only"), marks=needs("verilator")),
        pytest.param(("iverilog", "-g2001", "-tnull"), marks=needs("iverilog")),
    ],
)
def test_linters_have_no_warning(linter, design, tmp_path):
    path = tmp_path / "design.v"
    path.write_text(generate(design, active_low_reset=True))
    linted = subprocess.run([*linter, "-Wall", path], capture_output=True, text=True, check=False)
    assert (linted.returncode, linted.stdout + linted.stderr) == (0, "")


@pytest.mark.parametrize("value", ["LOW", "", "negative"])
def test_unknown_polarity_is_refused(value):
    assert_refused(run("generate", "--reset-polarity", value), "choose from high, low")
