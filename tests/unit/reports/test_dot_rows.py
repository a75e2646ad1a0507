"""Rows of dots: which mark belongs to which row and to which name."""

from itertools import pairwise

import pytest
from drawn_marks import axes, backgrounds, marks, signs

from gvdn.reports.figures import SHAPES, _looks, dot_rows

LETTERS = "abcdefghijklmn"


def drawn(rows, names, high=0.4, known=""):
    """Every row has a mark for every name, all at the same value."""
    same = {f"row {number}": dict.fromkeys(names, (50.0, 1.0)) for number in range(rows)}
    return dot_rows({"": same}, xlabel="%", title="t", high=high, names=known)


@pytest.mark.parametrize(("names", "high"), [(1, 0.4), (3, 0.21), (5, 0.3), (9, 0.4), (14, 0.46)])
def test_the_marks_of_a_row_stand_in_its_own_part_of_the_panel_and_none_is_cut(names, high):
    svg = drawn(4, LETTERS[:names], high=high)
    top, bottom = axes(svg)
    row, found = (bottom - top) / 4, marks(svg)
    assert len(found) == 4 * names
    for number in range(4):
        mine = found[number * names : (number + 1) * names]
        assert top + number * row < min(begin for begin, _ in mine)
        assert max(end for _, end in mine) < top + (number + 1) * row


def test_rows_are_further_apart_than_the_marks_of_a_row():
    middles = [(begin + end) / 2 for begin, end in marks(drawn(3, LETTERS[:9]))]
    gaps = [after - before for before, after in pairwise(middles)]
    between = [gaps.pop(17), gaps.pop(8)]
    assert min(between) > 3 * max(gaps)


def test_every_other_row_has_a_background_from_edge_to_edge():
    svg = drawn(4, "ab")
    top, bottom = axes(svg)
    row = (bottom - top) / 4
    edges = [edge for ends in backgrounds(svg) for edge in ends]
    assert edges == pytest.approx([top, top + row, top + 2 * row, top + 3 * row])


def test_nine_names_have_nine_colours_and_nine_shapes():
    found = signs(drawn(1, LETTERS[:9]))
    assert len(found) == 9
    assert len({outline for outline, _ in found.values()}) == 9
    assert len({colour for _, colour in found.values()}) == 9


def test_no_two_of_many_names_have_both_the_same_colour_and_the_same_shape():
    looks = _looks(map(str, range(90)))
    assert len(set(looks.values())) == 90
    assert len({shape for _, shape in looks.values()}) == len(SHAPES) == len(set(SHAPES))


def test_a_name_has_the_same_sign_in_every_picture_that_is_given_the_same_names():
    whole = signs(drawn(1, "abcd", known="abcd"))
    assert signs(drawn(1, "bd", known="abcd")) == {name: whole[name] for name in "bd"}
    assert signs(drawn(1, "dxb", known="abcd"))["b"] == whole["b"]
    assert signs(drawn(1, "bd"))["b"] == whole["a"], "without names the first of a picture has the first sign"
