"""Tests of output files: they are written atomically, and nothing else changes."""

import errno
import io
import os
import sys
from pathlib import Path
from threading import Thread

import pytest

from needs import needs_full_disk
from utf8_sim.tools.errors import UsageError
from utf8_sim.tools.files import open_output


def write(path: object, content: str = "new\n") -> None:
    with open_output(str(path)) as file:
        file.write(content)


@pytest.fixture(params=[None, "old\n"], ids=["new", "old"])
def out(request, tmp_path, monkeypatch) -> tuple[Path, str | None]:
    """A file to write in the current folder, and its old content, if it exists."""
    monkeypatch.chdir(tmp_path)
    if request.param:
        Path("out.txt").write_text(request.param)
    return Path("out.txt"), request.param


def content(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def test_file_appears_when_complete(out):
    path, before = out
    with open_output("out.txt") as file:
        file.write("© ≠ 😀\n")
        file.flush()
        assert content(path) == before
    assert content(path) == "© ≠ 😀\n"
    assert os.listdir() == ["out.txt"]


def fail_while_writing(error: BaseException) -> None:
    with open_output("out.txt") as file:
        file.write("half")
        file.flush()
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BrokenPipeError(errno.EPIPE, "")])
def test_exception_leaves_folder_unchanged(out, error):
    path, before = out
    with pytest.raises(type(error)):  # a failure elsewhere is not blamed on the file
        fail_while_writing(error)
    assert content(path) == before
    assert os.listdir() == (["out.txt"] if before else [])


def test_name_of_maximum_length(tmp_path):
    path = tmp_path / ("n" * 255)
    write(path)
    assert path.read_text() == "new\n"


@pytest.mark.parametrize("target_exists", [True, False])
def test_symbolic_link_stays(tmp_path, target_exists):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target.txt", tmp_path / "link.txt"
    if target_exists:
        target.write_text("old\n")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_text() == "new\n"


def test_permissions_follow_old_file_or_umask(out):
    path, before = out
    if before:
        path.chmod(0o604)
    umask = os.umask(0o027)
    try:
        write(path)
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == (0o604 if before else 0o640)


def test_device_is_written_in_place(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    write("/dev/null")
    write(link)
    assert Path("/dev/null").is_char_device()
    assert link.is_symlink()


def test_named_pipe_is_written_in_place(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received = []
    reader = Thread(target=lambda: received.append(path.read_text()))
    reader.start()
    write(path)
    reader.join()
    assert received == ["new\n"]
    assert path.is_fifo()


@pytest.mark.parametrize(
    ("name", "reason"), [("none/out.txt", "No such file or directory"), (".", "Is a directory")]
)
@pytest.mark.usefixtures("folder")
def test_unwritable_path_is_refused(name, reason):
    with pytest.raises(UsageError, match=f"^cannot write '{name}': .*{reason}$"):
        write(name)


@needs_full_disk
@pytest.mark.parametrize("content", ["little", "much" * 10_000], ids=["at the end", "before"])
def test_full_disk_error_names_the_file(folder, content):
    with (
        pytest.raises(UsageError, match=r"^cannot write '/dev/full': No space left on device$"),
        open_output("/dev/full") as full,
        open_output("other.txt"),
    ):
        full.write(content)


def test_full_disk_of_standard_output(monkeypatch):
    class FullDisk(io.TextIOWrapper):
        def flush(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", FullDisk(io.BytesIO()))
    with pytest.raises(UsageError, match=r"^cannot write '-': No space left on device$"):
        write("-")
