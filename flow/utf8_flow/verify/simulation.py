"""One text, simulated next to the golden model, and everything that is said about it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from rich.console import Console
from rich.text import Text

from utf8_sim.engines.engine import Engine
from utf8_sim.lockstep import Window
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools.errors import WrongValue
from utf8_sim.tools.files import open_binary_output, open_output
from utf8_sim.trace import Trace

from ..components.entry import Variant, entry_of
from ..terminal import plural, print_lines, progress_bar, say
from .cycles import cycle_table
from .difference import conclude
from .report import active_cycles, bytes_of
from .run import Run
from .waves import draw, open_wave

SHORT_TEXT, FEW_BEATS = 64, 8
"""Up to so many bytes or beats, every cycle is shown."""

MOST_CYCLES_SHOWN = 256


class TextSimulation(Run):
    """A simulation of one text, and what is kept of it.

    ``outputs`` are names of files by the options of the command that write them.
    """

    def __init__(self, engine: Engine, outputs: dict[str, str | None], drawn: range) -> None:
        super().__init__(engine)
        self._outputs = outputs
        self._drawn = drawn
        self._lanes = Variant.of(engine.design).lanes
        nothing = Trace(engine.interface, engine.interface.columns(0))
        self._beginning = self._drawing = nothing
        self._summary = entry_of(engine).report(None)

    def so_far(self) -> list[Text]:
        return self._summary.lines()

    def run(self, show: Console, stimulus: Stimulus, size: int) -> None:
        """Simulate about so many inputs, and write the files."""
        with self.reported(show), ExitStack() as files:
            writers = list(self._writers(files))
            progress = files.enter_context(progress_bar())
            task = progress.add_task("simulating", total=size)
            for window in self.simulate(stimulus):
                self._summary.add(window.actual)
                beginning = window.part(0, MOST_CYCLES_SHOWN).actual
                self._beginning = Trace.join([self._beginning, beginning])
                drawing = window.part(self._drawn.start, self._drawn.stop).actual
                self._drawing = Trace.join([self._drawing, drawing])
                for write in writers:
                    write(window)
                progress.update(task, completed=self._summary.inputs // self._lanes)

    def _writers(self, files: ExitStack) -> Iterator[Callable[[Window], object]]:
        """What writes the files, except for the timing diagram; the summary writes the tokens."""
        options = "--tokens", "--bytes", "--vcd"
        tokens, encoded, vcd = (self._outputs[option] for option in options)
        if tokens:
            self._summary = entry_of(self.engine).report(files.enter_context(open_output(tokens)))
        if encoded:
            file = files.enter_context(open_binary_output(encoded))
            yield lambda window: file.write(bytes_of(window.actual.taken()).tobytes())
        if vcd:
            yield files.enter_context(open_wave(vcd, self.engine)).write

    def tell(self, show: Console, engine_line: str, difference_vcd: str) -> None:
        """Print what came out and the verdict, and draw.

        The waveform around a difference is kept, unless all of it is written anyway.
        """
        with self.reported(show):
            if self.wrong:
                cycles = plural(self.cycles, "cycle")
                say(show, f"stopped after {cycles}: what follows is only a part", "bold")
            elif self._summary.inputs <= max(SHORT_TEXT, FEW_BEATS * self._lanes):
                print_lines(show, self._table())
            print_lines(show, [*self._summary.lines(), Text(f"engine      {engine_line}")])
        wave = self._outputs["--wave"]
        conclude(show, self, None if self._outputs["--vcd"] else difference_vcd, wave)
        if wave:
            self._draw(wave)

    def _table(self) -> list[Text]:
        """The cycles of a short text, with a line about those left out."""
        trace = self._beginning
        table = cycle_table(Window(0, trace, trace), self.engine)
        if not table:
            return []
        left_out = self.cycles - len(trace)
        return [*table, *([Text(f"... and {left_out} more cycles")] if left_out else []), Text()]

    def _draw(self, wave: str) -> None:
        """The timing diagram of the cycles chosen, without those behind the last that matter."""
        trace, drawn = self._drawing, self._drawn
        if not len(trace):
            raise WrongValue(
                f"wave-cycles {drawn[0]}-{drawn[-1]} are after the end: "
                f"there are cycles 0-{self.cycles - 1}"
            )
        trace = trace[: max(1, active_cycles(trace))]
        draw(wave, Window(drawn.start, trace, trace), self.engine)
