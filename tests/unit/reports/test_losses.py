import re

import pytest
from made_records import joined_of, losses

from gvdn.reports.losses import loss_picture, movement, movement_table, movements

SPEC = """
title = "Every loss"
datasets = ["debian"]
seeds = [0, 1, 2, 3, 4]

[[row]]
method = "gvdn"
modes = ["recovered, with losses"]
"""


@pytest.fixture
def spec(written):
    return written(SPEC)


def test_a_movement_is_that_of_the_last_tenth_from_the_one_before():
    values = [10.0] + [4.0] * 15 + [2.0, 2.0] + [1.0, 0.0]
    assert movement(values) == pytest.approx((2.0 - 0.5) / 10.0)


def test_a_movement_upwards_counts_as_well():
    assert movement([0.0] * 18 + [1.0, 1.0]) == 1.0


@pytest.mark.parametrize("values", [[3.0], [3.0] * 40])
def test_a_loss_that_never_moves_moves_by_nothing(values):
    assert movement(values) == 0.0


def test_a_short_history_has_tenths_of_one_epoch():
    assert movement([4.0, 2.0, 1.0]) == pytest.approx(1 / 3)


def test_movements_are_per_cent_over_the_seeds(spec):
    def say(cell, mode):
        return {"losses": {"fit": losses("ce", end=0.1 * (cell.seed % 2)), "recover": losses("ce", "nm")}}

    found = movements(joined_of(spec, say))
    assert list(found) == [("training", "ce"), ("recovery", "ce"), ("recovery", "nm")]
    assert found["training", "ce"].n == 5
    assert found["training", "ce"].mean == pytest.approx(100 * (2 / 5) * (0.1 / 0.6))


def test_the_table_has_a_line_per_loss_and_nothing_where_a_stage_lacks_it(spec):
    lines = movement_table(joined_of(spec, lambda cell, mode: {})).lines
    assert [line.heading for line in lines] == ["cross entropy", "KL divergence", "diffusion", "embedding match"]
    assert [entry.text for entry in lines[3].entries] == ["", "0.0 ± 0.0"]


def test_a_loss_of_another_method_keeps_its_name_and_comes_last(spec):
    said = {"losses": {"fit": losses("another", "kl")}}
    lines = movement_table(joined_of(spec, lambda cell, mode: said)).lines
    assert [line.heading for line in lines] == ["KL divergence", "another"]


def test_the_picture_has_both_stages_and_says_what_it_is(spec):
    picture = loss_picture(joined_of(spec, lambda cell, mode: {}))
    assert picture.startswith('<svg role="img" aria-label="Every loss: training"')
    assert re.findall(r'aria-label="([^"]*)"', picture) == ["Every loss: training", "Every loss: recovery"]
