"""The Python interface: simulate, compare, scoreboard, refused arguments."""

import re

import numpy as np
import pytest
from amaranth.lib import data, stream

import utf8_flow
from beats import BEAT, Beats
from rtl import broken
from toys import registered
from utf8_flow import engine, generate
from utf8_hdl import (
    EXTENDED,
    UCS2,
    CompactDecoder,
    Compactor,
    Decoder,
    Encoder,
    ErrorKind,
    WideDecoder,
)
from utf8_sim import (
    DesignError,
    FixedStalls,
    Mismatch,
    RandomStalls,
    Scoreboard,
    decode,
    encode,
    simulate,
)
from utf8_sim.subject import interface_of

TEXTS = b"a\xe2\x82\xac\xed\xa0\x80\xf0\x90b", "€😀".encode(), b"\xc2"
STALLS = {"input_stalls": RandomStalls(0.4, 1), "output_stalls": RandomStalls(0.4, 2)}
A = {"code_point": 0x41, "error": 0, "kind": 0, "length": 1, "last": 0}


def accepting(design, text) -> Scoreboard:
    scoreboard = Scoreboard(design)
    field = "data" if isinstance(design, Decoder) else "code_point"
    for number, value in enumerate(text, 1):
        scoreboard.accept({field: value, "last": number == len(text)})
    return scoreboard


@pytest.mark.parametrize("profile", [UCS2, EXTENDED], ids=["ucs2", "extended"])
def test_simulated_outputs_match_golden_model(profile):
    outputs = simulate(CompactDecoder(profile), *TEXTS, **STALLS).outputs()
    tokens = [token for text in TEXTS for token in decode(text, profile)]
    names = "code_point", "error", "length", "last"
    assert [[o[name] for name in (*names, "kind")] for o in outputs] == [
        [*(getattr(token, name) for name in names), token.kind.value] for token in tokens
    ]
    text = [0x41, 0xD800, 0xFFFE, 0x10FFFF, 0x110000]
    outputs = simulate(Encoder(profile), text).outputs()
    assert bytes(output["data"] for output in outputs) == encode(text, profile)


def test_unknown_engine_and_stuck_design_raise():
    with pytest.raises(ValueError, match="unknown engine 'modelsim': choose from amaranth, "):
        engine("modelsim", Decoder())
    with pytest.raises(DesignError, match="no input was accepted"):
        simulate(broken("never ready"), b"abc")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate(Decoder(), "abc"), "a text must be bytes or code points, not 'abc'"),
        (lambda: simulate(None, b"abc"), "design must be a component or an engine, not None"),
        (lambda: simulate(Decoder(), b"", input_stalls=0.5), "input_stalls must be like"),
        (lambda: decode("abc"), "a text must be bytes, not 'abc'"),
        (lambda: decode([65, 256]), "a byte of a text must be 0 to 255, not 256"),
        (lambda: decode(b"a", "unicode"), "profile must be a Profile, such as UNICODE, not 'unico"),
        (lambda: encode("abc"), "a text must be code points, not 'abc'"),
        (lambda: encode([-1]), "a code point of a text must be 0 or more, not -1"),
        (lambda: generate("decoder"), "component must be a design with the streams i and o, not "),
        (lambda: generate(Decoder(), module=5), "module must be a str, such as 'utf8_decoder'"),
        (lambda: Scoreboard(Decoder), "design must be a component, such as Decoder(), not <class"),
        (lambda: Scoreboard(Decoder()).accept([65, 0]), "an input must be a mapping with the fie"),
        (lambda: Scoreboard(Decoder()).accept({"data": 65}), "an input must have the fields data"),
        (
            lambda: Scoreboard(Decoder()).accept({"data": True, "last": 0}),
            "data must be an integer, not True",
        ),
        (
            lambda: Scoreboard(WideDecoder(lanes=2)).accept(
                {"data": [65], "keep": [1, 1], "last": 0}
            ),
            "data must be a list of 2 integers, not [65]",
        ),
        (lambda: RandomStalls("0.5"), "probability must be a number, not '0.5'"),
        (lambda: FixedStalls("101"), "pattern must be a tuple of bool, not '101'"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        call()


def test_numpy_integers_are_accepted():
    assert decode(np.array([0x41, 0xFF])) == decode([np.uint8(0x41), 0xFF]) == decode(b"A\xff")
    assert encode(np.array([0x20AC], dtype=np.uint64)) == "€".encode()


@pytest.mark.long
def test_64_bit_values_stay_exact():
    """numpy would convert these to floats."""
    values = [(1 << 63) + 1, 5]
    [beat] = simulate(Compactor(lanes=2, shape=64), values).outputs()
    assert beat["data"] == values


COLUMN = np.array([1, 0])


@pytest.mark.parametrize(
    ("design", "text", "message"),
    [
        (Decoder(), [1.5], "data must be unsigned 8-bit integers"),
        (Decoder(), {"i.data": COLUMN}, r"columns must be i.data, i.last, .*not i.data \(2\)"),
        (Decoder(), {"i.data": COLUMN, "i.last": [1]}, r"one length, not .* i.last \(1\)"),
        (Encoder(EXTENDED), [1, 1 << 64], f"unsigned 64-bit integers, not {1 << 64}"),
    ],
)
def test_wrong_inputs_are_refused(design, text, message):
    with pytest.raises((TypeError, ValueError), match=message):
        simulate(design, [1], text)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"data": 8, "valid": 1, "last": 1}, "must not have another field 'valid'"),
        ({"p": data.StructLayout({"x": 3}), "x": 8, "last": 1}, "must not have another field 'x'"),
        ({"data": 8}, "must have a field 'last'"),
        (8, "must be a structure"),
    ],
)
def test_wrong_payloads_are_refused(payload, message):
    design = Decoder()
    layout = data.StructLayout(payload) if isinstance(payload, dict) else payload
    design.i = stream.Signature(layout).create()
    with pytest.raises((TypeError, ValueError), match=message):
        interface_of(design)


def test_refused_input_leaves_scoreboard_unchanged():
    scoreboard = Scoreboard(Decoder())
    scoreboard.accept({"data": 0xE2, "last": 0})
    with pytest.raises(ValueError, match="data must be unsigned 8-bit integers, not 300"):
        scoreboard.accept({"data": 300, "last": 0})
    scoreboard.accept({"data": 0x41, "last": 0})
    assert scoreboard.expected()["kind"] == ErrorKind.TRUNCATED.value
    scoreboard.expected()["kind"] = 0
    assert scoreboard.expected()["kind"] == ErrorKind.TRUNCATED.value


def test_scoreboard_detects_every_wrong_field():
    scoreboard = accepting(Decoder(), b"AB")
    for field, level in A.items():
        message = (
            f"token 0, U+0041 A (1 byte): expected {field}={level}, actual {field}={level ^ 1}"
        )
        with pytest.raises(Mismatch, match=re.escape(message)):
            scoreboard.take(A | {field: level ^ 1})
    assert scoreboard.expected() == A


def test_scoreboard_detects_missing_and_surplus_outputs():
    scoreboard = accepting(Decoder(), b"A\xe2\x82")
    scoreboard.take(A)
    with pytest.raises(Mismatch, match=r"token 1, error truncated \(2 bytes\): expected code_"):
        scoreboard.take(A | {"last": 1})
    truncated = {"code_point": 0xFFFD, "error": 1, "kind": 6, "length": 2, "last": 1}
    assert scoreboard.expected() == truncated
    scoreboard.take(truncated)
    scoreboard.finish()
    assert scoreboard.expected() is None
    with pytest.raises(Mismatch, match="token 2: no output is expected, actual code_point=65"):
        scoreboard.take(A)
    with pytest.raises(Mismatch, match="byte 0, E2: missing, and 2 after it"):
        accepting(Encoder(), [0x20AC]).finish()


def test_scoreboard_of_external_component():
    with registered():
        scoreboard = Scoreboard(Beats())
        lanes = [{"data": byte, "keep": byte == 2} for byte in (1, 2, 3, 4)]
        beat = {"lanes": lanes, "stamp": (1 << 64) + 5, "last": 1}
        scoreboard.accept(BEAT.const(beat))
        scoreboard.take(BEAT.const(beat | {"lanes": [*lanes[1:], lanes[0]]}))
        scoreboard.accept(BEAT.const(beat))
        with pytest.raises(Mismatch, match=r"data=\[2, 3, 4, 1\], .*actual data=\[1, 2, 3, 4\]"):
            scoreboard.take(BEAT.const(beat))


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'utf8_flow' has no attribute 'nothing'"):
        _ = utf8_flow.nothing
