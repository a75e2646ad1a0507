import re
import xml.etree.ElementTree as ET

import pytest

from gvdn.reports.figures import bars, curves, dots
from gvdn.reports.svg import PALETTE, class_colours, standalone

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


def test_dots_have_a_shape_for_every_kind():
    one = {"gvdn": [("recovered", (10.0, 1.0), (5.0, 1.0)), ("evasion", (20.0, 0.0), (9.0, 0.0))]}
    two = {"gcn": [("evasion", (20.0, 0.0), (9.0, 0.0))]}
    svg = dots({"citeseer": one, "pubmed": two}, xlabel="x", ylabel="y", title="t")
    legend = svg[svg.index("legend_1") :]
    assert legend.count('id="text_') == 4  # two names, two kinds


def test_a_vertical_line_is_drawn_in_the_panels_that_have_one_and_named_once():
    line = {"a": ([0.0, 1.0], [1.0, 2.0], [0.0, 0.0])}
    panels = {"one": line, "two": line}
    drawn = [
        curves(panels, xlabel="x", ylabels=["y", "y"], title="t", marked=("chosen", where))
        for where in ({}, {"one": 0.5}, {"one": 0.5, "two": 0.2})
    ]
    names = [svg[svg.index("legend_1") :].count('id="text_') for svg in drawn]
    dotted = [svg.count("stroke-dasharray: 1,1.65") - (1 if where else 0) for where, svg in enumerate(drawn)]
    assert (names, dotted) == ([1, 2, 2], [0, 1, 2])


@pytest.mark.parametrize("count", [1, 7, 10, 15, 40])
def test_there_is_a_colour_for_every_class(count):
    found = class_colours(count)
    assert len(found) == count
    assert len(set(found)) == min(count, 20)


def test_long_names_stand_in_more_lines_of_the_legend():
    def lines(*names):
        svg = bars({"": {name: [(1.0, 0.0)] for name in names}}, ["debian"], ylabel="%", title="t")
        legend = svg[svg.index("legend_1") :]
        return len(set(re.findall(r'<path d="M [\d.]+ ([\d.]+) ', legend)))

    assert lines("a", "b", "c") < lines("a rather long name of a bar", "another of that length", "and one more of it")


def test_a_long_legend_makes_the_picture_taller_and_a_short_one_does_not():
    def height(count):
        series = {f"{'a rather long name' * 4} {number}": [(1.0, 0.0)] for number in range(count)}
        svg = bars({"": series}, ["debian"], ylabel="%", title="t")
        return float(re.search(r'height="([\d.]+)pt"', svg)[1])

    assert height(1) == height(3) < height(4) < height(len(PALETTE))
