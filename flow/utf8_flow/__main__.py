"""Where the command begins: ready for signals before the imports, which take a while."""

import importlib.util
import os
import signal
import sys

from .failure import UNEXPECTED, unexpected


def main() -> int:
    """Run the command, as :func:`utf8_flow.cli.session.main`.

    A signal ends it at once until that is ready for more, and is ignored when that has ended.
    """
    if importlib.util.find_spec("fcntl") is None:
        print("utf8-hdl: it needs Linux or macOS; on Windows, use it in WSL", file=sys.stderr)
        return 2
    ending = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    heeded = [number for number in ending if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, _end)
    try:
        from .cli import output, session  # noqa: PLC0415

        output.guard_standard_output()
        return session.main()
    except Exception as error:  # a package that it needs is not there, or of another version
        print(f"utf8-hdl: {unexpected(error)}", file=sys.stderr)
        return UNEXPECTED
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_IGN)


def _end(number: int, _frame: object) -> None:
    os.write(2, b"utf8-hdl: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
