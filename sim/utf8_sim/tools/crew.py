"""On a worker of a cluster: a process that does units of one piece of work, and ends with it."""

import os
import pickle
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from . import cache, programs
from .cores import IMPORTED
from .files import temporary_folder

LOOK = 0.1
"""Seconds between two looks whether a unit of work is still wanted."""

START = "import sys; from utf8_sim.tools.crew import serve; serve(int(sys.argv[1]))"


PREPARE = b""
"""In the place of a unit of work: build the files that the work needs, and give them."""


class Outcome(NamedTuple):
    """What a unit of work gave, or the exception that it raised."""

    value: Any
    error: Exception | None = None


def pack_job(work: Callable[[Any], Any], prepare: Callable[[], object] | None) -> bytes:
    """What all units have in common, to be sent to every worker."""
    return pickle.dumps((sorted(IMPORTED), pickle.dumps((work, prepare))))


class Died(Exception):
    """The process of a crew died, or nobody wants its result any more."""


class Crew:
    """A process for one job, in a group of its own with the programs that it runs.

    It ends when nobody has the crew any more, and when the process that has it dies. So nothing is
    left of what is cancelled, and what crashes does not take the worker along. ``files`` are for
    the worker's cache.
    """

    def __init__(self, job: bytes, files: cache.Files) -> None:
        cache.install(files)
        self._one_at_a_time = threading.Lock()
        stack = ExitStack()
        scratch = str(stack.enter_context(temporary_folder()))
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, str(theirs.fileno())],
                cwd=scratch,
                env={**os.environ, "TMPDIR": scratch, "PYTHONPATH": _where_modules_are()},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._end = Connection(ours.detach())
        weakref.finalize(self, _end_process, self._process, self._end, stack)
        self._send(job)

    def __reduce__(self) -> tuple[Any, ...]:
        """Somewhere else there is no such process: there it is one that has died."""
        return _nobody, ()

    def _send(self, message: bytes) -> None:
        with suppress(OSError):  # it died: who waits for its answer notices
            self._end.send_bytes(message)

    def do(self, item: bytes, is_wanted: Callable[[], bool]) -> bytes:
        """A pickled unit of work; the pickled :class:`Outcome`. `Died`, if there is none."""
        with self._one_at_a_time:
            self._send(item)
            try:
                while not self._end.poll(LOOK):
                    if not is_wanted():
                        self._process.kill()
                        raise Died
                return self._end.recv_bytes()
            except (EOFError, OSError) as error:
                raise Died from error


class _Nobody(Crew):
    def __init__(self) -> None:
        pass

    def do(self, item: bytes, is_wanted: Callable[[], bool]) -> bytes:
        raise Died


def _nobody() -> Crew:
    return _Nobody()


def _where_modules_are() -> str:
    return os.pathsep.join(path for path in sys.path if path)


def _end_process(process: subprocess.Popen[bytes], end: Connection, scratch: ExitStack) -> None:
    end.close()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    scratch.close()


def serve(descriptor: int) -> None:
    """The process: it takes a job and then units of it, until the other end is closed."""
    warnings.simplefilter("ignore")  # a worker's log is not for what our user would be told
    os.set_inheritable(descriptor, False)
    end = Connection(descriptor)
    programs.stay_in_group()
    units: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    job = end.recv_bytes()
    threading.Thread(target=_receive, args=(end, units), daemon=True).start()
    do = None
    while True:
        unit = units.get()
        try:
            do = do or _open(job)
            outcome = Outcome(do(unit))
        except Exception as error:  # whatever it is, who wants the result is told
            outcome = Outcome(None, error)
        end.send_bytes(_pickled(outcome))


def _receive(end: Connection, units: "queue.SimpleQueue[bytes]") -> None:
    """Hand units over; end all that runs here when there will be no more."""
    with suppress(EOFError, OSError):
        while True:
            units.put(end.recv_bytes())
    shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _open(job: bytes) -> Callable[[bytes], Any]:
    """How to do a unit of a job that :func:`pack_job` packed."""
    modules, content = pickle.loads(job)
    for module in modules:
        import_module(module)
    work, prepare = pickle.loads(content)

    def do(unit: bytes) -> Any:
        if unit == PREPARE:
            if prepare:
                prepare()
            return cache.files_in_use()
        return work(pickle.loads(unit))

    return do


def _pickled(outcome: Outcome) -> bytes:
    try:
        packed = pickle.dumps(outcome)
        pickle.loads(packed)
        return packed
    except Exception as error:  # a pickle can fail in any way, and be one that cannot be read
        reason = outcome.error or error
        return pickle.dumps(Outcome(None, RuntimeError(f"{type(reason).__name__}: {reason}")))
