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


def test_right_content_is_accepted():
    assert [*packages.wheel_problems({*WHEEL, "utf8_hdl-1.dist-info/METADATA"}, TRACKED)] == []
    assert [*packages.sdist_problems({*SDIST, "PKG-INFO"}, TRACKED)] == []


@pytest.mark.parametrize(
    ("wheel", "problem"),
    [
        (WHEEL - {"utf8_flow/live/page/index.html"}, "lacks utf8_flow/live/page/index.html"),
        (WHEEL | {"tests/conftest.py"}, "has tests/conftest.py"),
        (WHEEL | {"utf8_hdl/__pycache__/a.pyc"}, "has utf8_hdl/__pycache__/a.pyc"),
    ],
    ids=["asset missing", "tests", "cache"],
)
def test_wrong_wheel_is_found(wheel, problem):
    assert [*packages.wheel_problems(wheel, TRACKED)] == [f"the wheel {problem}"]


@pytest.mark.parametrize(
    ("sdist", "problem"),
    [(SDIST - {"LICENSE"}, "lacks LICENSE"), (SDIST | {".ci/run"}, "has .ci/run")],
    ids=["licence missing", "CI"],
)
def test_wrong_sdist_is_found(sdist, problem):
    assert [*packages.sdist_problems(sdist, TRACKED)] == [f"the sdist {problem}"]


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
