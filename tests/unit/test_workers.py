"""Tests of work on all cores: each item is processed once, and no process is left."""

import math
import operator
import os
import signal
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

import pytest

from command import names
from utf8_sim.tools.cores import on_all_cores
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.files import RUN, temporary_folder
from utf8_sim.tools.interrupts import defer_interrupts

call = operator.methodcaller("__call__")


def test_several_items_are_processed_in_workers():
    results = list(on_all_cores(call, [os.getpid] * 20))
    workers = {pid for _, pid in results}
    assert len(results) == 20
    assert os.getpid() not in workers
    assert list(on_all_cores(call, [os.getpid])) == [(os.getpid, os.getpid())]


@pytest.mark.long
@pytest.mark.skipif(sys.version_info < (3, 11), reason="earlier versions must change the folder")
def test_workers_start_without_a_change_of_folder(tmp_path, monkeypatch):
    """Other threads of this process use its folder. Workers' temporary files are removed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "chdir")
    monkeypatch.delattr(os, "fchdir")
    made = [name for _, name in on_all_cores(tempfile.mkdtemp, ["-one", "-other"])]
    assert all(Path(name).parent.parent == tmp_path for name in made)
    assert names(tmp_path) == set()
    assert "PYTHONSAFEPATH" not in os.environ


def test_exception_in_a_worker_is_raised_here():
    with pytest.raises(ValueError, match="factorial"):
        list(on_all_cores(math.factorial, [1, -1]))


def test_death_of_a_worker_is_reported():
    with pytest.raises(ToolError, match="a worker process died"):
        list(on_all_cores(os._exit, [1, 1]))


@pytest.mark.long
def test_abandoned_work_on_large_items_ends():
    """The items are larger than a pipe's buffer, which could make CPython before 3.11.5 hang."""
    large = {f"PART_{part}": "x" * 100_000 for part in range(8)}
    short, endless = (
        partial(subprocess.call, command, env={"PATH": os.environ["PATH"], **large})
        for command in (["true"], ["tail", "-f", "/dev/null"])
    )
    results = on_all_cores(call, [short, *[endless] * 20])
    next(results)
    results.close()


HOLDER = """
import sys
from utf8_sim.tools.files import temporary_folder

with temporary_folder() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_folder_of_a_killed_process_is_removed(tmp_path, monkeypatch):
    (tmp_path / "utf8-hdl-notes").mkdir()
    (tmp_path / f"{RUN}{0:032}").symlink_to("utf8-hdl-notes")
    others = names(tmp_path)
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    options["env"] = {**os.environ, "TMPDIR": str(tmp_path)}
    begin = partial(subprocess.Popen, [sys.executable, "-c", HOLDER], **options)
    with begin() as live, begin() as killed:
        kept, left = (Path(process.stdout.readline().strip()) for process in (live, killed))
        killed.kill()
        killed.wait()
        assert left.exists()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with temporary_folder():
            assert kept.exists()
            assert not left.exists()
        live.communicate()
    assert names(tmp_path) == others


def test_interrupt_delivered_to_another_thread_is_deferred():
    go, steps = threading.Event(), []
    thread = threading.Thread(target=lambda: (go.wait(), signal.raise_signal(signal.SIGINT)))
    thread.start()
    usual = signal.getsignal(signal.SIGINT)

    def work():
        with defer_interrupts():
            go.set()
            thread.join()
            steps.append("all done")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["all done"]
    assert signal.getsignal(signal.SIGINT) is usual


SCRIPT = """
import subprocess
from utf8_sim.tools.cores import on_all_cores

if __name__ == "__main__":
    endless = ["sh", "-c", "echo started; exec tail -f /dev/null"]
    list(on_all_cores(subprocess.call, [endless] * 2))
"""


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_programs_of_workers_end_with_the_process(tmp_path, number):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, str(script)], **pipe) as process:
        assert process.stdout.readline() == "started\n"
        process.send_signal(number)
        process.stdout.read()  # up to the end of all that write to it
        assert process.wait() == -number
