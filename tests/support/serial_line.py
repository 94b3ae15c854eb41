"""The far end of a serial line, with its own clock, and the expected answer of a demo.

Bits are timed in seconds. The answer is derived from the tokens, and uses no code of the project.
"""

import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from amaranth.sim import Simulator

from reference import RefToken, ref_tokens
from utf8_demo.demo import Demo

LONGEST_LINE, LONGEST_REPORT = 50, 500
"""Maximum number of characters in a line of a demo, and in a report."""

ENQUIRY = b"\x05"

COUNTS = (
    "bytes",
    "characters",
    "error unexpected-continuation",
    "error invalid-byte",
    "error overlong",
    "error surrogate",
    "error out-of-range",
    "error truncated",
    "error noncharacter",
    "overruns",
    "framing-errors",
)
"""The lines of a report, without their numbers."""


class Silence(NamedTuple):
    """The line is high for a number of bit times."""

    bits: float


class Low(NamedTuple):
    """The line is low for a number of bit times: a disturbance, or a break."""

    bits: float


class Damaged(NamedTuple):
    """A byte whose stop bit is low. The line is high for a bit time after it."""

    value: int


Part = bytes | Silence | Low | Damaged


def frame(value: int, stop: int = 1) -> Iterator[tuple[int, float]]:
    """A byte on the line: levels and their durations in bit times."""
    bits = (value >> place & 1 for place in range(8))
    return ((level, 1) for level in (0, *bits, stop))


def levels(part: Part) -> Iterable[tuple[int, float]]:
    match part:
        case Silence(bits):
            return [(1, bits)]
        case Low(bits):
            return [(0, bits)]
        case Damaged(value):
            return [*frame(value, stop=0), (1, 1)]
    return chain.from_iterable(map(frame, part))


def answer(
    demo: Demo, clock_hz: float, baud: float, parts: Iterable[Part], error: float = 0.0
) -> str:
    """The output of a demo for the parts, which are sent without gaps between bytes.

    The baud rate of the far end is higher by ``error``, 0.03 for 3 %.
    """
    bit = 1 / baud / (1 + error)
    parts = list(parts)
    sent = [level for part in parts for level in levels(part)]
    enquiries = sum(part.count(ENQUIRY) for part in parts if isinstance(part, bytes))
    patience = (len(sent) // 10 + 10) * LONGEST_LINE + enquiries * LONGEST_REPORT
    received = bytearray()
    simulator = Simulator(demo)
    simulator.add_clock(1 / clock_hz)

    async def send(ctx):
        await ctx.delay(5.3 * bit)
        assert not ctx.get(demo.busy)
        for level, bits in sent:
            ctx.set(demo.rx, level)
            await ctx.delay(bits * bit)
        ctx.set(demo.rx, 1)
        await ctx.delay(bit)
        for _ in range(patience):
            if not ctx.get(demo.busy):
                break
            await ctx.delay(10 * bit)
        assert not ctx.get(demo.busy), "the demo does not come to an end"
        complete = len(received)
        await ctx.delay(100 * bit)
        assert len(received) == complete

    async def listen(ctx):
        while True:
            await ctx.negedge(demo.tx)
            await ctx.delay(1.5 * bit)
            value = 0
            for place in range(8):
                value |= ctx.get(demo.tx) << place
                await ctx.delay(bit)
            assert ctx.get(demo.tx), "no stop bit"
            received.append(value)

    simulator.add_testbench(send)
    simulator.add_testbench(listen, background=True)
    simulator.run()
    return received.decode("latin-1")


def token_lines(tokens: Iterable[RefToken]) -> str:
    return "".join(
        f"error {token.error} ({token.length} byte{'s' if token.length > 1 else ''})\r\n"
        if token.error
        else f"U+{token.code_point:04X}\r\n"
        for token in tokens
    )


def unit_lines(text: bytes, codec: str = "utf-8") -> str:
    """The lines for CPython's units of UTF-16."""
    units = text.decode(codec, "replace").encode("utf-16-be")
    return "".join(f"0x{units[n : n + 2].hex().upper()}\r\n" for n in range(0, len(units), 2))


def repaired(text: bytes, codec: str = "utf-8") -> str:
    """The text with CPython's U+FFFD for errors; its bytes as characters."""
    return text.decode(codec, "replace").encode().decode("latin-1")


def report(counts: Counter[str]) -> str:
    """The answer to an enquiry."""
    return "".join(f"{name} {counts[name]}\r\n" for name in COUNTS)


def events(parts: Iterable[Part], pause: float) -> Iterator[bytes | str]:
    """Texts, some of them empty, and the events between them: ``enquiry``, ``loss``.

    A line that is low for longer than a byte is a break. ``pause`` bit times of silence end a text.
    """
    text = b""
    for part in [*parts, Silence(pause)]:
        if isinstance(part, bytes):
            first, *others = part.split(ENQUIRY)
            text += first
            for other in others:
                yield from (text, "enquiry")
                text = other
            continue
        lost = isinstance(part, Damaged) or (isinstance(part, Low) and part.bits > 10)
        if lost or (isinstance(part, Silence) and part.bits >= pause):
            yield text
            text = b""
        if lost:
            yield "loss"


def expected_answer(
    parts: Iterable[Part],
    pause: float,
    tokens_of: Callable[[bytes], list[RefToken]] = ref_tokens,
    given: Callable[[bytes], str] | None = None,
) -> str:
    """The expected output of a demo whose buffer is never overrun.

    ``given`` converts a text; by default, to the lines of its tokens. `repaired` shows no losses.
    """
    written, counts = "", Counter[str]()
    for event in events(parts, pause):
        if isinstance(event, bytes):
            tokens = tokens_of(event)
            counts["bytes"] += len(event)
            counts.update(f"error {t.error}" if t.error else "characters" for t in tokens)
            written += given(event) if given else token_lines(tokens)
        elif event == "enquiry":
            written += report(counts)
        else:
            counts["framing-errors"] += 1
            written += "" if given is repaired else "lost: framing error\r\n"
    return written


def bench_output(folder: Path, text: bytes, clock_hz: int, baud: float, *arguments: object) -> str:
    """The output of a module `utf8_demo` in the bench `serial_line.v`, in Icarus Verilog.

    ``arguments`` are for the compiler: options, and the sources of the module.
    """
    (folder / "bytes.hex").write_text("\n".join(f"{byte:02x}" for byte in text))
    numbers = {"CLOCK_HZ": clock_hz, "BAUD": baud, "COUNT": len(text)}
    options = ["-s", "serial_line", *(f"-Pserial_line.{name}={n}" for name, n in numbers.items())]
    bench = Path(__file__).with_name("serial_line.v")
    subprocess.run(
        ["iverilog", *options, "-o", "bench", bench, *map(str, arguments)], cwd=folder, check=True
    )
    run = subprocess.run(["vvp", "-n", "bench"], cwd=folder, check=True, capture_output=True)
    return run.stdout.decode("latin-1")
