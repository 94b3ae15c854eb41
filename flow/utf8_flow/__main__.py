"""Where the command begins: ready for signals before the imports, which take a while."""

import importlib.util
import os
import signal
import sys


def main() -> int:
    """Run the command, as :func:`utf8_flow.cli.commands.main`."""
    if importlib.util.find_spec("fcntl") is None:
        print("utf8-hdl: it needs Linux or macOS; on Windows, use it in WSL", file=sys.stderr)
        return 2
    from utf8_sim.tools.interrupts import ENDING  # noqa: PLC0415

    heeded = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heeded:
        signal.signal(number, _end)
    from .cli import commands, output  # noqa: PLC0415

    output.guard_standard_output()
    try:
        return commands.main()
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_IGN)  # it ends anyway


def _end(number: int, _frame: object) -> None:
    """End at once: nothing has begun yet."""
    os.write(2, b"utf8-hdl: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
