import pytest
from made_records import joined_of, measured, record

from gvdn.errors import InvalidInput
from gvdn.reports.joined import join, join_all, joined_from
from gvdn.study import Mode, append_record


def test_every_row_keeps_its_label_and_what_is_missing_is_known(tiny):
    def say(cell, mode):
        if cell.method == "gcn" and mode == Mode.POISONING:
            return {"error": "OutOfTime: 600 s"} if cell.seed == 0 else None
        return 0.8

    joined = joined_of(tiny, say)
    assert [(one.row.label, one.dataset, one.mode) for one in joined.runs] == [
        ("gvdn", "citeseer", "evasion"),
        ("gvdn", "citeseer", "recovered"),
        ("gcn", "citeseer", "evasion"),
        ("gcn", "citeseer", "poisoning"),
        ("gvdn", "debian", "evasion"),
        ("gvdn", "debian", "recovered"),
    ]
    last = joined.find("citeseer", Mode.POISONING, method="gcn")
    assert (last.records, last.errors, last.missing, last.asked) == ({}, {0: "OutOfTime: 600 s"}, [1, 2], 3)
    assert (len(joined.records), len(joined.keys)) == (15, 18)


def test_a_row_that_exists_but_not_there_is_none(tiny):
    joined = joined_of(tiny, lambda cell, mode: None)
    assert joined.find("debian", Mode.EVASION, method="gcn") is None
    assert joined.find("citeseer", Mode.RECOVERED, method="gcn") is None


@pytest.mark.parametrize("asked", [{"method": "rgcn"}, {"label": "gvdn, recovered"}, {"group": "x"}, {"rate": 0.01}])
def test_a_question_that_no_row_fits_is_an_error_that_names_it(asked, tiny):
    joined = joined_of(tiny, lambda cell, mode: 0.8)
    with pytest.raises(LookupError, match=f"no row of the spec tiny has .*{next(iter(asked))}"):
        joined.find("citeseer", Mode.EVASION, **asked)


def test_rows_are_found_by_their_settings_and_by_settings_they_do_not_change(written):
    spec = written("""
title = "t"
datasets = ["debian"]
seeds = [0]
common = { method = "gvdn", modes = ["recovered"] }
row = [
    { label = "a", settings = { guard = false } },
    { label = "b", perturbation_settings = { rate = 0.05 } },
    { label = "c", split = { train = 0.02 }, settings = { guard = true } },
]
""")
    joined = joined_of(spec, lambda cell, mode: 0.8)

    def label(**asked):
        return joined.find("debian", Mode.RECOVERED, **asked).row.label

    assert [label(guard=False), label(rate=0.05), label(train=0.02), label(guard=None)] == ["a", "b", "c", "b"]


def test_no_file_is_no_records(tiny, tmp_path):
    assert join(tiny, tmp_path).records == []


def test_values_are_per_cent_and_seconds_are_added_up(tiny):
    joined = joined_of(tiny, lambda cell, mode: {"accuracy": 0.5, "clean": 0.75})
    runs = joined.find("debian", Mode.RECOVERED, method="gvdn")
    assert runs.values("accuracy") == {0: 50.0, 1: 50.0, 2: 50.0}
    assert runs.values("clean.accuracy")[0] == 75.0
    assert runs.values("seconds")[0] == 3.5
    assert runs.values("brier")[0] == 0.4
    assert runs.values("validation") == {}


def test_a_part_that_a_record_does_not_have_has_no_values(tiny):
    runs = joined_of(tiny, lambda cell, mode: 0.8).find("citeseer", Mode.POISONING, method="gcn")
    assert runs.values("clean.accuracy") == runs.values("separation.clean") == {}


def test_a_metric_that_no_record_can_have_is_an_error(tiny):
    with pytest.raises(AttributeError):
        joined_of(tiny, lambda cell, mode: 0.8).runs[0].values("acuracy")


def test_records_of_something_else_are_left_alone(tiny, tmp_path):
    (cell, _), *_ = tiny.tasks()
    append_record(tmp_path / "tiny.jsonl", record(cell, Mode.CLEAN))
    assert join(tiny, tmp_path).records == []


def test_a_run_that_failed_and_was_run_again_counts_once(tiny, tmp_path):
    (cell, _), *_ = tiny.tasks()
    lines = [record(cell, Mode.EVASION, error="no"), record(cell, Mode.EVASION, accuracy=0.9)]
    for number, order in enumerate((lines, lines[::-1])):
        for one in order:
            append_record(tmp_path / str(number) / "tiny.jsonl", one)
        runs = join(tiny, tmp_path / str(number)).runs[0]
        assert (list(runs.records), runs.errors, runs.missing) == ([0], {}, [1, 2])


def test_a_line_that_is_no_record_is_named(tiny, tmp_path):
    (tmp_path / "tiny.jsonl").write_text("nonsense\n")
    with pytest.raises(InvalidInput, match="tiny.jsonl, line 1: not a record"):
        join(tiny, tmp_path)


def test_a_record_is_found_in_whichever_file_it_is(tiny, tmp_path):
    (measured(tmp_path, tiny, lambda cell, mode: 0.8) / "tiny.jsonl").rename(tmp_path / "another.jsonl")
    assert len(join(tiny, tmp_path).records) == 18


def test_several_specs_are_joined_by_name(tiny, sweep, tmp_path):
    found = join_all([tiny, sweep], measured(tmp_path / "runs", tiny, lambda cell, mode: 0.8))
    assert {name: len(joined.records) for name, joined in found.items()} == {"tiny": 18, "sweep": 0}


def test_a_row_without_modes_is_joined_in_the_modes_that_it_has_records_of(written):
    spec = written('title = "t"\ndatasets = ["debian"]\nseeds = [0, 1]\nmethods = ["mlp"]\n')
    cell, modes = next(spec.tasks())
    assert modes == ()
    one = record(cell, Mode.POISONING)
    joined = joined_from(spec, {one.key: one})
    assert [(runs.mode, list(runs.records), runs.missing) for runs in joined.runs] == [(Mode.POISONING, [0], [1])]
