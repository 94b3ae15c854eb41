"""Run work on a Dask cluster, whose scheduler assigns each unit of work to a worker.

If a worker dies, Dask reassigns its unit. Every future completes once, so no result is counted
twice.
"""

import asyncio
import logging
import multiprocessing
import os
import pickle
import subprocess
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from functools import cache, lru_cache
from importlib import import_module
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from .cores import PRELOAD, Item, Result
from .errors import ToolError
from .interrupts import defer_interrupts
from .programs import stay_in_group
from .versions import check_versions, versions
from .yowasp import need_packages

PACKAGE, EXTRA = "distributed", "cluster"

TIMEOUT = 10.0
"""Time limit for a scheduler's answer, in seconds."""

TLS = "DASK_DISTRIBUTED__COMM__TLS__"
"""Prefix of the environment variables with Dask's settings for TLS."""


class Cluster:
    """The workers of a Dask scheduler, as :class:`~.cores.Workers`. A context manager.

    Every worker must have the same versions as this machine: of Python, of the ``packages`` and
    programs, and of this project's modules and the modules that register components. Modules are
    compared byte by byte. `ToolError` is raised if a worker differs, or if the scheduler cannot be
    used or has no worker.
    """

    def __init__(self, address: str, packages: Sequence[str]) -> None:
        need_packages("--cluster", [PACKAGE], EXTRA)
        self.address = _checked(address)
        modules = {"utf8_hdl", "utf8_sim", *(name.partition(".")[0] for name in PRELOAD)}
        self._names = (PACKAGE, *packages), sorted(modules)
        self._versions = versions(*self._names)
        self._context = ExitStack()

    def __enter__(self) -> "Cluster":
        import distributed  # noqa: PLC0415 - it is an extra

        # Also asyncio: it logs the tasks that a client leaves when it closes.
        for name in (PACKAGE, f"{PACKAGE}.client", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with ExitStack() as context:
            context.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")  # Dask only warns of different versions
            try:
                asyncio.run(asyncio.wait_for(_check_is_scheduler(self.address), TIMEOUT))
                client = distributed.Client(self.address, timeout=TIMEOUT, set_as_default=False)
            except Exception as error:  # any kind of server may answer
                reason = _reason(error, self.address)
                raise ToolError(
                    f"no Dask scheduler can be used at {self.address!r}: {reason}"
                ) from error
            context.callback(client.close)
            self._client = client
            self._check_workers()
            self._context = context.pop_all()
        return self

    def _check_workers(self) -> None:
        asked = self._names, self._versions
        answers = self._client.run(check_versions, *asked, on_error="return")
        if not answers:
            raise ToolError(
                f"the Dask scheduler at {self.address!r} has no worker: start them with "
                f"dask worker {self.address} --host HOST --nworkers auto --nthreads 1"
            )
        for worker, error in answers.items():
            if isinstance(error, ToolError):
                raise error
            if error and not isinstance(error, OSError):  # OSError: the worker has just left
                raise ToolError(
                    f"worker {worker} cannot report its versions ({error}): install utf8-hdl there"
                )

    def __exit__(self, *_error: object) -> None:
        with defer_interrupts():
            self._context.close()

    def __str__(self) -> str:
        count = len(self._client.nthreads())
        return f"{count} worker{'s' * (count != 1)} of {self.address}"

    def do(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[Item, Result]]:
        """See :meth:`~.cores.Workers.do`.

        An exception of a unit is raised. If too many workers die at a unit, `ToolError` is raised.
        """
        from distributed import as_completed, client  # noqa: PLC0415 - it is an extra

        fresh, running, failure = iter(items), dict[Any, Item](), None
        # Sent with every item: Dask prefers few workers to copies of a shared result.
        job = pickle.dumps((self._names, self._versions, sorted(PRELOAD), pickle.dumps(work)))
        completed = as_completed(loop=self._client.loop)
        try:
            while True:
                # Two units for each thread: one that runs, and the next one.
                wanted = 2 * max(1, sum(self._client.nthreads().values()))
                for item in islice(fresh, max(0, wanted - len(running))):
                    future = self._client.submit(do_unit, job, pickle.dumps(item), pure=False)
                    running[future] = item
                    completed.add(future)
                if not running:
                    return
                for future in completed.next_batch():
                    # Call result() only once: between two calls, the result may be lost.
                    try:
                        result = future.result()
                    except Exception as error:
                        if future.status == "error":
                            failure = self._failure(error, running)
                        raise failure or error from None
                    yield running.pop(future), result
        except (OSError, CancelledError, client.ClosedClientError) as error:
            if error is failure:
                raise
            raise ToolError(f"the Dask scheduler at {self.address!r} is gone: {error}") from error
        finally:
            with defer_interrupts(), suppress(Exception):  # the scheduler may be gone
                self._client.cancel([*running], force=True)

    def _failure(self, error: Exception, running: Mapping[Any, object]) -> Exception:
        """The exception to raise if a unit failed with this error."""
        from distributed.scheduler import KilledWorker, NoWorkerError  # noqa: PLC0415 - an extra

        if isinstance(error, KilledWorker):
            # Dask blames all units that these workers had; they were running the first one.
            unit = next(item for each, item in running.items() if each.status == "error")
            return ToolError(
                f"{error.allowed_failures + 1} workers died at the same unit of work (killed, or "
                f"not enough memory): {textwrap.shorten(str(unit), 100)}"
            )
        if isinstance(error, NoWorkerError):
            return ToolError(f"no worker of the Dask scheduler at {self.address!r} is left")
        return error


def _checked(address: str) -> str:
    """A scheduler's address, with its protocol."""
    full = address if "://" in address else f"tcp://{address}"
    with suppress(ValueError):
        parts = urlsplit(full)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port:
            return full
    raise ToolError(f"{full!r} is not an address: tcp://HOST:PORT or tls://HOST:PORT")


async def _check_is_scheduler(address: str) -> None:
    """Connect, and check the kind of server. Dask's client has no timeout for a silent server."""
    from distributed import Security  # noqa: PLC0415 - it is an extra
    from distributed.comm.core import connect  # noqa: PLC0415

    # The caller's limit covers the handshake, too.
    comm = await connect(address, timeout=2 * TIMEOUT, **Security().get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        kind = (await comm.read())["type"]
        if kind != "Scheduler":
            raise ValueError(f"it is a {kind}'s address")
    finally:
        comm.abort()


def _reason(error: Exception, address: str) -> str:
    """The reason why a client cannot connect."""
    if isinstance(error, asyncio.TimeoutError):
        return f"it did not answer in {TIMEOUT:g} s"
    if isinstance(error, TypeError) and address.startswith("tls:"):
        return f"it needs certificates: set {TLS}CA_FILE, {TLS}CLIENT__CERT and {TLS}CLIENT__KEY"
    is_clear = isinstance(error, (OSError, ValueError, RuntimeError))
    return str(error) if is_clear else "another kind of server answers there"


# --- on a worker --------------------------------------------------------------------------------

_one_at_a_time = threading.Lock()


def do_unit(job: bytes, item: bytes) -> Any:
    """Run a unit of work on a worker; one at a time, even if the worker has several threads."""
    with _one_at_a_time:
        return _open(job)(pickle.loads(item))


@lru_cache(maxsize=4)  # commands may share a worker
def _open(job: bytes) -> Callable[[Any], Any]:
    """The work of a job. Versions are checked here, too: the worker may have joined late."""
    names, expected, imported, work = pickle.loads(job)
    check_versions(names, expected)
    _end_programs_with_worker()
    for module in imported:
        import_module(module)
    do: Callable[[Any], Any] = pickle.loads(work)
    return do


@cache
def _end_programs_with_worker() -> "subprocess.Popen[bytes] | None":
    """Kill the programs of units when this worker ends, even if it is killed."""
    if not multiprocessing.parent_process():  # no nanny: the group may be a terminal's
        return None
    os.setpgid(0, 0)
    stay_in_group()
    script = f"read -r _; kill -9 -{os.getpid()}"  # the pipe is closed when this process ends
    return subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True)
