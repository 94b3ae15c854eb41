"""Handle the signals that end a command, and defer them where they would cause leftovers."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ENDING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
"""Ctrl-C, a request to terminate, and a closed terminal."""

PATIENCE = 3.0
"""Time after a signal in which more signals are ignored, in seconds."""


@contextmanager
def _handled_by(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle the signals that end the command, except signals that are ignored.

    Python handles signals only in the main thread, so this has no effect in other threads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {number: signal.getsignal(number) for number in ENDING}
    chosen = [number for number in ENDING if usual[number] not in (None, signal.SIG_IGN)]
    try:
        for number in chosen:
            signal.signal(number, handler)
        yield
    finally:
        for number in chosen:
            signal.signal(number, usual[number])


@contextmanager
def one_interrupt(heeded: list[int]) -> Iterator[None]:
    """Raise `KeyboardInterrupt` at Ctrl-C, SIGTERM and SIGHUP.

    For `PATIENCE` seconds, more signals are then ignored, because they would disturb the cleanup.
    The numbers of the other signals are appended to ``heeded``.
    """
    patient_until = -math.inf

    def interrupt(number: int, frame: object) -> None:
        nonlocal patient_until
        if time.monotonic() > patient_until:
            patient_until = time.monotonic() + PATIENCE
            heeded.append(number)
            raise KeyboardInterrupt

    def unraisable(lost: "sys.UnraisableHookArgs") -> None:
        """Send the signal again if a finaliser swallowed the exception."""
        nonlocal patient_until
        if lost.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(lost)
            return
        patient_until = -math.inf
        threading.Timer(0.05, os.kill, (os.getpid(), heeded.pop())).start()

    usual_hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        with _handled_by(interrupt):
            yield
    finally:
        sys.unraisablehook = usual_hook


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer the signals that end the command until the block is left."""
    late: list[int] = []
    try:
        with _handled_by(lambda number, _: late.append(number)):
            yield
    finally:
        if late:
            signal.raise_signal(late[0])


@contextmanager
def interrupts_not_inherited() -> Iterator[None]:
    """Block the signals in processes that are started in the block; only this one handles them."""
    with defer_interrupts():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
