import re
import xml.etree.ElementTree as ET

import pytest
from drawn_marks import axes

from gvdn.reports.figures import bars, curves, dot_rows, dots
from gvdn.reports.svg import LETTER, WIDE, class_colours, glyphs_once, standalone

BARS = {"one": {"a": [(80.0, 1.0), None], "b": [None, None]}, "two": {"a": [None, None], "c": [(50.0, 0.0), None]}}


def drawn():
    return bars(BARS, ["citeseer", "debian"], ylabel="%", title="t")


def test_a_picture_on_its_own_is_dark_on_white_and_well_formed():
    alone = standalone(drawn())
    root = ET.fromstring(alone)
    assert root[0].attrib == {"width": "100%", "height": "100%", "fill": "#ffffff"}
    assert "currentColor" not in alone
    assert "#010203" not in alone


def test_a_picture_in_a_page_has_the_ink_of_the_page():
    assert "currentColor" in drawn()
    assert "#010203" not in drawn()


def test_places_are_rounded_and_a_shared_style_is_said_once():
    svg = curves({"p": {"a": ([0.0, 0.123456], [1.0, 2.0], [0.0, 0.0])}}, xlabel="x", ylabels=["y"], title="t")
    assert not [part for part in svg.split(' x="')[1:] if len(part.split('"')[0].partition(".")[2]) > 2]
    assert '<g clip-path="url(#' in svg
    marked = next(part for part in svg.split("<g clip-path")[1:] if "<use" in part.split("</g>")[0])
    assert marked.split(">")[0].count("style=") == 1
    assert "style" not in marked.split("</g>")[0].split("<use", 1)[1]


def test_a_name_without_a_value_takes_no_room_and_no_place_in_the_legend():
    with_b = bars({"one": BARS["one"] | {"b": [(1.0, 0.0), None]}}, ["citeseer", "debian"], ylabel="%", title="t")
    without = bars({"one": BARS["one"]}, ["citeseer", "debian"], ylabel="%", title="t")
    legend = "legend_1"
    assert with_b[with_b.index(legend) :].count('id="patch_') == 2
    assert without[without.index(legend) :].count('id="patch_') == 1


def test_the_legend_of_bars_is_below_them_and_a_phone_shows_all_of_both():
    seven = bars({"one": {"a": [(80.0, 1.0)] * 7}}, ["a-rather-long name (of a graph)"] * 7, ylabel="%", title="t")
    assert 'class="spread"' not in seven, "not scrolled"
    handles = legend_ends(seven)
    assert min(y for _, y in handles) > axes(seven)[1]


def test_the_legend_of_bars_that_are_scrolled_on_a_phone_begins_at_the_left_and_is_no_wider_than_its_screen():
    series = {f"a rather long name {number}": [(80.0, 1.0)] * 20 for number in range(5)}
    many = bars({"one": series}, [str(number) for number in range(20)], ylabel="%", title="t")
    assert 'class="spread"' in many
    found = [x for x, _ in legend_ends(many)]
    assert min(found) < 10
    assert max(found) + 72 * LETTER * len(next(iter(series))) < WIDE


def legend_ends(picture):
    """The corners of the coloured patches of a legend, and where its words begin."""
    legend = picture[picture.index("legend_1") :]
    patches = " ".join(re.findall(r'id="patch_\d+">\s*<path d="([^"]*)"', legend))
    found = re.findall(r"[ML] (\S+) (\S+)", patches) + re.findall(r"translate\((\S+) (\S+)\) scale\(0.09", legend)
    return [(float(x), float(y)) for x, y in found]


def legends(picture):
    """The number of names in the legend of each panel."""
    return [len(re.findall(r'id="text_', panel[panel.index("legend_1") :])) for panel in panels_of(picture)]


def panels_of(picture):
    return re.findall(r"<svg .*?</svg>", picture, flags=re.DOTALL)


def test_dots_have_a_shape_for_every_kind_and_each_panel_the_names_that_it_shows():
    one = {"gvdn": [("recovered", (10.0, 1.0), (5.0, 1.0)), ("evasion", (20.0, 0.0), (9.0, 0.0))]}
    two = {"gcn": [("evasion", (20.0, 0.0), (9.0, 0.0))]}
    svg = dots({"citeseer": one, "pubmed": two}, xlabel="x", ylabel="y", title="t")
    assert legends(svg) == [3, 2]


def test_a_vertical_line_is_drawn_and_named_in_the_panels_that_have_one():
    line = {"a": ([0.0, 1.0], [1.0, 2.0], [0.0, 0.0])}
    panels = {"one": line, "two": line}
    drawn = [
        curves(panels, xlabel="x", ylabels=["y", "y"], title="t", marked=("chosen", where))
        for where in ({}, {"one": 0.5}, {"one": 0.5, "two": 0.2})
    ]
    assert [legends(svg) for svg in drawn] == [[1, 1], [2, 1], [2, 2]]
    assert [svg.count("stroke-dasharray: 1,1.65") for svg in drawn] == [0, 2, 4]  # in the panel and in its legend


def test_rows_of_dots_have_a_mark_for_every_value_and_one_axis():
    panels = {
        "one": {"gvdn": {"a": (80.0, 1.0), "b": (60.0, 2.0)}, "gcn": {"a": (70.0, 0.0)}},
        "two": {"gcn": {"b": (9.0, 1.0)}},
    }
    svg = dot_rows(panels, xlabel="%", title="t")
    assert legends(svg) == [2, 1]
    first, second = panels_of(svg)
    assert first.count("#0c7bb3") > second.count("#0c7bb3") == 0
    assert "t: two" in second


def axis_of(panel):
    """Where the background of a panel's axes begins, from the left."""
    return float(re.search(r'id="patch_2">\s*<path d="M ([\d.]+) ', panel)[1])


def test_joined_rows_of_dots_share_a_legend_and_begin_at_the_same_place():
    panels = {
        "one": {"short": {"a": (80.0, 1.0)}, "a much longer name": {"b": (70.0, 0.0)}},
        "two": {"x": {"b": (9.0, 1.0)}},
    }
    apart, joined = (panels_of(dot_rows(panels, xlabel="%", title="t", joined=how)) for how in (False, True))
    assert "legend_1" not in joined[0]
    assert legends(joined[1]) == [2]
    assert axis_of(apart[0]) > axis_of(apart[1]) + 20
    assert axis_of(joined[0]) == pytest.approx(axis_of(joined[1]), abs=0.01)


def test_rows_of_dots_are_as_high_as_is_asked():
    panel = {"one": {name: {"a": (80.0, 1.0)} for name in "wxyz"}}
    low, high = (
        float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', dot_rows(panel, xlabel="%", title="t", high=inches))[1])
        for inches in (0.25, 0.5)
    )
    assert high - low == pytest.approx(72 * 4 * 0.25)


def test_a_panel_without_a_value_is_not_drawn():
    assert len(panels_of(bars(BARS | {"none": {"a": [None, None]}}, ["x", "y"], ylabel="%", title="t"))) == 2


def test_the_panels_of_a_picture_on_its_own_stand_below_each_other():
    alone = ET.fromstring(standalone(drawn()))
    inner = [part for part in alone if part.tag.endswith("svg")]
    heights = [float(part.attrib["height"]) for part in inner]
    assert [float(part.attrib["y"]) for part in inner] == [0.0, heights[0]]
    assert float(alone.attrib["height"].removesuffix("pt")) == sum(heights)


def test_a_letter_is_defined_once_and_no_other_outline_is_lost():
    text = drawn()
    once = glyphs_once(text)
    names = re.findall(r'<path id="(DejaVu[^"]*)"', text)
    assert len(names) > len(set(names))
    assert re.findall(r'<path id="(DejaVu[^"]*)"', once) == list(dict.fromkeys(names))
    assert once.count("<use") == text.count("<use")
    assert glyphs_once(once) == once


@pytest.mark.parametrize("count", [1, 7, 10, 15, 40])
def test_there_is_a_colour_for_every_class(count):
    found = class_colours(count)
    assert len(found) == count
    assert len(set(found)) == min(count, 20)


@pytest.mark.parametrize("long", ["a rather long name of a bar " * 4, "without-any-space" * 6])
def test_long_names_are_broken_into_lines_and_leave_room_for_the_picture(long):
    """Matplotlib warns where nothing is left for the axes, and warnings are errors here."""
    panel = {"one": {f"{long}{number}": [(1.0, 0.0)] for number in range(8)}}
    assert len(panels_of(bars(panel, ["debian"], ylabel="%", title="t"))) == 1
    rows = {long: {f"{long}{number}": {f"{long}{number}": (50.0, 1.0)} for number in range(8)}}
    assert len(panels_of(dot_rows(rows, xlabel="%", title="t"))) == 1
    lines = {"p": {f"{long}{number}": ([0.0, 1.0], [1.0, 2.0], [0.0, 0.0]) for number in range(8)}}
    assert len(panels_of(curves(lines, xlabel="x", ylabels=["y"], title="t"))) == 1


def test_a_long_legend_makes_the_picture_taller_and_a_short_one_does_not():
    def height(count):
        series = {f"{'a rather long name'} {number}": ([0.0, 1.0], [1.0, 2.0], [0.0, 0.0]) for number in range(count)}
        svg = curves({"": series}, xlabel="x", ylabels=["y"], title="t")
        return float(re.search(r'height="([\d.]+)pt"', svg)[1])

    assert height(1) == height(2) < height(8) < height(12)
