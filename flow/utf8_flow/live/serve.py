"""A web server for this machine: ``python -m utf8_flow.live.serve FOLDER`` says the address."""

import argparse
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT = 8000


class Handler(SimpleHTTPRequestHandler):
    """Files with the types that browsers insist on, and without a line for each."""

    extensions_map = {  # noqa: RUF012
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def server_of(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server of a folder for this machine alone; if the port is taken, at a free one."""
    handler = partial(Handler, directory=str(folder))
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError:
        return ThreadingHTTPServer(("127.0.0.1", 0), handler)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m utf8_flow.live.serve", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=PORT, help=f"{PORT} if none is given")
    options = parser.parse_args()
    if not options.folder.is_dir():
        print(f"utf8-hdl: no folder {str(options.folder)!r}: make site builds it", file=sys.stderr)
        return 2
    with server_of(options.folder, options.port) as server:
        print(f"http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
