"""The comparison finds a difference, names it, and shows what happened around it."""

import io
import pickle

import numpy as np
import pytest
from vcd.reader import TokenKind, tokenize

from rtl import DESIGNS, STALLS, broken, rtl_trace
from utf8_hdl import UNICODE, Decoder
from utf8_sim.engines.engine import WINDOW, AmaranthEngine, HangError, interface_of
from utf8_sim.lockstep import Lockstep, Window, expectation
from utf8_sim.stimulus import FixedStalls, Stimulus
from utf8_sim.trace import Trace
from utf8_sim.waves.vcd import PERIOD, WaveWriter

OBSERVED = interface_of(Decoder()).observed
TEXT = b"\xe2\x82\xacA\xe0\x80\xff"


def run(design: Decoder, data: bytes, *stalls) -> Lockstep:
    lockstep = Lockstep(AmaranthEngine(design), Stimulus([(data, True)], *stalls))
    lockstep.run()
    return lockstep


def test_agreement():
    lockstep = run(Decoder(), b"A\xc2\xa9")
    assert lockstep.difference is None
    # The last token leaves in cycle 10, 8 after its last byte came; then nothing does for a while.
    assert lockstep.cycles == 11 + 8


def test_first_difference_is_named():
    lockstep = run(broken("range: ED BF is no surrogate"), b"ABC\xed\xb0\x80DEF\xed\xb0\x80")
    # The hardware goes on after ED B0, where the golden model has an error in cycle 11.
    assert str(lockstep.difference) == "cycle 11, pin o.valid: expected 1, actual 0"
    assert lockstep.cycles == 12


def test_kinds_and_code_points_are_shown_readably():
    lockstep = run(broken("wrong kind"), b"\xed\xb0\x80")
    assert str(lockstep.difference) == (
        "cycle 8, pin o.kind: expected 4 (surrogate), actual 6 (truncated)"
    )
    lockstep = run(broken("value of an error"), b"\xff")
    assert str(lockstep.difference) == "cycle 8, pin o.code_point: expected FFFD, actual FFFF"


def test_difference_far_into_a_run():
    data = b"A" * (WINDOW + 100) + b"\xed\xb0\x80" + b"A" * 100
    lockstep = run(broken("range: ED BF is no surrogate"), data)
    assert lockstep.difference.cycle == WINDOW + 100 + 8
    assert [window.first_cycle for window in lockstep.recent] == [0, WINDOW]
    assert len(lockstep.recent[-1].actual) > 100 + 9


@pytest.mark.parametrize("pin", OBSERVED)
def test_every_output_pin_is_compared(pin):
    class Tampered(AmaranthEngine):
        def run(self, stimulus):
            for trace in super().run(stimulus):
                trace[pin][9] ^= 1
                yield trace

    lockstep = Lockstep(Tampered(Decoder()), Stimulus([(b"AB", True)]))
    difference = lockstep.run()
    assert (difference.cycle, difference.pin) == (9, pin)


class Noisy(AmaranthEngine):
    """Its payload is anything, where no output is valid."""

    def run(self, stimulus):
        generator = np.random.default_rng(1)
        for trace in super().run(stimulus):
            for pin in trace.interface.outputs:
                noise = generator.integers(1, 1 << pin.width, len(trace), dtype=pin.dtype)
                trace[pin.name][:] ^= np.where(trace["o.valid"], pin.dtype(0), noise)
            yield trace


@pytest.mark.parametrize("stalls", STALLS.values(), ids=STALLS)
@pytest.mark.parametrize(
    ("design", "items"),
    [
        (design(UNICODE), [0x20AC, 0x41, 0xD800] * 9 if "encoder" in name else TEXT * 9)
        for name, design in DESIGNS.items()
    ],
    ids=DESIGNS,
)
def test_payload_is_nobodys_business_while_valid_is_low(design, items, stalls):
    stimulus = Stimulus([(items, True)], *stalls)
    noisy, silent = Noisy(design), AmaranthEngine(design)
    lockstep = Lockstep(noisy, stimulus)
    coverages = [engine.component.coverage(engine) for engine in (noisy, silent)]
    for noise, silence in zip(lockstep, silent.run(stimulus), strict=True):
        valid = silence["o.valid"].astype(bool)
        for pin in silence.interface.outputs:
            assert (noise[pin.name] != silence[pin.name])[~valid].all()
            assert (noise[pin.name] == silence[pin.name])[valid].all()
        for coverage, trace in zip(coverages, (noise, silence), strict=True):
            coverage.add(trace)
    assert lockstep.difference is None
    assert (coverages[0].cells == coverages[1].cells).all()
    if isinstance(design, Decoder):
        assert (coverages[0].tokens == coverages[1].tokens).all()


def test_watchdog_turns_a_hang_into_a_failure():
    with pytest.raises(HangError, match="no input was accepted in 64 cycles"):
        list(AmaranthEngine(broken("never ready")).run(Stimulus([(b"A", True)])))


def test_windows_are_one_trace():
    data = b"A\xc2\xa9" * WINDOW
    windows = list(AmaranthEngine(Decoder()).run(Stimulus([(data, True)])))
    assert len(windows) == 4
    assert {len(window) for window in windows[:-1]} == {WINDOW}
    trace = Trace.join(windows)
    assert bytes(trace["i.data"][: len(data)].tolist()) == data


def waveform(lockstep: Lockstep, engine: AmaranthEngine) -> list[tuple[int, str, object]]:
    """Time, signal and value of every change in the waveform of a run."""
    file = io.StringIO()
    with WaveWriter(file, engine) as wave:
        for _trace in lockstep:
            wave.write(lockstep.recent[-1])
    names, scope, time, changes = {}, "", 0, []
    for token in tokenize(io.BytesIO(file.getvalue().encode())):
        if token.kind is TokenKind.SCOPE:
            scope = token.scope.ident
        elif token.kind is TokenKind.VAR:
            names[token.var.id_code] = f"{scope}.{token.var.reference}"
        elif token.kind is TokenKind.CHANGE_TIME:
            time = token.time_change
        elif token.kind is TokenKind.CHANGE_SCALAR:
            changes.append((time, names[token.scalar_change.id_code], token.scalar_change.value))
        elif token.kind is TokenKind.CHANGE_VECTOR:
            changes.append((time, names[token.vector_change.id_code], token.vector_change.value))
        elif token.kind is TokenKind.CHANGE_STRING:
            changes.append((time, names[token.string_change.id_code], token.string_change.value))
    return changes


def test_waveform_shows_states_and_tokens_by_name():
    engine = AmaranthEngine(Decoder())
    changes = waveform(Lockstep(engine, Stimulus([(b"\xe2\x82\xacA\xe0\x80", True)])), engine)
    states = [(time, value) for time, name, value in changes if name == "decoder.state" and value]
    assert states == [
        (0 * PERIOD, "START"),
        (6 * PERIOD, "NEED_2"),
        (7 * PERIOD, "NEED_1"),
        (8 * PERIOD, "START"),
        (10 * PERIOD, "NEED_2"),
        (11 * PERIOD, "START"),
    ]
    tokens = [value for _, name, value in changes if name == "decoder.token" and value]
    assert tokens == ["U+20AC", "U+0041", "overlong", "unexpected-continuation"]


def test_waveform_shows_every_pin_as_it_was():
    data = b"\xe2\x82\xacA\xe0\x80"
    stalls = FixedStalls((False, True, False, True)), FixedStalls((True, False) * 6)
    engine = AmaranthEngine(Decoder())
    changes = waveform(Lockstep(engine, Stimulus([(data, True)], *stalls)), engine)
    trace = rtl_trace([data], stalls)
    for pin in ("i.valid", "i.data", "i.last", "o.ready", *OBSERVED):
        levels = {}
        for time, name, value in changes:
            if name == f"decoder.{pin.replace('.', '_')}":
                levels[time // PERIOD] = int(value)
        shown, level = [], 0
        for cycle in range(len(trace)):
            level = levels.get(cycle, level)
            shown.append(level)
        assert shown == trace[pin].tolist()


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_a_trace_from_another_process_is_as_good(design):
    engine = AmaranthEngine(design(UNICODE))
    [trace] = engine.run(Stimulus([(b"A\x00", True)]))
    expected = expectation(engine, pickle.loads(pickle.dumps(trace)))
    assert Window(0, trace, lambda: expected).difference() is None
