"""Encode, then decode, on the generated Verilog: all values, or a million where there are more."""

import re
import subprocess
from pathlib import Path

import pytest

from needs import needs
from utf8_flow.export.verilog import generate
from utf8_hdl import EXTENDED, UCS2, UCS4, UNICODE, Decoder, Encoder, Profile

pytestmark = needs("verilator", "g++", "make")

BENCH = Path(__file__).with_name("roundtrip.v")


def roundtrip(folder: Path, decoder: str, encoder: str, **parameters: int | str) -> str:
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


def verilog(profile: Profile) -> tuple[str, str]:
    return generate(Decoder(profile)), generate(Encoder(profile))


@pytest.mark.long
def test_every_value_of_unicode(tmp_path):
    printed = roundtrip(tmp_path, *verilog(UNICODE))
    assert "PASS 1114112 values, 1048576 of the longest form" in printed


@pytest.mark.long
def test_every_value_of_ucs2(tmp_path):
    rules = {"COUNT": 0x10000, "REFUSE_NONCHARACTERS": 1}
    assert "PASS 65536 values" in roundtrip(tmp_path, *verilog(UCS2), **rules)


@pytest.mark.long
@pytest.mark.parametrize(
    ("profile", "bits"), [(UCS4, 31), (EXTENDED, 42)], ids=["ucs4", "extended"]
)
def test_a_million_values_of_the_larger_profiles(profile, bits, tmp_path):
    rules = {"WIDTH": profile.utf32_width, "BITS": bits, "HIGHEST": f"64'h{profile.highest:x}"}
    printed = roundtrip(
        tmp_path, *verilog(profile), **rules, COUNT=1_000_000, RANDOM=1, REFUSE_NONCHARACTERS=1
    )
    assert int(re.search(r"PASS 1000000 values, (\d+) of the longest", printed)[1]) > 100_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("design", "good", "bad", "message"),
    [
        ("encoder", "1'b0, classify_error}", "2'b00}", "FAIL code point at value d800"),
        ("decoder", "count_low_bits[20:16]", "5'h0", "FAIL code point at value 10000"),
    ],
)
def test_bench_sees_broken_verilog(tmp_path, design, good, bad, message):
    texts = dict(zip(("decoder", "encoder"), verilog(UNICODE), strict=True))
    assert good in texts[design]
    texts[design] = texts[design].replace(good, bad)
    assert message in roundtrip(tmp_path, **texts, COUNT=0x20000)
