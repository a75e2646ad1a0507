import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from gvdn.errors import InvalidInput
from gvdn.files import DiskFull
from gvdn.study import Cell, Mode, Record, Scores, append_record, read_records, records_by_key
from gvdn.study.store import only_writer, torn_end

RECORD = Record(
    cell=Cell("ring", "gcn", 0, settings={"epochs": 3}),
    mode=Mode.WITHHELD,
    scores=Scores(0.1, 0.2, 0.3, 0.4, 5),
    seconds={"fit": 1.5},
    device="Zügner – 100 %\n",
)


def of_seed(seed: int) -> Record:
    return replace(RECORD, cell=replace(RECORD.cell, seed=seed))


def test_what_is_appended_is_read_again_in_order(tmp_path):
    path = tmp_path / "some" / "folder" / "runs.jsonl"
    records = [of_seed(number) for number in range(5)]
    for number, record in enumerate(records):
        append_record(path, record)
        assert read_records(path) == records[: number + 1]
    assert path.read_text().count("\n") == 5


def test_a_line_that_a_full_disk_cuts_is_said_and_passed_over_later(tmp_path, monkeypatch):
    path, real = tmp_path / "runs.jsonl", os.write
    append_record(path, of_seed(0))
    monkeypatch.setattr(os, "write", lambda descriptor, line: real(descriptor, line[:100]))  # no error, but not all
    with pytest.raises(DiskFull, match="the disk became full while .*runs.jsonl was written"):
        append_record(path, of_seed(1))
    monkeypatch.undo()
    append_record(path, of_seed(1))
    assert read_records(path) == [of_seed(0), of_seed(1)]


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
    strange = replace(RECORD, commit="a\nb\r\nc\u2028d\x85e\x0bf\x1cg")
    append_record(path, strange)
    append_record(path, RECORD)
    assert read_records(path) == [strange, RECORD]


def test_a_last_line_torn_anywhere_is_passed_over_and_the_next_record_starts_on_its_own_line(tmp_path):
    """Wherever a kill may cut: after every byte of the line but the last of its content."""
    line = json.dumps(RECORD.to_json(), sort_keys=True)
    before, after = of_seed(1), of_seed(2)
    path = tmp_path / "runs.jsonl"
    wrong = []
    for cut in range(1, len(line)):
        path.write_text(json.dumps(before.to_json()) + "\n" + line[:cut])
        try:
            assert read_records(path) == [before]
            append_record(path, after)
            assert read_records(path) == [before, after]
        except (AssertionError, InvalidInput):
            wrong.append(line[:cut][-20:])
        assert path.read_text().startswith(json.dumps(before.to_json()) + "\n" + line[:cut])  # nothing is thrown away
    assert wrong == []


def test_the_only_writer_cuts_off_a_torn_end_wherever_it_was_cut(tmp_path):
    line, whole = json.dumps(RECORD.to_json(), sort_keys=True), json.dumps(of_seed(1).to_json()) + "\n"
    path, other = tmp_path / "runs.jsonl", tmp_path / "other.jsonl"
    other.write_text(line[:9])
    for cut in range(1, len(line)):
        path.write_text(whole + line[:cut])
        assert torn_end(path) == len(whole)
        with only_writer(tmp_path):
            assert path.read_text() == whole
            append_record(path, of_seed(2))
        assert read_records(path) == [of_seed(1), of_seed(2)]
        assert [json.loads(one)["key"] for one in path.read_text().splitlines()] == [of_seed(1).key, of_seed(2).key]
    assert other.read_text() == ""


@pytest.mark.parametrize("end", ["", json.dumps(RECORD.to_json()), "<<<<<<< HEAD", "3", '{"key": nonsense}'])
def test_an_end_that_is_not_torn_stays_as_it_is(end, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(of_seed(1).to_json()) + "\n" + end)
    before = path.read_bytes()
    assert torn_end(path) is None
    with only_writer(tmp_path):
        assert path.read_bytes() == before


def test_a_torn_end_is_left_alone_where_another_process_writes(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"key"')
    with only_writer(tmp_path):
        path.write_text('{"key"')  # what this process writes at the moment
        program = "import sys; from pathlib import Path; from gvdn.study.store import only_writer\n"
        program += "with only_writer(Path(sys.argv[1])): pass"
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert "being written by" in done.stderr
        assert path.read_text() == '{"key"'


def test_a_line_that_only_lacks_its_end_is_a_record(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(RECORD.to_json()))
    assert read_records(path) == [RECORD]
    append_record(path, of_seed(1))
    assert read_records(path) == [RECORD, of_seed(1)]


@pytest.mark.parametrize(
    "garbage", ["<<<<<<< HEAD", "[1, 2]", "3", "null", '"text"', "key: value", '{"key": nonsense}', '{"a": 1} {"b": 2}']
)
def test_garbage_in_the_middle_is_named_with_file_and_line(tmp_path, garbage):
    path = tmp_path / "runs.jsonl"
    whole = json.dumps(RECORD.to_json())
    path.write_text("\n".join([whole, whole, garbage, whole]) + "\n")
    with pytest.raises(InvalidInput, match=r"runs\.jsonl, line 3: ") as told:
        read_records(path)
    assert "\n" not in str(told.value)


def test_bytes_that_are_no_text_are_named_too(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(
        json.dumps(RECORD.to_json()).encode() + b"\n\xff\xfe\x00\n" + json.dumps(RECORD.to_json()).encode() + b"\n"
    )
    with pytest.raises(InvalidInput, match=r"runs\.jsonl"):
        read_records(path)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_cannot_hold_is_not_written(tmp_path, number):
    path = tmp_path / "runs.jsonl"
    append_record(path, RECORD)
    with pytest.raises(ValueError):
        append_record(path, replace(RECORD, peak_mib=number))
    assert read_records(path) == [RECORD]


def test_many_processes_at_once_leave_whole_lines(tmp_path):
    program = (
        "import sys; from pathlib import Path; from gvdn.study import Cell, Mode, Record, append_record\n"
        "for n in range(200):\n"
        "    cell = Cell('ring', sys.argv[2], n)\n"
        "    append_record(Path(sys.argv[1]), Record(cell=cell, mode=Mode.CLEAN, error='x' * 700))"
    )
    path = tmp_path / "runs.jsonl"
    crowd = [subprocess.Popen([sys.executable, "-c", program, str(path), str(one)]) for one in range(3)]
    assert [one.wait(60) for one in crowd] == [0, 0, 0]
    found = [(record.cell.method, record.cell.seed) for record in read_records(path)]
    assert sorted(found) == sorted((str(one), n) for one in range(3) for n in range(200))


def test_records_are_read_without_torch():
    program = "import sys, gvdn.study; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_folder_gives_the_last_record_of_each_run_and_a_measured_one_outlives_a_failure(tmp_path):
    failed, first, second = Record(cell=RECORD.cell, mode=RECORD.mode, error="broken"), RECORD, replace(RECORD, epoch=2)
    other = Record(cell=of_seed(1).cell, mode=RECORD.mode, error="broken")
    for name, records in {"a": [failed, first], "b": [failed, other], "c": [second, failed]}.items():
        for record in records:
            append_record(tmp_path / f"{name}.jsonl", record)
    (tmp_path / "notes.txt").write_text("not records")
    assert records_by_key(tmp_path) == {RECORD.key: second, other.key: other}
    assert records_by_key(tmp_path / "nowhere") == {}


@pytest.mark.parametrize("target", ["/dev/zero", "."])
def test_records_are_read_from_a_regular_file(target, tmp_path):
    (tmp_path / "runs.jsonl").symlink_to(target)
    with pytest.raises(
        InvalidInput, match=r"runs.jsonl: not a file of records \(it is no regular file\); move it away"
    ):
        read_records(tmp_path / "runs.jsonl")


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b'"\x80"',
        b"[" * 200_000,
        b'{"key": "\\ud800"}',
        b'{"key": {}}',
        b"9" * 5000,
        b'{"key": "k", "a": 1e999}',
    ],
)
def test_a_line_that_is_no_record_is_named_in_one_sentence(line, tmp_path):
    path = tmp_path / "runs.jsonl"
    append_record(path, RECORD)
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(InvalidInput, match=r"runs.jsonl, line 2: .*; remove the line") as refused:
        read_records(path)
    assert "\n" not in str(refused.value)


def test_null_is_a_field_that_is_missing(tmp_path):
    content = RECORD.to_json() | {"seconds": None, "clean": None, "error": None, "map": None}
    (tmp_path / "runs.jsonl").write_text(json.dumps(content))
    assert read_records(tmp_path / "runs.jsonl") == [replace(RECORD, seconds={})]
