"""Sphinx configuration: pages in Markdown, reference pages made from the code itself, no network."""

from __future__ import annotations

import sys
from pathlib import Path

import gvdn

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "gvdn"
author = "The gvdn founders"
project_copyright = "2026, the gvdn founders"
version = release = gvdn.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "plain_docstrings",
    "reference_pages",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
default_role = "code"
smartquotes = False

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_inherit_docstrings = True
autodoc_typehints = "none"

html_theme = "pydata_sphinx_theme"
html_title = "gvdn"
html_static_path = ["_static"]
html_css_files = ["gvdn.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": []}
