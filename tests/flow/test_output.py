"""Output files are whole or not there, and never more than the one that was named."""

import errno
import io
import os
import sys
from pathlib import Path
from threading import Thread

import pytest

from utf8_sim.tools.errors import Refused
from utf8_sim.tools.files import open_output

needs_full_disk = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs a disk that is always full"
)


def write(path: object, content: str = "new\n") -> None:
    with open_output(str(path)) as file:
        file.write(content)


def fail_while_writing(path: Path) -> None:
    with open_output(str(path)) as file:
        file.write("half")
        file.flush()
        raise KeyboardInterrupt


def permissions(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def umask_027():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_the_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "out.txt"
    with open_output(str(path)) as file:
        file.write("© ≠ 😀\n")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == "© ≠ 😀\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_an_old_file_stays_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old\n")
    with open_output(str(path)) as file:
        file.write("new\n")
        file.flush()
        assert path.read_text() == "old\n"
    assert path.read_text() == "new\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_exception_leaves_no_new_file(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


def test_an_exception_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old\n")
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(path)
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_relative_name_counts_from_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("out.txt")
    assert (tmp_path / "out.txt").read_text() == "new\n"


def test_a_name_may_be_as_long_as_files_may_have(tmp_path):
    path = tmp_path / ("n" * 255)
    write(path)
    assert path.read_text() == "new\n"


def test_a_dash_is_standard_output(capsys):
    write("-")
    write("-", "and more\n")
    assert capsys.readouterr().out == "new\nand more\n"


@pytest.mark.parametrize("target_exists", [True, False])
def test_a_symbolic_link_stays_a_link(tmp_path, target_exists):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target.txt", tmp_path / "link.txt"
    if target_exists:
        target.write_text("old\n")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_text() == "new\n"


def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "out.txt"
    path.touch()
    path.chmod(0o604)
    write(path)
    assert permissions(path) == 0o604


@pytest.mark.usefixtures("umask_027")
def test_a_new_file_gets_the_permissions_that_the_umask_leaves(tmp_path):
    write(tmp_path / "out.txt")
    assert permissions(tmp_path / "out.txt") == 0o640


def test_a_device_is_written_in_place(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    write("/dev/null")
    write(link)
    assert Path("/dev/null").is_char_device()
    assert link.is_symlink()


def test_a_named_pipe_is_written_in_place(tmp_path):
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
    ("name", "reason"),
    [
        ("none/out.txt", "No such file or directory"),
        ("file/out.txt", "Not a directory"),
        (".", "Is a directory"),
        ("", "directory"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(tmp_path, monkeypatch, name, reason):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(Refused, match=f"^cannot write '{name}': .*{reason}$"):
        write(name)


@needs_full_disk
@pytest.mark.parametrize("content", ["little", "much" * 10_000])
def test_a_full_disk_is_refused_in_one_line(content):
    with pytest.raises(Refused, match=r"^cannot write '/dev/full': No space left on device$"):
        write("/dev/full", content)


@needs_full_disk
def test_the_message_names_the_file_that_could_not_be_written(tmp_path):
    other = str(tmp_path / "other.txt")
    with (
        pytest.raises(Refused, match="'/dev/full'"),
        open_output("/dev/full") as full,
        open_output(other),
    ):
        full.write("much" * 10_000)


def test_a_failure_elsewhere_is_not_blamed_on_the_file(tmp_path):
    with pytest.raises(BrokenPipeError), open_output(str(tmp_path / "out.txt")):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_behind_standard_output_is_refused(monkeypatch):
    class FullDisk(io.StringIO):
        def flush(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", FullDisk())
    with pytest.raises(Refused, match=r"^cannot write '-': No space left on device$"):
        write("-")


def test_closed_standard_output_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(Refused, match="'-'"):
        write("-")
