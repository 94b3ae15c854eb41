"""Measure work on a Dask cluster on this machine: data sent, cost of a unit, and scaling.

`make bench-cluster` prints the results as tables for docs/cluster.md. Workers are processes on the
loopback address; their number goes from one to the number of cores. Each piece of work runs once
before it is measured, so that compilation is not included.
"""

import argparse
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.hdl import UnusedElaboratable

from bench import processor, progress
from dask_cluster import dask_cluster
from utf8_flow.cli.choices import Stalling
from utf8_flow.designs import DesignSpec
from utf8_flow.formal.mutation import Trial, circuits, make_mutants
from utf8_flow.fpga.placement import Job, _place_and_route, _synthesize
from utf8_flow.markdown import aligned_table
from utf8_flow.verify.proofs import attempt, choose_goals
from utf8_flow.verify.runner import outcome_of
from utf8_flow.verify.sources import Exhaustive
from utf8_hdl import UNICODE
from utf8_sim.tools.cluster import Cluster
from utf8_sim.tools.cores import Cores, Workers, cores


class Piece(NamedTuple):
    """A piece of work, and its command."""

    command: str
    work: Callable[[Any], Any]
    items: Sequence[Any]


def pieces() -> Iterator[Piece]:
    """A part of the work of each command with the option `--cluster`."""
    decoder, encoder = DesignSpec("decoder"), DesignSpec("encoder", compact=True)
    plan = Exhaustive(spec=decoder, engine="cxxrtl", seed=0, length=4)
    work = partial(outcome_of, plan, False)
    yield Piece("`compare --exhaustive 4`", work, range(100))
    yield Piece("`prove`", attempt, choose_goals([decoder], None, [UNICODE]))
    mutants = make_mutants(encoder, 30, 0)
    trial = Trial(mutants, circuits(mutants), Stalling(0).modes(), 0)
    yield Piece("`mutate`", trial.judge, range(1, 1 + len(mutants.places)))
    job = Job(encoder, "ice40-hx8k", ("data", "error", "last"))
    _, netlist = _synthesize((job, True))
    yield Piece("`synthesize`", _place_and_route, [(job, netlist, seed) for seed in range(6)])


class Measured(NamedTuple):
    """Seconds for all units of a piece, CPU seconds of this process, and bytes returned."""

    seconds: float
    busy: float
    returned: int


def measure(workers: Workers, piece: Piece) -> Measured:
    """Measure a piece of work."""
    begin, busy = time.monotonic(), time.process_time()
    results = [result for _, result in workers.do(piece.work, piece.items)]
    seconds, busy = time.monotonic() - begin, time.process_time() - busy
    returned = sum(len(pickle.dumps(result)) for result in results)
    return Measured(seconds, busy, returned)


def measure_all(rounds: int) -> dict[str, list[Measured]]:
    """The fastest run of each command: with one worker, two, and so on; last without a cluster."""
    work = list(pieces())
    best: dict[str, list[Measured]] = {piece.command: [] for piece in work}

    def add(workers: Workers) -> None:
        for piece in work:
            progress(f"{workers}: {piece.command}")
            measure(workers, piece)  # compiles everything
            best[piece.command].append(min(measure(workers, piece) for _ in range(rounds)))

    for count in range(1, cores() + 1):
        with (
            tempfile.TemporaryDirectory() as name,
            dask_cluster(Path(name), count) as started,
            Cluster(started.address, []) as workers,
        ):
            add(workers)
    add(Cores())
    return best


def costs(best: dict[str, list[Measured]]) -> list[list[str]]:
    """Bytes sent, time of a unit, and the number of workers that one command can keep busy."""
    columns = "units", "sent per unit", "received", "time per unit", "command's time"
    rows = [["", *columns, "workers kept busy"]]
    for piece in pieces():
        alone, units = best[piece.command][0], len(piece.items)
        sent = sum(len(pickle.dumps((piece.work, item))) for item in piece.items)
        sizes = map(_shown, (sent / units, alone.returned / units))
        takes = f"{alone.seconds / units:.2f} s", f"{alone.busy / units * 1000:.1f} ms"
        rows.append(
            [piece.command, str(units), *sizes, *takes, f"{alone.seconds / alone.busy:.0f}"]
        )
    return rows


def scaling(best: dict[str, list[Measured]]) -> list[list[str]]:
    """The times with an increasing number of workers."""
    counts = [f"{n} worker{'s' * (n > 1)}" for n in range(1, cores() + 1)]
    rows = [["", *counts, "without a cluster"]]
    for command, measured in best.items():
        rows.append([command, *(f"{each.seconds:.1f} s" for each in measured)])
    return rows


def _shown(size: float) -> str:
    return f"{size / 1000:,.1f} kB"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of which the quickest counts")
    best = measure_all(parser.parse_args().rounds)
    print(f"On {cores()} cores of an {processor()}, Python {sys.version.split()[0]}:\n")
    print(*aligned_table(costs(best)), "", "How it scales:", "", sep="\n")
    print(*aligned_table(scaling(best)), sep="\n")


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    main()
