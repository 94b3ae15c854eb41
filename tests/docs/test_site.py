"""Test the site: contents, links, reference, and independence of other hosts."""

import html
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

import pytest

import utf8_flow
import utf8_hdl
import utf8_sim
from needs import needs

ROOT = Path(__file__).parents[2]
LIVE = Path(utf8_flow.__file__).parent / "live/page"

pytestmark = pytest.mark.xdist_group("site")
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
    """The references of a page: links, and files that are loaded with it."""

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
    return bool(re.match(r"(\w+:)?//|(https?|mailto|data):", target))


def broken_links(folder: Path) -> list[str]:
    """References to missing files, or to missing names in pages."""
    pages = {page.resolve(): References(page) for page in folder.rglob("*.html")}
    found = []
    for page, references in pages.items():
        for target in {*references.followed, *references.loaded}:
            if is_outside(target):
                continue
            file, place = urldefrag(target)
            path = (page.parent / file.partition("?")[0]).resolve() if file else page
            is_name = place and path in pages and path.parent.name != "live"
            if not path.is_file() or (is_name and place not in pages[path].names):
                found.append(f"{page.name}: {target}")
    return found


def loaded_from_outside(folder: Path) -> list[str]:
    """References of pages and style sheets to files of other hosts."""
    found = [
        f"{page.name}: {target}"
        for page in folder.rglob("*.html")
        for target in References(page).loaded
        if is_outside(target) and not target.startswith("data:")
    ]
    for file in folder.rglob("*.css"):
        found += re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)]*", file.read_text())
    return found


@pytest.mark.long
@needs_sphinx
def test_site_has_every_page_and_drawing(site):
    home = set(References(site / "README.html").followed)
    assert {f"docs/{page.stem}.html" for page in ROOT.glob("docs/*.md")} < home
    assert {"site/live.html", "site/api.html", "CHANGELOG.html"} < home
    drawings = {file.name for file in (site / "_images").iterdir()}
    assert {file.name for file in ROOT.glob("docs/*.svg")} == drawings


@pytest.mark.long
@needs_sphinx
def test_reference_has_names_signatures_and_comments(site):
    names = {name.rpartition(".")[2] for name in References(site / "site/api.html").names}
    public = {*utf8_hdl.__all__, *utf8_sim.__all__, *utf8_flow.__all__} - {"__version__"}
    assert public - names == set()
    tags = re.sub(r"<[^>]*>", "", (site / "site/api.html").read_text(encoding="utf-8"))
    text = " ".join(html.unescape(tags).split())
    for expected in (
        "class WideDecoder(profile=UNICODE, *, lanes=DEFAULT_LANES)",  # the name of the value
        "class AxiStream(component)",  # not the signature of Amaranth's metaclass
        "Bytes in a code unit: 1, 2 or 4.",  # without a type before the colon
        "user.error is set in the bytes of the U+FFFD",
    ):
        assert expected in text


@pytest.mark.long
@needs_sphinx
def test_links_of_the_site(site):
    assert broken_links(site) == []
    assert loaded_from_outside(site) == []
    addresses = re.findall(r"\w+://[^\"]*", "".join(file.read_text() for file in LIVE.iterdir()))
    assert addresses == ["http://www.w3.org/2000/svg"]  # a name, not an address


def test_broken_links_are_found(tmp_path):
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
