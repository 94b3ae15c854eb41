"""Entry point of the command. It handles signals even during slow imports."""

import importlib.util
import os
import signal
import sys

from .failure import UNEXPECTED, unexpected


def main() -> int:
    """Run the command: :func:`utf8_flow.cli.session.main`.

    Until that function runs, a signal ends the process at once. After it, signals are ignored.
    """
    _open_standard_streams()
    if importlib.util.find_spec("fcntl") is None:
        print("utf8-hdl: this program needs Linux or macOS; on Windows, use WSL", file=sys.stderr)
        return 2
    ending = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    handled = [number for number in ending if signal.getsignal(number) is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, _end)
    try:
        from .cli import output, session  # noqa: PLC0415

        output.guard_standard_output()
        return session.main()
    except Exception as error:  # a required package is missing, or of another version
        print(f"utf8-hdl: {unexpected(error)}", file=sys.stderr)
        return UNEXPECTED
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_IGN)


def _open_standard_streams() -> None:
    """Open standard streams that are closed.

    Otherwise the next opened file would get the number of such a stream, and messages would go
    there. Standard output stays unwritable, so that writing to it fails instead of losing data.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)  # gets the lowest free number
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - until the process ends


def _end(number: int, _frame: object) -> None:
    os.write(2, b"utf8-hdl: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
