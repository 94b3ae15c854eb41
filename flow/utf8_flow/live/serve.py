"""A web server for this machine: ``python -m utf8_flow.live.serve FOLDER`` prints its address."""

import argparse
import sys
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORT = 8000

HOSTS = "127.0.0.1", "localhost"
"""The names of this machine in a request. Another name may be that of an outside page, which its
owner lets point here so that it can read what is served."""


class Handler(SimpleHTTPRequestHandler):
    """Serves the files inside a folder with the types that browsers require, and logs nothing."""

    extensions_map = {  # noqa: RUF012
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def send_head(self) -> Any:
        """Answer a request, unless its host or its file is not ours."""
        if self.headers.get("Host", "").lower().partition(":")[0] not in HOSTS:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, f"Host must be one of {HOSTS}")
        elif not self._is_inside():
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            return super().send_head()
        return None

    def _is_inside(self) -> bool:
        """True if no symlink leads out of the folder, from the file or the index of a folder."""
        try:
            file = Path(self.translate_path(self.path)).resolve()
            found = [file, *((file / name).resolve() for name in ("index.html", "index.htm"))]
        except (OSError, RuntimeError, ValueError):  # a loop of symlinks, or a null byte
            return False
        return all(path.is_relative_to(Path(self.directory).resolve()) for path in found)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def port_number(text: str) -> int:
    """The number of a port on the command line."""
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number < 1 << 16:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 65535, not {text!r}")
    return number


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
    parser.add_argument("--port", type=port_number, default=PORT, help=f"{PORT} if not given")
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
