"""What surrounds a run of the command: signals, temporary files, the streams it was given."""

import atexit
import io
import math
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from utf8_sim.tools.interrupts import ENDING

from .output import Refused

PATIENCE = 3.0
"""Seconds after Ctrl-C in which another one changes nothing."""


@contextmanager
def one_interrupt(heeded: list[int]) -> Iterator[None]:
    """Heed Ctrl-C, SIGTERM and SIGHUP, but not again at once: that would disturb the clearing up.

    Parameters
    ----------
    heeded : list of int
        Gets the numbers of the signals.
    """
    patient_until = -math.inf

    def interrupt(number: int, frame: object) -> None:
        nonlocal patient_until
        if time.monotonic() > patient_until:
            patient_until = time.monotonic() + PATIENCE
            heeded.append(number)
            raise KeyboardInterrupt

    def unraisable(lost: "sys.UnraisableHookArgs") -> None:
        """A finaliser cannot raise: send the signal once more, when it is over."""
        nonlocal patient_until
        if lost.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(lost)
            return
        patient_until = -math.inf
        threading.Timer(0.05, os.kill, (os.getpid(), heeded.pop())).start()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {number: signal.getsignal(number) for number in ENDING}
    chosen = [number for number in ENDING if usual[number] not in (None, signal.SIG_IGN)]
    usual_hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        for number in chosen:
            signal.signal(number, interrupt)
        yield
    finally:
        for number in chosen:
            signal.signal(number, usual[number])
        sys.unraisablehook = usual_hook


@contextmanager
def own_temporary_folder() -> Iterator[None]:
    """For all temporary files, so that what an interrupt leaves there goes at the end."""
    usual = folder = None
    try:
        with suppress(OSError):  # who needs one will say that there is none
            usual = tempfile.gettempdir()
            folder = os.path.join(usual, f"utf8-hdl-{uuid.uuid4().hex}")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)  # if interrupted below
            os.mkdir(folder, mode=0o700)
            tempfile.tempdir = folder
        yield
    finally:
        tempfile.tempdir = usual
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def check_current_folder() -> None:
    """Refuse to begin in a folder that is not there any more.

    Raises
    ------
    Refused
        If it is not.
    """
    try:
        os.getcwd()
    except OSError as error:
        raise Refused(
            f"the current folder cannot be used ({error.strerror}): go to another one"
        ) from error


def allow_any_character() -> None:
    """Write what a terminal has no character for as its number."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack most characters
            stream.reconfigure(errors="backslashreplace")
