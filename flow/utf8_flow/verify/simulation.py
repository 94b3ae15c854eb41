"""The results of a run of ``simulate``: files, a summary, and the first cycles."""

import os
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
from rich.console import Console
from rich.text import Text

from utf8_sim.components.report import active_cycles, bytes_of
from utf8_sim.engines.engine import Engine
from utf8_sim.golden.kernels import INTERPRETED, execution_mode
from utf8_sim.golden.model import MET
from utf8_sim.lockstep import Window
from utf8_sim.tools.errors import WrongValue
from utf8_sim.tools.files import open_binary_output, open_output
from utf8_sim.tools.words import plural
from utf8_sim.trace import Trace

from ..terminal import print_lines, say
from .cycles import cycle_table
from .difference import report_verdict
from .runner import Runner
from .waves import draw, open_wave

SHORT_TEXT, FEW_BEATS = 64, 8
"""Maximum number of bytes, and of beats, at which every cycle is shown."""

MAX_CYCLES_SHOWN = 256


class Recording:
    """The files and the summary of a simulation.

    ``outputs`` has a file name for each command-line option that writes a file. ``drawn`` are the
    cycles of the timing diagram.
    """

    def __init__(self, engine: Engine, outputs: dict[str, str | None], drawn: range) -> None:
        self._engine, self._outputs, self._drawn = engine, outputs, drawn
        no_cycles = engine.interface.columns(0) | {MET: np.zeros(0, dtype=np.int64)}
        nothing = Trace(engine.interface, no_cycles)
        self._beginning = self._drawing = nothing
        self._summary = engine.component.report(None)
        self._writers: list[Callable[[Window], object]] = []

    def open(self, files: ExitStack) -> None:
        """Open the files, except the timing diagram. The summary also writes the tokens.

        They are complete when ``files`` closes without an error.
        """
        options = "--tokens", "--bytes", "--vcd"
        tokens, encoded, vcd = (self._outputs[option] for option in options)
        if tokens:
            self._summary = self._engine.component.report(files.enter_context(open_output(tokens)))
        if encoded:
            file = files.enter_context(open_binary_output(encoded))
            self._writers.append(lambda w: file.write(bytes_of(w.actual.taken()).tobytes()))
        if vcd:
            self._writers.append(files.enter_context(open_wave(vcd, self._engine)).write)

    def add(self, window: Window) -> None:
        self._summary.add(window.actual)
        beginning = window.part(0, MAX_CYCLES_SHOWN).actual
        self._beginning = Trace.join([self._beginning, beginning])
        drawing = window.part(self._drawn.start, self._drawn.stop).actual
        self._drawing = Trace.join([self._drawing, drawing])
        for write in self._writers:
            write(window)

    def lines(self) -> list[Text]:
        return self._summary.lines()

    def report_verdict(self, show: Console, runner: Runner, engine_line: str, vcd: str) -> None:
        """Print the output and the verdict, and draw the timing diagram.

        The waveform around a difference is written to ``vcd``, unless ``--vcd`` writes all cycles.
        """
        run, lanes = runner.run, self._engine.lanes
        assert run
        with runner.reported():
            if run.wrong:
                cycles = plural(run.cycles, "cycle")
                say(show, f"stopped after {cycles}: the results are incomplete", "bold")
            elif self._summary.inputs <= max(SHORT_TEXT, FEW_BEATS * lanes):
                print_lines(show, self._table(run.cycles))
            print_lines(show, [*self.lines(), Text(f"engine      {engine_line}")])
            if run.cycles > INTERPRETED:
                say(show, f"golden model {execution_mode(run.cycles)}")
        wave = self._outputs["--wave"]
        given = self._outputs["--vcd"]
        report_verdict(
            show, run, None if given else vcd, wave, folder=os.path.dirname(given or vcd)
        )
        if wave:
            self._draw(wave, run.cycles)

    def _table(self, cycles: int) -> list[Text]:
        """The cycles of a short text, and the number of omitted cycles."""
        trace = self._beginning
        table = cycle_table(Window(0, trace, trace), self._engine)
        if not table:
            return []
        left_out = cycles - len(trace)
        return [*table, *([Text(f"... and {left_out} more cycles")] if left_out else []), Text()]

    def _draw(self, wave: str, cycles: int) -> None:
        """Draw the timing diagram of the chosen cycles, without idle cycles at the end."""
        trace, drawn = self._drawing, self._drawn
        if not len(trace):
            raise WrongValue(
                f"wave-cycles {drawn[0]}-{drawn[-1]} are after the end: "
                f"the run has cycles 0-{cycles - 1}"
            )
        trace = trace[: max(1, active_cycles(trace))]
        draw(wave, Window(drawn.start, trace, trace), self._engine)
