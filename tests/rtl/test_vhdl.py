"""Test `utf8-hdl generate --vhdl-component` and `--vhdl-wrapper` with GHDL.

For the wrapper, a VHDL entity replaces the Verilog module. The entity and a test bench each drive
random values on their side of the wrapper, and check the values from the other side. The expected
values come from the connections of ``AxiStream`` in Amaranth's simulator.
"""

import random
import re
import subprocess
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Module, Shape, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from command import assert_refused, run
from needs import needs
from reference import ref_tokens
from rtl import verilog_ports
from utf8_flow.designs import DesignSpec, designs
from utf8_flow.export.vhdl_wrapper import vhdl_wrapper
from utf8_hdl import EXTENDED, UCS2, ErrorKind
from utf8_hdl.axi import AxiModule, AxiStream, module_name
from utf8_sim.tools.errors import UsageError
from verilog_cache import patch_generate

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs/integration.md").read_text(encoding="utf-8")
HOSTILE = b"A\xc3\xa9\xe0\x80\x80\xed\xa0\x80 \xf0\x9f\x98\x80\xff\xf0\x90\x80B\xc0\xaf"


@pytest.fixture(autouse=True)
def cached_verilog(monkeypatch):
    patch_generate(monkeypatch)


def generate(*options: str) -> None:
    both = ("--vhdl-component", "--vhdl-wrapper")
    assert run("generate", "-o", "utf8.v", *both, *options) == (0, "", "")


def ghdl(*arguments: str, language: str = "08") -> str:
    command, *rest = arguments
    return subprocess.run(
        ["ghdl", command, f"--std={language}", *rest], check=True, capture_output=True, text=True
    ).stdout


def write_top(use: str, declarations: str, statements: str) -> None:
    """Write an entity that uses the tested packages."""
    Path("top.vhd").write_text(
        f"library ieee;\nuse ieee.std_logic_1164.all;\n{use}\nentity top is end entity;\n"
        f"architecture a of top is\n{declarations}begin\n{statements}\nend architecture;\n"
    )


def vector(width: int) -> str:
    return f"std_logic_vector({width - 1} downto 0)" if width > 1 else "std_logic"


def signals(widths: dict[str, int]) -> str:
    return "".join(f"signal {name} : {vector(width)};\n" for name, width in widths.items())


def vhdl_ports(vhdl: str) -> dict[str, int]:
    ports = re.findall(
        r"^      (\w+) +: (?:in |out) std_logic(?:_vector\((\d+) downto 0\))?;?$", vhdl, re.M
    )
    return {name: int(highest or 0) + 1 for name, highest in ports}


@pytest.mark.parametrize(
    "options",
    [(), ("--component", "encoder", "--profile", "extended", "--reset-polarity", "low")],
    ids=["decoder", "encoder"],
)
def test_component_has_the_ports_of_the_module(options, folder):
    generate(*options)
    verilog, vhdl = Path("utf8.v").read_text(), Path("utf8.vhd").read_text()
    assert vhdl_ports(vhdl) == verilog_ports(verilog)
    for name in vhdl_ports(vhdl):
        direction = re.search(rf"^  (in|out)put wire .*\b{name},?$", verilog, re.M)[1]
        assert re.search(rf"^      {name} +: {direction} ", vhdl, re.M)
    module = re.search(r"^module (\w+)", verilog, re.M)[1]
    assert f"  component {module} is\n" in vhdl


@needs("ghdl")
def test_component_and_its_instantiation_are_legal(folder):
    generate()
    for language in ("93", "02", "08"):
        assert ghdl("-a", "utf8.vhd", language=language) == ""
    vhdl = Path("utf8.vhd").read_text()
    use, instance = re.search(
        r"^--   (use .*?;)\n.*?^--   (\w+ : .*?\);)$", vhdl, re.M | re.S
    ).groups()
    write_top(use, signals(vhdl_ports(vhdl)), re.sub("^-- ", "", instance, flags=re.M))
    ghdl("-a", "utf8.vhd", "top.vhd")


@needs("ghdl")
@pytest.mark.parametrize("file", ["utf8.vhd", "utf8_wrapper.vhd"])
def test_instance_in_the_documentation_is_legal(file, folder):
    """The page shows parts of a design, with dots between them and without signals."""
    generate()
    package = "utf8_decoder_types" if "wrapper" in file else "utf8_decoder_component"
    [block] = [each for each in re.findall("```vhdl\n(.*?)```", PAGE, re.S) if package in each]
    use, *parts = block.split("...\n")
    widths = dict.fromkeys(re.findall(r"=> (\w+)", block), 1)
    widths |= {"byte_data": 8, "token_code_point": 32, "token_user": 8}
    widths.pop("token", None)
    declarations, statements = signals(widths), ""
    for part in parts:
        if "signal" in part:
            declarations += part
        elif " if " in part:
            statements += f"process begin\n{part} null; end if; wait;\nend process;\n"
        else:
            statements += part
    write_top(use, declarations, statements)
    ghdl("-a", file, "top.vhd")


@needs("ghdl", "iverilog", "vvp")
@pytest.mark.parametrize(
    ("top", "package", "kinds"),
    [("error_counter", "utf8.vhd", None), ("overlong_counter", "utf8_wrapper.vhd", "overlong")],
    ids=["component", "wrapper"],
)
def test_vhdl_design_with_the_decoder_counts_errors(top, package, kinds, folder):
    """GHDL converts the VHDL to Verilog; Icarus Verilog runs it with the generated module."""
    generate()
    ghdl("-a", package, str(HERE / f"{top}.vhd"))
    design = ghdl("--synth", "--out=verilog", top)
    without_black_box = re.sub(
        r"^module utf8_decoder\b.*?^endmodule\n", "", design, flags=re.M | re.S
    )
    Path("design.v").write_text(without_black_box)
    Path("bytes.hex").write_text(HOSTILE.hex("\n"))
    sources = ["design.v", "utf8.v", str(HERE / "error_counter.v")]
    macros = [f"-DCOUNT={len(HOSTILE)}", f"-DTOP={top}"]
    subprocess.run(
        ["iverilog", "-g2012", "-s", "bench", *macros, "-o", "bench", *sources], check=True
    )
    printed = subprocess.run(["vvp", "-n", "bench"], check=True, capture_output=True, text=True)
    errors = [token.error for token in ref_tokens(HOSTILE) if token.error is not None]
    expected = len(errors) if kinds is None else errors.count(kinds)
    assert expected > 0
    assert printed.stdout.splitlines()[0] == f"{expected} errors"


@pytest.mark.sample(2)
@pytest.mark.parametrize("option", ["--vhdl-component", "--vhdl-wrapper"])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Entity", "must be a name in VHDL too: "),
        ("two__words", "must be a name in VHDL too: "),
        ("_first", "must be a name in VHDL too: "),
        ("std_logic", "must not be a name that the VHDL file uses: "),
    ],
)
def test_illegal_vhdl_name_is_refused(option, name, why, folder):
    result = run("generate", "-o", "utf8.v", option, "--module", name)
    assert_refused(result, f"--module {why}")
    assert not Path("utf8.v").exists()


@pytest.mark.parametrize("option", ["--vhdl-component", "--vhdl-wrapper"])
def test_option_needs_a_verilog_file(option, folder):
    assert_refused(run("generate", option), "-o NAME.v")
    assert_refused(run("generate", option, "-o", "utf8.txt"), "'utf8.txt'")


# --- wrapper ------------------------------------------------------------------------------------

WARNINGS = (
    "binding default-binding library reserved nested-comment parenthesis vital-generic "
    "delayed-checks body specs runtime-error shared hide unused others pure analyze-assert "
    "attribute useless port static"
)
"""All warnings of GHDL 2 and later."""


class Mode(enum.Enum, shape=4):
    """Kinds of output with gaps between their codes."""

    IDLE = 2
    BUSY = 9


class Toy(wiring.Component):
    """A component with payloads that no component of the project has."""

    component_name = "toy"

    def __init__(self, i: data.StructLayout | None = None) -> None:
        pair = data.StructLayout({"kind": ErrorKind, "values": data.ArrayLayout(3, 2), "flag": 1})
        mode = data.StructLayout({"mode": Mode, "other": Mode})
        pairs = {"pairs": data.ArrayLayout(pair, 3), "kind": ErrorKind, "last": 1}
        i = i or data.StructLayout(pairs)
        o = data.StructLayout({"single": data.ArrayLayout(mode, 1), "none": 0, "user": 5})
        super().__init__({"i": In(stream.Signature(i)), "o": Out(stream.Signature(o))})
        self.axi_widths = {"m_axis_tuser": 12}

    def elaborate(self, platform: Any) -> Module:
        return Module()


WRAPPED = {
    **{spec.label: spec for spec in designs()},
    "decoder, 2 lanes": DesignSpec("decoder", lanes=2),
    "decoder, 2 lanes, extended": DesignSpec("decoder", lanes=2, profile=EXTENDED),
    "encoder, ucs2": DesignSpec("encoder", profile=UCS2),
    "validator, 1 lane": DesignSpec("validator", lanes=1, own={"offset_width": 7}),
    "transcoder with --errors": DesignSpec("transcoder", lanes=4, own={"errors": True}),
    "compactor of 20 bits": DesignSpec("compactor", lanes=4, own={"width": 20}),
    "compactor of 1 bit": DesignSpec("compactor", lanes=4, own={"width": 1}),
    "toy": None,
}
"""Designs whose wrapper is tested, with each option that changes the ports."""


def make(name: str) -> Any:
    spec = WRAPPED[name]
    return spec.make() if spec else Toy()


def declare(component: Any, active_low_reset: bool = False) -> str:
    """The declaration of a component's module, as in generated Verilog."""
    axi = AxiModule(component, active_low_reset)
    ports = ",\n".join(
        f"  {'out' if port.name in axi.outputs else 'in'}put wire "
        f"{f'[{len(port) - 1}:0] ' if len(port) > 1 else ''}{port.name}"
        for port in axi.ports
    )
    return f"module {module_name(component)} (\n{ports}\n);\n"


def literal(width: int, bits: int) -> str:
    return f'"{bits:0{width}b}"' if width > 1 else f"'{bits}'"


def fields(path: str, shape: Any, bits: int) -> dict[str, str]:
    """The values of a payload's fields, by their names in VHDL."""
    width = Shape.cast(shape).width
    is_vector = isinstance(shape, data.ArrayLayout) and Shape.cast(shape.elem_shape).width == 1
    if isinstance(shape, data.StructLayout | data.ArrayLayout) and not is_vector:
        found = {}
        for key, each in shape:
            name = f"{path}({key})" if isinstance(key, int) else f"{path}.{key}"
            inner = bits >> each.offset & (1 << each.width) - 1
            found |= fields(name, each.shape, inner) if each.width else {}
        return found
    if isinstance(shape, type) and issubclass(shape, Enum):
        names = {each.value: each.name for each in shape}
        return {path: names.get(bits, next(iter(names.values())))}
    return {path: literal(width, bits)}


class Step(NamedTuple):
    """Values of the ports and fields, as VHDL, by their names."""

    #: The input ports of the module, and the outputs.
    flat: tuple[dict[str, str], dict[str, str]]
    #: The input ports and fields of the wrapper, and the outputs.
    wrapped: tuple[dict[str, str], dict[str, str]]


def random_steps(component: Any, count: int) -> list[Step]:
    """Random values of the ports; the component itself is not simulated."""
    axi = AxiStream(component)
    m, steps = Module(), []
    inputs = {name: Signal(len(value), name=name) for name, value in axi.inputs.items()}
    outputs = {name: Signal(len(value), name=name) for name, value in axi.outputs.items()}
    m.d.comb += axi.driven(inputs)
    m.d.comb += [outputs[name].eq(value) for name, value in axi.outputs.items()]
    payload_out = Value.cast(component.o.p)
    kept = {f"{bus}_axis_t{pin}" for bus in "sm" for pin in ("valid", "ready")}
    kept |= set(getattr(component, "axi_outputs", {}))

    async def choose(ctx: Any) -> None:
        for _ in range(count):
            for signal in (*inputs.values(), payload_out, component.o.valid, component.i.ready):
                ctx.set(signal, random.getrandbits(len(signal)))
            clocking = {name: literal(1, random.getrandbits(1)) for name in ("clk", "rst")}
            flat, wrapped = [], []
            for signals, bus, side in (
                (inputs, "s_axis", component.i), (outputs, "m_axis", component.o)
            ):  # fmt: skip
                values = {each: literal(len(pin), ctx.get(pin)) for each, pin in signals.items()}
                plain = {each: values[each] for each in values if each in kept}
                flat.append(values)
                wrapped.append(plain | fields(bus, side.p.shape(), ctx.get(Value.cast(side.p))))
            flat[0] |= clocking
            wrapped[0] |= clocking
            steps.append(Step(tuple(flat), tuple(wrapped)))

    simulator = Simulator(m)
    simulator.add_testbench(choose)
    simulator.run()
    return steps


def process(chosen: Iterable[tuple[dict[str, str], dict[str, str]]]) -> str:
    """A VHDL process that drives and checks values, with ten nanoseconds per step."""
    steps = []
    for number, (drives, checks) in enumerate(chosen):
        steps += [f"{name} <= {value};" for name, value in drives.items()]
        steps.append("wait for 5 ns;")
        steps += [
            f'assert {name} = {value} report "{name}, step {number}" severity failure;'
            for name, value in checks.items()
        ]
        steps.append("wait for 5 ns;")
    return "process begin\n" + "\n".join(steps) + "\nwait;\nend process;\n"


STUB = """\
library ieee;
use ieee.std_logic_1164.all;
entity {module} is port (
{ports}
); end entity;
architecture stub of {module} is begin
{process}end architecture;
"""

BENCH = """\
library ieee;
use ieee.std_logic_1164.all;
use work.{module}_types.all;
entity bench is end entity;
architecture test of bench is
signal s_axis : {module}_input;
signal m_axis : {module}_output;
{signals}
begin
wrapper : entity work.{module}_wrapper port map (
{map}
);
{process}end architecture;
"""


def simulate(component: Any, wrapper: str, steps: int = 8) -> None:
    """Simulate a wrapper around a stub of the module; warnings are errors."""
    random.seed(1)
    module, verilog = module_name(component), declare(component)
    chosen = random_steps(component, steps)
    types = {name: vector(width) for name, width in verilog_ports(verilog).items()}
    plain = [name for name in types if name in chosen[0].wrapped[0] | chosen[0].wrapped[1]]
    modes = {name: "out" if name in chosen[0].flat[1] else "in" for name in types}
    Path("stub.vhd").write_text(
        STUB.format(
            module=module,
            ports=";\n".join(f"{name} : {modes[name]} {types[name]}" for name in types),
            process=process((each.flat[1], each.flat[0]) for each in chosen),
        )
    )
    Path("bench.vhd").write_text(
        BENCH.format(
            module=module,
            signals="\n".join(f"signal {name} : {types[name]};" for name in plain),
            map=",\n".join(f"{name} => {name}" for name in (*plain, "s_axis", "m_axis")),
            process=process(each.wrapped for each in chosen),
        )
    )
    Path("wrapper.vhd").write_text(wrapper)
    warnings = [f"-W{each}" for each in (*WARNINGS.split(), "error")]
    ghdl("-a", *warnings, "stub.vhd", "wrapper.vhd")
    ghdl("-a", "bench.vhd")
    ghdl("-e", *warnings, "bench")
    ghdl("-r", "bench")


def wrapper_of(component: Any) -> str:
    return vhdl_wrapper(component, declare(component), module_name(component))


@needs("ghdl")
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", WRAPPED)
def test_wrapper_connects_fields_with_their_bits(name, folder):
    component = make(name)
    simulate(component, wrapper_of(component))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "options",
    [
        "",
        "--reset-polarity low",
        "--component encoder --compact --profile extended",
        "--component decoder --lanes 2 --surrogates accept",
        "--component validator --lanes 2 --offset-width 5",
        "--component compactor --lanes 2 --width 3",
        "--component transcoder --lanes 2 --errors --strip-bom",
        "--component transcoder --lanes 4 --from utf-32 --to utf-16 --byte-order big",
    ],
)
def test_command_writes_the_tested_wrapper(options, folder, monkeypatch):
    made = []
    monkeypatch.setattr(
        DesignSpec, "make", lambda spec, make=DesignSpec.make: made.append(make(spec)) or made[-1]
    )
    generate(*options.split())
    component = made[0]
    declaration = declare(component, "low" in options)
    expected = vhdl_wrapper(component, declaration, module_name(component))
    assert Path("utf8_wrapper.vhd").read_text() == expected


FAULTS = [
    ("decoder", "error <= m_axis_tuser(0)", "error <= m_axis_tuser(7)", "m_axis.error"),
    ("decoder", "tuser(3 downto 1)", "tuser(6 downto 4)", "m_axis.kind"),
    ("decoder", 'when "011" => return OVERLONG', 'when "011" => return SURROGATE', "m_axis.kind"),
    ("decoder", "s_axis_tlast <= s_axis.last", "s_axis_tlast <= s_axis.data(0)", "s_axis_tlast"),
    ("decoder", "s_axis_tvalid => s_axis_tvalid", "s_axis_tvalid => rst", "s_axis_tvalid"),
    ("decoder, 2 lanes", "32 * lane + 20 downto 32 * lane", "20 downto 0", "slots(1)"),
    ("decoder, 2 lanes", "<= s_axis.data(lane)", "<= s_axis.data(1 - lane)", "s_axis_tdata"),
    ("toy", "vector(s_axis.kind)", "vector(s_axis.pairs(0).kind)", "tdata"),
]
"""Faults of wrappers: a design, an edit, and the port or field that is wrong."""


@needs("ghdl")
@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "before", "after", "wrong"), FAULTS)
def test_fault_of_a_wrapper_is_detected(name, before, after, wrong, folder):
    component = make(name)
    wrapper = wrapper_of(component)
    assert before in wrapper
    with pytest.raises(subprocess.CalledProcessError) as failure:
        simulate(component, wrapper.replace(before, after))
    assert re.search(rf"failure\): .*{re.escape(wrong)}.*, step \d", failure.value.stdout)


@needs("ghdl")
@pytest.mark.sample(1)
@pytest.mark.parametrize("language", ["93", "02", "08"])
def test_kinds_have_the_codes_of_the_component(language, folder):
    generate()
    checks = "".join(
        f'assert to_utf8_decoder_error_kind("{kind.value:03b}") = {kind.name} severity failure;\n'
        f'assert to_std_logic_vector({kind.name}) = "{kind.value:03b}" severity failure;\n'
        for kind in ErrorKind
    )
    checks += 'assert to_utf8_decoder_error_kind("0X1") = NONE severity failure;\nreport "end";\n'
    statements = f"process begin\n{checks}wait;\nend process;"
    write_top("use work.utf8_decoder_types.all;", "", statements)
    ghdl("-a", "utf8_wrapper.vhd", "top.vhd", language=language)
    ghdl("-e", "top", language=language)
    assert "end" in ghdl("-r", "top", language=language)


@needs("ghdl")
def test_two_wrappers_fit_into_one_design(folder):
    for spec in (DesignSpec("decoder"), DesignSpec("validator", lanes=2)):
        Path(f"{spec.component}.vhd").write_text(wrapper_of(spec.make()))
    write_top(
        "use work.utf8_decoder_types.all;\nuse work.utf8_validator_2_types.all;",
        "signal token : utf8_decoder_output;\nsignal beat : utf8_validator_2_output;\n",
        "process begin\nif token.kind = OVERLONG and beat.user.kind = OVERLONG then\n"
        'assert to_utf8_decoder_error_kind("011") = OVERLONG;\n'
        "token.kind <= to_utf8_decoder_error_kind(to_std_logic_vector(beat.user.kind));\n"
        "end if;\nwait;\nend process;",
    )
    ghdl("-a", "decoder.vhd", "validator.vhd", "top.vhd")


def test_field_with_an_illegal_name_is_refused():
    reserved = data.StructLayout({"signal": 8})
    with pytest.raises(UsageError, match="'signal'"):
        wrapper_of(Toy(reserved))
