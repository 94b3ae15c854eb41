"""The serial demo from pin to pin, against an independent model of the serial line."""

import inspect
import random
import re
from collections import Counter
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from hypothesis import given, settings
from hypothesis import strategies as st

from altered import edited
from naive import naive_tokens
from needs import needs
from reference import BOUNDARY_BYTES, ref_tokens
from rtl import run_bench
from serial_line import (
    COUNTS,
    ENQUIRY,
    Damaged,
    Low,
    Silence,
    answer,
    bench_output,
    expected_answer,
    repaired,
    token_lines,
    unit_lines,
)
from utf8_demo import demo, receive_buffer, statistics, uart, units
from utf8_demo.demo import Demo
from utf8_demo.receive_buffer import Mark, ReceiveBuffer
from utf8_demo.statistics import Statistics
from utf8_hdl import EXTENDED, UCS2, Decoder, EncodingScheme

BAUD = 100_000
PAUSE = 30
"""Bit times of silence that end a text in these tests."""

LONG, SHORT = Silence(PAUSE + 3), Silence(PAUSE - 3)

ENDS = Silence(2)
"""Silence after a damaged part, so that the next byte begins at its start bit."""

CASES = {
    "text": ["A\r\n é€\ufffd😀\U0010ffff".encode()],
    "one character": [b"A"],
    "errors": [b"\xc0\xaf\xe2\x82|\xed\xa0\x80\xf4\x90\xfe\xff\xf5\xf0\x90\x80"],
    "pauses": [b"\xe2\x82", LONG, b"\xac", SHORT, b"\xe2", SHORT, b"\x82\xac\xf0", LONG, b"A"],
    "breaks": [Low(200), ENDS, b"A\xe2", Low(100), ENDS, b"\x82B", Low(15), ENDS, b"C"],
    "missing stop bits": [b"\xe2\x82", Damaged(0xAC), b"A", Damaged(0), Damaged(255), b"\xac"],
    "glitches": [Low(0.2), ENDS, b"\xe2", Low(0.3), ENDS, b"\x82\xac"],
    "enquiries": [b"\xf0\x9f\x05\x98\x80\xe2\x82\x05\x05C", LONG, b"\x05D"],
    "counts": ["Aé€".encode() + b"\xc0\xaf\xed\xa0\xf5\xfe\x05AB" + b"\x80" * 12 + b"\x05A\x05"],
    "losses": [b"A", Damaged(0x05), b"\x05", Damaged(0x80), Low(50), ENDS, b"\x05"],
    "byte order marks": ["\ufeffA\ufeff\x05\ufeffB".encode(), LONG, b"\xef\xbb", LONG, b"\xbf"],
}
"""Inputs for a demo whose buffer is large enough."""

EDGES = ["€😀".encode() + b"\x00\xff\x55\xaa\x80\x01\x7f"]
"""Bytes without a gap, some of them with as few edges as possible."""

OVERRUN = bytes(random.Random(1).choices(range(0x21, 0x7F), k=300))
"""Bytes sent without a gap to a demo with a small buffer."""

SMALL_BUFFER = 16


def make_demo(cycles: float = 8, make=Demo, **options) -> tuple[Demo, float, float]:
    """A demo with a number of clock cycles in a bit, its clock and its rate."""
    clock_hz = BAUD * cycles
    return make(clock_hz=clock_hz, baud=BAUD, pause=PAUSE / BAUD, **options), clock_hz, BAUD


SHOWN = {
    "tokens": ({}, None),
    "units": ({"target": EncodingScheme.UTF_16LE}, unit_lines),
    "repaired": ({"target": EncodingScheme.UTF_8}, repaired),
    "stripped": (
        {"target": EncodingScheme.UTF_8, "strip_bom": True},
        partial(repaired, codec="utf-8-sig"),
    ),
}
"""Outputs of the demo: its options, and the conversion of a text to the expected output."""


def check(case: str, make=Demo, shown="tokens") -> None:
    """Check the answer of a demo to one of the `CASES`, to an overrun, or to overrun enquiries."""
    options, given = SHOWN[shown]
    make = partial(make, **options)
    if case == "overrun":
        written = answer(*make_demo(make=make, buffer=SMALL_BUFFER), [OVERRUN])
        check_only_overruns_are_missing(written)
    elif case == "overrun enquiries":
        check_counts_with_overruns(make)
    else:
        written = answer(*make_demo(make=make), CASES[case])
        assert written == expected_answer(CASES[case], PAUSE, given=given)


def check_only_overruns_are_missing(written: str) -> None:
    """The output consists of pieces of `OVERRUN` in order, with gaps; no piece is short."""
    pieces = [
        bytes(int(digits, 16) for digits in re.findall(r"U\+(\w+)\r\n", piece))
        for piece in written.split("lost: overrun\r\n")
    ]
    lines = ["".join(f"U+{byte:04X}\r\n" for byte in piece) for piece in pieces]
    assert "lost: overrun\r\n".join(lines) == written
    assert len(pieces) > 2
    assert OVERRUN.startswith(pieces[0])
    end = len(pieces[0])
    for piece in pieces[1:]:
        place = OVERRUN.find(piece, end + 1)
        assert place > end
        end = place + len(piece)
    assert all(len(piece) >= SMALL_BUFFER - 1 for piece in pieces[:-1])


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("case", "shown"),
    [
        *((case, "tokens") for case in (*CASES, "overrun", "overrun enquiries")),
        ("byte order marks", "units"),
        ("byte order marks", "stripped"),
        ("pauses", "repaired"),
    ],
)
def test_demo_answer(case, shown):
    check(case, shown=shown)


def check_counts_with_overruns(make) -> None:
    """Some enquiries are lost. The others report the earlier characters and overruns."""
    sent = b"AB" + ENQUIRY + OVERRUN[:60] + ENQUIRY * 3 + OVERRUN[60:90]
    hardware = make_demo(make=make, buffer=SMALL_BUFFER)
    reports = reports_of(answer(*hardware, [sent, Silence(5000), ENQUIRY]))
    assert 2 <= len(reports) < 5
    for text, counts in reports:
        lost = text.count("lost: overrun\r\n")
        answered = text.count("\r\n") - lost
        assert counts["bytes"] == counts["characters"] == answered
        assert sum(counts.values()) == 2 * answered + counts["overruns"]
        assert counts["overruns"] == lost
    assert reports[-1][1]["overruns"]


def check_statistics(hardware) -> None:
    """Check carries over several digits, in adjacent counters."""
    sent = Counter[int]()
    order = random.Random(2).choices(range(len(COUNTS)), [60, *range(10)], k=4200)
    read = []

    async def bench(ctx):
        for number in order:
            sent[number] += 1
            ctx.set(hardware.i.valid, 1)
            ctx.set(hardware.i.payload, number)
            await ctx.tick().until(hardware.i.ready)
            ctx.set(hardware.i.valid, 0)
            if number % 2:
                await ctx.tick().repeat(number)
        await ctx.tick().repeat(20)
        for number in range(len(COUNTS)):
            digits = ""
            for place in reversed(range(16)):
                ctx.set(hardware.place, {"digit": place, "count": number})
                await ctx.tick()
                digits += f"{ctx.get(hardware.digit):X}"
            read.append(digits)

    run_bench(hardware, bench)
    assert max(sent.values()) > 2000
    assert read == [f"{sent[number]:016}" for number in range(len(COUNTS))]


@pytest.mark.long
def test_statistics_carry():
    check_statistics(Statistics())
    third_digit_is_never_reached = "now.digit + 1", "now.digit | 1"
    with pytest.raises(AssertionError):
        check_statistics(edited(statistics, third_digit_is_never_reached).Statistics())


def reports_of(written: str) -> list[tuple[str, Counter[str]]]:
    """For each report: the output before it, without reports, and its counts."""
    line = "".join(rf"{re.escape(name)} (\d+)\r\n" for name in COUNTS)
    found = []
    for piece in re.finditer(line, written):
        text = re.sub(line, "", written[: piece.start()])
        found.append((text, Counter(dict(zip(COUNTS, map(int, piece.groups()), strict=True)))))
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("cycles", "error", "agrees"),
    [
        (8, 0.035, True),
        (8, -0.035, True),
        (8.039, 0.035, True),
        (13, 0.035, True),
        (8, 0.08, False),
        (8, -0.08, False),
    ],
)
def test_demo_baud_rate_error(cycles, error, agrees):
    """With 8.039 cycles in a bit, the divided clock is 0.49 % off."""
    with nullcontext() if agrees else pytest.raises(AssertionError):
        assert answer(*make_demo(cycles), EDGES, error) == expected_answer(EDGES, PAUSE)


@pytest.mark.long
@pytest.mark.parametrize("profile", [EXTENDED, UCS2], ids=lambda profile: profile.name)
def test_demo_profile(profile):
    """At least four digits, and up to eleven in `extended`."""
    parts = [b"\x00\xff\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xef\xbf\xbf\xf0\x90\x80\x80\xfe\x82\x80"]
    tokens_of = partial(naive_tokens, profile=profile)
    written = answer(*make_demo(profile=profile), parts)
    assert written == expected_answer(parts, PAUSE, tokens_of)
    assert ("U+3FFFFFFFFFF\r\n" in written) == (profile is EXTENDED)
    assert "error noncharacter (3 bytes)" in written
    assert ("U+10000\r\n" in written) == (profile is not UCS2)


PARTS = st.lists(
    st.one_of(
        st.just(ENQUIRY),
        st.lists(st.sampled_from(list(BOUNDARY_BYTES)), min_size=1, max_size=5).map(bytes),
        st.sampled_from([LONG, SHORT, Low(0.2), Low(12)]),
        st.integers(0, 255).map(Damaged),
    ),
    max_size=5,
)


@pytest.mark.long
@settings(max_examples=3)
@given(PARTS, st.floats(-0.03, 0.03), st.sampled_from([8, 11]), st.sampled_from([*SHOWN][:3]))
def test_demo_any_input(parts, error, cycles, shown):
    parts = [piece for part in parts for piece in (part, ENDS)]
    scaled = PAUSE * (1 + error)
    options, given = SHOWN[shown]
    written = answer(*make_demo(cycles, **options), parts, error)
    assert written == expected_answer(parts, scaled, given=given)


@pytest.mark.parametrize("depth", [ReceiveBuffer.SMALLEST, 4, 16])
def test_buffer_reserves_entry_for_notice(depth):
    """The last entry is reserved for the notice of an overrun, which ends the text."""
    *others, last = (ord("A") + number for number in range(depth - 1))
    kept = [*((value, Mark.BYTE) for value in others), (last, Mark.LAST_BYTE)]
    assert entries(depth, depth - 1) == kept
    assert entries(depth, depth) == [*kept, (0, Mark.OVERRUN)]
    assert entries(depth, depth + 9) == [*kept, (0, Mark.OVERRUN)]


def entries(depth: int, count: int) -> list[tuple[int, Mark]]:
    """The contents of a buffer after a number of bytes and silence."""
    buffer = ReceiveBuffer(depth, pause=10)
    found = []

    async def bench(ctx):
        for value in range(ord("A"), ord("A") + count):
            ctx.set(buffer.idle, 0)
            await ctx.tick().repeat(5)
            ctx.set(buffer.data, value)
            ctx.set(buffer.received, 1)
            await ctx.tick()
            ctx.set(buffer.received, 0)
            ctx.set(buffer.idle, 1)
            await ctx.tick()
        await ctx.tick().repeat(20)
        ctx.set(buffer.o.ready, 1)
        while ctx.get(buffer.pending):
            if ctx.get(buffer.o.valid):
                found.append((ctx.get(buffer.o.p.data), ctx.get(buffer.o.p.mark)))
            await ctx.tick()

    run_bench(buffer, bench)
    return found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baud": 0}, "baud must be above 0 and at most 1500000, an eighth of the clock, not 0"),
        ({"baud": 2_000_000}, "at most 1500000"),
        ({"baud": 1_400_000}, r"within 0.5 % of the clock divided .* such as 1333333, not"),
        ({"baud": 115_200, "buffer": 2}, "buffer must be 3 or more, not 2"),
    ],
)
def test_demo_refuses_impossible_options(options, message):
    with pytest.raises(ValueError, match=message):
        Demo(clock_hz=12e6, **options)


def test_demo_pause_is_at_least_one_byte():
    hardware = Demo(clock_hz=8 * BAUD, baud=BAUD, pause=0)
    assert answer(hardware, 8 * BAUD, BAUD, ["€".encode()]) == "U+20AC\r\n"


class SlowDecoder(wiring.Component):
    """A decoder with a longer latency."""

    def __init__(self, profile):
        self._decoder = Decoder(profile)
        super().__init__(self._decoder.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = self._decoder
        m.submodules.queue = queue = SyncFIFOBuffered(width=decoder.o.p.shape().size, depth=4)
        wiring.connect(m, wiring.flipped(self.i), decoder.i)
        m.d.comb += [
            queue.w_data.eq(decoder.o.payload),
            queue.w_en.eq(decoder.o.valid),
            decoder.o.ready.eq(queue.w_rdy),
            self.o.payload.eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
        ]
        return m


def slow_demo(module=demo, good="", bad=""):
    """The demo's class with a `SlowDecoder`, and with an edit in one of its modules."""
    namespace = {"__name__": "utf8_demo.edited", "__package__": "utf8_demo"}
    exec(inspect.getsource(demo), namespace)
    exec(inspect.getsource(module).replace(good, bad), namespace)
    namespace["Decoder"] = SlowDecoder
    return namespace["Demo"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "make"),
    [("missing stop bits", slow_demo()), ("overrun", partial(Demo, compact=True))],
    ids=["slow", "compact"],
)
def test_demo_with_other_decoder_latency(case, make):
    """Notices of lost bytes stay in order with the tokens."""
    check(case, make)


# Flaws: a module, an edit of its source, the case that detects it, and the output if not tokens.
FLAWS = {
    "bits sent in the wrong order": (uart, "self.i.payload,", "self.i.payload[::-1],", "text"),
    "a break is many bytes": (uart, 'm.next = "BREAK"', 'm.next = "IDLE"', "breaks"),
    "no stop bit needed": (uart, "received.eq(line)", "received.eq(1)", "missing stop bits"),
    "a glitch begins a byte": (
        uart,
        'with m.If(line):\n                    m.next = "IDLE"\n                with m.Else():\n'
        '                    m.next = "DATA"',
        'm.next = "DATA"',
        "glitches",
    ),
    "silence ends no text": (receive_buffer, "(event | text_ends)", "event", "pauses"),
    "overrun without a notice": (
        receive_buffer, "notice.eq(Mark.OVERRUN), notice_waits.eq(1)", "notice.eq(Mark.OVERRUN)",
        "overrun",
    ),
    "a notice comes too early": (
        demo, "~decoder.o.valid & ~ending.any()", "~decoder.o.valid", "missing stop bits",
    ),
    "losses are not counted": (demo, "statistics.i.valid.eq(takes_notice),", "", "losses"),
    "overruns count as framing errors": (
        demo, "Mux(mark == Mark.OVERRUN, OVERRUNS, FRAMING_ERRORS)", "FRAMING_ERRORS",
        "overrun enquiries",
    ),
    "counted during the report": (
        demo, "free.eq(statistics.i.ready & writer.i.ready)", "free.eq(statistics.i.ready)",
        "enquiries",
    ),
    "a loss in repaired text": (
        demo, "int(self._writes_losses)", "1", "missing stop bits", "repaired",
    ),
    "a beat without an end": (
        units, "is_last.eq(Array([*~kept[1:], 1])[place])", "is_last.eq(0)",
        "one character", "units",
    ),
    "the pause is not busy": (
        receive_buffer, "byte_waits | notice_waits", "notice_waits", "one character",
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("flaw", FLAWS)
def test_demo_check_detects_flaw(flaw):
    module, good, bad, *case = FLAWS[flaw]
    assert inspect.getsource(module).count(good) == 1
    case, shown = [*case, "tokens"][:2]
    with pytest.raises(AssertionError):
        check(case, slow_demo(module, good, bad), shown)


def in_icarus(folder: Path, hardware: Demo, text: bytes, clock_hz: float, baud: float) -> str:
    """The answer of the Verilog of a demo."""
    source = folder / "demo.v"
    source.write_text(verilog.convert(hardware, name="utf8_demo", emit_src=False))
    return bench_output(folder, text, clock_hz, baud, "-g2001", source)


@pytest.mark.long
@needs("iverilog")
def test_demo_verilog_in_icarus(tmp_path):
    """The demo of a board, with its real clock, rate, pause and buffer; the far end is slower."""
    text = "aé😀".encode() + b"\xc0\xed\xa0|\x05A\xf0\x9f\x98"
    hardware = Demo(clock_hz=25_000_000, baud=115_200)
    written = in_icarus(tmp_path, hardware, text, 25_000_000, 115_200 * 0.97)
    assert written == expected_answer([text], 1)


@pytest.mark.long
@needs("iverilog")
def test_verilog_bench_detects_wrong_baud_rate(tmp_path):
    hardware, clock_hz, baud = make_demo()
    written = in_icarus(tmp_path, hardware, EDGES[0], clock_hz, baud * 1.08)
    assert written != token_lines(ref_tokens(EDGES[0]))


@pytest.mark.sample(1)
@pytest.mark.parametrize("shown", ["repaired", "units", "tokens"])
def test_demo_session_in_docs(shown):
    """The page shows what `printf` sends, and the answer."""
    page = (Path(__file__).parents[2] / "docs/demo.md").read_text(encoding="utf-8")
    talks = re.findall(r"^\$ printf '(\S.*)' > \S+\n((?:(?!\$|```).*\n)+)", page, re.M)
    by_form = {"0x": "units", "na": "repaired"}
    chosen = [talk for talk in talks if by_form.get(talk[1][:2], "tokens") == shown]
    assert len(chosen) == {"tokens": 4, "units": 1, "repaired": 1}[shown]
    for sent, answered in chosen:
        text = sent.encode("ascii").decode("unicode_escape").encode("latin-1")
        written = answer(*make_demo(**SHOWN[shown][0]), [text])
        found = written.encode("latin-1").decode("utf-8").replace("\r\n", "\n")
        assert found == answered
