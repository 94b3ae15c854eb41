"""The documentation site: the pages of this repository, and a reference from the docstrings."""

import ast
import shutil
import sys
from html import escape, unescape
from inspect import getsource, isclass
from pathlib import Path
from textwrap import dedent, shorten
from typing import Any

from amaranth.hdl import Elaboratable
from docutils.nodes import literal, paragraph

import utf8_hdl

sys.path.insert(0, str(Path(__file__).parent))

project = "utf8-hdl"
version = release = utf8_hdl.__version__
html_show_copyright = False
extensions = ["myst_parser", "sphinx_copybutton", "source_pages"]
extensions += ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
include_patterns += ["docs/*.md", "site/*.md", "site/*.rst", "verilog/*.md"]
suppress_warnings = ["config.cache"]

html_theme = "furo"
html_title = "utf8-hdl"
html_favicon = "../flow/utf8_flow/live/page/favicon.svg"
html_extra_path = ["404.html"]
html_search_scorer = str(Path(__file__).with_name("search_scorer.js"))
html_copy_source = False
html_static_path = html_css_files = ["site.css"]

# If a block has prompts, its copy button leaves out the prompts and the lines without one.
copybutton_prompt_text = r"\$ |>>> |\.\.\. ?"
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

myst_heading_anchors = 4
nitpicky = True  # a role whose target is nowhere is a mistake
nitpick_ignore = [("py:func", "dataclasses.replace")]

napoleon_google_docstring = False
napoleon_custom_sections = [("Members", "params_style"), ("Attributes", "params_style")]
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"
add_module_names = False  # the headings have them
toc_object_entries_show_parents = "hide"

SHEETS = {f"verilog/{file.stem}" for file in Path(__file__).parents[1].glob("verilog/utf*.md")}

LIVE = "See it run: the gateware itself, in your browser"

CONTENTS = {
    "Tutorial": ["docs/tutorial", "docs/learn", "site/live"],
    "How to": [
        *("docs/choose", "docs/integration", "docs/clock-and-reset", "docs/composition"),
        *("docs/drop-bad-frames", "docs/demo", "docs/simulate", "docs/verify", "docs/cluster"),
        *("docs/conformance", "docs/add-component"),
    ],
    "Reference": [
        *("docs/decoder", "docs/lanes", "docs/transcoding", "docs/profiles"),
        *("docs/command-line", "docs/python", "site/utf8_hdl", "site/utf8_sim"),
        *("site/utf8_flow", "docs/engines", "docs/synthesis", "docs/properties", "docs/glossary"),
    ],
    "Data sheets": ["verilog/README", *sorted(SHEETS)],
    "Explanation": [
        *("docs/how-it-is-built", "docs/flow-control", "docs/proofs", "docs/proof-method"),
        *("docs/certificates", "docs/measurement", "docs/benchmark"),
    ],
    "Project": [
        *("docs/alternatives", "docs/faq", "docs/stability"),
        *("CONTRIBUTING", "SECURITY", "CHANGELOG"),
    ],
}


def setup(app: Any) -> None:
    """Add what pages that are read on their own as well do not say."""
    app.connect("source-read", complete_home_page)
    app.connect("html-page-context", describe)
    app.connect("build-finished", copy_home_page)
    app.connect("autodoc-process-signature", show_parameters)
    app.connect("autodoc-process-docstring", keep_sentence, priority=400)  # before napoleon
    app.connect("missing-reference", accept_words)


def complete_home_page(app: Any, page: str, source: list[str]) -> None:
    """Add to the home page a link to the live page, and the contents, which the side bar shows."""
    if page == root_doc:
        title, introduction, rest = source[0].split("\n\n", 2)
        live = f'<p><a class="live" href="site/live.html">{LIVE}</a></p>'
        source[0] = "\n\n".join([title, introduction, live, rest])
        for caption, pages in CONTENTS.items():
            tree = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
            source[0] += "\n" + "\n".join(tree) + "\n"


def describe(app: Any, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    """Describe a page to search engines and chats by the beginning of its first paragraph.

    ``og:url`` and ``og:image`` are left out: both are absolute addresses, and the address of the
    site is not known here.
    """
    if document is None or (first := next(document.findall(paragraph), None)) is None:
        return
    text = shorten(first.astext(), 200, placeholder=" …")
    described = {"description": text, "og:description": text, "og:title": context["title"]}
    described |= {"og:site_name": project, "og:type": "article"}
    for name, content in described.items():
        key = "property" if name.startswith("og:") else "name"
        context["metatags"] += f'\n<meta {key}="{name}" content="{escape(unescape(content))}">'


def copy_home_page(app: Any, exception: Exception | None) -> None:
    """Write the home page also to ``index.html``, where hosts look for it."""
    if exception is None:
        shutil.copy(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def show_parameters(app: Any, what: str, name: str, described: Any, *_: Any) -> Any:
    """Of a component those that it has, instead of those that all components of Amaranth have."""
    if not (isclass(described) and issubclass(described, Elaboratable)):
        return None
    (function,) = ast.parse(dedent(getsource(described.__init__))).body
    _, *function.args.args = function.args.args
    for argument in function.args.args + function.args.kwonlyargs:
        argument.annotation = None
    return f"({ast.unparse(function.args)})", None


def keep_sentence(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Behind an empty comment napoleon does not take words in front of a colon for a type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def accept_words(app: Any, env: Any, reference: Any, shown: Any) -> Any:
    """A type may be words, as "dict of str to Signal". What has a role must be found."""
    return None if isinstance(shown, literal) else shown
