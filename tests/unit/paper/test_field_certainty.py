"""Entropy, calibration error and Brier score of the field, on a spec of its form."""

from dataclasses import replace

import pytest
from made_records import SCORES, joined_of

from gvdn.paper.field import Field
from gvdn.paper.field_certainty import certainty_table
from gvdn.study import load_spec

SMALL = """
title = "The field: small"
datasets = ["cora", "citeseer"]
seeds = [0, 1]
row = [
    { group = "wrong links", methods = ["gcn", "rgcn"], perturbation = "wrong-links", modes = ["new"] },
    { group = "wrong links", method = "gtrans", perturbation = "wrong-links", modes = ["recovered, new"] },
    { group = "injection", methods = ["gcn", "rgcn"], perturbation = "node-injection", modes = ["new"] },
    { group = "poisoning", methods = ["gcn", "rgcn"], perturbation = "metattack", modes = ["poisoning"] },
]
"""
ECE = {"wrong-links": 0.1, "node-injection": 0.3, "metattack": 0.25}


def say(cell, mode):
    """RGCN has half the error of the others, at twice the entropy; on Citeseer both are a tenth higher."""
    more = (0.1 if cell.dataset == "citeseer" else 0.0) + (0.02 if cell.seed else 0.0)
    of_rgcn = cell.method == "rgcn"
    scores = replace(SCORES, ece=ECE[cell.perturbation] * (0.5 if of_rgcn else 1.0) + more, brier=0.6)
    return {"scores": replace(scores, entropy=0.4 if of_rgcn else 0.2)}


@pytest.fixture
def table(tmp_path):
    (tmp_path / "field.toml").write_text(SMALL)
    return certainty_table(Field(joined_of(load_spec(tmp_path / "field.toml", own=False), say)))


def entries(table, name):
    (line,) = (line for line in table.lines if line.heading == name)
    return dict(zip(table.columns, line.entries, strict=True))


def test_there_is_a_column_for_each_metric_and_kind(table):
    kinds = ("clean", "evasion", "poisoning")
    names = ("entropy", "calibration error", "Brier score")
    assert table.columns == [f"{name}, {kind}" for name in names for kind in kinds]


def test_numbers_are_means_over_seeds_then_over_graphs_and_columns(table):
    gcn = entries(table, "gcn")
    # (10 + 30) / 2 on Cora, 10 more on Citeseer, and a point for the second seed
    assert gcn["calibration error, evasion"].text == "26.0"
    assert gcn["calibration error, poisoning"].text == "31.0"
    assert gcn["calibration error, clean"].text == "5.0"
    assert (gcn["entropy, evasion"].text, gcn["entropy, clean"].text) == ("20.0", "40.0")
    assert gcn["Brier score, evasion"].text == "0.60"


def test_the_lowest_error_is_bold_and_the_lowest_entropy_is_not(table):
    gcn, rgcn = entries(table, "gcn"), entries(table, "rgcn")
    assert rgcn["calibration error, evasion"].best
    assert not gcn["calibration error, evasion"].best
    assert gcn["Brier score, evasion"].best, "equal ones are both the lowest"
    assert not any(entry.best for name, entry in (gcn | rgcn).items() if name.startswith("entropy"))


def test_who_was_not_asked_everywhere_has_no_mean(table):
    gtrans = entries(table, "gtrans")
    assert gtrans["entropy, evasion"].text == gtrans["entropy, poisoning"].text == "n/a"
    assert gtrans["entropy, clean"].text == "40.0"
