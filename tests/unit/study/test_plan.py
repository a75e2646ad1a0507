from gvdn.study import Cell, Mode, Record, Scores, append_record, records_by_key
from gvdn.study.plan import Outlook, missing, outlook, total

SCORES = Scores(0.8, 0.3, 0.05, 0.4, 10)


def test_what_is_measured_and_how_long_the_rest_takes(tmp_path):
    cells = [Cell("cora", "gcn", seed) for seed in range(4)]
    for cell, seconds in zip(cells[:2], (2.0, 3.0), strict=True):
        spent = {"fit": seconds, "answer": 0.5}
        append_record(tmp_path / "any.jsonl", Record(cell=cell, mode=Mode.EVASION, scores=SCORES, seconds=spent))
    append_record(tmp_path / "any.jsonl", Record(cell=cells[2], mode=Mode.EVASION, error="broken"))
    (line,) = outlook([(cell, (Mode.EVASION,)) for cell in cells], records_by_key(tmp_path))
    assert (line.runs, line.measured, line.failed, line.seconds_left, line.time_left) == (4, 3, 1, 3.0, "3 s")


def test_a_graph_that_is_counted_takes_no_time_and_the_first_run_of_a_kind_an_unknown_one(tmp_path):
    counted, unknown = Cell("cora", "", 0, "none"), Cell("cora", "gcn", 0)
    append_record(tmp_path / "datasets.jsonl", Record(cell=counted, mode=Mode.COUNTS, counts={"nodes": 3}))
    tasks = [(counted, (Mode.COUNTS,)), (unknown, (Mode.EVASION,))]
    first, second = outlook(tasks, records_by_key(tmp_path))
    assert (first.measured, first.time_left) == (1, "0 s")
    assert (second.measured, second.time_left) == (0, "unknown")


def test_outlooks_add_up_and_one_unknown_time_makes_the_sum_unknown():
    lines = [Outlook("cora", "gcn", 4, 3, 1, 2.0), Outlook("debian", "gcn", 5, 0, 0, 3.0)]
    whole = total(lines, "all")
    assert (whole.dataset, whole.runs, whole.measured, whole.failed, whole.time_left) == ("all", 9, 3, 1, "5 s")
    assert total([*lines, Outlook("cora", "mlp", 1, 0, 0, None), *lines], "all").time_left == "unknown"
    assert total([], "all").runs == 0


def test_missing_are_the_modes_without_a_record_and_failures_when_they_are_tried_again():
    cell, modes = Cell("ring", "gcn", 0), (Mode.EVASION, Mode.POISONING)
    failed = {cell.key(Mode.EVASION): Record(cell=cell, mode=Mode.EVASION, error="broken")}
    assert missing([(cell, modes)], {}) == [(cell, modes)]
    assert missing([(cell, modes)], failed) == [(cell, (Mode.POISONING,))]
    assert missing([(cell, modes)], failed, retry=True) == [(cell, modes)]
    assert missing([(cell, modes), (cell, modes)], {}) == [(cell, modes)]
