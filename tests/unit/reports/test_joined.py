import json

import pytest
from gvdn.experiments.spec import load_spec

from gvdn.errors import InvalidInput
from gvdn.reports.joined import join, join_all

from .conftest import measured, record


def test_every_row_keeps_its_label_and_what_is_missing_is_known(tiny, tmp_path):
    def say(cell, mode):
        if cell.method == "gcn" and mode == "in training":
            return {"error": "OutOfTime: 600 s"} if cell.seed == 0 else None
        return 0.8

    joined = join(tiny, measured(tmp_path / "records", tiny, say))
    assert [(one.row.label, one.dataset, one.mode) for one in joined.runs] == [
        ("gvdn", "cora", "afterwards"),
        ("gvdn", "cora", "recovered"),
        ("gcn", "cora", "afterwards"),
        ("gcn", "cora", "in training"),
        ("gvdn", "debian", "afterwards"),
        ("gvdn", "debian", "recovered"),
    ]
    last = joined.find("cora", "in training", method="gcn")
    assert (last.records, last.errors, last.missing) == ({}, {0: "OutOfTime: 600 s"}, [1, 2])
    assert len(joined.records) == 15


def test_no_file_is_no_records(tiny, tmp_path):
    assert join(tiny, tmp_path).records == []


def test_values_are_per_cent_and_seconds_are_added_up(tiny, tmp_path):
    joined = join(tiny, measured(tmp_path, tiny, lambda cell, mode: {"accuracy": 0.5, "clean": 0.75}))
    runs = joined.find("debian", "recovered", method="gvdn")
    assert runs.values("accuracy") == {0: 50.0, 1: 50.0, 2: 50.0}
    assert runs.values("clean accuracy")[0] == 75.0
    assert runs.values("seconds")[0] == 3.5
    assert runs.values("brier")[0] == 0.4
    assert runs.values("validation") == {}


def test_records_of_something_else_are_left_alone(tiny, tmp_path):
    (cell, _), *_ = tiny.tasks()
    other = record(cell, "clean") | {"key": "0123456789abcdef"}
    (tmp_path / "tiny.jsonl").write_text(json.dumps(other) + "\n")
    assert join(tiny, tmp_path).records == []


def test_a_run_that_failed_and_was_run_again_counts_once(tiny, tmp_path):
    (cell, _), *_ = tiny.tasks()
    lines = [cell.heading("afterwards") | {"error": "no"}, record(cell, "afterwards", 0.9)]
    for order in (lines, lines[::-1]):
        (tmp_path / "tiny.jsonl").write_text("".join(json.dumps(line) + "\n" for line in order))
        runs = join(tiny, tmp_path).runs[0]
        assert (list(runs.records), runs.errors, runs.missing) == ([0], {}, [1, 2])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nonsense\n", "tiny.jsonl, line 1: not a record"),
        ('{"accuracy": 1}\n', "tiny.jsonl, line 1: expected a record with its key"),
    ],
)
def test_a_line_that_is_no_record_is_named(text, sentence, tiny, tmp_path):
    (tmp_path / "tiny.jsonl").write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        join(tiny, tmp_path)


LACKING = [("table3", "accuracy"), ("datasets", "counts"), ("figure5", "map"), ("figure5", "separation")]
LACKING += [("figure6", "map"), ("figure7", "losses"), ("streaming", "seconds_each"), ("streaming", "accuracy")]


@pytest.mark.parametrize(("name", "what"), LACKING)
def test_a_record_that_lacks_what_its_mode_needs_is_named(name, what, tmp_path):
    spec = load_spec(name)
    cell, modes = next(spec.tasks())
    whole = record(cell, modes[0])
    del whole[what]
    (tmp_path / "some.jsonl").write_text(json.dumps(whole) + "\n")
    with pytest.raises(InvalidInput, match=f"the record {cell.key(modes[0])} of a run has no {what}; remove its line"):
        join(spec, tmp_path)


def test_a_record_is_found_in_whichever_file_it_is(tiny, tmp_path):
    (measured(tmp_path, tiny, lambda cell, mode: 0.8) / "tiny.jsonl").rename(tmp_path / "another.jsonl")
    assert len(join(tiny, tmp_path).records) == 18


def test_a_graph_that_is_only_counted_needs_no_scores(tmp_path):
    spec = load_spec("datasets")
    runs = join(spec, measured(tmp_path, spec, lambda cell, mode: {})).find("cora", "counts")
    assert runs.values("counts edges_both_directions") == dict.fromkeys(range(5), 10556.0)
    assert runs.values("accuracy") == {}


def test_a_part_of_a_record_is_asked_for_by_its_name(tmp_path):
    spec = load_spec("figure6")
    runs = join(spec, measured(tmp_path, spec, lambda cell, mode: {})).runs[0]
    assert runs.values("separation epoch 200")[0] == 0.1
    assert runs.values("separation nowhere") == {}


def test_several_specs_are_joined_by_name(tiny, tmp_path):
    found = join_all([tiny, load_spec("datasets")], measured(tmp_path, tiny, lambda cell, mode: 0.8))
    assert {name: len(joined.records) for name, joined in found.items()} == {"tiny": 18, "datasets": 0}
