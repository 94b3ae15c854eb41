"""The documentation site: the pages of this repository, and a reference from the docstrings."""

import ast
from inspect import getsource, isclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from amaranth.hdl import Elaboratable
from docutils.nodes import literal

import utf8_hdl

project = "utf8-hdl"
version = release = utf8_hdl.__version__
html_show_copyright = False
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
include_patterns += ["docs/*.md", "site/*.md", "site/*.rst", "verilog/*.md"]
suppress_warnings = ["config.cache"]

html_theme = "furo"
html_title = "utf8-hdl"
html_extra_path = ["index.html"]
html_copy_source = False
html_static_path = html_css_files = ["site.css"]

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

CONTENTS = {
    "Tutorial": ["docs/tutorial", "docs/learn", "site/live"],
    "How to": [
        *("docs/choose", "docs/integration", "docs/clock-and-reset", "docs/composition"),
        *("docs/drop-bad-frames", "docs/demo", "docs/simulate", "docs/verify", "docs/cluster"),
        *("docs/conformance", "docs/add-component"),
    ],
    "Reference": [
        *("docs/decoder", "docs/lanes", "docs/transcoding", "docs/profiles"),
        *("docs/command-line", "docs/python", "site/api", "docs/engines", "docs/synthesis"),
        *("docs/properties", "docs/glossary"),
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
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-signature", show_parameters)
    app.connect("autodoc-process-docstring", keep_sentence, priority=400)  # before napoleon
    app.connect("missing-reference", accept_words)


def add_contents(app: Any, page: str, source: list[str]) -> None:
    """Put the contents, which are shown at the side, behind the home page."""
    if page == root_doc:
        for caption, pages in CONTENTS.items():
            tree = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
            source[0] += "\n" + "\n".join(tree) + "\n"


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
