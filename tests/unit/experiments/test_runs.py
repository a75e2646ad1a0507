import json
import subprocess
import sys

import pytest

from gvdn.errors import InvalidInput
from gvdn.experiments.runs import append_record, by_key, read_records

RECORD = {
    "key": "k1",
    "cell": {"dataset": "ring", "settings": {"epochs": 3}, "method": "gcn"},
    "mode": "recovered, victims unseen",
    "validation": None,
    "accuracy": 0.1,
    "seconds": {"fit": 1.5},
    "name": "Zügner – 100 %\n",
}


def test_what_is_appended_is_read_again_in_order(tmp_path):
    path = tmp_path / "some" / "folder" / "runs.jsonl"
    records = [RECORD | {"key": f"k{number}"} for number in range(5)]
    for number, record in enumerate(records):
        append_record(path, record)
        assert read_records(path) == records[: number + 1]
    assert path.read_text().count("\n") == 5


def test_no_file_has_no_records_and_reading_makes_none(tmp_path):
    assert read_records(tmp_path / "runs.jsonl") == []
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_and_empty_lines_have_no_records(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("")
    assert read_records(path) == []
    append_record(path, RECORD)
    path.write_text("\n" + path.read_text() + "\n  \n")
    assert read_records(path) == [RECORD]


def test_text_with_line_breaks_of_any_kind_stays_one_record(tmp_path):
    path = tmp_path / "runs.jsonl"
    strange = RECORD | {"error": "a\nb\r\nc\u2028d\x85e\x0bf\x1cg"}
    append_record(path, strange)
    append_record(path, RECORD)
    assert read_records(path) == [strange, RECORD]


def test_a_last_line_torn_anywhere_is_passed_over_and_the_next_record_starts_on_its_own_line(tmp_path):
    """Wherever a kill may cut: after every byte of the line but the last of its content."""
    line = json.dumps(RECORD, sort_keys=True)
    before, after = RECORD | {"key": "before"}, RECORD | {"key": "after"}
    path = tmp_path / "runs.jsonl"
    wrong = []
    for cut in range(1, len(line)):
        path.write_text(json.dumps(before) + "\n" + line[:cut])
        try:
            assert read_records(path) == [before]
            append_record(path, after)
            assert read_records(path) == [before, after]
        except (AssertionError, InvalidInput):
            wrong.append(line[:cut][-20:])
        assert path.read_text().startswith(json.dumps(before) + "\n" + line[:cut])  # nothing is thrown away
    assert wrong == []


def test_a_line_that_only_lacks_its_end_is_a_record(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(RECORD))
    assert read_records(path) == [RECORD]
    append_record(path, RECORD | {"key": "next"})
    assert [record["key"] for record in read_records(path)] == ["k1", "next"]


@pytest.mark.parametrize(
    "garbage", ["<<<<<<< HEAD", "[1, 2]", "3", "null", '"text"', "key: value", '{"key": nonsense}', '{"a": 1} {"b": 2}']
)
def test_garbage_in_the_middle_is_named_with_file_and_line(tmp_path, garbage):
    path = tmp_path / "runs.jsonl"
    whole = json.dumps(RECORD)
    path.write_text("\n".join([whole, whole, garbage, whole]) + "\n")
    with pytest.raises(InvalidInput, match=r"runs\.jsonl, line 3: ") as told:
        read_records(path)
    assert "\n" not in str(told.value)


def test_bytes_that_are_no_text_are_named_too(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(json.dumps(RECORD).encode() + b"\n\xff\xfe\x00\n" + json.dumps(RECORD).encode() + b"\n")
    with pytest.raises(InvalidInput, match=r"runs\.jsonl"):
        read_records(path)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_not_written(tmp_path, number):
    path = tmp_path / "runs.jsonl"
    append_record(path, RECORD)
    with pytest.raises(ValueError):
        append_record(path, RECORD | {"accuracy": number})
    assert read_records(path) == [RECORD]


def test_many_processes_at_once_leave_whole_lines(tmp_path):
    program = (
        "import sys; from pathlib import Path; from gvdn.experiments.runs import append_record\n"
        "for n in range(200): append_record(Path(sys.argv[1]), {'key': f'{sys.argv[2]}-{n}', 'text': 'x' * 700})"
    )
    path = tmp_path / "runs.jsonl"
    crowd = [subprocess.Popen([sys.executable, "-c", program, str(path), str(one)]) for one in range(3)]
    assert [one.wait(60) for one in crowd] == [0, 0, 0]
    keys = [record["key"] for record in read_records(path)]
    assert sorted(keys) == sorted(f"{one}-{n}" for one in range(3) for n in range(200))


def test_records_are_read_without_torch():
    program = "import sys, gvdn.experiments.runs; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_folder_gives_the_last_record_of_each_run_and_a_measured_one_outlives_a_failure(tmp_path):
    failed, first, second = RECORD | {"error": "broken"}, RECORD | {"accuracy": 0.1}, RECORD | {"accuracy": 0.2}
    other = RECORD | {"key": "other", "error": "broken"}
    for name, records in {"a": [failed, first], "b": [failed, other], "c": [second, failed]}.items():
        for record in records:
            append_record(tmp_path / f"{name}.jsonl", record)
    (tmp_path / "notes.txt").write_text("not records")
    assert by_key(tmp_path) == {RECORD["key"]: second, "other": other}
    assert by_key(tmp_path / "nowhere") == {}
