"""Encode, then decode, every value of `unicode` and of `ucs2`, on the generated Verilog."""

import shutil
import subprocess
from pathlib import Path

import pytest

from utf8_flow.verilog import generate
from utf8_hdl import UCS2, UNICODE, Decoder, Encoder

pytestmark = pytest.mark.skipif(
    not (shutil.which("verilator") and shutil.which("g++") and shutil.which("make")),
    reason="Verilator, g++ or make is not installed",
)

BENCH = Path(__file__).with_name("roundtrip.v")


def roundtrip(folder: Path, decoder: str, encoder: str, **parameters: int) -> str:
    (folder / "decoder.v").write_text(decoder)
    (folder / "encoder.v").write_text(encoder)
    overrides = [f"-G{name}={value}" for name, value in parameters.items()]
    subprocess.run(
        ["verilator", "--binary", "-Wno-fatal", "-Wno-lint", *overrides, "--top-module",
         "roundtrip", BENCH, "decoder.v", "encoder.v", "-o", "bench"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    run = subprocess.run([folder / "obj_dir/bench"], check=True, capture_output=True)
    return run.stdout.decode()


def test_every_value_of_unicode(tmp_path):
    printed = roundtrip(tmp_path, generate(Decoder(UNICODE)), generate(Encoder(UNICODE)))
    assert "PASS 1114112 values" in printed


def test_every_value_of_ucs2(tmp_path):
    rules = {"LAST": 0xFFFF, "REFUSE_NONCHARACTERS": 1}
    printed = roundtrip(tmp_path, generate(Decoder(UCS2)), generate(Encoder(UCS2)), **rules)
    assert "PASS 65536 values" in printed


@pytest.mark.parametrize(
    ("design", "good", "bad", "message"),
    [
        ("encoder", "32'd65533", "32'd65532", "FAIL code point at value d800"),
        ("decoder", "8'h8?", "8'b10??????", "FAIL code point at value 10000"),
    ],
)
def test_bench_sees_broken_verilog(tmp_path, design, good, bad, message):
    texts = {"decoder": generate(Decoder(UNICODE)), "encoder": generate(Encoder(UNICODE))}
    assert good in texts[design]
    texts[design] = texts[design].replace(good, bad)
    assert message in roundtrip(tmp_path, **texts, LAST=0x1FFFF)
