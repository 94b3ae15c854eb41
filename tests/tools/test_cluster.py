"""The option `--cluster`: work on a Dask cluster whose workers start, end and differ."""

import os
import re
import shutil
import signal
import socketserver
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Listener
from pathlib import Path

import pytest
from distributed import Security

import units
import utf8_hdl
from command import Process, assert_refused, break_design, in_shell, names, run, run_in_shell
from dask_cluster import PAGE, TESTS, DaskCluster, dask_cluster, wait_until
from needs import needs, needs_compiler
from utf8_flow.cli.choices import Machines
from utf8_sim.tools import cluster as tools
from utf8_sim.tools.cluster import Cluster
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.versions import check_versions, versions

pytestmark = pytest.mark.xdist_group("cluster")

EXHAUSTIVE = "compare", "--compact", "--exhaustive"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> DaskCluster:
    with dask_cluster(tmp_path_factory.mktemp("cluster"), 3) as started:
        yield started


@pytest.fixture
def workers(cluster) -> Cluster:
    """The workers, as for a command. Afterwards, no task may be left in the cluster."""
    # A worker that another test killed may not have started again yet.
    wait_until(lambda: len(cluster.client.nthreads()) == 3)
    with Machines(cluster.address).workers() as everybody:
        yield everybody
    cluster.wait_until_clean()


def reply(listener: Listener, items: int, processes: int) -> None:
    """Reply to the items of a meeting once this many processes have begun one."""
    waiting, begun = [], set()
    for _ in range(items):
        waiting.append(listener.accept())
        begun.add(waiting[-1].recv())
        if len(begun) >= processes:
            for connection in waiting:
                connection.send(None)
            waiting.clear()


@contextmanager
def meeting(items: int, processes: int) -> Iterator[units.Meeting]:
    with Listener() as listener:
        threading.Thread(target=reply, args=(listener, items, processes), daemon=True).start()
        yield units.Meeting(listener.address)


@pytest.mark.long
def test_each_item_is_done_once(workers):
    assert str(workers).startswith("3 workers of tcp://127.0.0.1:")
    results = list(workers.do(units.square, range(50)))
    assert sorted(results) == [(n, n * n) for n in range(50)]
    assert list(workers.do(units.square, [7])) == [(7, 49)]
    assert list(workers.do(units.square, [])) == []


@pytest.mark.long
def test_all_workers_work_and_a_later_one(cluster, workers):
    with cluster.worker(TESTS), meeting(12, processes=4) as everybody:
        assert sorted(workers.do(everybody.do, range(12))) == [(n, n) for n in range(12)]


@pytest.mark.long
def test_error_of_a_unit_is_raised(workers):
    with pytest.raises(ValueError, match="unit 3 is no good"):
        list(workers.do(units.fail, [3]))


def begun(workers: Cluster) -> Iterator[tuple[int, int]]:
    """The results of endless work, after the first one."""
    results = workers.do(units.square, range(1 << 62))
    next(results)
    return results


@pytest.mark.long
def test_abandoned_work_ends(workers):
    results = workers.do(units.square, range(1 << 62))
    assert {next(results)[0] for _ in range(20)} < set(range(40))
    results.close()


@pytest.mark.long
def test_dead_worker_is_replaced(workers, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=pipe.read_bytes)  # it ends when no process writes
    reader.start()
    killing = units.Killing(tmp_path, item=4, times=1)
    results = workers.do(units.KillingBesideProgram(pipe, killing).do, range(20))
    assert sorted(results) == [(n, n) for n in range(20)]
    assert names(tmp_path) == {"killed-0"}
    reader.join()  # the program has ended with its worker


@pytest.mark.long
def test_work_that_kills_workers_is_given_up(workers, tmp_path):
    killing = units.Killing(tmp_path, item=4, times=99)
    message = r"^4 workers died at the same unit of work \(killed, or not enough memory\): 4$"
    with pytest.raises(ToolError, match=message):
        list(workers.do(killing.do, range(20)))


def other_version(folder: Path, package: str, version: str) -> dict[str, str]:
    """An environment in which the metadata of a package state another version."""
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    return {"PYTHONPATH": str(folder)}


def copy_of_sources(folder: Path) -> dict[str, str]:
    """An environment with other sources of this project."""
    changed = Path(shutil.copytree(utf8_hdl.__path__[0], folder / "utf8_hdl"))
    with (changed / "profile.py").open("a") as file:
        file.write("# something else\n")
    return {"PYTHONPATH": str(folder)}


def no_sources(folder: Path) -> dict[str, str]:
    """An environment in which the packages cannot be imported."""
    folder.mkdir()
    (folder / "utf8_sim.py").write_text("raise ImportError('no sources')\n")
    return {"PYTHONPATH": str(folder)}


@pytest.mark.long
def test_different_worker_is_refused(folder, tmp_path_factory):
    place = tmp_path_factory.mktemp("cluster")
    numpy = re.escape(versions(["numpy"], [])["numpy"])
    sources = versions([], ["utf8_hdl"])["utf8_hdl"]
    prove = "prove", "--component", "encoder", "--compact", "--property", "rate"
    with dask_cluster(place, 0) as cluster:
        compare = *EXHAUSTIVE, 1, "--cluster", cluster.address
        start = f"dask worker {cluster.address} --host HOST --nworkers auto --nthreads 1"
        assert_refused(run(*compare), f"start them with {start}")
        differs = other_version(place / "numpy", "numpy", "0.1")
        with cluster.worker({}), cluster.worker(differs):
            result = run(*compare)
            assert_refused(result, "install the same version there")
            refused = (
                rf"utf8-hdl: a worker on \S+ has numpy 0\.1, but this machine has {numpy}: install "
            )
            assert re.match(refused, result.err)
        with cluster.worker(no_sources(place / "none")):
            assert_refused(run(*compare), "cannot report its versions (ImportError(")
        with cluster.worker(copy_of_sources(place / "sources")):
            result = run(*compare)
            assert_refused(result, f"but this machine has {sources}: ")
            assert re.search("has utf8_hdl [0-9a-f]{8}, but this machine has", result.err)
        with cluster.worker(other_version(place / "pyosys", "pyosys", "0.1")):
            assert run(*compare).status == 0  # it does not use this tool
            result = run(*prove, "--profile", "unicode", "--cluster", cluster.address)
            assert_refused(result, "has pyosys 0.1, but this machine has ")


@pytest.mark.long
def test_later_worker_with_other_version_is_refused(cluster, tmp_path):
    other = other_version(tmp_path / "numpy", "numpy", "0.1")
    with Cluster(cluster.address, ["numpy"]) as workers:
        results = begun(workers)
        message = r"^a worker on \S+ has numpy 0\.1, but this machine has "
        with cluster.worker(other), pytest.raises(ToolError, match=message):
            deque(results, maxlen=0)
    cluster.wait_until_clean()


def test_other_python_is_refused():
    message = r"^a worker on \S+ has Python 3\.\d+, but this machine has 2\.7: "
    with pytest.raises(ToolError, match=message):
        check_versions(((), ()), {"Python": "2.7"})


@pytest.mark.long
@pytest.mark.parametrize(
    ("banner", "reason"),
    [
        (b"", "it did not answer in 1 s"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "another kind of server answers there"),
        (bytes(1000), "another kind of server answers there"),
    ],
    ids=["silent", "ssh", "zeros"],
)
def test_other_server_is_refused(folder, monkeypatch, banner, reason):
    if not banner:
        monkeypatch.setattr(tools, "TIMEOUT", 1)
    connected = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            connected.set()
            self.request.sendall(banner)
            with suppress(OSError):
                while self.request.recv(1000):
                    pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        result = run("compare", "--exhaustive", 1, "--cluster", address)
        connected.wait()
        server.shutdown()
    assert_refused(result, f"no Dask scheduler can be used at {address!r}: {reason}")


@pytest.mark.long
def test_worker_address_is_refused(folder, cluster):
    worker = min(cluster.client.nthreads())
    result = run("compare", "--exhaustive", 1, "--cluster", worker)
    assert_refused(result, f"no Dask scheduler can be used at {worker!r}: it is a Worker's address")


ENCODER = "--component encoder --compact"


@pytest.mark.long
@needs_compiler
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("compare --exhaustive 2", "agree on every output pin"),
        (f"compare {ENCODER} --stall-output 0.3 --tokens -", "}\n{"),
        ("compare --compact --cycles 4194304", "units 0-3 of seed 0: "),
        (f"synthesize {ENCODER} --profile ucs2 --seeds 2 --device ice40-hx8k --json -", '"mhz"'),
    ],
)
def test_command_is_the_same_on_a_cluster(folder, cluster, line, found):
    here, there = run(*line.split()), run(*line.split(), "--cluster", cluster.address)
    assert there == here
    assert here.status == 0
    assert found in here.out
    assert names(folder) == {"text.txt"}


@pytest.mark.long
def test_proofs_are_the_same_on_a_cluster(folder, cluster):
    arguments = "prove", "--component", "encoder", "--compact", "--profile", "unicode"
    here, there = run(*arguments), run(*arguments, "--cluster", cluster.address)
    assert (here.status, there.status) == (0, 0)
    verdicts = [
        sorted(re.sub(r" +[\d.]+ s$", "", r.out, flags=re.M).split("\n")) for r in (here, there)
    ]
    assert verdicts[0] == verdicts[1]
    assert "13 properties proved, 54 covers reached" in verdicts[0]


@pytest.mark.long
@needs_compiler
def test_difference_is_reported_as_without_cluster(folder, cluster, monkeypatch):
    """Only this process has the broken design, so it also does the work of the workers."""
    options = break_design(monkeypatch, "range: F5 is in range")
    here = run("compare", *options, "--exhaustive", 1)
    assert here.status == 1
    monkeypatch.setattr(Cluster, "do", lambda _, work, items: ((n, work(n)) for n in items))
    there = run("compare", *options, "--exhaustive", 1, "--cluster", cluster.address)
    assert there == here


@pytest.mark.long
@needs_compiler
def test_killed_worker_changes_no_result(folder, cluster):
    # Each of the 64 units ends with 16 more cycles, as the only unit of two bytes does.
    words = {
        "65536 texts, every one of 2": "16777216 texts, every one of 3",
        f"all {2 * 256**2 + 16} cycles": f"all {3 * 256**3 + 64 * 16} cycles",
    }
    expected = run("compare", "--exhaustive", 2).out
    for of_two, of_three in words.items():
        assert of_two in expected
        expected = expected.replace(of_two, of_three)
    with Process("compare", "--exhaustive", 3, "--cluster", cluster.address) as running:
        wait_until(Path("utf8-hdl-compare.json").exists, running.process)
        os.kill(min(cluster.client.run(os.getpid).values()), signal.SIGKILL)
        assert running.end() == (0, expected, "")
    assert names(folder) == {"text.txt"}


@pytest.mark.long
@needs_compiler
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupt", "kill"])
def test_ended_command_leaves_the_cluster_clean(folder, cluster, number):
    with Process(*EXHAUSTIVE, 4, "--cluster", cluster.address) as running:
        wait_until(Path("utf8-hdl-compare.json").exists, running.process)
        running.send(number)
        status, out, err = running.end()
    if number == signal.SIGINT:
        assert (status, err) == (130, "")
        assert "the same command resumes at unit " in out
    cluster.wait_until_clean()


@pytest.mark.long
def test_loss_of_workers_and_scheduler_is_reported(tmp_path, monkeypatch):
    setting = "DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT"
    assert f"`{setting}=60s`" in PAGE
    monkeypatch.setenv(setting, "1s")
    with dask_cluster(tmp_path, 0) as cluster:
        lost = cluster.start_workers(TESTS)
        with Cluster(cluster.address, []) as workers:
            results = begun(workers)
            cluster.stop(lost)
            with pytest.raises(ToolError, match=r"^no worker of the Dask scheduler at .* is left"):
                deque(results, maxlen=0)
        cluster.start_workers(TESTS)
        with Cluster(cluster.address, []) as workers:
            results = begun(workers)
            cluster.scheduler.terminate()
            cluster.scheduler.wait()
            with pytest.raises(ToolError, match=r"^the Dask scheduler at 'tcp://.*' is gone"):
                deque(results, maxlen=0)


@pytest.mark.long
@needs("openssl")
def test_documented_tls(folder, tmp_path_factory, monkeypatch):
    place = tmp_path_factory.mktemp("tls")
    [command] = re.findall(r"^openssl req .*$", PAGE, re.M)
    in_shell(command, cwd=place)
    settings = re.findall(r"^export (DASK_DISTRIBUTED__COMM__TLS__\w+)=\$PWD/(.*)$", PAGE, re.M)
    assert len(settings) == 7
    for name, file in settings:
        monkeypatch.setenv(name, str(place / file))
    certificate, key = str(place / "ca.pem"), str(place / "ca.key")
    own = Security(tls_ca_file=certificate, tls_client_cert=certificate, tls_client_key=key)
    assert "Add `--protocol tls` to `dask scheduler`" in PAGE
    with dask_cluster(place, 1, "--protocol", "tls", security=own) as cluster:
        assert cluster.listens_on() == {"127.0.0.1"}
        assert cluster.address.startswith("tls://")
        command = f"utf8-hdl {' '.join(EXHAUSTIVE)} 1 --cluster {cluster.address}"
        in_shell(command)
        for name, _ in settings:
            monkeypatch.delenv(name)
        assert_refused(run_in_shell(command), "DASK_DISTRIBUTED__COMM__TLS__CA_FILE")
