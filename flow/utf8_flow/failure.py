"""The message for an unexpected error, which is a bug in this program."""

import os
import traceback

UNEXPECTED = 70
"""The exit status: EX_SOFTWARE of ``sysexits.h``. Status 1 means a difference."""

TRACEBACK = "UTF8_HDL_TRACEBACK"
"""The environment variable that enables the traceback."""


def unexpected(error: BaseException) -> str:
    """The message for an error. The traceback is printed first, if enabled."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
        hint = "please report it with this traceback"
    else:
        hint = f"set {TRACEBACK}=1 to see where, and please report it"
    return f"unexpected error: {type(error).__name__}: {error} ({hint})"
