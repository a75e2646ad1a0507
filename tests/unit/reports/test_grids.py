import pytest
from made_records import joined_of

from gvdn.reports.grids import counts_table, finished_datasets, grid, grids

GROUPED = """
title = "t"
datasets = ["citeseer", "debian"]
seeds = [0]
row = [
    { group = "nettack", method = "gcn", perturbation = "nettack", modes = ["evasion", "poisoning"] },
    { label = "two", method = "mlp", datasets = ["citeseer"], modes = ["evasion"] },
    { label = "two", method = "mlp", datasets = ["debian"], settings = { hidden = 8 }, modes = ["evasion"] },
]
"""


def test_a_row_is_the_heading_of_its_modes_and_a_group_that_of_its_rows(tiny, written):
    plain = grid(joined_of(tiny, lambda cell, mode: 0.8), "accuracy", folded=False)
    assert [(line.group, line.heading) for line in plain.lines] == [
        ("gvdn", "evasion"),
        ("gvdn", "recovered"),
        ("gcn", "evasion"),
        ("gcn", "poisoning"),
    ]
    grouped = grid(joined_of(written(GROUPED), lambda cell, mode: 0.8), "accuracy", folded=False)
    assert [(line.group, line.heading) for line in grouped.lines] == [
        ("nettack", "gcn, evasion"),
        ("nettack", "gcn, poisoning"),
        ("two", "evasion"),
    ]


def test_rows_with_the_same_label_on_other_datasets_share_a_line(written):
    table = grid(joined_of(written(GROUPED), lambda cell, mode: {}), "accuracy", folded=False)
    assert [entry.text for entry in table.lines[2].entries] == ["80.0", "80.0"]


def test_rows_that_are_all_in_one_mode_stand_under_their_labels(sweep):
    table = grid(joined_of(sweep, lambda cell, mode: 0.8), "accuracy", folded=False)
    assert table.title == "accuracy in %, clean"
    assert table.lines[0].heading == "gcn, noise_weight 0.0"


def test_what_failed_what_was_not_run_and_what_was_not_asked_are_told_apart(tiny):
    def say(cell, mode):
        return {"error": "no"} if cell.method == "gcn" else None

    lines = grid(joined_of(tiny, say), "accuracy", folded=False).lines
    assert [[entry.text for entry in line.entries] for line in lines] == [["–", "–"]] * 2 + [
        ["failed", "not asked"]
    ] * 2


def test_all_but_the_first_grid_are_folded(tiny):
    assert [table.folded for table in grids(joined_of(tiny, lambda cell, mode: 0.8))] == [False, True, True, True]


def test_a_note_of_the_spec_stands_below_its_table(written):
    spec = written('title = "t"\ndatasets = ["debian"]\nseeds = [0]\nmethods = ["mlp"]\n[notes]\nentropy = "why"\n')
    assert [table.note for table in grids(joined_of(spec, lambda cell, mode: {}))] == ["", "why", "", ""]


@pytest.mark.parametrize(
    ("there", "expected"), [(("citeseer", "debian"), ["citeseer", "debian"]), (("debian",), ["debian"])]
)
def test_a_dataset_with_a_missing_run_is_not_finished(there, expected, tiny):
    joined = joined_of(tiny, lambda cell, mode: 0.8 if cell.dataset in there or cell.seed == 0 else None)
    assert finished_datasets(joined) == expected


def test_counts_have_a_column_each(written):
    spec = written('title = "t"\ndatasets = ["debian"]\nseeds = [0, 1]\n[[row]]\nmodes = ["counts"]\n')
    table = counts_table(
        joined_of(spec, lambda cell, mode: {"counts": {"nodes": 5, "average_degree": 2.0 + cell.seed}})
    )
    assert table.columns == ["nodes", "average degree"]
    assert [entry.text for entry in table.lines[0].entries] == ["5.00 ± 0.00", "2.50 ± 0.71"]


def test_a_study_with_one_dataset_has_a_column_for_each_mode(written):
    spec = written(GROUPED.replace('["citeseer", "debian"]', '["debian"]').replace('["citeseer"], ', '["debian"], '))
    table = grid(joined_of(spec, lambda cell, mode: 0.8), "accuracy", folded=False)
    assert (table.title, table.columns) == ("accuracy in %, debian", ["evasion", "poisoning"])
    assert next((line.group, line.heading) for line in table.lines) == ("nettack", "gcn")
    assert [entry.text for entry in table.lines[-1].entries][1] == "not asked"
