"""``check``: whether certificates of proofs are right."""

from typing import Annotated

import typer
from rich.console import Console

from utf8_sim.tools.errors import Refused
from utf8_sim.tools.yowasp import need_packages

from ..formal.certificate import SOLVER
from ..terminal import Wrong, progress_bar, say
from . import options

app = typer.Typer()


@options.command(
    app,
    "utf8-hdl check proofs",
    "utf8-hdl check proofs/encoder-unicode-bytes.inv",
)
def check(
    *,
    places: Annotated[
        list[str] | None, typer.Argument(metavar="FILE|FOLDER...", hidden=True)
    ] = None,
) -> None:
    """Check certificates, which prove --certificates has written: FILEs, or all in FOLDERs.

    A small program does so that uses nothing else of this project, and also runs alone. Each one is
    confirmed or refused on a line; if one is refused, the exit status is 1.
    """
    need_packages("check", [SOLVER], "formal")
    if not check_all(Console(highlight=False), places or []):
        raise Wrong


def check_all(show: Console, places: list[str]) -> bool:
    """Say of each certificate what becomes of it; whether all are confirmed."""
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
