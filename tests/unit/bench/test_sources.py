"""What a source computes, and what it imports, read from files and not from what is loaded."""

import ast
import sys

import pytest

from gvdn.bench import sources

PLAIN = """
def f(x):
    if x < 0:
        raise ValueError(x)
    return x + 1
"""

SAME = '''
"""A module."""

# a comment
def f(x):  # another
    """What it returns."""
    if x < 0:
        raise ValueError(f"expected 0 or more, got {x}") from None

    return (
        x + 1
    )
'''


def normal(text: str) -> str:
    return sources.normalised(ast.parse(text))


def test_comments_docstrings_layout_and_texts_of_errors_do_not_count():
    assert normal(SAME) == normal(PLAIN)


@pytest.mark.parametrize(
    "changed",
    [
        PLAIN.replace("x + 1", "x + 2"),
        PLAIN.replace("x + 1", "1 + x"),
        PLAIN.replace("x < 0", "x <= 0"),
        PLAIN.replace("ValueError", "TypeError"),
        PLAIN.replace("raise ValueError(x)", "pass"),
        PLAIN.replace("x + 1", "x + 1.0"),
        PLAIN + "g = 'text'",
    ],
)
def test_what_is_computed_counts(changed):
    assert normal(changed) != normal(PLAIN)


def test_one_more_member_of_a_registry_does_not_count_and_what_else_a_loop_does_counts():
    table = "for n, h in {'a': 'x'}.items():\n    R.add_lazily(n, h)\n"
    assert normal(table) == normal(table.replace("'a': 'x'", "'a': 'x', 'b': 'y'"))
    assert normal(table.replace("add_lazily", "add")) != normal(table)


def test_a_name_that_a_package_passes_on_leads_to_the_module_that_defines_it():
    found = sources.imported_by("gvdn.methods.defences.rgcn")
    assert "gvdn.graph.graph" in found  # from gvdn.graph import Graph
    assert "gvdn.graph" not in found
    assert "gvdn.methods.base" in found


def test_imports_are_followed_through_others_and_not_into_what_is_left_out():
    found = sources.with_imports(["gvdn.methods.defences.rgcn"], ["gvdn.graph"])
    assert {"gvdn.methods.defences.rgcn", "gvdn.methods.base", "gvdn.training.loop", "gvdn.seeds"} <= found
    assert not any(module.startswith("gvdn.graph") for module in found)
    assert not any("torch" in module.split(".")[0] for module in found)


def test_a_package_of_somebody_else_is_read_with_its_own_imports(tmp_path, monkeypatch):
    home = tmp_path / "elsewhere"
    home.mkdir()
    (home / "__init__.py").write_text("from .parts import part\n")
    (home / "parts.py").write_text("import numpy\ndef part(): return 1\n")
    (home / "method.py").write_text(
        "from typing import TYPE_CHECKING\nfrom . import part\nfrom gvdn.seeds import generator\n"
        "if TYPE_CHECKING:\n    from .types import T\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        found = sources.with_imports(["elsewhere.method"])
    finally:
        sys.modules.pop("elsewhere", None)
    assert found >= {"elsewhere.method", "elsewhere.parts", "gvdn.seeds"}
    assert not {"elsewhere", "elsewhere.types", "numpy"} & found
