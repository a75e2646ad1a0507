from gvdn.experiments.spec import load_spec
from gvdn.reports.means import means

from .conftest import record


def test_failures_and_graphs_that_were_only_counted_have_no_mean():
    (counted, _), (cell, _) = next(load_spec("datasets").tasks()), next(load_spec("table3").tasks())
    records = [record(counted, "counts"), cell.heading("in training") | {"error": "no"}, record(cell, "afterwards")]
    assert list(means(records)) == [("gcn-jaccard", "", "afterwards")]
