"""The demo from pin to pin: bytes in on one, text out on the other, timed by someone else."""

import inspect
import random
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import naive_tokens
from needs import needs
from reference import BOUNDARY_BYTES, ref_tokens
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
from utf8_demo import lines as line_writer
from utf8_demo.demo import Demo
from utf8_demo.receive_buffer import Mark, ReceiveBuffer
from utf8_demo.statistics import Statistics
from utf8_demo.uart import cycles_per_bit
from utf8_hdl import EXTENDED, PROFILES, UCS2, UNICODE, Decoder, EncodingScheme

BAUD = 100_000
PAUSE = 30
"""Bit times of silence that end a text here."""

LONG, SHORT = Silence(PAUSE + 3), Silence(PAUSE - 3)

CASES = {
    "one character": [b"A"],
    "text": ["A\r\n é€\ufffd😀\U0010ffff".encode()],
    "hostile": [b"\xc0\xaf\xe2\x82|\xed\xa0\x80\xf4\x90\xfe\xff\xf5\xf0\x90\x80"],
    "a text ends in silence": [b"\xe2\x82", LONG, b"\xac", LONG, b"\xf0", LONG, b"A"],
    "a short gap ends nothing": [b"\xe2", SHORT, b"\x82", SHORT, b"\xac\xf0\x9f", SHORT, b"\x98"],
    "break": [b"A\xe2", Low(100), Silence(2), b"\x82B", Low(15), Silence(2), b"C"],
    "break at the beginning": [Low(200), Silence(2), b"A"],
    "missing stop bits": [b"\xe2\x82", Damaged(0xAC), b"A", Damaged(0), Damaged(255), b"\xac"],
    "disturbances": [Low(0.2), Silence(2), b"\xe2", Low(0.3), Silence(2), b"\x82\xac"],
    "enquiry": ["Aé€".encode() + b"\xc0\xaf\xed\xa0\xf5\xfe\x05B"],
    "enquiry at once": [b"\x05"],
    "enquiry inside a character": [b"\xf0\x9f\x05\x98\x80\xe2\x82\x05"],
    "enquiries in a row": [b"AB\x05\x05C", LONG, b"\x05D"],
    "more than nine": [b"A" * 8 + b"\x80" * 12 + b"\x05AAA\x05"],
    "enquiry and missing stop bits": [
        b"A",
        Damaged(0x05),
        b"\x05",
        Damaged(0x80),
        Low(50),
        Silence(2),
        b"\x05",
    ],
    "byte order marks": ["\ufeffA\ufeff\x05\ufeffB".encode(), LONG, b"\xef\xbb", LONG, b"\xbf"],
}
"""What is sent, with room in the buffer for all of it."""

EDGES = ["€😀".encode() + b"\x00\xff\x55\xaa\x80\x01\x7f"]
"""Bytes without a gap, some of them with as few edges to go by as possible."""

RATES = {"3.5 % faster": 0.035, "1 % faster": 0.01, "1 % slower": -0.01, "3.5 % slower": -0.035}
"""What the far end takes for the baud rate."""

OVERRUN = bytes(random.Random(1).choices(range(0x21, 0x7F), k=300))
"""Sent without a gap to a small buffer. No piece of it occurs twice."""

SMALL_BUFFER = 16


def make_demo(cycles: float = 8, make=Demo, **options) -> tuple[Demo, float, float]:
    """A demo with so many clock cycles in a bit, its clock and its rate."""
    clock_hz = BAUD * cycles
    return make(clock_hz=clock_hz, baud=BAUD, pause=PAUSE / BAUD, **options), clock_hz, BAUD


SHOWN = {
    "tokens": (None, None),
    "units": (EncodingScheme.UTF_16LE, unit_lines),
    "repaired": (EncodingScheme.UTF_8, repaired),
}
"""What a demo may show: the form that its transcoder gives, if it has one, and what is expected."""

TRANSCODED = [name for name in SHOWN if name != "tokens"]


def check(case: str, make=Demo, shown="tokens") -> None:
    """A demo answers as it must to one of the `CASES`, to one of the `RATES`, or to an overrun."""
    form, given = SHOWN[shown]
    if form:
        make = partial(make, target=form)
    if case == "overrun":
        written = answer(*make_demo(make=make, buffer=SMALL_BUFFER), [OVERRUN])
        check_only_overruns_are_missing(written)
        return
    parts = CASES.get(case, EDGES)
    written = answer(*make_demo(make=make), parts, RATES.get(case, 0.0))
    assert written == expected_answer(parts, PAUSE, given=given)


def check_only_overruns_are_missing(written: str) -> None:
    """Pieces of `OVERRUN` in order, none of them short, with something missing between them."""
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


@pytest.mark.sample(6)
@pytest.mark.parametrize("case", [*CASES, *RATES, "overrun"])
def test_answer(case):
    check(case)


@pytest.mark.sample(2)
@pytest.mark.parametrize("shown", TRANSCODED)
@pytest.mark.parametrize(
    "case",
    [
        "one character",
        "text",
        "hostile",
        "a text ends in silence",
        "break",
        "missing stop bits",
        "enquiry",
        "enquiry inside a character",
        "enquiry and missing stop bits",
        "byte order marks",
    ],
)
def test_answer_of_a_transcoder(case, shown):
    check(case, shown=shown)


@pytest.mark.long
@pytest.mark.parametrize(("form", "given"), [SHOWN[name] for name in TRANSCODED], ids=TRANSCODED)
def test_byte_order_marks_left_out(form, given):
    parts = CASES["byte order marks"]
    written = answer(*make_demo(target=form, strip_bom=True), parts)
    assert written == expected_answer(parts, PAUSE, given=partial(given, codec="utf-8-sig"))
    assert written != expected_answer(parts, PAUSE, given=given)


@pytest.mark.sample(1)
@pytest.mark.parametrize("shown", SHOWN)
def test_enquiries_while_bytes_are_lost(shown):
    check_enquiries_while_bytes_are_lost(Demo, shown)


def test_a_demo_that_counts_its_losses_as_others_is_caught():
    right, wrong = "Mux(mark == Mark.OVERRUN, OVERRUNS, FRAMING_ERRORS)", "FRAMING_ERRORS"
    with pytest.raises(AssertionError):
        check_enquiries_while_bytes_are_lost(slow_demo(demo, right, wrong), "tokens")


def check_enquiries_while_bytes_are_lost(make, shown) -> None:
    """Some enquiries are lost. The others count what was answered before them, and the gaps."""
    form, _ = SHOWN[shown]
    sent = b"AB" + ENQUIRY + OVERRUN[:60] + ENQUIRY * 3 + OVERRUN[60:90]
    hardware = make_demo(make=make, target=form, buffer=SMALL_BUFFER)
    reports = reports_of(answer(*hardware, [sent, Silence(5000), ENQUIRY]))
    assert 2 <= len(reports) < 5
    for text, counts in reports:
        lost = text.count("lost: overrun\r\n")
        answered = len(text) if shown == "repaired" else text.count("\r\n") - lost
        assert counts["bytes"] == counts["characters"] == answered
        assert sum(counts.values()) == 2 * answered + counts["overruns"]
        assert (counts["overruns"] == lost) or shown == "repaired"
    assert reports[-1][1]["overruns"]
    if shown == "repaired":
        remaining = iter(sent.decode("latin-1"))
        assert all(character in remaining for character in reports[-1][0])


def check_statistics(hardware) -> None:
    """Carries over several digits, of counters side by side."""
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

    simulator = Simulator(hardware)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert max(sent.values()) > 2000
    assert read == [f"{sent[number]:016}" for number in range(len(COUNTS))]


def test_statistics_that_count_far():
    check_statistics(Statistics())
    namespace = {"__name__": "utf8_demo.edited", "__package__": "utf8_demo"}
    source = inspect.getsource(statistics)
    good, bad = "now.digit + 1", "now.digit | 1"  # the third digit is never reached
    assert source.count(good) == 1
    exec(source.replace(good, bad), namespace)
    with pytest.raises(AssertionError):
        check_statistics(namespace["Statistics"]())


def reports_of(written: str) -> list[tuple[str, Counter[str]]]:
    """What is written before each report, without reports; and the report."""
    line = "".join(rf"{re.escape(name)} (\d+)\r\n" for name in COUNTS)
    found = []
    for piece in re.finditer(line, written):
        text = re.sub(line, "", written[: piece.start()])
        found.append((text, Counter(dict(zip(COUNTS, map(int, piece.groups()), strict=True)))))
    return found


@pytest.mark.sample
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("cycles", [8.039, 9, 13])
def test_far_end_with_another_idea_of_the_baud_rate(cycles, rate):
    """As in `RATES`, with more cycles in a bit than eight, and with a clock that is 0.49 % off."""
    assert answer(*make_demo(cycles), EDGES, RATES[rate]) == expected_answer(EDGES, PAUSE)


@pytest.mark.parametrize("error", [-0.08, 0.08])
def test_a_baud_rate_that_is_far_off_is_noticed(error):
    """So the test above could fail."""
    with pytest.raises(AssertionError):
        assert answer(*make_demo(), EDGES, error) == expected_answer(EDGES, PAUSE)


@pytest.mark.sample(2)
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_every_profile(profile):
    """Up to eleven digits in `extended`; as few as there are, but never below four."""
    parts = [b"\x00\xff\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xef\xbf\xbf\xf0\x90\x80\x80\xfe\x82\x80"]
    tokens_of = partial(naive_tokens, profile=profile)
    written = answer(*make_demo(profile=profile), parts)
    assert written == expected_answer(parts, PAUSE, tokens_of)
    assert ("U+3FFFFFFFFFF\r\n" in written) == (profile is EXTENDED)
    assert ("error noncharacter (3 bytes)" in written) == (profile is not UNICODE)
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
@settings(max_examples=6, deadline=None)
@given(PARTS, st.floats(-0.03, 0.03), st.sampled_from([8, 11]), st.sampled_from([*SHOWN]))
def test_any_bytes_gaps_and_damage(parts, error, cycles, shown):
    """A little silence after each part, so that the next byte begins where it should."""
    parts = [piece for part in parts for piece in (part, Silence(2))]
    scaled = PAUSE * (1 + error)
    form, given = SHOWN[shown]
    written = answer(*make_demo(cycles, target=form), parts, error)
    assert written == expected_answer(parts, scaled, given=given)


@pytest.mark.parametrize("depth", [ReceiveBuffer.SMALLEST, 4, 16])
def test_buffer_keeps_one_byte_less_than_it_has_places(depth):
    """The last place is for the notice. What is cut off there is the end of a text."""
    *others, last = (ord("A") + number for number in range(depth - 1))
    kept = [*((value, Mark.BYTE) for value in others), (last, Mark.LAST_BYTE)]
    assert entries(depth, depth - 1) == kept
    assert entries(depth, depth) == [*kept, (0, Mark.OVERRUN)]
    assert entries(depth, depth + 9) == [*kept, (0, Mark.OVERRUN)]


def entries(depth: int, count: int) -> list[tuple[int, Mark]]:
    """What a buffer gives after so many bytes have come while nothing was taken, and silence."""
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

    simulator = Simulator(buffer)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def test_cycles_of_a_bit():
    assert cycles_per_bit(12e6, 115_200) == 104
    assert cycles_per_bit(25e6, 3_125_000) == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baud": 0}, "baud must be above 0 and at most 1500000, an eighth of the clock, not 0"),
        ({"baud": 2_000_000}, "at most 1500000"),
        ({"baud": 1_400_000}, r"within 0.5 % of the clock divided .* such as 1333333, not"),
        ({"baud": 115_200, "buffer": 2}, "buffer must be 3 or more, not 2"),
    ],
)
def test_what_the_clock_or_the_buffer_cannot_give(options, message):
    with pytest.raises(ValueError, match=message):
        Demo(clock_hz=12e6, **options)


def test_a_pause_is_at_least_the_time_of_a_byte():
    hardware = Demo(clock_hz=8 * BAUD, baud=BAUD, pause=0)
    assert answer(hardware, 8 * BAUD, BAUD, ["€".encode()]) == "U+20AC\r\n"


class SlowDecoder(wiring.Component):
    """A decoder with some cycles more of latency."""

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
    """The class with a `SlowDecoder`, and an edit to the source of one of its modules."""
    namespace = {"__name__": "utf8_demo.edited", "__package__": "utf8_demo"}
    exec(inspect.getsource(demo), namespace)
    exec(inspect.getsource(module).replace(good, bad), namespace)
    namespace["Decoder"] = SlowDecoder
    return namespace["Demo"]


LATENCIES = {"slow": slow_demo(), "compact": partial(Demo, compact=True)}


@pytest.mark.sample
@pytest.mark.parametrize("case", ["missing stop bits", "overrun"])
@pytest.mark.parametrize("make", LATENCIES.values(), ids=LATENCIES)
def test_latency_of_the_decoder_does_not_matter(case, make):
    """Notices of lost bytes keep their place behind the tokens of the text before."""
    check(case, make)


# What is wrong with a demo, the edit to the source of its module that makes it so, the case that
# shows it, and what that demo shows if not tokens.
BREAKS = {
    "bits sampled at their end": (
        uart, "(self.cycles - 3) // 2", "self.cycles - 3", "3.5 % faster",
    ),
    "a break is many bytes": (uart, 'm.next = "BREAK"', 'm.next = "IDLE"', "break"),
    "no stop bit needed": (uart, "received.eq(line)", "received.eq(1)", "missing stop bits"),
    "a disturbance begins a byte": (
        uart,
        'with m.If(line):\n                    m.next = "IDLE"\n                with m.Else():\n'
        '                    m.next = "DATA"',
        'm.next = "DATA"',
        "disturbances",
    ),
    "bits sampled at their beginning": (uart, "(self.cycles - 3) // 2", "0", "3.5 % slower"),
    "bits sent in the wrong order": (uart, "self.i.payload,", "self.i.payload[::-1],", "text"),
    "no stop bit sent": (uart, "count.eq(10)", "count.eq(9)", "text"),
    "silence ends no text": (
        receive_buffer, "(event | text_ends)", "event", "a text ends in silence",
    ),
    "any gap ends a text": (receive_buffer, "== self.pause", "== 2", "a short gap ends nothing"),
    "overrun without a notice": (
        receive_buffer,
        "notice.eq(Mark.OVERRUN), notice_waits.eq(1)",
        "notice.eq(Mark.OVERRUN)",
        "overrun",
    ),
    "no room for the notice": (
        receive_buffer, "self.depth - self.SMALLEST", "self.depth - 1", "overrun",
    ),
    "bytes lost in many places": (receive_buffer, "ignoring.eq(1)", "ignoring.eq(0)", "overrun"),
    "a text goes on after a loss": (
        receive_buffer, "self.received & ~enquiry & ~full", "event", "missing stop bits",
    ),
    "a text ends with each byte": (
        receive_buffer, "self.received & ~enquiry & ~full", "0", "text",
    ),
    "a notice comes too early": (
        demo, "~decoder.o.valid & ~ending.any()", "~decoder.o.valid", "missing stop bits",
    ),
    "needless zeros": (line_writer, "needless = leading", "needless = 0", "text"),
    "no zero after a digit": (line_writer, "leading & (digit == 0) &", "(digit == 0) &", "text"),
    "too few zeros": (line_writer, "Mux(is_count, 1, FEWEST_DIGITS)", "1", "text"),
    "digits above nine": (line_writer, 'ord("A") - 10', 'ord("0")', "text"),
    "one byte is some": (line_writer, "length == 1", "length == 0", "hostile"),
    "an enquiry is text": (
        receive_buffer, "enquiry.eq(self.received & (self.data == ENQUIRY))", "enquiry.eq(0)",
        "enquiry",
    ),
    "an enquiry ends no text": (
        receive_buffer, "self.received & ~enquiry & ~full", "self.received & ~full",
        "enquiry inside a character",
    ),
    "a carry is lost": (statistics, "~carries | now.digit.all()", "1", "more than nine"),
    "ten is a digit": (statistics, "read.data == 9", "read.data == 10", "more than nine"),
    "a digit is added to the next counter": (
        statistics, "following.count.eq(now.count)", "following.count.eq(now.count + 1)",
        "more than nine",
    ),
    "errors are characters": (demo, "+ Value.cast(decoder.o.p.kind)", "+ 0", "enquiry"),
    "bytes are not counted": (
        demo, "statistics.i.valid.eq(takes_byte)", "statistics.i.valid.eq(0)", "enquiry",
    ),
    "losses are not counted": (
        demo, "statistics.i.valid.eq(takes_notice),", "", "enquiry and missing stop bits",
    ),
    "losses are overruns": (
        demo, "Mux(mark == Mark.OVERRUN, OVERRUNS, FRAMING_ERRORS)", "OVERRUNS",
        "enquiry and missing stop bits",
    ),
    "the report has one count": (line_writer, "count.eq(count + 1)", "count.eq(count)", "enquiry"),
    "counts of four digits": (
        line_writer, "Mux(is_count, 1, FEWEST_DIGITS)", "FEWEST_DIGITS", "enquiry",
    ),
    "no zero after another count": (line_writer, "is_last | ", "", "enquiry"),
    "counted during the report": (
        demo, "free.eq(statistics.i.ready & writer.i.ready)", "free.eq(statistics.i.ready)",
        "enquiries in a row",
    ),
    "a notice before the units": (
        demo, "~decoder.o.valid & ~ending.any()", "~decoder.o.valid & ~ending[0]",
        "enquiry", "units",
    ),
    "a loss in repaired text": (
        demo, "int(self._writes_losses)", "1", "missing stop bits", "repaired",
    ),
    "bytes of a beat lost": (
        units, "(self.o.ready & is_last)", "self.o.ready", "text", "repaired",
    ),
    "a beat without an end": (
        units, "is_last.eq(Array([*~kept[1:], 1])[place])", "is_last.eq(0)", "one character",
        "units",
    ),
    "a beat begins where the last one ended": (
        units, "place.eq(0)", "place.eq(place)", "text", "repaired",
    ),
    "a text is not flushed": (
        demo, "each.i.p.last.eq(mark == Mark.LAST_BYTE)", "each.i.p.last.eq(0)", "one character",
        "repaired",
    ),
    "the pause is not busy": (
        receive_buffer, "byte_waits | notice_waits", "notice_waits", "one character",
    ),
}  # fmt: skip


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_demo_is_caught(name):
    module, good, bad, *case = BREAKS[name]
    assert inspect.getsource(module).count(good) == 1
    case, shown = [*case, "tokens"][:2]
    with pytest.raises(AssertionError):
        check(case, slow_demo(module, good, bad), shown)


@pytest.mark.long
@needs("iverilog")
@pytest.mark.parametrize(
    ("shown", "clock", "error"),
    [
        (shown, *((25_000_000, -0.03) if number % 2 else (12_000_000, 0.03)))
        for number, shown in enumerate(SHOWN)
    ],
)
def test_verilog_of_the_demo_on_another_bench(tmp_path, clock, error, shown):
    """The demo of a board, complete, in Icarus Verilog: real clock, rate, pause and buffer."""
    text = "naïve €😀".encode() + b"\xc0\xaf\xed\xa0\x80|\x05\x05A\xf0\x9f\x98"
    form, given = SHOWN[shown]
    hardware = Demo(clock_hz=clock, baud=115_200, target=form)
    source = tmp_path / "demo.v"
    source.write_text(verilog.convert(hardware, name="utf8_demo", emit_src=False))
    written = bench_output(tmp_path, text, clock, 115_200 * (1 + error), "-g2001", source)
    assert written == expected_answer([text], 1, given=given)


@needs("iverilog")
@pytest.mark.parametrize(("error", "agree"), [(0.03, True), (0.08, False)])
def test_the_other_bench_can_fail(tmp_path, error, agree):
    hardware, clock_hz, baud = make_demo()
    source = tmp_path / "demo.v"
    source.write_text(verilog.convert(hardware, name="utf8_demo", emit_src=False))
    written = bench_output(tmp_path, EDGES[0], clock_hz, baud * (1 + error), "-g2001", source)
    assert (written == token_lines(ref_tokens(EDGES[0]))) == agree


@pytest.mark.sample(1)
@pytest.mark.parametrize("shown", SHOWN)
def test_conversation_in_the_docs(shown):
    """What `printf` sends there, and what comes back."""
    page = (Path(__file__).parents[2] / "docs/demo.md").read_text(encoding="utf-8")
    talks = re.findall(r"^\$ printf '(\S.*)' > \S+\n((?:(?!\$|```).*\n)+)", page, re.M)
    by_form = {"0x": "units", "na": "repaired"}
    chosen = [talk for talk in talks if by_form.get(talk[1][:2], "tokens") == shown]
    assert len(chosen) == {"tokens": 4, "units": 1, "repaired": 1}[shown]
    for sent, answered in chosen:
        text = sent.encode("ascii").decode("unicode_escape").encode("latin-1")
        written = answer(*make_demo(target=SHOWN[shown][0]), [text])
        found = written.encode("latin-1").decode("utf-8").replace("\r\n", "\n")
        assert found == answered
