import json

from gvdn.experiments.cell import Cell
from gvdn.experiments.plan import Line, outlook, total
from gvdn.experiments.runs import by_key


def test_what_is_there_and_how_long_the_rest_takes(tmp_path):
    cells = [Cell("cora", "gcn", seed) for seed in range(4)]
    seconds = [{"fit": 2.0, "answer": 0.5}, {"fit": 3.0, "answer": 0.5}]
    lines = [cell.heading("afterwards") | {"seconds": spent} for cell, spent in zip(cells, seconds, strict=False)]
    lines.append(cells[2].heading("afterwards") | {"error": "broken"})
    (tmp_path / "any.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (line,) = outlook([(cell, ("afterwards",)) for cell in cells], by_key(tmp_path))
    assert (line.runs, line.there, line.failed, line.seconds_left, line.time_left) == (4, 3, 1, 3.0, "3 s")


def test_a_graph_that_is_counted_takes_no_time_and_nobody_knows_before_the_first_run(tmp_path):
    counted, unknown = Cell("cora", "", 0, "none"), Cell("cora", "gcn", 0)
    line = counted.heading("counts") | {"counts": {"nodes": 3}}
    (tmp_path / "datasets.jsonl").write_text(json.dumps(line) + "\n")
    first, second = outlook([(counted, ("counts",)), (unknown, ("afterwards",))], by_key(tmp_path))
    assert (first.there, first.time_left) == (1, "0 s")
    assert (second.there, second.time_left) == (0, "unknown")


def test_lines_add_up_and_what_nobody_knows_of_one_nobody_knows_of_all():
    lines = [Line("cora", "gcn", 4, 3, 1, 2.0), Line("debian", "gcn", 5, 0, 0, 3.0)]
    whole = total(lines, "all")
    assert (whole.dataset, whole.counts, whole.time_left) == ("all", (9, 3, 1), "5 s")
    assert total([*lines, Line("cora", "mlp", 1, 0, 0, None), *lines], "all").time_left == "unknown"
