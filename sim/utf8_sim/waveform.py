"""Traces as waveforms, for GTKWave, Surfer and whatever else reads VCD."""

from types import TracebackType
from typing import Any, TextIO

from vcd import VCDWriter

from utf8_hdl import Kind

from .engine import DECODER, Engine, state_name
from .lockstep import Window

PERIOD = 10
"""Nanoseconds of a clock cycle in the waveform. A cycle begins when the clock rises."""


class WaveWriter:
    """Writes windows of a trace as VCD. A context manager.

    The waveform shows the design's pins, its state and (of a decoder) the token on offer as text,
    and below them the output pins that the golden model expected.

    Parameters
    ----------
    file : text file
        Where the waveform goes.
    engine : Engine
        Whose trace it is: widths and names of states.
    first_cycle : int
        The number of the first cycle written.
    """

    def __init__(self, file: TextIO, engine: Engine, first_cycle: int = 0) -> None:
        self._engine = engine
        self._cycle = first_cycle
        self._writer = VCDWriter(
            file, timescale="1 ns", date="", version="utf8-hdl", init_timestamp=first_cycle * PERIOD
        )
        interface = engine.interface
        scope = interface.component
        self._clock = self._writer.register_var(scope, "clk", "wire", size=1, init=0)
        pins = (*interface.driven, *interface.observed)
        self._pins = {pin: self._register(scope, pin) for pin in pins}
        self._state = self._writer.register_var(scope, "state", "string", init="")
        self._token = (
            self._writer.register_var(scope, "token", "string", init="")
            if interface is DECODER
            else None
        )
        self._expected = {pin: self._register("golden", pin) for pin in interface.observed}

    def _register(self, scope: str, pin: str) -> Any:
        profile = self._engine.profile
        widths = {
            "i.data": 8,
            "o.data": 8,
            "i.code_point": profile.utf32_width,
            "o.code_point": profile.code_point_width,
            "o.kind": 3,
            "o.length": profile.longest_form.bit_length(),
        }
        name, width = pin.replace(".", "_"), widths.get(pin, 1)
        return self._writer.register_var(scope, name, "wire", size=width, init=0)

    def write(self, window: Window) -> None:
        """Append the cycles of a window."""
        names, change = window.actual.dtype.names or (), self._writer.change
        for row, expected_row in zip(window.actual.tolist(), window.expected.tolist(), strict=True):
            begin = self._cycle * PERIOD
            actual = dict(zip(names, row, strict=True))
            golden = dict(zip(names, expected_row, strict=True))
            change(self._clock, begin, 1)
            for pin, variable in self._pins.items():
                change(variable, begin, actual[pin])
            for pin, variable in self._expected.items():
                change(variable, begin, golden[pin])
            change(self._state, begin, state_name(self._engine.state_names, actual["state"]))
            if self._token:
                change(self._token, begin, _token_text(actual))
            change(self._clock, begin + PERIOD // 2, 0)
            self._cycle += 1

    def __enter__(self) -> "WaveWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._writer.close(self._cycle * PERIOD)


def _token_text(levels: dict[str, int]) -> str:
    if not levels["o.valid"]:
        return ""
    if levels["o.error"]:
        return Kind(levels["o.kind"]).label
    return f"U+{levels['o.code_point']:04X}"
