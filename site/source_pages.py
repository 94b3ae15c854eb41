"""Sphinx extension: show source files that pages link to, instead of offering them as downloads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils.nodes import reference
from sphinx.addnodes import download_reference

DATA = {".csv", ".json"}
"""Suffixes of files that remain downloads."""

LANGUAGES = {".py": "python", ".v": "verilog", ".cff": "yaml"}
"""Languages of source files, for highlighting."""


def setup(app: Any) -> None:
    """Register the extension."""
    app.connect("doctree-resolved", link_to_sources)
    app.connect("html-collect-pages", source_pages)


def link_to_sources(app: Any, document: Any, page: str) -> None:
    """Turn downloads of source files into links to their pages."""
    for download in [*document.findall(download_reference)]:
        file = Path(app.env.relfn2path(download["reftarget"], page)[0])
        if file.suffix not in DATA:
            address = app.builder.get_relative_uri(page, page_of(file))
            link = reference("", "", *download.children, internal=True, refuri=address)
            download.replace_self(link)


def source_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each source file: its text, and a link to the file itself."""
    for name, (_, copy) in app.env.dlfiles.items():
        file = Path(name)
        if file.suffix in DATA:
            continue
        text = Path(app.srcdir, file).read_text(encoding="utf-8")
        code = app.builder.highlighter.highlight_block(text, LANGUAGES.get(file.suffix, "text"))
        to_root = "../" * page_of(file).count("/")
        link = f'<p><a href="{to_root}_downloads/{copy}" download>Download</a></p>'
        body = f"<h1>{file}</h1>{link}{code}"
        yield page_of(file), {"title": str(file), "body": body}, "page.html"


def page_of(file: Path) -> str:
    """The page of a source file, both relative to the root."""
    return f"source/{file}"
