"""The process that runs a compiled design for :mod:`.isolated`.

It imports only the standard library, so that it starts at once. Output of the design goes to
standard error, replies go to standard output.
"""

import ctypes
import os
import pickle
import sys
from typing import Any, BinaryIO

OUTPUT, ERRORS = 1, 2


def serve(library: str, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the pipe closes: None restarts the design, others are windows."""
    code = ctypes.CDLL(library)
    code.model_create.restype = ctypes.c_void_p
    model = offered = None
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        if request is None:
            if model:
                code.model_destroy(model)
            model = ctypes.c_void_p(code.model_create())
            offered = ctypes.create_string_buffer(1)
            continue
        os.ftruncate(ERRORS, 0)  # a design may print in every cycle
        pickle.dump(_window(code, model, offered, *request), replies)
        replies.flush()


def _window(
    code: Any,
    model: Any,
    offered: Any,
    cycles: int,
    levels: list[bytes],
    items: list[bytes],
    count: int,
    idle: list[bytes],
    idle_rows: bytes,
    sizes: list[int],
) -> list[bytes]:
    """Simulate a window; ``sizes`` are the sizes of its columns. See ``native/driver.h``."""
    columns = [ctypes.create_string_buffer(size) for size in sizes]
    addresses = (ctypes.c_void_p * len(sizes))(*map(ctypes.addressof, columns))
    code.model_run(
        model,
        ctypes.c_uint64(cycles),
        *levels,
        (ctypes.c_char_p * len(items))(*items),
        ctypes.c_uint64(count),
        (ctypes.c_char_p * len(idle))(*idle),
        idle_rows,
        ctypes.c_uint32(0),
        offered,
        addresses,
    )
    return [column.raw for column in columns]


if __name__ == "__main__":
    with os.fdopen(os.dup(OUTPUT), "wb") as answers:
        os.dup2(ERRORS, OUTPUT)
        serve(sys.argv[1], sys.stdin.buffer, answers)
