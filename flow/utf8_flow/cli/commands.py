"""The command ``utf8-hdl``."""

import json
import os
import re
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated, Any, TextIO, TypeVar

import typer
from amaranth.hdl import UnusedElaboratable
from rich.console import Console
from typer.exceptions import Abort, TyperException

from utf8_hdl import PROFILES, UNICODE, ErrorSpan, Profile, __version__
from utf8_sim.campaign import campaign
from utf8_sim.engines.engine import AmaranthEngine
from utf8_sim.stimulus import FixedStalls, Mode, RandomStalls, Stalls, Stimulus
from utf8_sim.tools.programs import ToolError

from ..export.fusesoc import core_file
from ..export.verilog import generate as generate_verilog
from ..export.verilog import name_beside
from ..export.vhdl import vhdl_package
from ..formal.properties import PROPERTIES
from ..formal.prover import tool_version as prover_version
from ..fpga.boards import BAUD, BOARDS, write_bitstream
from ..fpga.chart import chart
from ..fpga.families import DEVICES
from ..fpga.placement import SEEDS, choose_jobs, measure
from ..fpga.results import document, summary
from ..verify.comparison import PartsComparison, compare_exhaustively
from ..verify.engines import (
    AUTO,
    DESIGNS,
    ENGINES,
    expected_cycles,
    keep_freed_memory,
    prepare_engine,
)
from ..verify.exhaustive import LONGEST as LONGEST_EXHAUSTIVE
from ..verify.exhaustive import Plan
from ..verify.mutants import mutation_score
from ..verify.proofs import choose_goals, prove_all
from ..verify.report import plural
from ..verify.simulation import Outputs, TextSimulation, look_ahead
from ..verify.waves import check_drawing, check_drawn, drawing_range, save_file_name
from .output import (
    OutputFailed,
    Refused,
    check_output,
    give_up_on,
    open_output,
    visible,
)
from .session import (
    allow_any_character,
    check_current_folder,
    one_interrupt,
    own_temporary_folder,
)
from .terminal import (
    INTERRUPTED,
    GivenUp,
    report_console,
    say,
)
from .texts import file_part, open_text, typed_part

CAMPAIGN_STALLS = (0.0, 0.25)
"""Probabilities of stalls that ``compare`` tries on each side, all combinations."""

DIFFERENCE_VCD = "utf8-hdl-difference.vcd"
"""Where the waveform around a difference is kept, unless ``--vcd`` names a file."""

VERDICTS = {"accept": True, "reject": False}
"""Whether code points are accepted, by the names of the options."""
LAST_STALLED_CYCLE = (1 << 20) - 1
"""The highest number of a cycle that may be stalled by number."""

RESET_POLARITIES = {"high": False, "low": True}
"""Whether the reset is active low, by the names of ``generate``'s option."""

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

T = TypeVar("T")


def _choice(names: Iterable[str], *declarations: str, help: str) -> Any:
    """An option that takes one of some names, which the shell completes."""
    names = list(names)
    metavar = "|".join(names)
    return typer.Option(*declarations, metavar=metavar, help=help, autocompletion=lambda: names)


def _number(kind: Callable[[str], T], description: str) -> Callable[[str], T]:
    """What reads a number, and says so in plain words if it is none."""

    def parse(text: str) -> T:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f"must be {description}, not {text!r}") from None

    return parse


WHOLE_NUMBER = _number(int, "a whole number")
NUMBER = _number(float, "a number")


def _examples(*lines: str) -> str:
    """The end of a command's help, which is not filled as other text is."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


ComponentOption = Annotated[str, _choice(DESIGNS, "--component", help="Which piece of hardware.")]

ProfileOption = Annotated[str, _choice(PROFILES, "--profile", help="Which UTF-8 is spoken.")]
SurrogatesOption = Annotated[
    str | None, _choice(VERDICTS, help="U+D800 to U+DFFF, instead of the profile's rule.")
]
NoncharactersOption = Annotated[
    str | None, _choice(VERDICTS, help="U+FFFE and U+FFFF, instead of the profile's rule.")
]
ErrorSpanOption = Annotated[
    str | None,
    _choice([span.value for span in ErrorSpan], help="How many bytes one error covers."),
]
OnlyComponentOption = Annotated[str | None, _choice(DESIGNS, "--component", help="Only this one.")]
OnlyProfileOption = Annotated[str | None, _choice(PROFILES, "--profile", help="Only this one.")]
EngineOption = Annotated[str, _choice([AUTO, *ENGINES], help="What simulates the hardware.")]
SeedOption = Annotated[
    int,
    typer.Option(metavar="N", parser=WHOLE_NUMBER, help="Random seed."),
]
TextOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Take this instead of a file.")
]
HexOption = Annotated[
    str | None,
    typer.Option(
        "--hex", metavar="BYTES", help="Bytes such as 'E2 82 AC'; / between texts: 'E2 82 / AC'."
    ),
]
CodePointsOption = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="For an encoder: values such as '20AC, D800 / 110000'."),
]
StallInputOption = Annotated[
    float | None,
    typer.Option(
        metavar="P", parser=NUMBER, help="Probability, each cycle, that no byte is offered."
    ),
]
StallOutputOption = Annotated[
    float | None,
    typer.Option(
        metavar="P", parser=NUMBER, help="Probability, each cycle, that no token is taken."
    ),
]
StallInputCyclesOption = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Cycles such as 3,5-9 in which no byte is offered."),
]
StallOutputCyclesOption = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Cycles such as 3,5-9 in which no token is taken."),
]
TokensOption = Annotated[
    str | None,
    typer.Option(
        metavar="OUT.jsonl",
        help="Write the hardware's tokens, one JSON object a line; - is stdout.",
    ),
]
VcdOption = Annotated[
    str | None,
    typer.Option(metavar="OUT.vcd", help="Write the waveform, and OUT.gtkw to show it in GTKWave."),
]
WaveOption = Annotated[
    str | None, typer.Option(metavar="OUT.svg", help="Draw a timing diagram of some cycles.")
]


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"utf8-hdl {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=_examples(
        "utf8-hdl simulate --text 'A€😀'",
        "utf8-hdl generate -o utf8_decoder.v",
        "utf8-hdl simulate --help",
    ),
)
def _top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """UTF-8 in hardware: simulate it, compare it with its golden model, get its Verilog."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)


@app.command(
    epilog=_examples(
        "utf8-hdl simulate --text 'A€😀'",
        "utf8-hdl simulate --hex 'C0 AF E2 82' --tokens -",
        "utf8-hdl simulate --text 'A€' --stall-output 0.5 --seed 7 --vcd wave.vcd",
        "utf8-hdl simulate --component encoder --code-points '20AC D800' --bytes out.txt",
    )
)
def simulate(
    context: typer.Context,
    file: Annotated[str | None, typer.Argument(metavar="FILE|-", hidden=True)] = None,
    text: TextOption = None,
    hexadecimal: HexOption = None,
    code_points: CodePointsOption = None,
    component: ComponentOption = "decoder",
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    engine: EngineOption = AUTO,
    seed: SeedOption = 0,
    stall_input: StallInputOption = None,
    stall_output: StallOutputOption = None,
    stall_input_cycles: StallInputCyclesOption = None,
    stall_output_cycles: StallOutputCyclesOption = None,
    tokens: TokensOption = None,
    encoded: Annotated[
        str | None,
        typer.Option("--bytes", metavar="OUT", help="For an encoder: write the bytes it gave."),
    ] = None,
    vcd: VcdOption = None,
    wave: WaveOption = None,
    wave_cycles: Annotated[
        str, typer.Option(metavar="FIRST-LAST", help="Which cycles --wave draws.")
    ] = "0-31",
) -> None:
    """Run the hardware on real bytes, next to the golden model.

    What it made of them is shown, of short texts cycle by cycle. The text is FILE, standard input
    (-), or what --text or --hex gives. A decoder gets its bytes. An encoder gets its characters,
    surrogates and all other values too that its input can carry, or those of LIST.
    """
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    stalls = _stalls(seed, stall_input, stall_output, stall_input_cycles, stall_output_cycles)
    design = _choose("--component", component, DESIGNS)(rules)
    encoder = component == "encoder"
    steady = (stall_input, stall_output, stall_input_cycles, stall_output_cycles) == (None,) * 4
    _refuse_idle(
        context,
        code_points=not encoder and "without --component encoder",
        encoded=not encoder and "without --component encoder",
        error_span=encoder and "with --component encoder",
        seed=stall_input is None
        and stall_output is None
        and "without --stall-input or --stall-output",
        wave_cycles=wave is None and "without --wave",
    )
    facts = AmaranthEngine(design)
    typed = typed_part(text, hexadecimal, code_points, facts)
    names = {"--tokens": tokens, "--bytes": encoded, "--vcd": vcd, "--wave": wave}
    _check_outputs([file] if file else [], names)
    drawn = drawing_range(wave_cycles)
    show = report_console(names)
    with open_text(file, typed, facts) as (text_pieces, size):
        pieces, ahead, whole = look_ahead(text_pieces, facts, None if typed else 1)
        length = ahead if whole else size
        if wave and length is not None and steady:
            check_drawn(drawn, length)
        cycles = expected_cycles(ahead, [stalls])
        simulator, engine_line = prepare_engine(engine, design, cycles)
        outputs = Outputs(tokens, encoded, vcd, wave)
        simulation = TextSimulation(simulator, Stimulus(pieces, *stalls), outputs, drawn)
        simulation.run(show, size)
    simulation.tell(show, engine_line, DIFFERENCE_VCD)


@app.command(
    epilog=_examples(
        "utf8-hdl compare",
        "utf8-hdl compare --hex 'E2 82 / ED A0 80'",
        "printf 'A\\xe2\\x82' | utf8-hdl compare - --stall-input 0.9",
        "utf8-hdl compare --exhaustive 2",
    )
)
def compare(
    context: typer.Context,
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE|-", hidden=True)] = None,
    text: TextOption = None,
    hexadecimal: HexOption = None,
    code_points: CodePointsOption = None,
    component: ComponentOption = "decoder",
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    engine: EngineOption = AUTO,
    seed: SeedOption = 0,
    stall_input: StallInputOption = None,
    stall_output: StallOutputOption = None,
    stall_input_cycles: StallInputCyclesOption = None,
    stall_output_cycles: StallOutputCyclesOption = None,
    tokens: TokensOption = None,
    vcd: VcdOption = None,
    wave: WaveOption = None,
    exhaustive: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=WHOLE_NUMBER,
            help="Instead of FILEs: every text of N bytes, 1 to 4.",
        ),
    ] = None,
    state: Annotated[
        str,
        typer.Option(metavar="FILE", help="Where --exhaustive keeps what is done, to go on later."),
    ] = "utf8-hdl-exhaustive.json",
) -> None:
    """Compare hardware and golden model, cycle by cycle.

    The stimuli are the FILEs (- is standard input), or what --text, --hex or --code-points gives,
    or without any the built-in campaign. Each runs at full rate and with stalls on either side and
    both. --vcd and --wave name what is kept if there is a difference.
    """
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    modes = _modes(seed, stall_input, stall_output, stall_input_cycles, stall_output_cycles)
    design = _choose("--component", component, DESIGNS)(rules)
    by_cycles = stall_input_cycles is not None or stall_output_cycles is not None
    is_campaign = not files and (text, hexadecimal, code_points) == (None,) * 3
    nothing_random = exhaustive is not None or (by_cycles and not is_campaign)
    _refuse_idle(
        context,
        error_span=component == "encoder" and "with --component encoder",
        seed=nothing_random
        and stall_input is None
        and stall_output is None
        and f"with {'--exhaustive' if exhaustive is not None else 'stalls by cycles'}, "
        "without --stall-input or --stall-output",
        state=exhaustive is None and "without --exhaustive",
    )
    outputs = {"--tokens": tokens, "--vcd": vcd, "--wave": wave}
    if state == "-":
        raise Refused("--state needs the name of a file")
    _check_outputs(files or [], outputs if exhaustive is None else {**outputs, "--state": state})
    if (files or []).count("-") > 1:
        raise Refused("- is standard input, which can be read only once: give it once")
    show = report_console(outputs)
    facts = AmaranthEngine(design)
    typed = typed_part(text, hexadecimal, code_points, facts)
    if files and typed:
        raise Refused(f"give FILEs or {typed.name}, not both")
    if exhaustive is not None:
        if files or typed or tokens or by_cycles or component != "decoder":
            raise Refused(
                "--exhaustive is for the decoder, without FILEs or other texts, without --tokens "
                "and without stalls by cycles"
            )
        _check_length(exhaustive)
        rates = stall_input or 0.0, stall_output or 0.0
        cycles = expected_cycles(exhaustive * 256**exhaustive, [_stalls(seed, *rates)])
        simulator, engine_line = prepare_engine(engine, design, cycles)
        plan = Plan(exhaustive, rules, simulator.name, rates, seed)
        compare_exhaustively(show, plan, simulator, engine_line, state, vcd or DIFFERENCE_VCD, wave)
        return

    parts = [typed] if typed else [context.with_resource(file_part(n, facts)) for n in files or []]
    parts = parts or campaign(facts, seed)
    # A code point of the campaign becomes so many bytes, at most; of files, bytes are known.
    bytes_each = rules.longest_form if component == "encoder" and not files else 1
    size = bytes_each * sum(part.size for part in parts)
    cycles = expected_cycles(size, [stalls for _, stalls in modes])
    simulator, engine_line = prepare_engine(engine, design, cycles)
    say(show, f"profile {rules.describe()}")
    say(show, f"engine {engine_line}")
    names = ", ".join(name for name, _ in modes)
    stimuli = "1 stimulus" if len(parts) == 1 else f"{len(parts)} stimuli"
    say(show, f"{plural(len(parts) * len(modes), 'run')}: {stimuli}, each at {names}")
    comparison = PartsComparison(simulator, parts, modes)
    comparison.run(show, tokens)
    comparison.tell(show, seed, is_campaign, vcd or DIFFERENCE_VCD, wave)


@app.command(
    epilog=_examples(
        "utf8-hdl generate -o utf8_decoder.v",
        "utf8-hdl generate --component encoder --reset-polarity low -o utf8_encoder.v",
        "utf8-hdl generate --profile ucs4 --module wide_decoder -o wide_decoder.v --fusesoc",
        "utf8-hdl generate -o utf8_decoder.v --vhdl-component",
    )
)
def generate(
    context: typer.Context,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to write; - is stdout.")
    ] = "-",
    component: ComponentOption = "decoder",
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    module: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the module, instead of utf8_COMPONENT."),
    ] = None,
    reset_polarity: Annotated[
        str,
        _choice(
            RESET_POLARITIES,
            help="high: ports clk and rst; low: aclk and aresetn, as AXI has them.",
        ),
    ] = "high",
    fusesoc: Annotated[
        bool, typer.Option("--fusesoc", help="Write FILE.core too, for FILE.v: a FuseSoC core.")
    ] = False,
    vhdl_component: Annotated[
        bool,
        typer.Option(
            "--vhdl-component", help="Write FILE.vhd too, for FILE.v: its component in VHDL."
        ),
    ] = False,
) -> None:
    """Write Verilog with AXI4-Stream ports, for an FPGA."""
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    design = _choose("--component", component, DESIGNS)(rules)
    _refuse_idle(context, error_span=component == "encoder" and "with --component encoder")
    active_low_reset = _choose("--reset-polarity", reset_polarity, RESET_POLARITIES)
    module = f"utf8_{component}" if module is None else module
    files = {output: generate_verilog(design, module, active_low_reset)}
    if fusesoc:
        files[name_beside(output, ".core", "--fusesoc")] = core_file(design, module, output)
    if vhdl_component:
        package = vhdl_package(files[output], module)
        files[name_beside(output, ".vhd", "--vhdl-component")] = package
    with ExitStack() as opened:
        for name, content in files.items():
            opened.enter_context(open_output(name)).write(content)


@app.command(
    epilog=_examples(
        "utf8-hdl prove --component encoder --profile unicode",
        "utf8-hdl prove --property line-rate",
    )
)
def prove(
    context: typer.Context,
    component: OnlyComponentOption = None,
    profile: OnlyProfileOption = None,
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--property",
            metavar="NAME",
            help="Only this one.",
            autocompletion=lambda: list(dict.fromkeys(what.name for what in PROPERTIES)),
        ),
    ] = None,
    vcd: Annotated[
        str, typer.Option(metavar="OUT.vcd", help="Where to write a counterexample's waveform.")
    ] = "utf8-hdl-counterexample.vcd",
) -> None:
    """Prove the properties of the designs, for all inputs.

    These may be of any length, under any stalls. Without --profile, in all of them, and in unicode
    with each of its rules inverted.
    """
    if component is not None:
        _choose("--component", component, DESIGNS)
    profiles = _choose_profiles(profile, surrogates, noncharacters, error_span)
    _refuse_idle(context, error_span=component == "encoder" and "with --component encoder")
    goals = choose_goals(component, name, profiles)
    if vcd == "-":
        raise Refused("--vcd needs the name of a file")
    _check_outputs([], {"--vcd": vcd})
    show = Console(highlight=False)
    say(show, prover_version())
    if not prove_all(show, goals, vcd):
        raise typer.Exit(1)


@app.command(
    epilog=_examples(
        "utf8-hdl mutate --component encoder --mutants 100",
        "utf8-hdl mutate --profile ucs2 --seed 1",
    )
)
def mutate(
    context: typer.Context,
    component: OnlyComponentOption = None,
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    seed: SeedOption = 0,
    mutants: Annotated[
        int,
        typer.Option(metavar="N", parser=WHOLE_NUMBER, help="How many of each component."),
    ] = 1000,
) -> None:
    """Break the designs gate by gate, and count what notices.

    They are synthesised before. Each mutant meets the built-in campaign of compare and the
    properties of prove. One that none of them kills must be proved to do the same as the design.
    """
    if component is not None:
        _choose("--component", component, DESIGNS)
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    _refuse_idle(context, error_span=component == "encoder" and "with --component encoder")
    if mutants < 1:
        raise Refused(f"--mutants must be 1 or more, not {mutants}")
    modes = _modes(seed)
    show = Console(highlight=False)
    say(show, prover_version())
    names = [component] if component else list(DESIGNS)
    scores = [mutation_score(show, name, rules, mutants, seed, modes) for name in names]
    if not all(scores):
        raise typer.Exit(1)


@app.command(
    epilog=_examples(
        "utf8-hdl synthesize --component decoder --profile unicode --device ecp5-25f",
        "utf8-hdl synthesize --seeds 0 --json cells.json",
    )
)
def synthesize(
    context: typer.Context,
    component: OnlyComponentOption = None,
    profile: OnlyProfileOption = None,
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
    device: Annotated[str | None, _choice(DEVICES, help="Only this one.")] = None,
    fields: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Outputs that are used, such as code_point,error."),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=WHOLE_NUMBER,
            help="How often each is placed and routed; 0: only count cells.",
        ),
    ] = 5,
    seed: Annotated[
        int, typer.Option(metavar="N", parser=WHOLE_NUMBER, help="The first of the seeds.")
    ] = 0,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="OUT.json", help="Write all results; - is stdout."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="OUT.svg", help="Draw frequency and area.")
    ] = None,
) -> None:
    """Measure area and clock frequency on real devices.

    The designs are synthesised, placed and routed. Without --profile, in all of them, and in
    unicode with each of its rules inverted.
    """
    if component is not None:
        _choose("--component", component, DESIGNS)
    if device is not None:
        _choose("--device", device, DEVICES)
    profiles = _choose_profiles(profile, surrogates, noncharacters, error_span)
    if min(seed, seeds) < 0 or seed + seeds > SEEDS:
        raise Refused(f"--seed and --seeds must be 0 or more, and together at most {SEEDS}")
    _refuse_idle(
        context,
        error_span=component == "encoder" and "with --component encoder",
        seed=not seeds and "with --seeds 0",
    )
    if plot is not None and not seeds:
        raise Refused("--plot shows frequencies: it needs --seeds 1 or more")
    outputs = {"--json": json_file, "--plot": plot}
    _check_outputs([], outputs)
    components = [component] if component else list(DESIGNS)
    jobs = choose_jobs(components, profiles, [device] if device else list(DEVICES), fields)
    show = report_console(outputs)
    results = document(measure(jobs, range(seed, seed + seeds)))
    for line in summary(results):
        say(show, line)
    if json_file is not None:
        with open_output(json_file) as file:
            file.write(json.dumps(results, indent=2) + "\n")
    if plot is not None:
        with open_output(plot) as file:
            file.write(chart(results))


@app.command(
    epilog=_examples(
        "utf8-hdl bitstream --board icebreaker",
        "utf8-hdl bitstream --board ulx3s --baud 9600 --profile ucs2 -o demo.bit",
    )
)
def bitstream(
    board: Annotated[str, _choice(BOARDS, help="Which board.")],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write; - is stdout. Without it utf8_demo_BOARD.bin or .bit.",
        ),
    ] = None,
    baud: Annotated[
        int, typer.Option(metavar="N", parser=WHOLE_NUMBER, help="Bits per second.")
    ] = BAUD,
    profile: ProfileOption = "unicode",
    surrogates: SurrogatesOption = None,
    noncharacters: NoncharactersOption = None,
    error_span: ErrorSpanOption = None,
) -> None:
    """Build the demo for a board, as a bitstream.

    It takes bytes on the board's UART and gives code points and errors, as text.
    """
    rules = choose_profile(profile, surrogates, noncharacters, error_span)
    _choose("--board", board, BOARDS)
    write_bitstream(board, rules, baud, output)


def _choose_profiles(profile: str | None, *overrides: str | None) -> list[Profile]:
    """The profile that the options name, or all that are offered if they name none."""
    if profile or any(overrides):
        return [choose_profile(profile or "unicode", *overrides)]
    return [*PROFILES.values(), *_overridden(UNICODE)]


def _overridden(profile: Profile) -> list[Profile]:
    """The profile with each of its rules inverted, one at a time."""
    return [
        replace(profile, accept_surrogates=not profile.accept_surrogates),
        replace(profile, accept_noncharacters=not profile.accept_noncharacters),
        replace(profile, error_span=ErrorSpan.WHOLE_SEQUENCE),
    ]


def _choose(option: str, name: str, choices: dict[str, T]) -> T:
    if name not in choices:
        raise Refused(f"unknown {option} {name!r}: choose from {', '.join(choices)}")
    return choices[name]


def choose_profile(
    name: str,
    surrogates: str | None = None,
    noncharacters: str | None = None,
    error_span: str | None = None,
) -> Profile:
    """The profile that the command line's options name.

    Parameters
    ----------
    name, surrogates, noncharacters, error_span : str or None
        The values of the options of these names.

    Raises
    ------
    Refused
        If a value is unknown.
    """
    profile = _choose("--profile", name, PROFILES)
    if surrogates is not None:
        accept = _choose("--surrogates", surrogates, VERDICTS)
        profile = replace(profile, accept_surrogates=accept)
    if noncharacters is not None:
        accept = _choose("--noncharacters", noncharacters, VERDICTS)
        profile = replace(profile, accept_noncharacters=accept)
    if error_span is not None:
        spans = {span.value: span for span in ErrorSpan}
        profile = replace(profile, error_span=_choose("--error-span", error_span, spans))
    return profile


def _stalls(
    seed: int,
    stall_input: float | None = None,
    stall_output: float | None = None,
    input_cycles: str | None = None,
    output_cycles: str | None = None,
) -> tuple[Stalls, Stalls]:
    if seed < 0:
        raise Refused(f"--seed must be 0 or more, not {seed}")
    return (
        _side_stalls("--stall-input", stall_input, input_cycles, (seed, 1)),
        _side_stalls("--stall-output", stall_output, output_cycles, (seed, 2)),
    )


def _side_stalls(
    option: str, probability: float | None, cycles: str | None, seed: tuple[int, int]
) -> Stalls:
    if cycles is not None:
        if probability is not None:
            raise Refused(f"give {option} or {option}-cycles, not both")
        return FixedStalls(_stalled_cycles(f"{option}-cycles", cycles))
    probability = probability or 0.0
    if not 0 <= probability < 1:
        raise Refused(
            f"{option} must be at least 0 and below 1 (at 1 nothing would ever move), "
            f"not {probability:g}"
        )
    return RandomStalls(probability, seed)


def _stalled_cycles(option: str, cycles: str) -> tuple[bool, ...]:
    """A pattern of stalls from a list of cycles such as ``3,5-9``."""
    stalled: set[int] = set()
    for word in cycles.split(","):
        numbers = re.fullmatch(r"\s*(\d{1,15})\s*(?:-\s*(\d{1,15})\s*)?", word)
        first, last = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (1, 0)
        if not first <= last <= LAST_STALLED_CYCLE:
            raise Refused(
                f"{option} takes numbers of cycles up to {LAST_STALLED_CYCLE} such as 3,5-9, "
                f"not {word!r}"
            )
        stalled.update(range(first, last + 1))
    return tuple(cycle in stalled for cycle in range(max(stalled) + 1))


def _modes(
    seed: int,
    stall_input: float | None = None,
    stall_output: float | None = None,
    input_cycles: str | None = None,
    output_cycles: str | None = None,
) -> list[Mode]:
    """The stalls that ``compare`` tries, with their names; full rate is always among them."""
    given = stall_input, stall_output, input_cycles, output_cycles
    if given == (None,) * 4:
        rates = [(i, o) for i in CAMPAIGN_STALLS for o in CAMPAIGN_STALLS]
        return [(_mode_name(i, o), _stalls(seed, i, o)) for i, o in rates]
    sides = (input_cycles or stall_input, output_cycles or stall_output)
    modes = {_mode_name(0, 0): _stalls(seed), _mode_name(*sides): _stalls(seed, *given)}
    return list(modes.items())


def _mode_name(*sides: float | str | None) -> str:
    """Which stalls: probabilities, or cycles."""
    if not any(sides):
        return "full rate"
    i, o = (f"{side or 0:g}" if not isinstance(side, str) else f"cycles {side}" for side in sides)
    return f"stalls in {i} out {o}"


def _check_length(exhaustive: int) -> None:
    if not 1 <= exhaustive <= LONGEST_EXHAUSTIVE:
        raise Refused(f"--exhaustive must be 1 to {LONGEST_EXHAUSTIVE} bytes, not {exhaustive}")


def _refuse_idle(context: typer.Context, **circumstances: str | bool) -> None:
    """Refuse options that were given and have no effect.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    circumstances : dict of str to str or bool
        By names of parameters: in which circumstances they have no effect; false if they have.
    """
    options = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name, circumstance in circumstances.items():
        source = context.get_parameter_source(name)
        if circumstance and source and source.name == "COMMANDLINE":
            raise Refused(f"{options[name]} has no effect {circumstance}")


def _file_identity(name: str, standard: TextIO | None) -> tuple[int, int] | None:
    """What tells a file or a pipe from all others, whatever its name; None for a device.

    Parameters
    ----------
    name : str
        Name of the file; ``-`` is the stream,
    standard : text file or None
        which is standard input or output.
    """
    try:
        status = os.stat(standard.fileno() if name == "-" and standard else name)
    except (OSError, ValueError):
        return None
    is_file = stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)
    return (status.st_dev, status.st_ino) if is_file else None


def _check_outputs(inputs: list[str], outputs: dict[str, str | None]) -> None:
    """Refuse outputs that cannot be written, to one place, or over an input."""
    if outputs.get("--wave") is not None:
        check_drawing()
    if outputs.get("--vcd") not in (None, "", "-", os.devnull):
        outputs = {**outputs, "the save file of --vcd": save_file_name(outputs["--vcd"] or "")}
    places: dict[str, tuple[str, str]] = {}
    for option, name in outputs.items():
        if name is None:
            continue
        if not name:
            raise Refused(f"{option} needs the name of a file, or - for standard output")
        place = name if name == "-" else os.path.realpath(name)
        if place in places and place != os.devnull:
            first_option, first_name = places[place]
            raise Refused(f"{first_option} and {option} both name {first_name!r}: choose another")
        places[place] = option, name
        check_output(name)
    for option, output in outputs.items():
        written = _file_identity(output, sys.stdout) if output else None
        for name in inputs:
            if written and written == _file_identity(name, sys.stdin):
                raise Refused(f"{option} would overwrite the input {name!r}: choose another file")


def _usage_error(error: TyperException, arguments: list[str]) -> str:
    """What is wrong with the command line, and where the right one is described."""
    context = getattr(error, "ctx", None)
    command = [word for word in arguments[:1] if not word.startswith("-")]
    path = context.command_path if context else " ".join(["utf8-hdl", *command])
    message = error.format_message().rstrip(".")
    if isinstance(error, typer.BadParameter) and error.param and error.message:
        message = f"{error.param.opts[0]} {error.message}"
    elif message.startswith("No such command") and "Did you mean" not in message:
        names = [
            command.callback.__name__ for command in app.registered_commands if command.callback
        ]
        message = f"{message}: choose from {', '.join(names)}"
    return f"{message} (see {path} --help)"


def _what_failed(error: BaseException | None) -> str:
    """What the operating system says; errors of output files and tools have their own words."""
    reason = getattr(error, "strerror", None) or str(error)
    name = getattr(error, "filename", None)
    if name is not None:
        return f"cannot use {os.fsdecode(name)!r}: {reason}"
    place = f" (temporary files are in {tempfile.tempdir!r})" if tempfile.tempdir else ""
    return f"cannot go on: {reason}{place}"


def _status_after(heeded: list[int]) -> int:
    return 128 + heeded[0] if heeded else INTERRUPTED


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Returns
    -------
    int
        0 if hardware and golden model agree, 1 if they differ, 2 for wrong usage or unreadable
        input, 128 and the signal's number after an interrupt, 141 if the reader of standard output
        went away.
    """
    keep_freed_memory()
    # A design may be made and then not used, because what follows is refused.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    allow_any_character()
    heeded: list[int] = []
    try:
        try:
            with one_interrupt(heeded), own_temporary_folder():
                check_current_folder()
                status = app(arguments, prog_name="utf8-hdl", standalone_mode=False) or 0
                if status == INTERRUPTED:
                    raise KeyboardInterrupt
                return status
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except (Refused, ToolError) as error:
        if isinstance(error, OutputFailed):
            give_up_on(sys.stdout)
        message = str(error)
    except TyperException as error:
        message = _usage_error(error, arguments or sys.argv[1:])
    except GivenUp:
        return _status_after(heeded)
    except (Abort, KeyboardInterrupt):
        message = "interrupted"
    except (SystemExit, OSError) as error:
        # Typer answers to a closed pipe with the exit status 1, which is taken.
        cause = error.__context__ if isinstance(error, SystemExit) else error
        if isinstance(error, SystemExit) and cause is None:  # that is how completion ends
            return 2 if error.code else 0
        if isinstance(cause, BrokenPipeError):
            give_up_on(sys.stdout)
            return 141
        message = _what_failed(cause)
    try:
        print(f"utf8-hdl: {visible(' '.join(message.split()))}", file=sys.stderr, flush=True)
    except OSError:
        give_up_on(sys.stderr)
    return _status_after(heeded) if heeded or message == "interrupted" else 2
