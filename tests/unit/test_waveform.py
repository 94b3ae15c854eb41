"""Waveforms in VCD, and save files for GTKWave."""

import io
import re
from typing import NamedTuple

import pytest
from vcd.reader import TokenKind, tokenize

from rtl import NO_STALLS, STALLS, broken
from utf8_hdl import EXTENDED, Decoder, Encoder
from utf8_sim.components import COMPONENTS
from utf8_sim.engines.amaranth import AmaranthEngine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Stimulus
from utf8_sim.trace import Trace
from utf8_sim.waves.vcd import PERIOD, SAVE_FILE_MARK, WaveWriter, save_file

each_design = pytest.mark.parametrize(
    "design", [Decoder(EXTENDED), Encoder()], ids=["decoder", "encoder"]
)

BYTES = b"\xe2\x82\xacA\xe0\x80\xff\xf0\x9f\x98\x80AA"
CODE_POINTS = [0x20AC, 0x41, 0x41, 0xD800, 0x1F600]


def stimulus(engine: AmaranthEngine, stalls=(NO_STALLS, NO_STALLS)) -> Stimulus:
    items = BYTES if engine.component is COMPONENTS["decoder"] else CODE_POINTS
    return Stimulus([(items, True)], *stalls)


def vcd(engine: AmaranthEngine, stalls=(NO_STALLS, NO_STALLS), first_cycle: int = 0) -> str:
    """The waveform of a short run."""
    file = io.StringIO()
    lockstep = Lockstep(engine, stimulus(engine, stalls))
    with WaveWriter(file, engine, first_cycle) as wave:
        for _trace in lockstep:
            wave.write(lockstep.recent[-1])
    return file.getvalue()


class Waves(NamedTuple):
    """A parsed waveform."""

    sizes: dict[str, int]
    changes: list[tuple[int, str, object]]

    def levels(self, name: str, cycles: int) -> list[object]:
        """The value at the beginning of each cycle."""
        at = {time // PERIOD: value for time, changed, value in self.changes if changed == name}
        for cycle in range(1, cycles):
            at.setdefault(cycle, at[cycle - 1])
        return [at[cycle] for cycle in range(cycles)]


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
        elif token.kind.name.startswith("CHANGE_"):
            changes.append((time, names[token.data.id_code], token.data.value))
    return Waves(sizes, changes)


@each_design
def test_waveform_matches_trace(design):
    stalls = STALLS["both slow"]
    engine = AmaranthEngine(design)
    waves = read(vcd(engine, stalls))
    trace = Trace.join(list(engine.run(stimulus(engine, stalls))))
    interface = engine.interface
    for pin in (*interface.driven, *interface.observed):
        shown = waves.levels(f"{interface.component}.{pin.replace('.', '_')}", len(trace))
        assert list(map(int, shown)) == trace[pin].tolist()
    for pin in interface.observed:
        shown = waves.levels(f"golden.{pin.replace('.', '_')}", len(trace))
        matters = 1 if pin in ("i.ready", "o.valid") else trace["o.valid"]
        assert list(map(int, shown)) == (trace[pin] * matters).tolist()
    states = waves.levels(f"{interface.component}.state", len(trace))
    assert states == [engine.state_names[state] for state in trace["state"]]


@each_design
def test_waveform_has_changes_only(design):
    engine, stalls = AmaranthEngine(design), STALLS["both slow"]
    whole = vcd(engine, stalls)
    for window in 1, 7:
        engine.window = window
        assert vcd(engine, stalls) == whole
    waves, level = read(whole), {}
    for _time, name, value in waves.changes:
        assert level.get(name) != value
        level[name] = value
    assert level.keys() == waves.sizes.keys()


def test_clock_edges():
    changes = read(vcd(AmaranthEngine(Decoder()), first_cycle=1000)).changes
    clock = [(time, int(value)) for time, name, value in changes if "clk" in name]
    cycles = len(BYTES) + 8 + 8
    halves = range(2 * cycles)
    assert clock == [(1000 * PERIOD + half * PERIOD // 2, 1 - half % 2) for half in halves]


def test_waveform_shows_difference():
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


@each_design
def test_save_file_lists_every_signal_once(design):
    engine = AmaranthEngine(design)
    sizes = read(vcd(engine)).sizes
    paths = [name if size == 1 else f"{name}[{size - 1}:0]" for name, size in sizes.items()]
    lines = save_file(engine, "wave.vcd").splitlines()
    assert sorted(line for line in lines if line[0] not in "@-[") == sorted(paths)


def test_groups_and_formats_of_signals():
    """In the file, `-` precedes the name of a group, and `@` precedes flags."""
    text = save_file(AmaranthEngine(Decoder()), "wave.vcd")
    binary, hexadecimal, words = "@28", "@22", "@820"
    for lines in (
        f"{binary}\ndecoder.clk\ndecoder.reset",
        f"-bytes in\n{binary}\ndecoder.i_valid",
        f"{hexadecimal}\ndecoder.i_data[7:0]",
        f"{words}\ndecoder.state",
        f"{words}\ndecoder.token",
        f"-golden model\n{binary}\ngolden.i_ready",
    ):
        assert f"\n{lines}\n" in text


def test_save_file_names_waveform():
    name = "a b/Ä €.vcd"
    lines = save_file(AmaranthEngine(Decoder()), name).splitlines()
    assert lines[0] == SAVE_FILE_MARK
    assert not re.search(r"\b20\d\d\b|\d:\d\d:", "".join(lines))  # no date, no time
    assert f'[dumpfile] "{name}"' in lines
    assert f'[savefile] "{name[:-4]}.gtkw"' in lines


@pytest.mark.parametrize("name", ['a"b.vcd', "a\n[size] 1 1", "\udcff.vcd"])
def test_save_file_omits_unprintable_name(name):
    text = save_file(AmaranthEngine(Decoder()), name)
    assert "file]" not in text
    assert "[size] 1 1" not in text
