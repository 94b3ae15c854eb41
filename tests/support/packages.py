"""Check the packages of a release: content, metadata, and use in new environments.

`make release` runs it on the packages in dist/. The exit status is 1 if a package is wrong.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("hdl/", "sim/", "flow/")
OUTSIDE = {"flow/fusesoc_generator.py"}
"""Files of these folders that FuseSoC runs from a clone; the wheel does not contain them."""

COMMANDS = [
    "utf8-hdl --version",
    "utf8-hdl simulate --compact --text 'A € 😀'",
    "utf8-hdl compare --compact --text 'A €' --engine amaranth",
    "utf8-hdl generate --data-sheet -o decoder.v",
    "utf8-hdl generate --component validator --lanes 8 -o validator.v --properties",
    "utf8-hdl conform --help",
    "python -c 'from utf8_sim import decode; assert decode(b\"\\xc0\")[0].error'",
    "python -c 'import utf8_flow.live, importlib.resources as r; "
    'assert (r.files("utf8_flow.live") / "page/index.html").is_file()\'',
]
"""The smoke test."""


def main(folder: str, *pythons: str) -> int:
    """Check the packages in a folder; the result is the exit status."""
    (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    tracked = set(_run(["git", "-C", str(ROOT), "ls-files"]).splitlines())
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        message = message_from_bytes(archive.read(metadata))
    with tarfile.open(sdist) as archive:
        packed = [name.partition("/")[2] for name in archive.getnames()]
    problems = [*wheel_problems(names, tracked), *sdist_problems(packed, tracked)]
    problems += metadata_problems(message)
    for python in pythons:
        for package in (wheel, sdist):
            problems += _try_out(package.resolve(), python)
    for problem in problems:
        print(f"make release: {problem}", file=sys.stderr)
    return 1 if problems else 0


def wheel_problems(names: Iterable[str], tracked: set[str]) -> Iterator[str]:
    """The wheel contains exactly the tracked files of the packages, and its metadata."""
    expected = {name.partition("/")[2] for name in tracked - OUTSIDE if name.startswith(SOURCES)}
    yield from _differences("wheel", {n for n in names if ".dist-info/" not in n}, expected)


def sdist_problems(names: Iterable[str], tracked: set[str]) -> Iterator[str]:
    """The sdist contains exactly the tracked files, without those of continuous integration."""
    expected = {name for name in tracked if not name.startswith(".ci/")}
    yield from _differences("sdist", set(names) - {"PKG-INFO"}, expected)


def _differences(package: str, names: set[str], expected: set[str]) -> Iterator[str]:
    yield from (f"the {package} lacks {name}" for name in sorted(expected - names))
    yield from (f"the {package} has {name}" for name in sorted(names - expected))


def metadata_problems(metadata: Message) -> Iterator[str]:
    """What makes the page on PyPI wrong: links without an address, or no project URL."""
    text = str(metadata.get_payload())
    for link in re.findall(r"\]\(((?!https:)[^)]*)\)", text):
        yield f"the description links to {link}, which PyPI cannot find"
    if not metadata.get_all("Project-URL"):
        yield "set project.urls in pyproject.toml before publishing"


def _try_out(package: Path, python: str) -> Iterator[str]:
    """Install a package into a new environment of a Python, and run the smoke test there."""
    with tempfile.TemporaryDirectory() as folder:
        _run([python, "-m", "venv", f"{folder}/venv"])
        _run([f"{folder}/venv/bin/python", "-m", "pip", "install", "--quiet", str(package)])
        Path(folder, "work").mkdir()
        for command in COMMANDS:
            code = f'export PATH="{folder}/venv/bin:$PATH"; unset PYTHONPATH; {command}'
            done = subprocess.run(
                ["bash", "-c", code],
                cwd=f"{folder}/work",
                capture_output=True,
                text=True,
                encoding="utf-8",
                check=False,
            )
            if done.returncode:
                yield f"{package.name}, {python}: {command}\n{done.stderr}"
        version = _run([f"{folder}/venv/bin/python", "--version"]).strip()
        print(f"{package.name}: tried in {version}", flush=True)


def _run(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
