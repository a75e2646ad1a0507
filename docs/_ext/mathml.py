"""Formulas as MathML, which browsers draw themselves: no script and no font is fetched when a page is read."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import pick_math_environment
from docutils.utils.math.latex2mathml import tex2mathml


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(str(tex2mathml(node.astext(), as_block=False)))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    latex = node.astext()
    environment = pick_math_environment(latex)
    wrapped = latex if environment == "equation*" else f"\\begin{{{environment}}}{latex}\\end{{{environment}}}"
    writer.body.append(str(tex2mathml(wrapped, as_block=True)))
    raise nodes.SkipNode
