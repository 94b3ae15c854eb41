"""Signals that end the command: put off where one would leave something behind."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
"""Ctrl-C, a polite end, and a terminal that is closed."""


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Put off the signals that end the command until the block is left.

    Python's main thread heeds them, so in another one there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    late: list[int] = []
    usual = {number: signal.getsignal(number) for number in ENDING}
    heeded = [number for number, handler in usual.items() if callable(handler)]
    try:
        for number in heeded:
            signal.signal(number, lambda number, _: late.append(number))
        yield
    finally:
        for number in heeded:
            signal.signal(number, usual[number])
        if late:
            signal.raise_signal(late[0])
