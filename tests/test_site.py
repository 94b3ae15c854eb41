"""The site is whole, needs no other host, and is served."""

import html
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urldefrag

import pytest

import utf8_flow
import utf8_hdl
import utf8_sim
from live_page import served
from needs import needs
from utf8_flow.live.serve import server_of

ROOT = Path(__file__).parents[1]
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
        "class Decoder(profile=UNICODE, compact=False, lanes=1)",  # not what UNICODE is made of
        "class AxiStream(component)",  # not what Amaranth passes on
        "How many bytes a unit has: 1, 2 or 4.",  # no type in front of the colon
        "error: the byte belongs to U+FFFD",
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


def test_serving_says_the_address_and_ends_quietly(tmp_path):
    (tmp_path / "design.wasm").write_bytes(b"\0asm")
    command = [sys.executable, "-m", "utf8_flow.live.serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        address = process.stdout.readline().split()[0]
        with urllib.request.urlopen(f"{address}design.wasm") as answer:
            assert answer.headers["Content-Type"] == "application/wasm"
            assert answer.read() == b"\0asm"
        process.send_signal(signal.SIGINT)
        assert (process.wait(), process.stderr.read()) == (0, "")


def status_of(port: int, path: str, **headers: str) -> int:
    """The status of the answer to a request."""
    connection = HTTPConnection("127.0.0.1", port)
    try:
        connection.putrequest("GET", path, skip_host=True)
        for name, value in ({"Host": f"localhost:{port}"} | headers).items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


def test_only_this_machine_gets_only_what_is_in_the_folder(tmp_path, capfd):
    for folder in ("site/led", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "outside/index.html").write_text("secret")
    (tmp_path / "site/index.html").write_text("page")
    links = {"out": "../outside", "file": "../outside/index.html", "loop": "loop"}
    links |= {"in": "index.html", "led/index.html": "../../outside/index.html"}
    for name, target in links.items():
        (tmp_path / "site" / name).symlink_to(target)
    with served(tmp_path / "site") as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        for path in ("/", "/index.html", "/in"):
            assert status_of(port, path) == 200
        for path in ("/out/index.html", "/out/", "/file", "/led/", "/loop", "/%00", "/a%00b"):
            assert status_of(port, path) == 404
        for host in ("127.0.0.1", "LocalHost:1", f"127.0.0.1:{port}"):
            assert status_of(port, "/", Host=host) == 200
        for host in ("", "example.org", f"example.org:{port}", "127.0.0.1.example.org", "[::1]"):
            assert status_of(port, "/", Host=host) == 421
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("port", ["65536", "-1", "x", "99999999999999999999", "1e3", "²"])
def test_a_port_that_cannot_be_is_named(tmp_path, port):
    command = [sys.executable, "-m", "utf8_flow.live.serve", str(tmp_path), "--port", port]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert "must be a number from 0 to 65535" in process.stderr.splitlines()[-1]


def test_a_port_that_is_taken_is_not_insisted_on(tmp_path):
    with server_of(tmp_path, 0) as first, server_of(tmp_path, first.server_port) as second:
        assert second.server_port not in (0, first.server_port)


def test_a_site_that_is_not_there_is_named():
    command = [sys.executable, "-m", "utf8_flow.live.serve", "nowhere"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert process.stderr == "utf8-hdl: no folder 'nowhere': make site builds it\n"
