"""Work on the workers of a Dask scheduler: every unit once, whoever comes and goes meanwhile.

What Dask decides is only who is there. Each unit of work is for one worker; if that is gone, the
unit is handed out again. So a result cannot be counted twice.
"""

import asyncio
import hashlib
import importlib.util
import logging
import pickle
import platform
import queue
import sys
import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .cache import Files, contents
from .cores import IMPORTED, Item, Result
from .crew import PREPARE, Crew, Died, Outcome, pack_job
from .errors import ToolError
from .interrupts import interrupts_later
from .programs import compiler, find, run_tool, version_of
from .yowasp import need_packages

PACKAGE, EXTRA = "distributed", "cluster"

ANSWER = 10.0
"""Seconds in which a scheduler must answer."""

LOOK = 1.0
"""Seconds between two looks at which workers there are."""

PATIENCE = 60.0
"""Seconds in which one must come when none is left."""

MOST_DEATHS = 3
"""Of workers at the same unit of work: more, and it is the work that kills them."""

AHEAD = 2
"""Units that a worker has, the one that it does and one to go on with."""

CERTIFICATES = [
    f"DASK_DISTRIBUTED__COMM__TLS__{each}" for each in ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY")
]
"""Variables of the environment from which Dask knows what TLS needs."""

DISTRIBUTION = "utf8-hdl"

VERSION_OPTION = {"iverilog": "-V"}
"""How a program is asked for its version, if not by ``--version``."""


class Machine(NamedTuple):
    """What a machine has: versions by name, and what compiled designs depend on there."""

    versions: dict[str, str]
    kind: str


def this_machine(packages: Sequence[str], modules: Sequence[str]) -> Machine:
    """The versions of packages, of which some are programs, and a digest of our own sources."""
    sources = hashlib.sha256()
    for name in modules:
        for content in _sources(name):
            sources.update(content)
    own = f"{metadata.version(DISTRIBUTION)} ({sources.hexdigest()[:8]})"
    kind = [sys.platform, platform.machine(), *platform.libc_ver()]
    with suppress(ToolError):  # without a compiler, nothing is compiled
        command = compiler()
        kind += [*command, version_of(*command)]
    return Machine({DISTRIBUTION: own} | {each: _version(each) for each in packages}, repr(kind))


def _sources(module: str) -> list[bytes]:
    spec = importlib.util.find_spec(module)
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return list(chain(*(contents(Path(place)) for place in spec.submodule_search_locations)))
    return [Path(spec.origin or "").read_bytes()]


def _version(name: str) -> str:
    """The version of a package; of a program, if there is no such package."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    program = find(name)
    if program is None:
        return "none"
    return run_tool([program, VERSION_OPTION.get(name, "--version")]).splitlines()[0]


class Cluster:
    """The workers of a Dask scheduler, as :class:`~.cores.Workers`.

    Only those are used that have the same versions as this machine: of this package, of
    ``packages``, and of the modules in which components are registered. Of each other one a line on
    standard error says what it has. It is a context manager; when it is left, nothing of the work
    is left in the cluster. If there is no scheduler, or no worker that can be used, that is a
    `ToolError`.
    """

    def __init__(self, address: str, packages: Sequence[str]) -> None:
        need_packages("--cluster", [PACKAGE], EXTRA)
        self.address = address if "://" in address else f"tcp://{address}"
        self._host = _host(self.address)
        modules = {"utf8_hdl", "utf8_sim", *(name.partition(".")[0] for name in IMPORTED)}
        self._asked = tuple(packages), tuple(sorted(modules))
        self._here = this_machine(*self._asked)
        #: Of each worker that is there its kind of machine, or nothing if it is refused.
        self._known: dict[str, str | None] = {}
        self._refusals: list[str] = []
        self._context = ExitStack()

    def __enter__(self) -> "Cluster":
        import distributed  # noqa: PLC0415 - it is an extra

        # asyncio logs the tasks that a client leaves when it closes.
        for name in (PACKAGE, f"{PACKAGE}.client", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with ExitStack() as context:
            context.enter_context(warnings.catch_warnings())
            # Of other versions of Dask, for which we ask ourselves, and of large work.
            warnings.simplefilter("ignore")
            try:
                asyncio.run(asyncio.wait_for(_check_is_scheduler(self.address), ANSWER))
                client = distributed.Client(self.address, timeout=ANSWER, set_as_default=False)
            except Exception as error:  # anything can answer, with anything
                reason = str(error)
                if isinstance(error, asyncio.TimeoutError):
                    reason = f"it did not answer in {ANSWER:g} s"
                elif isinstance(error, TypeError) and self.address.startswith("tls:"):
                    reason = "it needs certificates: set " + ", ".join(CERTIFICATES)
                elif not isinstance(error, (OSError, ValueError, RuntimeError)):
                    reason = "another kind of server answers there"
                raise ToolError(
                    f"no Dask scheduler can be used at {self.address!r}: {reason}"
                ) from error
            context.callback(client.close)
            self.client = client
            self._check_workers()
            self._context = context.pop_all()
        return self

    def _check_workers(self) -> None:
        """Refuse a cluster in which nobody can work."""
        if self.look():
            return
        if not self._refusals:
            where = f" --host {self._host}" * (self._host in ("127.0.0.1", "::1", "localhost"))
            raise ToolError(
                f"the Dask scheduler at {self.address!r} has no worker: start them with "
                f"dask worker {self.address}{where} --nworkers auto --nthreads 1"
            )
        first, *more = self._refusals
        raise ToolError(f"{first}, and so are {len(more)} more" if more else first)

    def __exit__(self, *_error: object) -> None:
        with interrupts_later():
            self._context.close()

    def __str__(self) -> str:
        count = len(self.look())
        return f"{count} worker{'s' * (count != 1)} of {self.address}"

    def look(self) -> dict[str, str]:
        """The workers that are there and can be used, each with its kind of machine."""
        try:
            present = list(self.client.nthreads())
            new = [worker for worker in present if worker not in self._known]
            answers = self._ask(new) if new else {}
        except OSError as error:
            raise ToolError(f"the Dask scheduler at {self.address!r} is gone: {error}") from error
        self._known = {each: self._known[each] for each in present if each in self._known}
        for worker, answer in answers.items():
            objection = self._objection(answer)
            self._known[worker] = None if objection else answer.kind
            if objection:
                self._refusals.append(f"worker {worker} is refused: {objection}")
        usable = {worker: kind for worker, kind in self._known.items() if kind is not None}
        while usable and self._refusals:
            print(f"utf8-hdl: {self._refusals.pop(0)}", file=sys.stderr)
        return usable

    def _ask(self, workers: list[str]) -> dict[str, Any]:
        """What some workers have, or why one cannot say it; nothing of one that has just gone."""
        answers = self.client.run(this_machine, *self._asked, workers=workers, on_error="return")
        return {each: what for each, what in answers.items() if not isinstance(what, OSError)}

    def _objection(self, answer: Any) -> str:
        """Why a worker cannot be used, if it cannot."""
        if not isinstance(answer, Machine):
            return f"it cannot say what it has ({answer}): install {DISTRIBUTION} there"
        ours, theirs = self._here.versions, answer.versions
        for name, version in ours.items():
            if theirs[name] != version:
                return f"it has {name} {theirs[name]}, here is {version}: install the same there"
        return ""

    def do(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        prepare: Callable[[], object] | None = None,
    ) -> Iterator[tuple[Item, Result]]:
        """As :meth:`~.cores.Workers.do`: ``work`` is sent to each worker once, an item with a unit.

        What an item raises is raised. A `ToolError` says that too many workers died at the same
        item, or that none is left.
        """
        everywhere = _Everywhere(self, pack_job(work, prepare), prepare is not None, items)
        try:
            yield from everywhere.results()
        finally:
            with interrupts_later():
                everywhere.stop()


def _host(address: str) -> str:
    """The host of a scheduler's address."""
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port:
            return parts.hostname
    raise ToolError(f"{address!r} is not an address: tcp://HOST:PORT or tls://HOST:PORT")


async def _check_is_scheduler(address: str) -> None:
    """Connect and ask. A client that cannot connect prints more than one line."""
    from distributed import Security  # noqa: PLC0415 - it is an extra
    from distributed.comm.core import connect  # noqa: PLC0415

    # The caller's limit covers the handshake, too.
    comm = await connect(address, timeout=2 * ANSWER, **Security().get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        kind = (await comm.read())["type"]
        if kind != "Scheduler":
            raise ValueError(f"it is a {kind}'s address")
    finally:
        comm.abort()


class _Unit(NamedTuple):
    """What a worker does: an item, by its number, or nothing but to prepare."""

    worker: str
    number: int | None


class _Everywhere:
    """One piece of work on a cluster."""

    def __init__(self, cluster: Cluster, job: bytes, prepares: bool, items: Sequence[Any]) -> None:
        self._cluster, self._client = cluster, cluster.client
        self._job, self._items = job, items
        self._kinds: dict[str, str] = {}
        self._crews: dict[str, Any] = {}
        #: By kind of machine, what was built on one of it; and who is at it.
        self._files: dict[str, Files] = {}
        self._builders: dict[str, str] = {}
        self._prepares = prepares
        self._fresh, self._left = iter(range(len(items))), len(items)
        self._again: deque[int] = deque()
        self._deaths: Counter[int | None] = Counter()
        self._running: dict[Any, _Unit] = {}
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._seen = time.monotonic()
        """When there was a worker."""

    def results(self) -> Iterator[tuple[Any, Any]]:
        """Each item with its result, until all are done."""
        looked = -LOOK
        while self._left or self._running:
            if time.monotonic() - looked >= LOOK:
                self._look()
                looked = time.monotonic()
            self._hand_out()
            future = self._next_finished()
            unit = self._running.get(future)
            if unit is None:  # nothing is finished, or its worker was given up
                continue
            outcome = self._outcome(future)
            if outcome is None:
                if future in self._running:
                    self._give_up(unit.worker)
                continue
            del self._running[future]
            if unit.number is None:
                self._files[self._kinds[unit.worker]] = outcome.value
            else:
                yield self._items[unit.number], outcome.value

    def _next_finished(self) -> Any:
        with suppress(queue.Empty):
            return self._finished.get(timeout=LOOK)
        return None

    def stop(self) -> None:
        """Nobody needs anything more."""
        with suppress(OSError):  # the scheduler is gone
            self._client.cancel([*self._running, *self._crews.values()], force=True)
        self._running.clear()
        self._crews.clear()

    def _look(self) -> None:
        """See who has come and who is gone."""
        self._kinds = self._cluster.look()
        for worker in [each for each in self._crews if each not in self._kinds]:
            self._give_up(worker)
        now = time.monotonic()
        if self._kinds:
            self._seen = now
        elif now - self._seen > PATIENCE:
            address = self._cluster.address
            raise ToolError(f"no worker of the Dask scheduler at {address!r} is left")

    def _hand_out(self) -> None:
        """Give units to those who have not enough."""
        load = Counter(unit.worker for unit in self._running.values())
        for worker, kind in self._kinds.items():
            files = self._files.get(kind) if self._prepares else {}
            if files is None and kind not in self._builders:
                self._builders[kind] = worker
                self._send(worker, None)
            enough = AHEAD if self._left > len(self._kinds) else 1
            while files is not None and self._left and load[worker] < enough:
                self._send(worker, self._again.popleft() if self._again else next(self._fresh))
                self._left -= 1
                load[worker] += 1

    def _send(self, worker: str, number: int | None) -> None:
        if worker not in self._crews:
            files = self._files.get(self._kinds[worker], {})
            self._crews[worker] = self._submit(worker, Crew, self._job, files)
        item = PREPARE if number is None else pickle.dumps(self._items[number])
        future = self._submit(worker, _do, self._crews[worker], item)
        self._running[future] = _Unit(worker, number)
        future.add_done_callback(self._finished.put)

    def _submit(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        key = f"{DISTRIBUTION}-{uuid.uuid4().hex}"
        return self._client.submit(function, *arguments, key=key, workers=[worker], pure=False)

    def _outcome(self, future: Any) -> Outcome | None:
        """What a unit gave; nothing, if its worker or its crew died. What it raised is raised."""
        packed = self._packed(future)
        if packed is None:
            return None
        outcome: Outcome = pickle.loads(packed)
        if outcome.error:
            raise outcome.error
        return outcome

    def _packed(self, future: Any) -> bytes | None:
        """A result, which is with its worker, and can be lost with it."""
        while future in self._running and future.status in ("finished", "pending"):
            try:
                packed: bytes | None = future.result(timeout=ANSWER)
                return packed
            except TimeoutError:
                self._look()
        if future.status == "error" and isinstance(error := future.exception(), ToolError):
            raise error
        return None

    def _give_up(self, worker: str) -> None:
        """Do elsewhere what a worker was at."""
        futures = [future for future, unit in self._running.items() if unit.worker == worker]
        self._client.cancel([*futures, self._crews.pop(worker)], force=True)
        for kind in [kind for kind, builder in self._builders.items() if builder == worker]:
            if kind not in self._files:
                del self._builders[kind]
        for number in [self._running.pop(future).number for future in futures]:
            if number is not None:
                self._again.append(number)
                self._left += 1
            self._deaths[number] += 1
            if self._deaths[number] > MOST_DEATHS:
                raise ToolError(
                    f"{self._deaths[number]} workers died at the same piece of work (killed, or "
                    "not enough memory)"
                )


def _do(crew: Crew, unit: bytes) -> bytes | None:
    """On a worker: what a crew makes of a unit; nothing, if it died or nobody wants the result."""
    from distributed import get_worker  # noqa: PLC0415 - it is an extra

    worker = get_worker()
    task = worker.state.tasks[worker.get_current_task()]
    try:
        return crew.do(unit, lambda: task.state == "executing")
    except Died:
        return None
