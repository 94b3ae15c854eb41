"""The waveform changes where a pin does, and the save file shows what the waveform has."""

import io
import re
from typing import NamedTuple

import pytest
from vcd.reader import TokenKind, tokenize

from rtl import NO_STALLS, STALLS, broken
from utf8_hdl import EXTENDED, UCS2, UNICODE, Decoder, Encoder
from utf8_sim.components import DECODER
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Stimulus
from utf8_sim.trace import Trace
from utf8_sim.waves.vcd import PERIOD, SAVE_FILE_MARK, WaveWriter, save_file

DESIGNS = [
    *(Decoder(profile) for profile in (UNICODE, UCS2, EXTENDED)),
    *(Encoder(profile) for profile in (UNICODE, UCS2, EXTENDED)),
]
NAMES = [f"{type(design).__name__} {design.profile.name}" for design in DESIGNS]

BYTES = b"\xe2\x82\xacA\xe0\x80\xff\xf0\x9f\x98\x80AA"
CODE_POINTS = [0x20AC, 0x41, 0x41, 0xD800, 0x1F600]


class Chopped(AmaranthEngine):
    """Gives its trace in small windows."""

    def __init__(self, design, window: int) -> None:
        super().__init__(design)
        self._window = window

    def run(self, stimulus):
        for trace in super().run(stimulus):
            for begin in range(0, len(trace), self._window):
                yield trace[begin : begin + self._window]


def vcd(engine: AmaranthEngine, stalls=(NO_STALLS, NO_STALLS), first_cycle: int = 0) -> str:
    """The waveform of a short run, to its end or to the first difference."""
    file = io.StringIO()
    items = BYTES if engine.component is DECODER else CODE_POINTS
    lockstep = Lockstep(engine, Stimulus([(items, True)], *stalls))
    with WaveWriter(file, engine, first_cycle) as wave:
        for _trace in lockstep:
            wave.write(lockstep.recent[-1])
    return file.getvalue()


class Waves(NamedTuple):
    """A waveform, read back."""

    sizes: dict[str, int]
    changes: list[tuple[int, str, object]]

    def levels(self, name: str, cycles: int) -> list[object]:
        """The value at the beginning of each cycle."""
        at = {time // PERIOD: value for time, changed, value in self.changes if changed == name}
        levels: list[object] = []
        for cycle in range(cycles):
            levels.append(at.get(cycle, levels[-1] if levels else None))
        return levels


def read(text: str) -> Waves:
    names, sizes, scope, time, changes = {}, {}, "", 0, []
    for token in tokenize(io.BytesIO(text.encode())):
        if token.kind is TokenKind.SCOPE:
            scope = token.scope.ident
        elif token.kind is TokenKind.VAR:
            name = names[token.var.id_code] = f"{scope}.{token.var.reference}"
            sizes[name] = token.var.size
        elif token.kind is TokenKind.CHANGE_TIME:
            time = token.time_change
        elif token.kind in CHANGES:
            change = getattr(token, CHANGES[token.kind])
            changes.append((time, names[change.id_code], change.value))
    return Waves(sizes, changes)


CHANGES = {
    TokenKind.CHANGE_SCALAR: "scalar_change",
    TokenKind.CHANGE_VECTOR: "vector_change",
    TokenKind.CHANGE_STRING: "string_change",
}


@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
@pytest.mark.parametrize("design", [DESIGNS[0], DESIGNS[3]], ids=[NAMES[0], NAMES[3]])
def test_every_pin_in_every_cycle_also_the_expected_ones(design, stalls):
    engine = AmaranthEngine(design)
    waves = read(vcd(engine, stalls))
    items = BYTES if engine.component is DECODER else CODE_POINTS
    trace = Trace.join(list(engine.run(Stimulus([(items, True)], *stalls))))
    interface = engine.interface
    for pin in (*interface.driven, *interface.observed):
        shown = waves.levels(f"{interface.component}.{pin.replace('.', '_')}", len(trace))
        assert list(map(int, shown)) == trace[pin].tolist()
    for pin in interface.observed:
        shown = waves.levels(f"golden.{pin.replace('.', '_')}", len(trace))
        matters = 1 if pin in ("i.ready", "o.valid") else trace["o.valid"]
        expected = trace[pin] * matters
        assert list(map(int, shown)) == expected.tolist()
    states = waves.levels(f"{interface.component}.state", len(trace))
    assert states == [engine.state_names[state] for state in trace["state"]]


@pytest.mark.parametrize("design", [DESIGNS[0], DESIGNS[3]], ids=[NAMES[0], NAMES[3]])
def test_windows_leave_no_mark_and_only_changes_are_written(design):
    stalls = STALLS["both slow"]
    whole = vcd(AmaranthEngine(design), stalls)
    assert all(vcd(Chopped(design, window), stalls) == whole for window in (1, 2, 7))
    waves, level = read(whole), {}
    for _time, name, value in waves.changes:
        assert level.get(name) != value
        level[name] = value
    assert level.keys() == waves.sizes.keys()


def test_the_clock_rises_when_a_cycle_begins_and_the_first_has_its_number():
    changes = read(vcd(AmaranthEngine(Decoder()), first_cycle=1000)).changes
    clock = [(time, int(value)) for time, name, value in changes if "clk" in name]
    cycles = len(BYTES) + 8 + 8
    edges = [
        (1000 * PERIOD + number * PERIOD // 2, (number + 1) % 2) for number in range(2 * cycles)
    ]
    assert clock == edges


def test_a_difference_is_in_the_waveform():
    engine = AmaranthEngine(broken("wrong kind"))
    file = io.StringIO()
    lockstep = Lockstep(engine, Stimulus([(b"A\xed\xb0\x80", True)]))
    difference = lockstep.run()
    with WaveWriter(file, engine) as wave:
        wave.write(lockstep.recent[-1])
    waves = read(file.getvalue())
    assert difference.pin == "o.kind"
    cycles = difference.cycle + 1
    assert waves.levels("decoder.o_kind", cycles)[-1] == difference.actual
    assert waves.levels("golden.o_kind", cycles)[-1] == difference.expected
    assert waves.levels("decoder.token", cycles)[-1] == "truncated"


# --- save files ---------------------------------------------------------------------------------

FORMATS = {0x02: "hexadecimal", 0x08: "binary", 0x800: "text"}


class Shown(NamedTuple):
    """A line of GTKWave's list of signals."""

    path: str
    group: str
    format: str


def signals(text: str) -> list[Shown]:
    """The signals of a save file, in the order in which GTKWave shows them."""
    shown, flags, group = [], 0, ""
    for line in text.splitlines():
        if line.startswith("@"):
            flags = int(line[1:], 16)
        elif line.startswith("-"):
            group = line[1:] if flags & 0x800000 else ""
        elif not line.startswith("["):
            (form,) = (name for flag, name in FORMATS.items() if flags & flag)
            shown.append(Shown(line, group, form))
    return shown


@pytest.mark.parametrize("design", DESIGNS, ids=NAMES)
def test_the_save_file_shows_every_signal_of_the_waveform_once(design):
    engine = AmaranthEngine(design)
    sizes = read(vcd(engine)).sizes
    paths = [name if size == 1 else f"{name}[{size - 1}:0]" for name, size in sizes.items()]
    assert sorted(signal.path for signal in signals(save_file(engine, "wave.vcd"))) == sorted(paths)


def test_order_and_format():
    assert signals(save_file(AmaranthEngine(Decoder()), "wave.vcd")) == [
        Shown("decoder.clk", "", "binary"),
        Shown("decoder.reset", "", "binary"),
        Shown("decoder.i_valid", "bytes in", "binary"),
        Shown("decoder.i_ready", "bytes in", "binary"),
        Shown("decoder.i_data[7:0]", "bytes in", "hexadecimal"),
        Shown("decoder.i_last", "bytes in", "binary"),
        Shown("decoder.state", "", "text"),
        Shown("decoder.o_valid", "tokens out", "binary"),
        Shown("decoder.o_ready", "tokens out", "binary"),
        Shown("decoder.token", "tokens out", "text"),
        *of_token("decoder", "tokens out"),
        Shown("golden.i_ready", "golden model", "binary"),
        Shown("golden.o_valid", "golden model", "binary"),
        *of_token("golden", "golden model"),
    ]


def of_token(scope: str, group: str) -> list[Shown]:
    return [
        Shown(f"{scope}.o_code_point[20:0]", group, "hexadecimal"),
        Shown(f"{scope}.o_error", group, "binary"),
        Shown(f"{scope}.o_kind[2:0]", group, "hexadecimal"),
        Shown(f"{scope}.o_length[2:0]", group, "hexadecimal"),
        Shown(f"{scope}.o_last", group, "binary"),
    ]


@pytest.mark.parametrize("name", ["wave.vcd", "a b/Ä €.vcd", "/tmp/wave.vcd"])
def test_the_save_file_begins_with_its_mark_and_names_the_waveform(name):
    lines = save_file(AmaranthEngine(Decoder()), name).splitlines()
    assert lines[0] == SAVE_FILE_MARK
    assert not re.search(r"\b20\d\d\b|\d:\d\d:", "".join(lines))  # no date, no time
    assert [line for line in lines if "file]" in line] == [
        f'[dumpfile] "{name}"',
        f'[savefile] "{name[:-4]}.gtkw"',
    ]


@pytest.mark.parametrize("name", ['a"b.vcd', "a\n[size] 1 1", "\udcff.vcd"])
def test_a_name_that_a_save_file_cannot_hold_is_left_out(name):
    engine = AmaranthEngine(Decoder())
    without = re.sub(r"\[(dump|save)file\].*\n", "", save_file(engine, "wave.vcd"))
    assert save_file(engine, name) == without
