import pytest
from gvdn.experiments.spec import load_spec

from gvdn.reports.joined import join
from gvdn.reports.means import means

from .conftest import measured


def test_each_row_has_its_label_mean_and_spread(tiny, tmp_path):
    first, *_ = means(
        join(tiny, measured(tmp_path / "runs", tiny, lambda cell, mode: {"accuracy": 0.5 + cell.seed / 10}))
    )
    assert (first.row, first.dataset, first.runs) == (tiny.rows[0].label, tiny.datasets[0], len(tiny.seeds))
    assert first.accuracy == pytest.approx(50 + 10 * sum(tiny.seeds) / len(tiny.seeds))
    assert first.spread is not None
    assert str(first).startswith(f"{first.accuracy:.1f} ± {first.spread:.1f} / ")


def test_failures_have_no_mean(tiny, tmp_path):
    assert means(join(tiny, measured(tmp_path / "runs", tiny, lambda cell, mode: {"error": "no"}))) == []


def test_a_graph_that_was_only_counted_has_no_mean(tmp_path):
    spec = load_spec("datasets")
    assert means(join(spec, measured(tmp_path / "runs", spec, lambda cell, mode: {}))) == []
