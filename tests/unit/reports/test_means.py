import pytest
from made_records import joined_of

from gvdn.reports.means import means


def test_each_row_has_its_label_mean_and_spread(tiny):
    first, *_ = means(joined_of(tiny, lambda cell, mode: {"accuracy": 0.5 + cell.seed / 10}))
    assert (first.row, first.dataset, first.runs) == (tiny.rows[0].label, tiny.datasets[0], len(tiny.seeds))
    assert first.accuracy == pytest.approx(60.0)
    assert str(first) == "60.0 ± 10.0 / 30"


def test_a_row_of_a_group_is_named_with_it(written):
    row = 'row = [{ method = "mlp", group = "nettack", modes = ["evasion"] }]'
    spec = written(f'title = "t"\ndatasets = ["debian"]\nseeds = [0]\n{row}\n')
    assert means(joined_of(spec, lambda cell, mode: 0.8))[0].row == "nettack: mlp"


def test_failures_have_no_mean(tiny):
    assert means(joined_of(tiny, lambda cell, mode: {"error": "no"})) == []


def test_a_graph_that_was_only_counted_has_no_mean(written):
    counts = written('title = "t"\ndatasets = ["debian"]\nseeds = [0]\n[[row]]\nmodes = ["counts"]\n')
    assert means(joined_of(counts, lambda cell, mode: {})) == []
