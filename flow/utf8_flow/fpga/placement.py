"""How fast a design is on a device: through nextpnr, with several seeds, on all cores."""

import json
import tempfile
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from utf8_hdl import ErrorSpan, Profile
from utf8_sim.tools.cores import on_all_cores
from utf8_sim.tools.errors import Refused
from utf8_sim.tools.yowasp import need_packages, prepare, run_yowasp

from ..designs import make_design
from ..terminal import progress_bar
from .synthesis import DEVICES, YOSYS, Netlist, synthesize

CONTROLS = {"CEN": " (enable)", "CE": " (enable)", "SR": " (reset)", "LSR": " (reset)"}
"""Ports of a register that are not its data, on all devices, and how a path's end is marked."""

SEEDS = 1 << 31
"""How many seeds nextpnr tells apart."""


class Job(NamedTuple):
    """A design for a device."""

    component: str
    profile: Profile
    device: str
    #: The fields of the output that are used.
    fields: tuple[str, ...]
    compact: bool = False


class Run(NamedTuple):
    """What one placement with its routing came to."""

    seed: int
    #: The highest frequency of the clock, in MHz.
    mhz: float
    #: The registers between which the critical path runs.
    start: str
    end: str
    #: Lookup tables, slice multiplexers and carries on the way.
    levels: int


class Measured(NamedTuple):
    """What a design came to."""

    job: Job
    netlist: Netlist
    runs: list[Run]


def packages_for(devices: Iterable[str]) -> list[str]:
    """The PyPI packages that synthesise, place and route for some of ``DEVICES``."""
    return [YOSYS, *dict.fromkeys(DEVICES[device].placer for device in devices)]


def choose_jobs(
    components: list[str],
    profiles: list[Profile],
    devices: list[str],
    fields: str | None,
    compact: bool = False,
) -> list[Job]:
    """What is to be measured: all combinations.

    Parameters
    ----------
    components : list of str
        ``decoder``, ``encoder`` or both.
    profiles : list of Profile
        In which profiles.
    devices : list of str
        For which devices.
    fields : str or None
        The fields of the output that are used, with commas between; all, if there is none.
    compact : bool
        Whether the designs have one register stage only.

    Raises
    ------
    Refused
        If an output has no such field, or a tool is missing.
    """
    need_packages("synthesize", packages_for(devices), "fpga")
    jobs = []
    for component, rules, device in product(components, profiles, devices):
        profile = rules
        if component == "encoder":  # to which the span of an error means nothing
            profile = replace(rules, error_span=ErrorSpan.MAXIMAL_SUBPART)
        known = list(make_design(component, profile, compact).o.payload.shape().members)
        wanted = known if fields is None else fields.split(",")
        for field in wanted:
            if field not in known:
                raise Refused(
                    f"unknown --fields {field!r} of the {component}: choose from {', '.join(known)}"
                )
        used = tuple(field for field in known if field in wanted)
        jobs.append(Job(component, profile, device, used, compact))
    return list(dict.fromkeys(jobs))


def measure(jobs: list[Job], seeds: Collection[int]) -> list[Measured]:
    """Synthesise designs, then place and route each with every seed.

    Parameters
    ----------
    jobs : list of Job
        The designs.
    seeds : collection of int
        The seeds; none, to synthesise only.

    Returns
    -------
    list of Measured
        In the order of jobs and seeds.

    Raises
    ------
    ToolError
        If a tool fails.
    """
    with progress_bar() as progress:
        packages = packages_for(job.device for job in jobs)
        task = progress.add_task("tools (slow the first time)", total=len(packages))
        for package in packages:
            prepare(package)
            progress.advance(task)
        progress.update(task, description="synthesis", completed=0, total=len(jobs))
        netlists: dict[Job, Netlist] = {}
        for job, netlist in on_all_cores(_synthesize, jobs):
            netlists[job] = netlist
            progress.advance(task)
        trials = [(netlists[job], job, seed) for job, seed in product(jobs, seeds)]
        progress.update(task, description="place and route", completed=0, total=len(trials))
        runs: dict[tuple[Job, int], Run] = {}
        for (_, job, seed), run in on_all_cores(_place_and_route, trials):
            runs[job, seed] = run
            progress.advance(task)
    return [Measured(job, netlists[job], [runs[job, seed] for seed in seeds]) for job in jobs]


def _synthesize(job: Job) -> Netlist:
    design = make_design(job.component, job.profile, job.compact)
    return synthesize(design, DEVICES[job.device], job.fields)


def _place_and_route(trial: tuple[Netlist, Job, int]) -> Run:
    netlist, _, seed = trial
    return place_and_route(netlist, seed)


def place_and_route(netlist: Netlist, seed: int) -> Run:
    """Place and route a design once.

    Only paths between registers count: those to and from the pins are the harness's.

    Parameters
    ----------
    netlist : Netlist
        The design.
    seed : int
        What the placement depends on.

    Raises
    ------
    ToolError
        If nextpnr fails.
    """
    device = netlist.device
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "design.json").write_text(netlist.text)
        # No frequency is asked for: it does its best, whatever that is, and only the verdict
        # depends on it.
        arguments = "--json", "design.json", "--report", "report.json", "--seed", str(seed)
        run_yowasp(device.placer, *device.options, *arguments, "--quiet", folder=folder)
        report = json.loads((folder / "report.json").read_text())
    (clock,) = report["fmax"].values()
    (path,) = (
        path["path"]
        for path in report["critical_paths"]
        if "<async>" not in (path["from"], path["to"])
    )
    start, end = path[0]["from"], path[-1]["to"]
    return Run(
        seed,
        round(clock["achieved"], 2),
        netlist.register_name(start["cell"]),
        netlist.register_name(end["cell"]) + CONTROLS.get(end["port"], ""),
        _levels(path),
    )


def _levels(path: list[dict[str, Any]]) -> int:
    """Steps of logic on a path.

    On iCE40 the last lookup table is in one cell with the register, where it counts as set-up;
    a register without one has a cell with another ending.
    """
    end = path[-1]["to"]
    joined = end["cell"].endswith("_LC") and end["port"] not in CONTROLS
    return sum(step["type"] == "logic" for step in path) + joined
