import json

import numpy as np
import pytest
from made_records import joined_of, mapped

from gvdn.reports.maps import evenly_spaced, interactive_map, map_picture, map_rows, separation_table
from gvdn.reports.svg import PALETTE

MAPPED = """
title = "Maps"
datasets = ["citeseer", "debian"]
seeds = [0, 1, 2, 3, 4]

[[row]]
method = "gvdn"
modes = ["recovered, mapped"]
"""

BY_EPOCH = """
title = "Maps by epoch"
datasets = ["citeseer", "debian"]
seeds = [0, 1]

[common]
method = "gvdn"
modes = ["recovered, mapped by epoch"]

[[row]]
label = "with diffusion"
settings = { diffusion = true }

[[row]]
label = "without diffusion"
settings = { diffusion = false }
"""


@pytest.fixture
def spec(written):
    return written(MAPPED)


@pytest.fixture
def joined(spec):
    return joined_of(spec, lambda cell, mode: {})


def test_the_interactive_map_holds_the_first_seed_of_every_dataset(spec):
    def say(cell, mode):
        found = mapped(("clean", "perturbed", "recovered"))
        found["map"]["ids"] = [f"{cell.dataset} {cell.seed} {node}" for node in "abcd"]
        return found

    maps = json.loads(interactive_map(joined_of(spec, say)))
    assert [one["name"] for one in maps] == ["citeseer", "debian"]
    assert maps[1]["ids"][0] == "debian 0 a"


def test_a_map_says_all_that_the_page_shows_of_a_node(joined):
    one = json.loads(interactive_map(joined))[0]
    assert one["states"] == ["clean", "perturbed", "recovered"]
    assert (one["classes"], one["victims"]) == ([0, 1, 0, 1], [1, 1, 0, 0])
    assert one["answers"] == [[0, 0, 0, 1]] * 3
    assert one["class_names"] == ["Theory", "<Neural & Co>"]
    assert len(one["colours"]) == 2


def test_classes_without_names_are_numbered(spec):
    found = mapped(("clean", "perturbed", "recovered"))
    found["map"]["class_names"] = ["0", "1"]
    one = json.loads(interactive_map(joined_of(spec, lambda cell, mode: found)))[0]
    assert one["class_names"] == ["class 0", "class 1"]


def test_all_states_share_one_frame_of_whole_numbers_that_keeps_the_shape(joined):
    one = json.loads(interactive_map(joined))[0]
    assert one["xy"][0] == [[0, 0], [1000, 0], [1000, 500], [0, 500]]
    assert one["xy"][1] == [[1000, 0], [1000, 500], [0, 500], [0, 0]]


def test_nothing_in_the_data_can_end_the_script(joined):
    assert "<" not in interactive_map(joined)


def test_nodes_that_are_all_in_one_place_are_no_trouble(spec):
    found = mapped(("clean", "perturbed", "recovered"))
    for state in found["map"]["states"].values():
        state["xy"] = [[1.0, 1.0]] * 4
    one = json.loads(interactive_map(joined_of(spec, lambda cell, mode: found)))[0]
    assert one["xy"][0] == [[0, 0]] * 4


def test_without_records_there_is_no_map(spec):
    assert interactive_map(joined_of(spec, lambda cell, mode: None)) is None


def test_epochs_are_in_order_and_rows_have_their_labels(written):
    spec, found = written(BY_EPOCH), mapped(("epoch 1000", "epoch 200", "epoch 300"))
    joined = joined_of(spec, lambda cell, mode: found)
    maps = json.loads(interactive_map(joined))
    rows = ("with diffusion", "without diffusion")
    assert [one["name"] for one in maps] == [f"{row}, {dataset}" for dataset in ("citeseer", "debian") for row in rows]
    assert maps[0]["states"] == separation_table(joined).columns == ["epoch 200", "epoch 300", "epoch 1000"]


def test_the_separation_is_a_mean_over_all_seeds(spec):
    def say(cell, mode):
        return {"separation": {"clean": 0.3, "perturbed": -0.05, "recovered": 0.1 + 0.01 * cell.seed}}

    table = separation_table(joined_of(spec, say))
    assert [line.heading for line in table.lines] == ["citeseer", "debian"]
    assert [entry.text for entry in table.lines[0].entries] == ["0.300 ± 0.000", "−0.050 ± 0.000", "0.120 ± 0.016"]


def test_the_static_picture_has_a_panel_per_dataset_and_state(joined):
    picture = map_picture(joined)
    assert all(f'id="axes_{number}"' in picture for number in range(1, 7))
    assert 'id="axes_7"' not in picture


# ---- the static picture


def drawn(*class_names, title="t"):
    """A row of maps for each pair of names of classes."""
    maps = {str(number): mapped(("before", "after"))["map"] for number, _ in enumerate(class_names)}
    for found, names in zip(maps.values(), class_names, strict=True):
        found["class_names"] = list(names)
    return map_rows(maps, title=title)


def nodes(svg, colour):
    """How many nodes are drawn in a colour."""
    groups = [group for group in svg.split("<g clip-path")[1:] if colour in group.split(">")[0]]
    return sum(group.split("</g>")[0].count("<use ") for group in groups)


def test_every_node_is_drawn_once_in_every_state():
    assert [nodes(drawn("ab"), colour) for colour in PALETTE[:2]] == [4, 4]


def test_a_legend_is_not_repeated_for_the_same_classes():
    assert (drawn("ab", "ab").count('id="legend'), drawn("ab", "cd").count('id="legend')) == (2, 3)


@pytest.mark.parametrize(("n", "most"), [(6, 6), (1000, 400), (0, 0)])
def test_a_crowd_is_thinned_evenly(n, most):
    rows = evenly_spaced(n)
    assert len(set(rows)) == len(rows) == most
    assert n == 0 or (rows[0], rows[-1]) == (0, n - 1)
    assert np.all(np.diff(rows) <= 3)


def test_the_ink_is_that_of_the_page():
    svg = drawn("ab", title='a "b" & <c>')
    assert svg.startswith('<svg role="img" class="spread" aria-label="a &quot;b&quot; &amp; &lt;c>"')
    assert "currentColor" in svg
    assert "#010203" not in svg


def test_a_class_named_like_a_formula_is_drawn_as_it_is_written():
    assert drawn([r"$\foo$", "b"]).startswith("<svg")


@pytest.mark.parametrize(
    ("datasets", "rows", "names"),
    [
        (["debian"], ["gcn"], ["debian"]),
        (["debian"], ["gcn", "gvdn"], ["gcn", "gvdn"]),
        (["citeseer", "debian"], ["gcn"], ["citeseer", "debian"]),
    ],
)
def test_a_map_is_named_by_what_differs_between_the_maps(written, datasets, rows, names):
    lines = ", ".join(f'{{ label = "{row}", settings = {{ hidden = {8 + n} }} }}' for n, row in enumerate(rows))
    common = 'common = { method = "gvdn", modes = ["recovered, mapped"] }'
    spec = written(f'title = "t"\ndatasets = {json.dumps(datasets)}\nseeds = [0]\n{common}\nrow = [{lines}]')
    found = mapped(("clean", "perturbed", "recovered"))
    maps = json.loads(interactive_map(joined_of(spec, lambda cell, mode: found)))
    assert [one["name"] for one in maps] == names


def test_the_map_is_that_of_the_first_seed(spec):
    def say(cell, mode):
        found = mapped(("clean", "perturbed", "recovered"))
        found["map"]["class_names"] = [f"seed {cell.seed}", "b"]
        return found if cell.seed else None

    maps = json.loads(interactive_map(joined_of(spec, say)))
    assert {one["class_names"][0] for one in maps} == {"seed 1"}
