"""The table of stronger adaptive attacks, beside those of a field."""

import pytest
from made_records import joined_of

from gvdn.paper.field_stronger import stronger_table
from gvdn.study import load_spec

FIELD = """
title = "The field: small"
datasets = ["cora", "citeseer"]
seeds = [0, 1, 2]
row = [
    { group = "wrong links", methods = ["gcn", "rgcn", "mlp"], perturbation = "wrong-links", modes = ["new"] },
    { group = "PRBCD of a GCN", methods = ["gcn", "mlp"], perturbation = "prbcd", modes = ["new"] },
    { group = "PRBCD of the method", method = "rgcn", perturbation = "prbcd", perturbation_settings = { target = "rgcn" }, modes = ["new"] },
]
"""  # noqa: E501
STRONGER = """
title = "Stronger"
datasets = ["cora"]
seeds = [0, 1]
row = [
    { group = "rgcn", label = "400 steps", method = "rgcn", perturbation = "prbcd", perturbation_settings = { target = "rgcn", epochs = 400 }, modes = ["new"] },
    { group = "rgcn", label = "rounds", method = "rgcn", perturbation = "adaptive-prbcd", perturbation_settings = { target = "rgcn" }, modes = ["new"] },
    { group = "gcn", label = "400 steps", method = "gcn", perturbation = "prbcd", perturbation_settings = { target = "gcn", epochs = 400 }, modes = ["new"] },
]
"""  # noqa: E501


def say(cell, mode):
    strong = cell.perturbation_settings.get("epochs") == 400
    accuracy = {"gcn": 0.5, "rgcn": 0.6, "mlp": 0.7}[cell.method] - (0.2 if strong else 0.0)
    return {"accuracy": accuracy - (0.3 if cell.seed == 2 else 0.0)}


@pytest.fixture
def specs(tmp_path):
    (tmp_path / "field.toml").write_text(FIELD)
    (tmp_path / "stronger.toml").write_text(STRONGER)
    return [load_spec(tmp_path / f"{name}.toml", own=False) for name in ("field", "stronger")]


def drawn(specs, say_of_stronger=say):
    table = stronger_table(joined_of(specs[0], say), joined_of(specs[1], say_of_stronger))
    assert table.columns == ["cora, 60 steps", "cora, 400 steps", "cora, rounds"]
    return {line.heading: [entry.markdown() for entry in line.entries] for line in table.lines}


def test_the_attack_of_the_field_stands_beside_the_stronger_ones_over_their_seeds(specs):
    lines = drawn(specs)
    assert lines["rgcn"] == ["60.0 ± 0.0", "40.0 ± 0.0", "60.0 ± 0.0"], "without the third seed of the field"
    assert lines["gcn"] == ["50.0 ± 0.0", "30.0 ± 0.0", "n/a"], "the attack of a GCN is the attack of the method"


def test_methods_that_were_not_asked_again_are_left_out(specs):
    assert set(drawn(specs)) == {"rgcn", "gcn"}


def test_a_run_that_is_missing_is_said(specs):
    some = drawn(specs, lambda cell, mode: None if cell.seed == 1 and cell.method == "gcn" else say(cell, mode))
    assert some["gcn"][1] == "30.0 (n 1)"
    assert drawn(specs, lambda cell, mode: None)["rgcn"] == ["60.0 ± 0.0", "–", "–"]
