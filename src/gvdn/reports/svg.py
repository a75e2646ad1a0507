"""What all pictures share: the style, reproducible bytes, and the text colour of the page."""

import io
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

GREY = "#7f8790"
PALETTE = ("#0c7bb3", "#d55e00", "#129e73", "#cc6fa3", "#c98a00", "#7a6ff0", GREY, "#96613d", "#b8234e")
"""Colours that are visible on white and on black, and that most colour-blind readers can tell apart."""

WIDE = 400
"""Points: a picture that is wider is scrolled on a phone, not shrunk."""

LETTER = 0.066
"""Inches that a letter of a legend is wide, about."""

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"

INK = "#010203"
"""A placeholder for the text colour of the page."""

_PARTS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_CLEAR = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
INKED = dict.fromkeys(_PARTS, INK) | dict.fromkeys(_CLEAR, "none")


def pyplot() -> Any:
    """Matplotlib without a display, in our style; a `$` in a name is a character and does not begin a formula."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "gvdn", "font.size": 9, "axes.titlesize": 10, "svg.fonttype": "path"})
    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "text.parse_math": False})
    return plt


def as_svg(figure: Any) -> str:
    """The figure as SVG, the same bytes for the same picture; positions are rounded to two digits."""
    import matplotlib.pyplot as plt

    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    svg = text.getvalue()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'\b([xy])="(-?\d+\.\d{2})\d+"', r'\1="\2"', svg)
    return re.sub(r"<g( clip-path=[^>]*)>\s*((?:<use [^>]*/>\s*)+)</g>", _styled_once, svg)


def _styled_once(group: re.Match[str]) -> str:
    """Move a style that all marks of a group share to the group."""
    styles = set(re.findall(r' style="[^"]*"', group[2]))
    if len(styles) != 1 or group[2].count("<use ") != group[2].count(" style="):
        return group[0]
    style = styles.pop()
    return f"<g{group[1]}{style}>{group[2].replace(style, '')}</g>"


def themed(svg: str, title: str) -> str:
    """The picture in the text colour of the page, with a title for screen readers; a wide one is marked as such."""
    words = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    kind = ' class="spread"' if _size(svg)[0] > WIDE else ""
    return svg.replace(INK, "currentColor").replace("<svg ", f'<svg role="img"{kind} aria-label="{words}" ', 1)


def standalone(picture: str) -> str:
    """A themed picture as a file of its own: dark text on white, its panels one below the other."""
    panels = re.findall(r"<svg .*?</svg>", picture, flags=re.DOTALL)
    sizes = [_size(panel) for panel in panels]
    wide, high = max(width for width, _ in sizes), sum(height for _, height in sizes)
    size = f'width="{wide:g}pt" height="{high:g}pt" viewBox="0 0 {wide:g} {high:g}"'
    begin = f'<svg xmlns="{SVG}" xmlns:xlink="{XLINK}" {size}>'
    parts, top = ['<rect width="100%" height="100%" fill="#ffffff"/>'], 0.0
    for panel, (_, height) in zip(panels, sizes, strict=True):
        plain = re.sub(r'\b(width|height)="([\d.]+)pt"', r'\1="\2"', panel, count=2)
        parts.append(plain.replace("<svg ", f'<svg y="{top:g}" ', 1))
        top += height
    return glyphs_once(begin + "\n" + "\n".join(parts) + "\n</svg>\n").replace("currentColor", "#1c2430")


def glyphs_once(text: str) -> str:
    """A page or picture of several pictures, with the outline of each letter defined once: all of them share it."""
    seen: set[str] = set()

    def first(found: re.Match[str]) -> str:
        known = found[1] in seen
        seen.add(found[1])
        return "" if known else found[0]

    return re.sub(r'\s*<path id="(DejaVu[^"]*)"[^>]*/>', first, text)


def _size(svg: str) -> tuple[float, float]:
    """Width and height of a picture in points."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def colours(groups: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A colour for each name, the same in all panels."""
    names = dict.fromkeys(label for group in groups for label in group)
    return {name: PALETTE[number % len(PALETTE)] for number, name in enumerate(names)}


def class_colours(count: int) -> list[str]:
    """A colour for each class; beyond the palette and matplotlib's twenty colours they repeat."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if count <= len(PALETTE):
        return list(PALETTE[:count])
    found = colormaps["tab10" if count <= 10 else "tab20"]
    return [to_hex(found(number % found.N)) for number in range(count)]


def legend_below(figure: Any, found: Mapping[str, Any], *, most: int = 5, within: float | None = None) -> None:
    """A legend under the panel, with at most `most` names in a line, as many as fit, in even lines.

    A legend of more than two lines makes the figure taller, so that the panel keeps its room. In a figure that is wider
    than `within` inches it begins at the left and is no wider than that: a phone shows the left part first.
    """
    inches, side = figure.bbox.width / figure.figure.dpi, "center"
    if within and inches > within:
        inches, side = within, "left"
    found = {in_lines(name, int((inches - 0.5) / LETTER)): handle for name, handle in found.items()}
    fitting = int(inches / (LETTER * _longest(found) + 0.45))  # the sign with its margins
    rows = max(-(-len(found) // max(min(most, fitting), 1)), 1)
    columns = max(-(-len(found) // rows), 1)
    tall = rows * max((name.count("\n") + 1 for name in found), default=1)
    if tall > 2:
        figure.figure.set_figheight(figure.figure.get_figheight() + 0.2 * (tall - 2))
    style = {"ncols": columns, "frameon": False, "handletextpad": 0.4, "columnspacing": 1.2, "borderpad": 0.1}
    figure.legend(found.values(), found.keys(), loc=f"outside lower {side}", **style)


def in_lines(name: str, letters: int = 30) -> str:
    """A name, in several lines where it is long."""
    return textwrap.fill(name, max(letters, 8))


def _longest(names: Iterable[str]) -> int:
    return max((len(line) for name in names for line in name.split("\n")), default=1)


def sign(plt: Any, marker: str, colour: str, size: int = 5, **style: Any) -> Any:
    """A marker for a legend."""
    return plt.Line2D([], [], linestyle="none", marker=marker, markersize=size, color=colour, **style)
