import numpy as np
import pytest

from gvdn.reports.class_maps import Cloud, cloud_rows
from gvdn.reports.svg import PALETTE


def cloud(n=6, **others):
    positions = np.stack([np.arange(n, dtype=float), np.arange(n, dtype=float) ** 2], axis=1)
    victims = np.arange(n) % 2 == 0
    kept = {"victims": victims, "wrong": {"before": victims & (np.arange(n) > 2)}, "one_frame": True}
    kept |= {"positions": {"before": positions, "after": positions[::-1].copy()}, "class_names": ["a", "b"]}
    return Cloud(classes=np.arange(n) % 2, **(kept | others))


def marks(svg):
    """How many nodes are drawn, by colour."""
    return {colour: _count(svg, colour) for colour in PALETTE[:2]}


def _count(svg, colour):
    groups = [group for group in svg.split("<g clip-path")[1:] if colour in group.split(">")[0]]
    return sum(group.split("</g>")[0].count("<use ") for group in groups)


def test_every_node_is_drawn_once_in_every_state():
    assert marks(cloud_rows({"debian": cloud()}, title="t")) == {PALETTE[0]: 6, PALETTE[1]: 6}


def test_victims_and_wrong_answers_have_signs_only_where_there_are_any():
    plain = cloud_rows({"": Cloud({"clean": np.zeros((3, 2))}, np.array([0, 1, 0]), ["a", "b"])}, title="t")
    assert plain.count('id="legend') == 1
    assert cloud_rows({"debian": cloud()}, title="t").count('id="legend') == 2


def test_a_legend_is_not_repeated_for_the_same_classes():
    same = cloud_rows({"with": cloud(), "without": cloud()}, title="t")
    other = cloud_rows({"debian": cloud(), "citeseer": cloud(class_names=["c", "d"])}, title="t")
    assert (same.count('id="legend'), other.count('id="legend')) == (2, 3)


@pytest.mark.parametrize(("n", "kept"), [(6, 6), (1000, 400)])
def test_a_crowd_is_thinned_evenly(n, kept):
    thinned = cloud(n).thinned()
    assert len(thinned.classes) == len(thinned.positions["after"]) == len(thinned.wrong["before"]) == kept
    assert thinned.victims.mean() == pytest.approx(0.5, abs=0.01)
    assert (thinned.positions["before"][0, 0], thinned.positions["before"][-1, 0]) == (0, n - 1)


def test_the_ink_is_that_of_the_page():
    svg = cloud_rows({"debian": cloud()}, title='a "b" & <c>')
    assert svg.startswith('<svg role="img" aria-label="a &quot;b&quot; &amp; &lt;c>"')
    assert "currentColor" in svg
    assert "#010203" not in svg


def test_a_class_named_like_a_formula_is_drawn_as_it_is_written():
    assert cloud_rows({"$x": cloud(class_names=[r"$\foo$", "b"])}, title="t").startswith("<svg")
