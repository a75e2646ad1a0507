"""What stands in a picture of rows of dots, read from its SVG text: the signs of the legend, marks, and backgrounds."""

import re

Ends = tuple[float, float]
"""The upper and the lower end, in points from the upper edge of the picture."""


def signs(svg: str) -> dict[str, tuple[str, str]]:
    """Name in the legend -> the outline and the colour of its sign."""
    there = re.findall(r'<path id="(m\w+)" d="([^"]*)"\s+style="stroke: (#\w+)', svg)
    drawn = {key: (outline, colour) for key, outline, colour in there}
    legend = svg[svg.index("legend_1") :]
    return {name: drawn[key] for key, name in re.findall(r'href="#(m\w+)".*?<!-- (.*?) -->', legend, flags=re.DOTALL)}


def marks(svg: str) -> list[Ends]:
    """Where each mark begins and ends, in the order in which they are drawn: row by row."""
    outlines = dict(re.findall(r'<path id="(m\w+)" d="([^"]*)"', svg))
    panel = svg[: svg.index("legend_1")]
    placed = re.findall(r'<g clip-path[^>]*><use xlink:href="#(m\w+)" x="[\d.]+" y="([\d.]+)"', panel)
    found = []
    for key, y in placed:
        ys = [float(one) for one in re.findall(r"[MLC] (?:\S+ \S+ )*?\S+ (-?[\d.]+)", outlines[key])]
        found.append((float(y) + min(ys), float(y) + max(ys)))
    return found


def axes(svg: str) -> Ends:
    return _ends(svg[svg.index('id="patch_2"') :])


def backgrounds(svg: str) -> list[Ends]:
    """The backgrounds of every other row."""
    parts = svg.split('<g id="patch_')[1:]
    return [_ends(part) for part in parts if "opacity" in part.partition("</g>")[0]]


def _ends(patch: str) -> Ends:
    ys = [float(y) for y in re.findall(r"[ML] \S+ (\S+)", patch[: patch.index("style=")])]
    return min(ys), max(ys)
