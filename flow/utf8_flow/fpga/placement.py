"""Area and clock frequency of designs on devices, from nextpnr with several seeds."""

import json
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from utf8_hdl import Profile
from utf8_sim.tools.cores import Workers
from utf8_sim.tools.errors import ToolError, UsageError, WrongValue
from utf8_sim.tools.yowasp import YOSYS, need_packages, prepare, run_yowasp

from ..designs import DesignSpec, possible
from ..terminal import progress_bar
from .families import DEVICES
from .synthesis import CLOCK, Netlist, synthesize

SEEDS = 1 << 31
"""Number of different seeds of nextpnr."""


class Job(NamedTuple):
    """A design for a device."""

    spec: DesignSpec
    device: str
    #: Output payload fields that are used.
    fields: tuple[str, ...]

    def netlist(self, registered: bool = False) -> Netlist:
        """Netlist of the design in its harness, see :class:`~utf8_flow.fpga.synthesis.Harness`."""
        return synthesize(self.spec.make(), DEVICES[self.device], self.fields, registered)


class Area(NamedTuple):
    """The area of a design, without its harness."""

    registers: int
    lookup_tables: int
    #: As packed by nextpnr.
    logic_cells: int
    memory_blocks: int


class Run(NamedTuple):
    """Result of one run of place and route."""

    seed: int
    #: Maximum clock frequency in MHz.
    mhz: float
    #: Registers at the ends of the critical path.
    start: str
    end: str


class Measured(NamedTuple):
    """Results of a job."""

    job: Job
    area: Area
    runs: list[Run]


def packages_for(devices: Iterable[str]) -> list[str]:
    """The PyPI packages that synthesise, place and route for the devices."""
    return [YOSYS, *dict.fromkeys(DEVICES[device].family.placer for device in devices)]


def choose_jobs(
    chosen: list[DesignSpec],
    profiles: list[Profile],
    devices: list[str],
    fields: str | None,
) -> list[Job]:
    """Jobs for all possible combinations. Without ``fields``, all output fields have pins."""
    need_packages("synthesize", packages_for(devices), "fpga")
    jobs = []
    for spec in possible(spec.under(profile) for spec, profile in product(chosen, profiles)):
        known = list(spec.make().o.payload.shape().members)
        wanted = known if fields is None else fields.split(",")
        for field in wanted:
            if field not in known:
                raise WrongValue(
                    f"fields of the {spec.label} must be among {', '.join(known)}, not {field!r}"
                )
        used = tuple(field for field in known if field in wanted)
        jobs += [Job(spec, device, used) for device in devices]
    return jobs


def measure(jobs: list[Job], seeds: Collection[int], workers: Workers) -> list[Measured]:
    """Synthesise designs, then place and route each with every seed."""
    with progress_bar() as progress:
        packages = packages_for(job.device for job in jobs)
        task = progress.add_task("tools (slow the first time)", total=len(packages))
        for package in packages:
            prepare(package)
            progress.advance(task)
        progress.update(task, description="synthesis", completed=0, total=len(jobs))
        areas: dict[Job, Area] = {}
        netlists: dict[Job, Netlist] = {}
        for (job, _), found in workers.do(_synthesize, [(job, bool(seeds)) for job in jobs]):
            areas[job], netlists[job] = found
            progress.advance(task)
        trials = [(job, netlists[job], seed) for job, seed in product(jobs, seeds)]
        progress.update(task, description="place and route", completed=0, total=len(trials))
        runs: dict[tuple[Job, int], Run] = {}
        for (job, _, seed), run in workers.do(_place_and_route, trials):
            runs[job, seed] = run
            progress.advance(task)
    return [Measured(job, areas[job], [runs[job, seed] for seed in seeds]) for job in jobs]


def _synthesize(wanted: tuple[Job, bool]) -> tuple[Area, Netlist]:
    """The area of a design, and its netlist, in a harness with registers if it is routed later."""
    job, routed = wanted
    bare = job.netlist()
    return measure_area(bare), job.netlist(registered=True) if routed else bare


def _place_and_route(trial: tuple[Job, Netlist, int]) -> Run:
    return place_and_route(*trial[1:])


def measure_area(netlist: Netlist) -> Area:
    """Area of a design in a harness without registers."""
    family = netlist.device.family
    with _reading(family.placer):
        report, log = _nextpnr(netlist, family.counting)
        used, _ = family.logic_cells(report, log)
        blocks = report["utilization"][family.memory]["used"]
        return Area(netlist.registers, netlist.lookup_tables, used, blocks)


def place_and_route(netlist: Netlist, seed: int) -> Run:
    """Place and route a design once.

    Only paths between registers count. Paths to and from the pins belong to the harness.
    """
    with _reading(netlist.device.family.placer):
        # Without a target frequency, nextpnr does its best.
        report, _ = _nextpnr(netlist, "--seed", str(seed))
        return _run_of(report, netlist, seed)


def _run_of(report: dict[str, Any], netlist: Netlist, seed: int) -> Run:
    ((name, clock),) = (
        (name, clock)
        for name, clock in report["fmax"].items()
        if re.search(rf"\b(harness_)?{CLOCK}\b", name)
    )
    (path,) = (
        path["path"]
        for path in report["critical_paths"]
        if path["from"] == path["to"] == f"posedge {name}"
    )
    start, end = path[0]["from"], path[-1]["to"]
    control = netlist.device.family.controls.get(end["port"])
    return Run(
        seed,
        round(clock["achieved"], 2),
        netlist.source_name(start["cell"]),
        netlist.source_name(end["cell"]) + (f" ({control})" if control else ""),
    )


@contextmanager
def _reading(placer: str) -> Iterator[None]:
    """Convert an error in reading a report to a ``ToolError`` that names the program."""
    try:
        yield
    except UsageError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, StopIteration) as error:
        why = f"{type(error).__name__}: {error}"
        raise ToolError(
            f"cannot read the report of {placer} ({why}): its version may not be supported"
        ) from error


def _nextpnr(netlist: Netlist, *arguments: str) -> tuple[dict[str, Any], str]:
    """Run nextpnr; return its report and its log."""
    device = netlist.device
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.json").write_text(netlist.text)
        (folder / "pins.txt").write_text(device.pins)
        files = "--json", "design.json", "--report", "report.json", "--log", "log.txt", "--quiet"
        run_yowasp(device.family.placer, *device.options, *files, *arguments, folder=folder)
        return json.loads((folder / "report.json").read_text()), (folder / "log.txt").read_text()
