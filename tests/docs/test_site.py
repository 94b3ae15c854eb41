"""The site is whole, needs no other host, and is served."""

import html
import re
import shutil
import subprocess
import sys
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

import pytest

import utf8_flow
import utf8_hdl
import utf8_sim
from live_page import served
from needs import needs

ROOT = Path(__file__).parents[2]
LIVE = Path(utf8_flow.__file__).parent / "live/page"

needs_sphinx = needs(modules=["sphinx", "furo", "myst_parser"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, with the live page but without its designs."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "-c", "site", "."]
    subprocess.run([*command, str(folder)], cwd=ROOT, check=True)
    shutil.copytree(LIVE, folder / "live")
    return folder


class References(HTMLParser):
    """What a page refers to: for a reader to follow, and to be loaded with it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.followed: list[str] = []
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.names |= {name for name in (given.get("id"), given.get("name")) if name}
        target = given.get("href") or given.get("src")
        if target:
            (self.followed if tag == "a" else self.loaded).append(target)


def is_outside(target: str) -> bool:
    return re.match(r"(\w+:)?//|(https?|mailto|data):", target) is not None


def broken_links(folder: Path) -> list[str]:
    """References to files or places in the folder that are not there."""
    pages = {page.resolve(): References(page) for page in folder.rglob("*.html")}
    found = []
    for page, references in pages.items():
        for target in {*references.followed, *references.loaded}:
            if is_outside(target):
                continue
            file, place = urldefrag(target)
            there = (page.parent / file.partition("?")[0]).resolve() if file else page
            is_name = place and there in pages and there.parent.name != "live"
            if not there.is_file() or (is_name and place not in pages[there].names):
                found.append(f"{page.name}: {target}")
    return found


def loaded_from_outside(folder: Path) -> list[str]:
    """What pages, scripts of the live page and style sheets have from other hosts."""
    found = [
        f"{page.name}: {target}"
        for page in folder.rglob("*.html")
        for target in References(page).loaded
        if is_outside(target) and not target.startswith("data:")
    ]
    for file in folder.rglob("*.css"):
        found += re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)]*", file.read_text())
    return found


@needs_sphinx
def test_every_page_is_there_and_in_the_contents(site):
    home = References(site / "README.html").followed
    for page in sorted(ROOT.glob("docs/*.md")):
        assert f"docs/{page.stem}.html" in home
    assert {"site/live.html", "site/api.html", "CHANGELOG.html"} < set(home)


@needs_sphinx
def test_the_reference_has_every_public_name(site):
    names = {name.rpartition(".")[2] for name in References(site / "site/api.html").names}
    public = {*utf8_hdl.__all__, *utf8_sim.__all__, *utf8_flow.__all__} - {"__version__"}
    assert public - names == set()


@needs_sphinx
@pytest.mark.parametrize(
    "said",
    [
        "class WideDecoder(profile=UNICODE, *, lanes=DEFAULT_LANES)",  # not what UNICODE is made of
        "class AxiStream(component)",  # not what Amaranth passes on
        "Bytes in a code unit: 1, 2 or 4.",  # no type in front of the colon
        "user.error: it belongs to U+FFFD",
    ],
)
def test_the_reference_says_what_the_source_says(site, said):
    tags = re.sub(r"<[^>]*>", "", (site / "site/api.html").read_text(encoding="utf-8"))
    assert said in " ".join(html.unescape(tags).split())


@needs_sphinx
def test_no_link_is_broken(site):
    assert broken_links(site) == []


@needs_sphinx
def test_nothing_comes_from_another_host(site):
    assert loaded_from_outside(site) == []
    addresses = re.findall(r"\w+://[^\"]*", "".join(file.read_text() for file in LIVE.iterdir()))
    assert addresses == ["http://www.w3.org/2000/svg"]  # a name, not a place


@needs_sphinx
def test_diagrams_are_drawings(site):
    drawings = {file.name for file in (site / "_images").iterdir()}
    assert {file.name for file in ROOT.glob("docs/*.svg")} == drawings


def test_what_is_broken_is_found(tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="other.html">x</a><a href="#nowhere">y</a><a href="https://example.org">z</a>'
        '<script src="https://example.org/x.js"></script><img src="page.html" id="here">'
    )
    (tmp_path / "style.css").write_text("@import 'https://example.org/font.css';")
    assert sorted(broken_links(tmp_path)) == ["page.html: #nowhere", "page.html: other.html"]
    assert loaded_from_outside(tmp_path) == [
        "page.html: https://example.org/x.js",
        "@import 'https://example.org/font.css';",
    ]


def test_webassembly_is_served_as_browsers_require(tmp_path):
    (tmp_path / "design.wasm").write_bytes(b"\0asm")
    with served(tmp_path) as address, urllib.request.urlopen(f"{address}design.wasm") as answer:
        assert answer.headers["Content-Type"] == "application/wasm"
        assert answer.read() == b"\0asm"
