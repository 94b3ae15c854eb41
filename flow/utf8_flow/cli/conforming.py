"""``conform``: any core against the golden model."""

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from utf8_sim.tools.errors import UsageError

from .choices import Design, InlineInput, Rules, reject_inapplicable
from .options import OWNERS, choice, command, option, output_file
from .output import check_outputs

if TYPE_CHECKING:
    from utf8_hdl import Profile
    from utf8_sim.campaign import Part
    from utf8_sim.conformance.core import Core
    from utf8_sim.conformance.suite import Suite
    from utf8_sim.engines.engine import Engine
    from utf8_sim.subject import Subject

    from ..designs import DesignSpec

app = typer.Typer()

AUTO = "auto"

SPANS = "maximal-subpart", "whole-sequence", "each-byte", "first-byte", "silent"
"""Names of the policies about the span of an error."""

ENGINES = "verilator", "cxxrtl", "icarus"
"""Simulators of Verilog, the fastest first."""


@dataclass
class CoreFiles:
    """Options for the core."""

    panel = "Core"

    top: str = option(..., "The core's module, or its entity in VHDL.", metavar="NAME")
    without: str = option(
        "",
        "Ports and fields that the core does not have: ready, last, kind, length, error, reset, or "
        "the names of ports, separated by commas.",
        metavar="LIST",
    )
    ports: str | None = option(
        None,
        "Names of the core's ports, its parameters and its other inputs (docs/conformance.md).",
        metavar="MAP.toml",
    )
    throughput: float = option(
        1.0, "Inputs, or outputs, per cycle that the core promises.", metavar="R", min=0, max=1
    )


@dataclass
class CoreRules(Rules):
    """Options for the UTF-8 rules of a core."""

    error_span: str | None = choice(
        AUTO,
        SPANS,
        f"{OWNERS}: bytes that one error covers. auto: those of the core's own policy, which is "
        "reported. The last three are for a decoder with one lane.",
        also=[AUTO],
    )

    def profile_of(self, *, is_decoder: bool) -> "Profile":
        """The profile. A byte decoder is judged by policies that are not in a profile."""
        from utf8_hdl import ErrorSpan

        span = None if is_decoder or self.error_span == AUTO else self.error_span
        if span and span not in {each.value for each in ErrorSpan}:
            raise UsageError(f"--error-span {span} is for decoders with one lane")
        return replace(self, error_span=span).chosen()


@dataclass
class Trial:
    """Options for the runs."""

    panel = "Simulation"

    engine: str = choice(
        AUTO,
        ENGINES,
        "Simulator; auto: the first of these that is installed.",
        also=[AUTO],
    )
    rule: str | None = option(None, "Run the inputs of this rule only.", metavar="NAME")
    every_text: int = option(
        0, "For a decoder: also every text of up to N bytes.", metavar="N", min=0, max=3
    )
    stall_input: float = option(
        0.0, "With an input: probability of a gap before a byte.", metavar="P", min=0, max=0.999
    )
    stall_output: float = option(
        0.0, "With an input: probability that the consumer stalls.", metavar="P", min=0, max=0.999
    )
    seed: int = option(0, "With an input: random seed.", metavar="N", min=0)


@dataclass
class Scorecards:
    """Options for output files."""

    panel = "Output files"

    json_file: str | None = output_file(
        "OUT.json", "Write the scorecard as JSON. - is standard output.", "--json"
    )
    junit: str | None = output_file("OUT.xml", "Write the scorecard as JUnit XML.")
    badge: str | None = output_file("OUT.json", "Write a badge for shields.io's endpoint.")

    def names(self) -> dict[str, str | None]:
        return {"--json": self.json_file, "--junit": self.junit, "--badge": self.badge}


@command(
    app,
    "utf8-hdl conform verilog/utf8_compact_decoder.v --top utf8_compact_decoder",
    "utf8-hdl conform core.v --top core --without ready,last,kind,length --ports map.toml",
    "utf8-hdl conform core.v --top core --hex 'E2 82 41'",
)
def conform(
    context: typer.Context,
    *,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", hidden=True)],
    inline: InlineInput,
    core: CoreFiles,
    design: Design,
    rules: CoreRules,
    trial: Trial,
    results: Scorecards,
) -> None:
    """Compare any core with the golden model.

    Outputs are compared in order, cycles do not matter. The FILEs are in Verilog, SystemVerilog or
    VHDL. They have the ports of the Verilog that utf8-hdl generate writes, or some of them. The
    result is a scorecard: for each rule pass, fail or not applicable, and the shortest input that
    fails. With --text, --hex or --code-points only this input is run.
    """
    from utf8_sim.conformance.connections import Connections
    from utf8_sim.conformance.core import Core
    from utf8_sim.subject import Subject

    from .texts import inline_part

    [spec] = design.specs()
    is_decoder = spec.component == "decoder" and spec.lanes == 1
    spec = design.spec(rules.profile_of(is_decoder=is_decoder))
    is_inline = inline != InlineInput()
    reject_inapplicable(
        context,
        [spec],
        compact="for a core: its ports are the same",
        every_text=not is_decoder and "except for a decoder with one lane",
        rule=is_inline and "with an input",
        **dict.fromkeys(
            ("stall_input", "stall_output", "seed"), not is_inline and "without an input"
        ),
        **dict.fromkeys(("json_file", "junit", "badge"), is_inline and "with an input"),
    )
    check_outputs([*files, *([core.ports] if core.ports else [])], results.names())
    connections = Connections.of(core.without, core.ports)
    subject = Core(spec.make(), files, core.top, connections)
    if is_decoder and "o.code_point" not in subject.compared:
        raise UsageError("a decoder needs code_point: --without or --ports leaves it out")
    # Before the core is compiled, which may fail or take long.
    part = inline_part(inline, Subject(subject))
    if trial.rule is not None:
        _check_rule(trial.rule, Subject(subject), is_decoder=is_decoder)
    engine = _engine(trial.engine, subject)
    suite = _suite(engine, spec, rules, core, trial)
    words = [*_words(files, core, spec), "--engine", engine.name]
    if part:
        _run_input(suite, part, trial)
    else:
        _run_rules(suite, trial, results, _head(files, core, spec, engine.name), words)


def _check_rule(name: str, subject: "Subject", *, is_decoder: bool) -> None:
    from utf8_sim.conformance.components import component_rules, parts_of
    from utf8_sim.conformance.rules import decoder_rules

    rules = (
        decoder_rules(subject.profile.longest_form)
        if is_decoder
        else component_rules(parts_of(subject))
    )
    names = [rule.name for rule in rules]
    if name not in names:
        raise UsageError(f"unknown --rule {name!r}: choose from {', '.join(names)}")


def _engine(name: str, core: "Core") -> "Engine":
    """The simulator; by default the fastest that is installed."""
    from utf8_sim.tools.errors import NotInstalled

    from ..terminal import progress_bar

    with progress_bar() as progress:
        progress.add_task("preparing the engine", total=None)
        if name != AUTO:
            return core.engine(name)
        for each in ENGINES:
            with suppress(NotInstalled):
                return core.engine(each)
    raise NotInstalled("no simulator is installed: install Verilator, Icarus Verilog or '.[fpga]'")


def _suite(
    engine: "Engine", spec: "DesignSpec", rules: CoreRules, core: CoreFiles, trial: Trial
) -> "Suite":
    from utf8_sim.conformance.components import ComponentSuite
    from utf8_sim.conformance.decoder import DecoderSuite

    rate = core.throughput
    if spec.component == "decoder" and spec.lanes == 1:
        span = rules.error_span or AUTO
        return DecoderSuite(engine, span=span, exhaustive=trial.every_text, rate=rate)
    return ComponentSuite(engine, rate=rate)


def _words(files: list[str], core: CoreFiles, spec: "DesignSpec") -> list[str]:
    """The command without its engine, inputs and output files."""
    words = ["utf8-hdl", "conform", *files, "--top", core.top, *spec.words]
    words += ["--without", core.without] if core.without else []
    words += ["--ports", core.ports] if core.ports else []
    return words + (["--throughput", f"{core.throughput:g}"] if core.throughput != 1 else [])


def _head(files: list[str], core: CoreFiles, spec: "DesignSpec", engine: str) -> dict[str, str]:
    """The head of the report."""
    from utf8_hdl import __version__

    return {
        "core": f"{core.top} ({', '.join(map(os.path.basename, files))})",
        "component": spec.label,
        "profile": spec.profile.describe(),
        "without": core.without or "nothing",
        "engine": engine,
        "version": f"utf8-hdl {__version__}",
    }


def _run_input(suite: "Suite", part: "Part", trial: Trial) -> None:
    """Run one input, and show expected and actual outputs."""
    from utf8_sim.conformance.bench import Drive

    from ..terminal import VerificationFailed, report_console
    from ..verify.conformance import print_input_verdict

    drive = Drive(trial.stall_input, trial.stall_output, trial.seed)
    rule, failure = suite.run_input(part.pieces(), drive)
    print_input_verdict(report_console(), rule, failure)
    if rule:
        raise VerificationFailed


def _run_rules(
    suite: "Suite", trial: Trial, results: Scorecards, head: dict[str, str], words: list[str]
) -> None:
    """Run all rules, print the scorecard and write its files."""
    from utf8_sim.tools.files import open_output

    from ..terminal import VerificationFailed, progress_bar, report_console
    from ..verify.conformance import Report

    with progress_bar() as progress:
        task = progress.add_task("running", total=None)
        suite.progress = lambda name: progress.update(task, description=f"running: {name}")
        card = suite.run(trial.rule)
    report = Report(card, suite.engine, head, words)
    report.print(report_console(results.names()))
    for name, text in (
        (results.json_file, report.json()),
        (results.junit, report.junit()),
        (results.badge, report.badge()),
    ):
        if name:
            with open_output(name) as file:
                file.write(text)
    if not card.passed:
        raise VerificationFailed
