"""One text, simulated next to the golden model, and everything that is said about it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from rich.console import Console
from rich.text import Text

from utf8_sim.engines.engine import DesignError, Engine
from utf8_sim.lockstep import Lockstep, Window
from utf8_sim.stimulus import Piece, Stimulus
from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import open_binary_output, open_output
from utf8_sim.trace import Interface, Trace

from ..components import entry_of
from ..terminal import conclude, give_up, plural, print_lines, progress_bar, say
from .cycles import cycle_table
from .difference import explain
from .report import active_cycles
from .waves import draw, open_wave

SHORT_TEXT = 64
"""Up to so many bytes, every cycle is shown."""

MOST_CYCLES_SHOWN = 256


@dataclass(frozen=True)
class Outputs:
    """Names of the files to write, if they are wanted."""

    tokens: str | None
    encoded: str | None
    vcd: str | None
    wave: str | None


def look_ahead(
    pieces: Iterator[Piece], engine: Engine, count: int | None = 1
) -> tuple[Iterator[Piece], int, bool]:
    """The same pieces, how many bytes the first ones are or become, and whether that is all.

    Without a count, all are looked at; one is all of a short text.
    """
    first = list(islice(pieces, count))
    bytes_of = entry_of(engine).bytes_of
    size = sum(bytes_of(values, engine.profile) for values, _ in first)
    return chain(first, pieces), size, all(np.any(ends) for _, ends in first)


class TextSimulation:
    """A simulation of one text, and what is kept of it."""

    def __init__(self, engine: Engine, stimulus: Stimulus, outputs: Outputs, drawn: range) -> None:
        self._engine = engine
        self._outputs = outputs
        self._lockstep = Lockstep(engine, stimulus)
        self._beginning = _Excerpt(engine.interface, range(MOST_CYCLES_SHOWN))
        self._drawn = _Excerpt(engine.interface, drawn)
        self._summary = entry_of(engine).report(None)
        self._failure: DesignError | None = None

    def run(self, show: Console, size: int | None) -> None:
        """Simulate so many inputs, if that is known, and write the files."""
        try:
            self._run(size)
        except DesignError as error:
            self._failure = error
        except Refused as error:
            if not self._lockstep.difference:
                raise
            say(show, str(error))  # the difference is the news
        except KeyboardInterrupt:
            if not self._lockstep.difference:
                print_lines(show, self._summary.lines())
                give_up(show, self._lockstep.cycles)

    def _run(self, size: int | None) -> None:
        outputs, lockstep = self._outputs, self._lockstep
        with ExitStack() as stack:
            if outputs.tokens:
                token_file = stack.enter_context(open_output(outputs.tokens))
                self._summary = entry_of(self._engine).report(token_file)
            byte_file = wave = None
            if outputs.encoded:
                byte_file = stack.enter_context(open_binary_output(outputs.encoded))
            if outputs.vcd:
                wave = stack.enter_context(open_wave(outputs.vcd, self._engine))
            progress = stack.enter_context(progress_bar())
            task = progress.add_task("simulating", total=size)
            for trace in lockstep:
                self._summary.add(trace)
                self._beginning.add(trace)
                self._drawn.add(trace)
                if byte_file:
                    byte_file.write(trace.taken()["o.data"].tobytes())
                if wave:
                    wave.write(lockstep.recent[-1].part(0, lockstep.cycles))
                progress.update(task, completed=self._summary.inputs)

    def tell(self, show: Console, engine_line: str, difference_vcd: str) -> None:
        """Print what came out and the verdict, and draw.

        The waveform around a difference is kept, unless all of it is written anyway.
        """
        lockstep, outputs = self._lockstep, self._outputs
        stopped = lockstep.difference or self._failure
        try:
            if stopped:
                cycles = plural(lockstep.cycles, "cycle")
                say(show, f"stopped after {cycles}: what follows is only a part", "bold")
            elif self._summary.inputs <= SHORT_TEXT:
                print_lines(show, self._table())
            print_lines(show, [*self._summary.lines(), Text(f"engine      {engine_line}")])
        except KeyboardInterrupt:
            if not lockstep.difference:
                raise
        undrawn: Refused | None = None
        vcd = None if outputs.vcd else difference_vcd
        explain(show, self._engine, lockstep, self._failure, vcd, outputs.wave)
        if outputs.wave and not lockstep.difference:
            try:
                self._draw(outputs.wave)
            except Refused as error:
                undrawn = error
        if undrawn and self._failure:
            say(show, f"no timing diagram: {undrawn}")
        conclude(show, lockstep.difference is not None, self._failure, lockstep.cycles)
        if undrawn:
            raise undrawn

    def _table(self) -> list[Text]:
        """The cycles of a short text, with a line about those left out."""
        trace = self._beginning.trace()
        table = cycle_table(Window(0, trace, lambda: trace), self._engine)
        if not table:
            return []
        left_out = self._lockstep.cycles - len(trace)
        return [*table, *([Text(f"... and {left_out} more cycles")] if left_out else []), Text()]

    def _draw(self, wave: str) -> None:
        """The timing diagram of the cycles chosen, without those behind the last that matter."""
        trace, cycles = self._drawn.trace(), self._drawn.cycles
        if not len(trace):
            raise Refused(
                f"--wave-cycles {cycles[0]}-{cycles[-1]} are after the end: "
                f"there are cycles 0-{self._lockstep.cycles - 1}"
            )
        draw(wave, trace[: max(1, active_cycles(trace))], self._engine, cycles.start)


class _Excerpt:
    """Some cycles of a trace."""

    def __init__(self, interface: Interface, cycles: range) -> None:
        self.cycles = cycles
        self._parts = [Trace.empty(interface)]
        self._next = 0

    def add(self, trace: Trace) -> None:
        begin, end = (max(0, limit - self._next) for limit in (self.cycles.start, self.cycles.stop))
        if begin < min(end, len(trace)):
            self._parts.append(trace[begin:end])
        self._next += len(trace)

    def trace(self) -> Trace:
        return Trace.join(self._parts)
