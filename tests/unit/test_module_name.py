"""`utf8-hdl generate --module`: two profiles in one design need two names."""

import re
import subprocess

import pytest

from command import assert_refused, run
from needs import needs


@pytest.mark.sample(1)
@pytest.mark.parametrize("component", ["decoder", "encoder"])
def test_only_the_name_changes(component):
    usual = run("generate", "--component", component)
    named = run("generate", "--component", component, "--module", "other_name")
    assert named == usual._replace(out=usual.out.replace(f"utf8_{component}", "other_name"))
    assert usual.out.count(f"utf8_{component}") == 2
    assert re.findall(r"^module (\w+) \(", named.out, re.M) == ["other_name"]


@pytest.mark.parametrize(
    "name",
    [
        *("1st", "two words", "naïve", "utf8-decoder", "x\n", "", "a.b", "module", "logic"),
        *("s_axis_tdata", "will_stall"),  # used inside: Verilator refuses such a module
    ],
)
def test_a_name_that_no_module_can_have_is_refused(name, folder):
    assert_refused(run("generate", "--module", name, "-o", "x.v"), repr(name))
    assert not (folder / "x.v").exists()


@pytest.mark.sample(1)
@needs("iverilog")
@pytest.mark.parametrize("names", [("narrow", "wide"), ("Clk", "decoder"), ("top_", "_1_")])
def test_two_profiles_in_one_design(names, folder):
    for name, profile in zip(names, ("ucs2", "ucs4"), strict=True):
        options = "--module", name, "--profile", profile
        assert run("generate", *options, "-o", f"{name}.v").status == 0
    instances = "".join(f"    {name} {name}_instance (.clk(clk), .rst(rst));\n" for name in names)
    (folder / "top.v").write_text(f"module top(input clk, input rst);\n{instances}endmodule\n")
    files = ["top.v", *(f"{name}.v" for name in names)]
    subprocess.run(["iverilog", "-g2001", "-s", "top", "-o", "top", *files], check=True)
