"""``check``: verify certificates of proofs."""

from typing import Annotated

import typer
from rich.console import Console

from utf8_sim.tools.errors import Refused
from utf8_sim.tools.yowasp import need_packages

from ..formal.certificate import SOLVER
from ..terminal import Wrong, progress_bar, report_console, say
from . import options

app = typer.Typer()


@options.command(
    app,
    "utf8-hdl check proofs",
    "utf8-hdl check proofs/encoder-unicode-bytes.inv",
)
def check(
    *,
    places: Annotated[list[str] | None, typer.Argument(metavar="FILE|FOLDER", hidden=True)] = None,
) -> None:
    """Verify certificates of proofs.

    The certificates are those that prove --certificates has written: each FILE, and all in each
    FOLDER. The checker is a small program that uses no other code of this project and also runs
    alone. It prints one line per certificate. If it rejects one, the exit status is 1.
    """
    need_packages("check", [SOLVER], "formal")
    if not check_all(report_console(), places or []):
        raise Wrong


def check_all(show: Console, places: list[str]) -> bool:
    """Print the verdict on each certificate; true if all are confirmed."""
    import utf8_check  # noqa: PLC0415 (it needs the solver)

    confirmed = True
    try:
        found = utf8_check.certificates(places)
        with progress_bar() as progress:
            task = progress.add_task("checking", total=len(found))
            for certificate in found:
                right, said = utf8_check.verdict(certificate)
                say(show, f"{certificate}: {said}", "" if right else "bold red")
                confirmed &= right
                progress.advance(task)
    except utf8_check.Unreadable as error:
        raise Refused(str(error)) from error
    return confirmed
