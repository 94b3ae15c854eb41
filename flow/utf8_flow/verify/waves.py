"""Write waveforms and timing diagrams to files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from utf8_sim.lockstep import Window
from utf8_sim.subject import Subject
from utf8_sim.tools.files import open_output, refusing
from utf8_sim.waves.diagram import timing_diagram
from utf8_sim.waves.vcd import SAVE_FILE_MARK, WaveWriter, save_file


def save_file_name(vcd: str) -> str:
    """Name of the save file for a VCD, from which GTKWave reads the layout."""
    return f"{os.path.splitext(vcd)[0]}.gtkw"


def is_foreign(save: str) -> bool:
    """True if a save file must not be replaced: GTKWave wrote it, or it is a pipe or a device."""
    if not os.path.exists(save) or os.path.isdir(save):
        return False
    with refusing(f"read {save!r}"):
        return not os.path.isfile(save) or not Path(save).read_bytes().startswith(_MARK)


_MARK = SAVE_FILE_MARK.encode()


@contextmanager
def open_wave(
    vcd: str, subject: Subject, first_cycle: int = 0, golden: bool = True
) -> Iterator[WaveWriter]:
    """Open a waveform; then write a save file for GTKWave, unless a foreign one exists."""
    with open_output(vcd) as file, WaveWriter(file, subject, first_cycle, golden) as wave:
        yield wave
    save = save_file_name(vcd)
    if vcd != "-" and os.path.isfile(vcd) and not is_foreign(save):
        with open_output(save) as file:
            file.write(save_file(subject, Path(vcd).name, golden))


def draw(path: str, window: Window, subject: Subject) -> None:
    """Write a timing diagram of a window as SVG."""
    with open_output(path) as file:
        file.write(timing_diagram(window.actual, subject, window.first_cycle))


def write_wave(vcd: str, window: Window, subject: Subject, golden: bool = True) -> None:
    """Write the waveform of a window."""
    with open_wave(vcd, subject, window.first_cycle, golden) as wave:
        wave.write(window)
