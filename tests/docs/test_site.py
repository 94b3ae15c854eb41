"""Test the site: contents, links, reference, and independence of other hosts."""

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest

import utf8_flow
import utf8_hdl
import utf8_sim
from needs import needs

ROOT = Path(__file__).parents[2]
PACKAGES = {package.__name__: package for package in (utf8_hdl, utf8_sim, utf8_flow)}
LIVE = Path(utf8_flow.__file__).parent / "live/page"

pytestmark = pytest.mark.xdist_group("site")
needs_sphinx = needs(modules=["sphinx", "furo", "myst_parser", "sphinx_copybutton"])
needs_browser = needs("chromium", "chromedriver", modules=["selenium"])


def long_site_test(test: Any) -> Any:
    """Mark a test of the site, which is built once for all of them."""
    return pytest.mark.long(needs_sphinx(test))


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


@cache
def references(page: Path) -> References:
    """The references of a page, which is parsed once for all tests."""
    return References(page)


def is_outside(target: str) -> bool:
    return bool(re.match(r"(\w+:)?//|(https?|mailto|data):", target))


def broken_links(folder: Path) -> list[str]:
    """References to missing files, or to missing names in pages."""
    pages = {page.resolve(): references(page) for page in folder.rglob("*.html")}
    found = []
    for page, links in pages.items():
        for target in {*links.followed, *links.loaded}:
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
        for target in references(page).loaded
        if is_outside(target) and not target.startswith("data:")
    ]
    for file in folder.rglob("*.css"):
        found += re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)]*", file.read_text())
    return found


@long_site_test
def test_site_has_every_page_and_drawing(site):
    home = set(references(site / "README.html").followed)
    assert {f"docs/{page.stem}.html" for page in ROOT.glob("docs/*.md")} < home
    assert {"site/live.html", "CHANGELOG.html"} < home
    assert {f"site/{package}.html" for package in PACKAGES} < home
    drawings = {file.name for file in (site / "_images").iterdir()}
    assert {file.name for file in ROOT.glob("docs/**/*.svg")} == drawings
    text = (site / "README.html").read_text(encoding="utf-8")
    above, _, _ = text.partition('<section id="components">')
    assert '<a class="live" href="site/live.html">' in above


@long_site_test
def test_reference_has_names_signatures_and_comments(site):
    for name, package in PACKAGES.items():
        names = references(site / f"site/{name}.html").names
        shown = {each.rpartition(".")[2] for each in names}
        assert {*package.__all__} - shown <= {"__version__"}
    tags = re.sub(r"<[^>]*>", "", (site / "site/utf8_hdl.html").read_text(encoding="utf-8"))
    text = " ".join(html.unescape(tags).split())
    for expected in (
        "class WideDecoder(profile=UNICODE, *, lanes=DEFAULT_LANES)",  # the name of the value
        "class AxiStream(component)",  # not the signature of Amaranth's metaclass
        "Bytes in a code unit: 1, 2 or 4.",  # without a type before the colon
        "user.error is set in the bytes of the U+FFFD",
    ):
        assert expected in text


@long_site_test
def test_sources_are_pages_and_data_are_downloads(site):
    followed = {target for page in site.rglob("*.html") for target in references(page).followed}
    downloads = {target for target in followed if "_downloads/" in target}
    assert {Path(target).suffix for target in downloads} >= {".csv", ".v"}
    sources = [page.relative_to(site / "source") for page in site.glob("source/**/*.html")]
    for source in sources:
        page = site / "source" / source
        name = source.stem
        raw = [target for target in references(page).followed if Path(target).name == name]
        assert [(page.parent / target).read_bytes() for target in raw] == [
            (ROOT / source.with_name(name)).read_bytes()
        ]
        downloads -= set(raw)
    assert Path("verilog/utf8_decoder.v.html") in sources
    code = (site / "source/verilog/utf8_decoder.v.html").read_text(encoding="utf-8")
    assert '<span class="k">module</span>' in code
    assert {Path(target).suffix for target in downloads} == {".csv"}


@long_site_test
def test_pages_describe_themselves(site):
    for page, title, start in (
        ("index", "utf8-hdl", "UTF-8 decoders, encoders, validators and transcoders for FPGAs"),
        ("docs/decoder", "The byte decoder and encoder", "One byte per cycle."),
    ):
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        assert f'<meta name="description" content="{start}' in text
        assert f'<meta property="og:description" content="{start}' in text
        assert f'<meta property="og:title" content="{title}">' in text
        assert re.search(r'rel="shortcut icon" href="(../)*_static/favicon.svg"', text)


@pytest.fixture(scope="module")
def page(site) -> Iterator[Any]:
    """The site in a browser, on a host that shows 404.html instead of missing pages."""
    live_page = pytest.importorskip("live_page")
    with live_page.served(site, "/some/prefix/") as address, live_page.browser() as driver:
        yield live_page.LivePage(driver, address)


BUTTON = """
document.addEventListener("copy", (event) => { window.copied = event.target.value; }, true);
const button = [...document.querySelectorAll("button.copybtn")]
  .find((button) => button.previousElementSibling.textContent.includes(arguments[0]));
button?.scrollIntoView({ block: "center", behavior: "instant" });
return button;
"""


@long_site_test
@needs_browser
@pytest.mark.parametrize(
    ("name", "part", "copied"),
    [
        ("README", "HELD", "utf8-hdl simulate --compact --hex 'E2 82 41 C0 AF F0 9F 98 80'"),
        ("README", "make sim", "make sim     # decode sample texts in simulated hardware"),
        ("docs/flow-control", "range(40, 60)", "from utf8_hdl import Transcoder\n"),
    ],
)
def test_copy_buttons_leave_out_prompts_and_output(page, name, part, copied):
    page.driver.get(f"{page.address}{name}.html")
    page.wait_for(lambda: page.script(BUTTON, part)).click()
    text = page.wait_for(lambda: page.script("return window.copied"))
    assert text.startswith(copied)
    assert not re.search(r"^(\$|>>>|\.\.\.) |HELD|\[0\]$", text, re.M)


RESULTS = """
const found = [...document.querySelectorAll("#search-results ul.search li a")];
const done = document.querySelector("#search-results p.search-summary")?.textContent.trim();
return done && !done.startsWith("Searching") && found.map((link) => link.getAttribute("href"));
"""


@long_site_test
@needs_browser
@pytest.mark.parametrize("word", ["latency", "transcoder"])
def test_search_finds_guides_before_data_sheets_and_changelog(page, word):
    page.driver.get(f"{page.address}search.html?q={word}")
    found = page.wait_for(lambda: page.script(RESULTS))
    last = [n for n, name in enumerate(found) if name.startswith(("CHANGELOG", "verilog/utf"))]
    assert last
    assert last == list(range(len(found) - len(last), len(found)))


@long_site_test
@needs_browser
@pytest.mark.parametrize("missing", ["none", "docs/none.html", "a/b/c/none.html?x=1#y"])
def test_page_for_missing_addresses_leads_back(page, missing):
    page.driver.get(page.address + missing)
    links = "return [...document.links].map((link) => link.href)"
    expected = [f"{page.address}{name}.html" for name in ("README", "search", "site/live")]
    page.wait_for(lambda: page.script(links)[0] == expected[0])
    assert page.script(links) == expected


@long_site_test
@needs_browser
def test_theme_of_the_pages_is_that_of_their_figures(page):
    """A figure is dark if its element has a dark colour scheme."""
    page.driver.get(f"{page.address}docs/decoder.html")
    scheme = "return getComputedStyle(document.querySelector('article img')).colorScheme"
    for theme in "light", "dark":
        page.script("document.body.dataset.theme = arguments[0]", theme)
        assert page.script(scheme) == theme


@long_site_test
def test_links_of_the_site(site):
    assert broken_links(site) == []
    assert loaded_from_outside(site) == []
    addresses = re.findall(r"\w+://[^\"]*", "".join(file.read_text() for file in LIVE.iterdir()))
    assert addresses == ["http://www.w3.org/2000/svg"] * 2  # a name, not an address


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
