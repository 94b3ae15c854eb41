"""Write traces as waveforms in VCD, for GTKWave, Surfer and other viewers."""

import io
from collections.abc import Iterable, Iterator
from os.path import splitext
from typing import Any, TextIO

import numpy as np
from vcd import VCDWriter
from vcd.gtkw import GTKWSave

from ..lockstep import Window
from ..subject import Subject
from ..trace import RESET
from .diagram import groups_of

PERIOD = 10
"""Clock period in the waveform in nanoseconds. A cycle begins at the rising edge."""

SAVE_FILE_MARK = "[*] written by utf8-hdl"
"""First line of a generated save file. GTKWave removes it when a user saves a view."""

EXPECTED_SCOPE = "golden"
"""Scope with the output pins that the golden model expects."""


class WaveWriter:
    """Writes windows of a trace as VCD. A context manager.

    The waveform shows reset, the pins, the registers of the interface, the state, and the output as
    text if the component defines it. If ``golden`` is true, it also shows the output pins expected
    by the golden model.
    """

    def __init__(
        self, file: TextIO, subject: Subject, first_cycle: int = 0, golden: bool = True
    ) -> None:
        self._subject = subject
        self._cycle = first_cycle
        self._writer = VCDWriter(
            file, timescale="1 ns", date="", version="utf8-hdl", init_timestamp=first_cycle * PERIOD
        )
        interface = subject.interface
        scope = interface.component
        self._clock = self._writer.register_var(scope, "clk", "wire", size=1, init=0)
        pins = (RESET, *interface.driven, *interface.observed)
        pins += tuple(register.name for register in interface.registers)
        self._pins = {pin: self._register(scope, pin) for pin in pins}
        self._state = self._text = None
        if interface.state_width:
            self._state = self._writer.register_var(scope, "state", "string", init="")
        if subject.component.text:
            name = subject.component.result
            self._text = self._writer.register_var(scope, name, "string", init="")
        observed = interface.observed if golden else ()
        self._expected = {pin: self._register(EXPECTED_SCOPE, pin) for pin in observed}

    def _register(self, scope: str, pin: str) -> Any:
        width = self._subject.interface.pin(pin).width
        return self._writer.register_var(scope, _name(pin), "wire", size=width, init=0)

    def write(self, window: Window) -> None:
        """Append the cycles of a window."""
        due: list[list[tuple[Any, int | str]]] = [[] for _ in range(len(window.actual))]
        for variable, cycles, values in self._changes(window):
            for cycle, value in zip(cycles.tolist(), values, strict=True):
                due[cycle].append((variable, value))
        change = self._writer.change
        for changes in due:
            begin = self._cycle * PERIOD
            change(self._clock, begin, 1)
            for variable, value in changes:
                change(variable, begin, value)
            change(self._clock, begin + PERIOD // 2, 0)
            self._cycle += 1

    def _changes(self, window: Window) -> Iterator[tuple[Any, np.ndarray, list[Any]]]:
        """Each variable, the cycles in which it may have changed, and its values there."""
        trace = window.actual
        for variables, levels in ((self._pins, trace), (self._expected, window.expected)):
            for pin, variable in variables.items():
                cycles = _changed(levels[pin])
                number = self._subject.interface.pin(pin).number
                yield variable, cycles, list(map(number, levels[pin][cycles].tolist()))
        if self._state:
            states = trace["state"]
            cycles = _changed(states)
            yield self._state, cycles, list(map(self._subject.state_name, states[cycles]))
        text = self._subject.component.text
        if self._text and text:
            cycles = _changed(*(trace[pin] for pin in trace.interface.observed))
            offered = trace[cycles].offered("o")
            yield self._text, cycles, [text(row) if row else "" for row in offered]

    def __enter__(self) -> "WaveWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:  # otherwise the file may end in the middle of a cycle
            self._writer.close(self._cycle * PERIOD)


def save_file(subject: Subject, vcd_name: str, golden: bool = True) -> str:
    """A save file for GTKWave, which shows none of a waveform's signals by default.

    It must be in the folder of the waveform.
    """
    interface = subject.interface
    text, scope = io.StringIO(), interface.component
    text.write(f"{SAVE_FILE_MARK}\n")
    save = GTKWSave(text)
    if vcd_name.isprintable() and '"' not in vcd_name:  # the format cannot hold other names
        save.dumpfile(vcd_name, abspath=False)
        # With both names, GTKWave finds the waveform next to the save file from any folder.
        save.savefile(f"{splitext(vcd_name)[0]}.gtkw", abspath=False)
    save.treeopen(scope)
    save.trace(f"{scope}.clk", datafmt="bin")
    save.trace(f"{scope}.{RESET}", datafmt="bin")
    inputs, results = groups_of(subject.component)
    with save.group(inputs):
        _show_pins(save, subject, scope, ("i.valid", "i.ready"))
        _show_pins(save, subject, scope, [pin.name for pin in interface.inputs])
    if interface.state_width:
        save.trace(f"{scope}.state", datafmt="ascii")
    with save.group(results):
        _show_pins(save, subject, scope, ("o.valid", "o.ready"))
        if subject.component.text:
            save.trace(f"{scope}.{subject.component.result}", datafmt="ascii")
        _show_pins(save, subject, scope, [pin.name for pin in interface.outputs])
    if interface.registers:
        with save.group("registers"):
            _show_pins(save, subject, scope, [pin.name for pin in interface.registers])
    if golden:
        with save.group("golden model"):
            _show_pins(save, subject, EXPECTED_SCOPE, interface.observed)
    return text.getvalue()


def _show_pins(save: GTKWSave, subject: Subject, scope: str, pins: Iterable[str]) -> None:
    for pin in pins:
        width = subject.interface.pin(pin).width
        bit_range = f"[{width - 1}:0]" if width > 1 else ""
        radix = "bin" if width == 1 else "hex"
        save.trace(f"{scope}.{_name(pin)}{bit_range}", datafmt=radix)


def _name(pin: str) -> str:
    """A pin's name in a waveform."""
    return pin.replace(".", "_")


def _changed(*columns: np.ndarray) -> np.ndarray:
    """The cycles whose values differ from the previous cycle, and the first cycle."""
    rows = (column.reshape(len(column), -1) for column in columns)
    changes = [(levels[1:] != levels[:-1]).any(axis=1) for levels in rows]
    return np.flatnonzero(np.append(True, np.logical_or.reduce(changes))[: len(columns[0])])
