"""The checks of `make release` find what is wrong with packages and their metadata."""

from email.message import Message

import pytest

import packages

TRACKED = {
    "LICENSE",
    ".ci/run",
    "hdl/utf8_hdl/__init__.py",
    "flow/fusesoc_generator.py",
    "flow/utf8_flow/live/page/index.html",
}
WHEEL = {"utf8_hdl/__init__.py", "utf8_flow/live/page/index.html"}
SDIST = TRACKED - {".ci/run"}


PAGE = "utf8_flow/live/page/index.html"
FLAWS = {
    "wheel, right": (WHEEL | {"utf8_hdl-1.dist-info/METADATA"}, []),
    "wheel, asset missing": (WHEEL - {PAGE}, [f"the wheel lacks {PAGE}"]),
    "wheel, tests": (WHEEL | {"tests/conftest.py"}, ["the wheel has tests/conftest.py"]),
    "wheel, cache": (WHEEL | {"__pycache__/a.pyc"}, ["the wheel has __pycache__/a.pyc"]),
    "sdist, right": (SDIST | {"PKG-INFO"}, []),
    "sdist, licence missing": (SDIST - {"LICENSE"}, ["the sdist lacks LICENSE"]),
    "sdist, CI": (SDIST | {".ci/run"}, ["the sdist has .ci/run"]),
}
"""The files of a package, and what is wrong with them."""


@pytest.mark.parametrize("flaw", FLAWS)
def test_wrong_content_is_found(flaw):
    files, problems = FLAWS[flaw]
    check = packages.wheel_problems if "wheel" in flaw else packages.sdist_problems
    assert [*check(files, TRACKED)] == problems


@pytest.mark.parametrize(
    ("text", "urls", "problem"),
    [
        ("[a](https://b.example)", ["Source, https://b.example"], None),
        ("[a](docs/a.md)", ["Source, https://b.example"], "docs/a.md"),
        ("![a](a.svg)", ["Source, https://b.example"], "a.svg"),
        ("a", [], "set project.urls"),
    ],
    ids=["right", "link", "picture", "no address"],
)
def test_wrong_metadata_is_found(text, urls, problem):
    metadata = Message()
    metadata.set_payload(text)
    for url in urls:
        metadata["Project-URL"] = url
    problems = [*packages.metadata_problems(metadata)]
    assert len(problems) == (problem is not None)
    assert all(problem in each for each in problems)
