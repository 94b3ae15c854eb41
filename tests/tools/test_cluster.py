"""`--cluster`: the same work on a Dask scheduler's workers, whoever comes, dies or differs."""

import os
import re
import shutil
import signal
import socketserver
import subprocess
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from distributed import Security

import units
import utf8_hdl
from command import COMMAND, Process, assert_refused, break_design, names, run, wait_until
from dask_cluster import PAGE, TESTS, DaskCluster, dask_cluster
from needs import needs, needs_compiler
from utf8_flow.cli.choices import Machines
from utf8_sim.tools import cluster as tools
from utf8_sim.tools.cluster import Cluster
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.versions import check_versions, versions


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> DaskCluster:
    with dask_cluster(tmp_path_factory.mktemp("cluster"), 3) as started:
        yield started


@pytest.fixture
def workers(cluster) -> Cluster:
    """The workers, as the commands have them; afterwards nothing is left in the cluster."""
    with Machines(cluster.address).workers() as everybody:
        yield everybody
    cluster.wait_until_clean()


def test_as_the_docs_start_it_nothing_listens_on_other_addresses(cluster):
    assert cluster.listens_on() == {"127.0.0.1"}


# --- units of work ------------------------------------------------------------------------------


def test_every_item_is_done_once(workers):
    # One that another test killed may be on its way back.
    wait_until(lambda: str(workers).startswith("3 workers of tcp://127.0.0.1:"), seconds=120)
    results = list(workers.do(units.square, range(50)))
    assert sorted(results) == [(n, n * n) for n in range(50)]
    assert list(workers.do(units.square, [7])) == [(7, 49)]
    assert list(workers.do(units.square, [])) == []


def test_all_workers_are_at_it(workers, tmp_path):
    meeting = units.Meeting(tmp_path, 3)
    assert sorted(workers.do(meeting.do, range(9))) == [(n, n) for n in range(9)]


def test_what_a_unit_raises_is_raised_here(workers):
    with pytest.raises(ValueError, match="unit 3 is no good"):
        list(workers.do(units.fail, [3]))


def test_endless_work_ends_when_nobody_wants_more(workers):
    results = workers.do(units.square, range(1 << 62))
    assert {next(results)[0] for _ in range(20)} < set(range(40))
    results.close()


def test_who_dies_is_replaced_and_nothing_is_counted_twice(workers, tmp_path):
    killing = units.Killing(tmp_path, item=4, times=1)
    assert sorted(workers.do(killing.do, range(20))) == [(n, n) for n in range(20)]
    assert names(tmp_path) == {"killed-0"}


def test_a_program_ends_with_the_worker_that_started_it(workers, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=pipe.read_bytes)  # until all who write to it have ended
    reader.start()
    killing = units.Killing(tmp_path, item=0, times=1)
    assert list(workers.do(units.KillingBesideProgram(pipe, killing).do, [0])) == [(0, 0)]
    assert names(tmp_path) == {"killed-0"}
    reader.join(60)
    assert not reader.is_alive()


def test_work_that_kills_every_worker_is_given_up(workers, tmp_path):
    killing = units.Killing(tmp_path, item=4, times=99)
    message = r"^4 workers died at the same unit of work \(killed, or not enough memory\): 4$"
    with pytest.raises(ToolError, match=message):
        list(workers.do(killing.do, range(20)))


def test_a_worker_that_comes_later_helps(tmp_path):
    with dask_cluster(tmp_path, 1) as cluster, Cluster(cluster.address, []) as workers:
        (tmp_path / "met").mkdir()
        meeting = units.Meeting(tmp_path / "met", 2)
        results = workers.do(meeting.do, range(8))
        wait_for_two = partial(next, results)
        cluster.start_workers(TESTS)
        assert sorted([wait_for_two(), *results]) == [(n, n) for n in range(8)]


# --- who is refused -----------------------------------------------------------------------------


def other_version(folder: Path, package: str, version: str) -> dict[str, str]:
    """An environment in which a package has another version, as far as one can see."""
    info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    return {"PYTHONPATH": str(folder)}


def test_a_worker_with_another_version_is_refused(folder, tmp_path_factory):
    place = tmp_path_factory.mktemp("cluster")
    ours = versions(["numpy"], [])["numpy"]
    refused = rf"a worker on \S+ has numpy 0\.1, here is {re.escape(ours)}: install the same there"
    with dask_cluster(place, 0) as cluster:
        option = "--cluster", cluster.address
        result = run("compare", "--exhaustive", 1, *option)
        one_for_each_core = "--host HOST --nworkers auto --nthreads 1"
        assert_refused(result, f"start them with dask worker {cluster.address} {one_for_each_core}")
        cluster.start_workers(other_version(place / "numpy", "numpy", "0.1"), {})
        result = run("compare", "--exhaustive", 1, *option)
        assert_refused(result, "install the same there")
        assert re.match(f"utf8-hdl: {refused}", result.err)


@pytest.mark.long
def test_so_is_one_that_comes_later(tmp_path):
    with dask_cluster(tmp_path, 1) as cluster, Cluster(cluster.address, ["numpy"]) as workers:
        results = workers.do(units.square, range(1 << 62))
        next(results)
        cluster.start_workers(other_version(tmp_path / "numpy", "numpy", "0.1"))
        with pytest.raises(ToolError, match=r"^a worker on \S+ has numpy 0\.1, here is "):
            for _ in results:
                pass


def test_another_python_is_another_version():
    with pytest.raises(ToolError, match=r"^a worker on \S+ has Python 3\.\d+, here is 2\.7: "):
        check_versions(((), ()), {"Python": "2.7"})


@pytest.mark.long
def test_only_the_tools_count_that_a_command_needs(folder, tmp_path_factory):
    place = tmp_path_factory.mktemp("cluster")
    with dask_cluster(place, 0) as cluster:
        cluster.start_workers(other_version(place / "pyosys", "pyosys", "0.1"))
        option = "--cluster", cluster.address
        assert run("compare", "--exhaustive", 1, *option).status == 0
        goal = "--component", "encoder", "--compact", "--profile", "unicode", "--property", "rate"
        assert_refused(run("prove", *goal, *option), "has pyosys 0.1, here is ")


@pytest.mark.long
def test_a_worker_with_other_sources_or_without_any_is_refused(folder, tmp_path_factory):
    place = tmp_path_factory.mktemp("cluster")
    changed = Path(shutil.copytree(utf8_hdl.__path__[0], place / "sources" / "utf8_hdl"))
    with (changed / "profile.py").open("a") as file:
        file.write("# something else\n")
    (place / "none").mkdir()
    (place / "none" / "utf8_sim.py").write_text("raise ImportError('nothing of ours is here')\n")
    ours = versions([], ["utf8_hdl"])["utf8_hdl"]
    assert re.fullmatch("[0-9a-f]{8}", ours)
    with dask_cluster(place, 0) as cluster:
        [worker] = cluster.start_workers({"PYTHONPATH": str(place / "none")})
        result = run("compare", "--exhaustive", 1, "--cluster", cluster.address)
        assert_refused(result, "cannot report its versions (ImportError(")
        worker.terminate()
        worker.wait()
        wait_until(lambda: not cluster.client.nthreads(), seconds=120)
        cluster.start_workers({"PYTHONPATH": str(place / "sources")})
        result = run("compare", "--exhaustive", 1, "--cluster", cluster.address)
        assert_refused(result, f"here is {ours}: ")
        assert re.search("has utf8_hdl [0-9a-f]{8}, here is", result.err)


NO_ADDRESS = "is not an address: tcp://HOST:PORT or tls://HOST:PORT"


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("nonsense", NO_ADDRESS),
        ("http://127.0.0.1:1", NO_ADDRESS),
        ("inproc://x", NO_ADDRESS),
        ("tcp://127.0.0.1:port", NO_ADDRESS),
        ("127.0.0.1:1", "'tcp://127.0.0.1:1': it did not answer in 1 s"),
        ("tls://127.0.0.1:1", "DASK_DISTRIBUTED__COMM__TLS__CA_FILE"),
    ],
)
def test_a_wrong_address_is_refused(folder, monkeypatch, address, named):
    monkeypatch.setattr(tools, "TIMEOUT", 1)
    assert_refused(run("compare", "--exhaustive", 1, "--cluster", address), named)
    assert names(folder) == {"text.txt"}


@pytest.mark.parametrize(
    ("banner", "reason"),
    [
        (b"", "it did not answer in 1 s"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "another kind of server answers there"),
        (bytes(1000), "another kind of server answers there"),
    ],
    ids=["silent", "ssh", "zeros"],
)
def test_a_server_that_is_no_scheduler_is_refused(folder, monkeypatch, banner, reason):
    monkeypatch.setattr(tools, "TIMEOUT", 1)
    connected = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            connected.append(self)
            self.request.sendall(banner)
            with suppress(OSError):
                while self.request.recv(1000):
                    pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        result = run("compare", "--exhaustive", 1, "--cluster", address)
        server.shutdown()
    assert_refused(result, f"no Dask scheduler can be used at {address!r}: {reason}")
    assert connected


def test_a_worker_is_no_scheduler(folder, cluster):
    worker = min(cluster.client.nthreads())
    result = run("compare", "--exhaustive", 1, "--cluster", worker)
    assert_refused(result, f"no Dask scheduler can be used at {worker!r}: it is a Worker's address")


# --- commands -----------------------------------------------------------------------------------


def same(cluster: DaskCluster, *arguments: object) -> str:
    """What a command prints, which is to the byte the same on the cluster and here."""
    here, there = run(*arguments), run(*arguments, "--cluster", cluster.address)
    assert there == here
    assert here.status == 0
    return here.out


@needs_compiler
def test_every_text_of_two_bytes(folder, cluster):
    assert "agree on every output pin" in same(cluster, "compare", "--exhaustive", 2)
    assert names(folder) == {"text.txt"}


def test_the_campaign(folder, cluster):
    options = "--component", "encoder", "--compact"
    assert "every class met every output" in same(cluster, "compare", *options)
    bytes_given = same(cluster, "compare", *options, "--stall-output", 0.3, "--tokens", "-")
    assert len(bytes_given.splitlines()) > 1000
    assert names(folder) == {"text.txt"}


@pytest.mark.long
@needs_compiler
def test_random_hostile_stimuli(folder, cluster):
    out = same(cluster, "compare", "--lanes", 2, "--cycles", 1 << 23)
    assert "units 0-7 of seed 0: " in out
    assert names(folder) == {"text.txt"}


def test_texts_of_ones_own_are_not_sent(folder, cluster):
    for texts in (["text.txt"], ["--hex", "41"]):
        result = run("compare", *texts, "--cluster", cluster.address)
        assert_refused(result, "--cluster has no effect on texts that are given")


def test_proofs(folder, cluster):
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
def test_mutants(folder, cluster):
    out = same(cluster, "mutate", "--component", "encoder", "--compact", "--mutants", 20)
    assert "20 mutants of " in out


@pytest.mark.long
def test_synthesis(folder, cluster):
    options = "--component", "encoder", "--compact", "--profile", "unicode", "--seeds", 2
    same(cluster, "synthesize", *options, "--device", "ice40-hx8k", "--json", "-")


@needs_compiler
def test_a_difference_is_shown_as_here(folder, cluster, monkeypatch):
    """A broken design is one of this process alone: what workers say of it is simulated."""
    options = break_design(monkeypatch, "range: F5 is in range")
    here = run("compare", *options, "--exhaustive", 1)
    assert here.status == 1
    monkeypatch.setattr(Cluster, "do", lambda _, work, items: ((n, work(n)) for n in items))
    there = run("compare", *options, "--exhaustive", 1, "--cluster", cluster.address)
    assert there == here


@pytest.mark.long
@needs_compiler
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(folder, cluster):
    here = run("compare", "--exhaustive", 3)
    with Process("compare", "--exhaustive", 3, "--cluster", cluster.address) as running:
        wait_until(Path("utf8-hdl-compare.json").exists, seconds=120)
        os.kill(min(cluster.client.run(os.getpid).values()), signal.SIGKILL)
        status, out, err = running.end()
    assert (status, out) == (here.status, here.out)
    # On a busy machine the command reports its progress.
    assert [line for line in err.splitlines() if "utf8-hdl: working: " not in line] == []
    assert "agree on every output pin" in out
    assert names(folder) == {"text.txt"}


@needs_compiler
def test_control_c_leaves_the_cluster_clean(folder, cluster):
    with Process("compare", "--exhaustive", 4, "--cluster", cluster.address) as running:
        wait_until(Path("utf8-hdl-compare.json").exists, seconds=120)
        running.interrupt()
        status, out, err = running.end()
    assert (status, err) == (130, "")
    assert "the same command resumes at unit " in out
    cluster.wait_until_clean()


@needs_compiler
def test_a_command_that_is_killed_leaves_the_cluster_clean(folder, cluster):
    with Process("compare", "--exhaustive", 4, "--cluster", cluster.address) as running:
        wait_until(Path("utf8-hdl-compare.json").exists, seconds=120)
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
    cluster.wait_until_clean()


@pytest.mark.long
def test_a_scheduler_that_ends_is_said(tmp_path):
    with dask_cluster(tmp_path, 1) as cluster, Cluster(cluster.address, []) as workers:
        results = workers.do(units.square, range(1 << 62))
        next(results)
        cluster.scheduler.terminate()
        cluster.scheduler.wait()
        with pytest.raises(ToolError, match=r"^the Dask scheduler at 'tcp://.*' is gone"):
            for _ in results:
                pass


@pytest.mark.long
def test_the_scheduler_gives_up_without_workers_if_it_is_set_so(tmp_path, monkeypatch):
    setting = "DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT"
    assert f"`{setting}=60s`" in PAGE
    monkeypatch.setenv(setting, "1s")
    with dask_cluster(tmp_path, 0) as cluster:
        [worker] = cluster.start_workers(TESTS)
        with Cluster(cluster.address, []) as workers:
            results = workers.do(units.square, range(1 << 62))
            next(results)
            worker.terminate()
            with pytest.raises(ToolError, match=r"^no worker of the Dask scheduler at .* is left"):
                for _ in results:
                    pass


# --- TLS ----------------------------------------------------------------------------------------


@pytest.mark.long
@needs("openssl")
def test_tls_as_the_docs_say(folder, tmp_path_factory, monkeypatch):
    place = tmp_path_factory.mktemp("tls")
    [command] = re.findall(r"^openssl req .*$", PAGE, re.M)
    subprocess.run(["bash", "-c", command], cwd=place, check=True, capture_output=True)
    files = {"CA_FILE": "ca.pem", "CLIENT__CERT": "ca.pem", "CLIENT__KEY": "ca.key"}
    files |= {
        f"{side}__{what}": file
        for side in ("SCHEDULER", "WORKER")
        for what, file in (("CERT", "ca.pem"), ("KEY", "ca.key"))
    }
    settings = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": file for name, file in files.items()}
    for name, file in settings.items():
        assert f"export {name}=$PWD/{file}\n" in PAGE
        monkeypatch.setenv(name, str(place / file))
    certificate, key = str(place / "ca.pem"), str(place / "ca.key")
    own = Security(tls_ca_file=certificate, tls_client_cert=certificate, tls_client_key=key)
    assert "Add `--protocol tls` to `dask scheduler`" in PAGE
    with dask_cluster(place, 1, "--protocol", "tls", security=own) as cluster:
        assert cluster.listens_on() == {"127.0.0.1"}
        command = COMMAND, "compare", "--exhaustive", "1", "--cluster", cluster.address
        assert cluster.address.startswith("tls://")
        with_keys = subprocess.run(command, capture_output=True, check=False, text=True)
        assert (with_keys.returncode, with_keys.stderr) == (0, "")
        for name in settings:
            monkeypatch.delenv(name)
        without = subprocess.run(command, capture_output=True, check=False, text=True)
        assert (without.returncode, without.stdout) == (2, "")
        assert "DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in without.stderr
