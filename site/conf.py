"""The documentation site: the pages of this repository, and a reference from the docstrings."""

from inspect import Parameter, Signature, signature
from typing import Any

from amaranth.lib.wiring import Component

import utf8_hdl

project = "utf8-hdl"
version = release = utf8_hdl.__version__
html_show_copyright = False
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "docs/*.md", "site/*.md"]
suppress_warnings = ["config.cache"]

html_theme = "furo"
html_title = "utf8-hdl"
html_extra_path = ["index.html"]
html_copy_source = False

myst_heading_anchors = 4

napoleon_google_docstring = False
napoleon_custom_sections = [("Members", "params_style")]
autodoc_member_order = "bysource"
autodoc_typehints = "none"

CONTENTS = {
    "Begin": ["site/live", "docs/learn", "docs/choose"],
    "Use": ["integration", "lanes", "transcoding", "profiles", "python", "engines", "demo"],
    "Trust": ["docs/proofs", "docs/synthesis", "docs/benchmark"],
    "Look up": ["site/api", "CHANGELOG"],
}
CONTENTS["Use"] = [f"docs/{page}" for page in CONTENTS["Use"]]


def setup(app: Any) -> None:
    """Add what pages that are read on their own as well do not say."""
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-signature", show_parameters)


def add_contents(app: Any, page: str, source: list[str]) -> None:
    """Put the contents, which are shown at the side, behind the home page."""
    if page == root_doc:
        for caption, pages in CONTENTS.items():
            tree = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
            source[0] += "\n" + "\n".join(tree) + "\n"


def show_parameters(app: Any, what: str, name: str, described: Any, *_: Any) -> Any:
    """Of a component those that it has, instead of those that all components of Amaranth have."""
    if what == "class" and issubclass(described, Component):
        _, *parameters = signature(described.__init__).parameters.values()
        plain = [parameter.replace(annotation=Parameter.empty) for parameter in parameters]
        return str(Signature(plain)), None
    return None
