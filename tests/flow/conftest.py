"""Where the command runs: an own folder, and no terminal."""

from pathlib import Path

import pytest

from utf8_flow import terminal


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    """What makes Rich believe that a person is looking."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def fast_machine(monkeypatch):
    """Nothing takes so long that it says how far it has come."""
    monkeypatch.setattr(terminal, "FIRST_LINE", 1e6)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An own current folder, with a text in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_bytes(b"A\xc2\xa9")
    return tmp_path
