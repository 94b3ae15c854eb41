"""Where the command begins: ready for signals before the imports, which take a while."""

import importlib.util
import sys


def main() -> int:
    """Run the command, as :func:`utf8_flow.cli.session.main`."""
    if importlib.util.find_spec("fcntl") is None:
        print("utf8-hdl: it needs Linux or macOS; on Windows, use it in WSL", file=sys.stderr)
        return 2
    from utf8_sim.tools.interrupts import ending_at_once  # noqa: PLC0415

    with ending_at_once():
        from .cli import output, session  # noqa: PLC0415

        output.guard_standard_output()
        return session.main()


if __name__ == "__main__":
    sys.exit(main())
