"""Work on all cores: everything is done once, and nothing outlives the process that wanted it."""

import math
import operator
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from command import COMMAND, names, needs_proc, wait_until
from utf8_sim.tools.cores import cores, on_all_cores
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.files import RUN
from utf8_sim.tools.interrupts import interrupts_later


def test_every_item_is_done_once_in_another_process_if_there_are_several():
    results = list(on_all_cores(operator.methodcaller("__call__"), [os.getpid] * 20))
    workers = {pid for _, pid in results}
    assert len(results) == 20
    assert os.getpid() not in workers
    assert 1 <= len(workers) <= cores()
    [(_, alone)] = on_all_cores(operator.methodcaller("__call__"), [os.getpid])
    assert alone == os.getpid()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there is no other way")
def test_the_folder_of_this_process_stays(monkeypatch):
    """Its threads go on while processes are started."""
    monkeypatch.delattr(os, "chdir")
    monkeypatch.delattr(os, "fchdir")
    assert len(list(on_all_cores(operator.methodcaller("__call__"), [os.getcwd] * 2))) == 2
    assert "PYTHONSAFEPATH" not in os.environ


def test_an_error_comes_through():
    with pytest.raises(ValueError, match="factorial"):
        list(on_all_cores(math.factorial, [1, -1]))


def test_a_process_that_dies_is_said():
    with pytest.raises(ToolError, match="a worker process died"):
        list(on_all_cores(os._exit, [1, 1]))


def test_giving_up_early_ends_the_work_on_large_items():
    """More than a pipe holds; CPython before 3.11.5 had trouble with it."""
    large = {f"PART_{part}": "x" * 100_000 for part in range(8)}
    works = [partial(subprocess.call, ["sleep", seconds], env=large) for seconds in ("0", "300")]
    results = on_all_cores(operator.methodcaller("__call__"), [works[0], *works[1:] * 20])
    next(results)
    begin = time.monotonic()
    results.close()
    assert time.monotonic() - begin < 60


def test_temporary_files_are_removed_even_if_nobody_else_does(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = [name for _, name in on_all_cores(tempfile.mkdtemp, ["-one", "-other"])]
    assert all(Path(name).parent.parent == tmp_path for name in names)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_run_is_removed_by_the_next_run(tmp_path):
    (tmp_path / "utf8-hdl-notes").mkdir()
    (tmp_path / f"{RUN}{0:032}").symlink_to("utf8-hdl-notes")
    others = names(tmp_path)
    options = {"env": {**os.environ, "TMPDIR": str(tmp_path)}, "stderr": subprocess.PIPE}
    begin = partial(
        subprocess.Popen, [COMMAND, "simulate", "-"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, **options,
    )  # fmt: skip

    def has_runs(count: int) -> bool:  # not what Python tries a new folder with, for a moment
        return sum(name.startswith(RUN) for name in names(tmp_path)) == count

    with begin() as live:
        wait_until(lambda: has_runs(2))
        kept = names(tmp_path)
        with begin() as killed:
            wait_until(lambda: has_runs(3))
            killed.kill()
        assert has_runs(3)
        subprocess.run([COMMAND, "--version"], check=True, stdout=subprocess.PIPE, **options)
        assert names(tmp_path) == kept
        live.communicate(b"text")
    assert names(tmp_path) == others


def test_an_interrupt_that_another_thread_is_given_is_put_off_too():
    go, steps = threading.Event(), []
    thread = threading.Thread(target=lambda: (go.wait(), signal.raise_signal(signal.SIGINT)))
    thread.start()
    usual = signal.getsignal(signal.SIGINT)

    def work():
        with interrupts_later():
            go.set()
            thread.join()
            steps.append("all done")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["all done"]
    assert signal.getsignal(signal.SIGINT) is usual


SCRIPT = """
import subprocess, sys
from utf8_sim.tools.cores import on_all_cores

if __name__ == "__main__":
    list(on_all_cores(subprocess.call, [["sleep", sys.argv[1]]] * 2))
"""


def sleepers(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@needs_proc
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_programs_of_a_worker_do_not_outlive_the_process(tmp_path, end):
    mark = f"47.{os.getpid()}{end.value}"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen([sys.executable, str(script), mark], stderr=subprocess.PIPE)
    wait_until(lambda: sleepers(mark))
    process.send_signal(end)
    process.communicate(timeout=60)
    wait_until(lambda: not sleepers(mark), seconds=10)
