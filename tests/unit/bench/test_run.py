"""Grids of cells; where what is measured says nothing to the test, something quicker takes its place."""

import json
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gvdn.bench import run as grid
from gvdn.bench.modes import supported_modes
from gvdn.graph import Graph, write_npz
from gvdn.study import Cell, Mode, Record, Scores, append_record, read_records, records_by_key
from gvdn.study.plan import missing

SCORES = Scores(0.5, 0.5, 0.5, 0.5, 10)
MODES = (Mode.EVASION, Mode.POISONING)
assert torch.__version__  # imported here, so that no cell has to: a process of its own then takes milliseconds


def tasks_of(seeds, method: str = "gcn", modes=MODES):
    return [(Cell("ring", method, seed), modes) for seed in seeds]


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "runs.jsonl"


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Cells that take no time and leave a mark when they begin; what a seed does can be told."""
    marks = tmp_path / "begun"
    marks.mkdir()

    def install(doings=None):
        def measure(cell, modes, *, device="cpu", attacked=None, fits=None):
            (marks / f"{cell.seed}-{time.monotonic_ns()}").touch()
            for mode in modes:
                if doings and cell.seed in doings:
                    doings[cell.seed](mode)
                yield Record(cell=cell, mode=mode, scores=SCORES)

        monkeypatch.setattr(grid, "measure", measure)

    install()
    install.marks = marks
    return install


def begun(marks: Path) -> list[int]:
    return sorted(int(mark.name.partition("-")[0]) for mark in marks.iterdir())


def keys(path: Path) -> list[str]:
    return [record.key for record in read_records(path)]


def test_every_cell_leaves_a_record_of_every_mode(quick, path):
    tasks = tasks_of(range(4))
    grid.run_tasks(tasks, path)
    assert sorted(keys(path)) == sorted(cell.key(mode) for cell, modes in tasks for mode in modes)
    assert begun(quick.marks) == [0, 1, 2, 3]


def test_cells_are_begun_in_the_order_given(quick, path):
    grid.run_tasks(tasks_of([3, 1, 2]), path)
    assert [record.cell.seed for record in read_records(path)] == [3, 3, 1, 1, 2, 2]


def test_what_is_there_is_skipped(quick, path):
    tasks = tasks_of(range(3))
    grid.run_tasks(tasks[:1], path)
    append_record(path, Record(cell=tasks[1][0], mode=Mode.POISONING, scores=SCORES))
    before = path.read_text()
    assert [(cell.seed, modes) for cell, modes in missing(tasks, records_by_key(path.parent))] == [
        (1, (Mode.EVASION,)),
        (2, MODES),
    ]
    grid.run_tasks(tasks, path)
    assert path.read_text().startswith(before)
    assert len(set(keys(path))) == len(keys(path)) == 6
    assert begun(quick.marks) == [0, 1, 2]
    whole = path.read_bytes()
    grid.run_tasks(tasks, path)
    assert path.read_bytes() == whole


def test_a_run_that_is_measured_again_is_the_one_that_counts_also_where_another_file_has_it(quick, path):
    tasks, later = tasks_of(range(2)), path.parent / "s-comes-after-runs.jsonl"
    grid.run_tasks(tasks, later)
    (again,) = (cell.key(Mode.EVASION) for cell, _ in tasks[:1])
    before = records_by_key(path.parent)
    done = grid.run_tasks(tasks, path, again={again})
    assert [record.key for record in done] == [again]
    assert not path.exists()
    assert keys(later).count(again) == 2
    assert records_by_key(path.parent).keys() == before.keys()
    assert records_by_key(path.parent)[again] is not before[again]


@pytest.mark.parametrize("end", [lambda mode: 1 / 0, lambda mode: os.kill(os.getpid(), signal.SIGKILL)])
def test_a_run_that_fails_when_it_is_measured_again_is_told_and_keeps_its_record(quick, path, end):
    tasks = tasks_of(range(3))
    grid.run_tasks(tasks, path)
    whole = path.read_bytes()
    quick({1: end})
    done = grid.run_tasks(tasks, path, again={cell.key(mode) for cell, modes in tasks for mode in modes})
    assert {(record.cell.seed, record.error is None) for record in done} == {(0, True), (1, False), (2, True)}
    assert path.read_bytes().startswith(whole)
    assert all(record.error is None for record in read_records(path))
    assert len(keys(path)) == 10


def test_a_cell_that_is_asked_for_twice_is_measured_once(quick, path):
    grid.run_tasks([*tasks_of([0, 1]), *tasks_of([0])], path)
    assert len(keys(path)) == len(set(keys(path))) == 4


def test_nothing_to_do_writes_nothing(path):
    grid.run_tasks([], path)
    assert not path.exists()


@pytest.mark.parametrize("workers", [1, 3])
def test_a_failing_cell_is_recorded_and_stops_nobody(quick, path, workers):
    def stumble(mode):
        if mode == Mode.POISONING:
            raise ValueError("no such\nthing")

    quick({1: stumble})
    tasks = tasks_of(range(4))
    grid.run_tasks(tasks, path, workers=workers)
    records = {record.key: record for record in read_records(path)}
    assert len(records) == len(keys(path)) == 8
    failed = [record for record in records.values() if record.error is not None]
    assert [(record.cell.seed, record.mode) for record in failed] == [(1, Mode.POISONING)]
    assert failed[0].error.startswith("ValueError: no such thing (test_run.py:")
    assert missing(tasks, records_by_key(path.parent)) == []


def test_a_cell_that_dies_is_recorded_and_stops_nobody(quick, path):
    quick({1: lambda mode: os.kill(os.getpid(), signal.SIGKILL)})
    grid.run_tasks(tasks_of(range(3)), path)
    failed = [record for record in read_records(path) if record.error is not None]
    assert len(keys(path)) == len(set(keys(path))) == 6
    assert {record.cell.seed for record in failed} == {1}
    assert {record.mode for record in failed} == set(MODES)
    assert {record.error for record in failed} == {"the process ended with exit code -9"}


def test_a_process_that_is_killed_while_it_sends_a_record_stops_nobody(quick, path):
    def cut(mode):
        def send(connection, buffer):
            os.write(connection.fileno(), bytes(buffer)[: len(buffer) // 2])
            os._exit(9)

        multiprocessing.connection.Connection._send = send  # in the process of the cell

    quick({1: cut})
    grid.run_tasks(tasks_of(range(3)), path)
    failed = [record for record in read_records(path) if record.error is not None]
    assert len(keys(path)) == len(set(keys(path))) == 6
    assert {record.cell.seed for record in failed} == {1}
    assert {record.error for record in failed} == {"the process ended with exit code 9"}


def test_a_cell_that_cannot_be_measured_at_all_is_a_recorded_failure(path):
    grid.run_tasks([(Cell("no-such-graph", "gcn", 0), MODES)], path)
    assert [record.mode for record in read_records(path)] == list(MODES)
    assert all("expected a graph, got 'no-such-graph'" in record.error for record in read_records(path))


def test_a_number_that_json_cannot_hold_is_a_recorded_failure(quick, path, monkeypatch):
    def measure(cell, modes, *, device="cpu", attacked=None, fits=None):
        for mode in modes:
            yield Record(cell=cell, mode=mode, scores=replace(SCORES, accuracy=float("nan")))

    monkeypatch.setattr(grid, "measure", measure)
    grid.run_tasks(tasks_of([0]), path)
    assert [(record.error is not None, record.mode) for record in read_records(path)] == [
        (True, mode) for mode in MODES
    ]


def test_so_many_run_at_once_as_there_are_workers(quick, path):
    """Three cells that each wait for the other two to begin: with fewer workers none of them would end."""

    def wait_for_three(mode):
        ends = time.monotonic() + 60
        while len(begun(quick.marks)) < 3:
            assert time.monotonic() < ends, "the others never began"
            time.sleep(0.01)

    quick(dict.fromkeys(range(3), wait_for_three))
    grid.run_tasks(tasks_of(range(3)), path, workers=3)
    assert not any(record.error is not None for record in read_records(path))


def test_no_more_run_at_once_than_there_are_workers(quick, path):
    def look(mode):
        there = len(begun(quick.marks))  # looked at first: who ends in between is counted as running no longer
        ended = {record.cell.seed for record in read_records(path) if record.mode == MODES[-1]}
        assert there - len(ended) <= 2

    quick(dict.fromkeys(range(6), look))
    grid.run_tasks(tasks_of(range(6)), path, workers=2)
    assert not any(record.error is not None for record in read_records(path))


def test_a_run_that_another_spec_has_is_not_run_again(quick, path):
    grid.run_tasks(tasks_of(range(2)), path.with_name("other.jsonl"))
    assert missing(tasks_of(range(3)), records_by_key(path.parent)) == tasks_of([2])
    grid.run_tasks(tasks_of(range(3)), path)
    assert [record.cell.seed for record in read_records(path)] == [2, 2]


def test_what_fails_again_in_another_way_is_told_anew(quick, path):
    def fail(how):
        def doing(mode):
            raise ValueError(how)

        return {0: doing}

    quick(fail("first"))
    grid.run_tasks(tasks_of([0]), path)
    quick(fail("second"))
    for _ in range(2):
        records = grid.run_tasks(tasks_of([0]), path, retry=True)
        assert all("second" in record.error for record in records)
    assert len(keys(path)) == 4


def test_the_report_counts_what_is_done_of_what_was_missing(quick, path):
    tasks = tasks_of(range(4))
    grid.run_tasks(tasks[:1], path)
    told: list[tuple[int, int]] = []
    records = grid.run_tasks(tasks, path, report=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert [record.cell.seed for record in records] == [1, 1, 2, 2, 3, 3]


def test_interrupted_it_ends_its_cells_and_records_no_failure(quick, path, tmp_path):
    quick({1: lambda mode: time.sleep(30)})

    def interrupt(done, of):
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        grid.run_tasks(tasks_of([0, 1]), path, workers=2, report=interrupt)
    assert time.monotonic() - began < 10
    quick()
    grid.run_tasks(tasks_of([0, 1]), path)
    assert len(keys(path)) == len(set(keys(path))) == 4
    assert not any(record.error is not None for record in read_records(path))


THREADS = """
import sys
from pathlib import Path
import torch
from gvdn.bench import run as grid
from gvdn.study import Cell, Mode

def work():
    return float(torch.rand(500, 500).matmul(torch.rand(500, 500)).sum() + torch.rand(2000, 2000).relu().sum())

def measure(cell, modes, *, device="cpu", attacked=None, fits=None):
    for mode in modes:
        yield Record(cell=cell, mode=mode, scores=Scores(work(), 0.0, 0.0, 0.0, 1))

work()
grid.measure = measure
grid.run_tasks([(Cell("ring", "gcn", 0), (Mode.EVASION,))], Path("runs.jsonl"), threads=2)
"""


def test_a_caller_who_has_computed_with_threads_does_not_hang_its_cells(tmp_path, path):
    """OpenMP's threads do not survive a fork; a cell that asks for its own must not wait for them forever."""
    words = [sys.executable, "-c", THREADS]
    process = subprocess.Popen(words, cwd=tmp_path, env=os.environ | {"OMP_NUM_THREADS": "2"}, start_new_session=True)
    try:
        assert process.wait(240) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    assert len(keys(path)) == 1


# ---- kill -9

KILLED = """
import sys, time
from pathlib import Path
import gvdn.methods.references.gcn, gvdn.methods.references.mlp, torch._dynamo  # here and not in every cell
from gvdn.bench import run as grid
from gvdn.bench.modes import supported_modes
from gvdn.study import Cell, Mode

real = grid.measure

def slow(cell, modes, *, device="cpu", attacked=None, fits=None):
    for number, record in enumerate(real(cell, modes, device=device, attacked=attacked)):
        while sys.argv[1] == "slow" and cell.seed and number and not Path("go").exists():
            time.sleep(0.02)
        yield record

grid.measure = slow
small = {"hidden": 4, "epochs": 3}
cells = [Cell("ring", method, seed, settings=small) for seed in range(3) for method in ("gcn", "mlp")]
if __name__ == "__main__":
    tasks = [(cell, supported_modes(cell.method)) for cell in cells]
    grid.run_tasks(tasks, Path("runs.jsonl"), workers=2, threads=int(sys.argv[2]))
"""


def expected_keys() -> set[str]:
    small = {"hidden": 4, "epochs": 3}
    cells = [Cell("ring", method, seed, settings=small) for seed in range(3) for method in ("gcn", "mlp")]
    return {cell.key(mode) for cell in cells for mode in supported_modes(cell.method)}


def start(folder: Path, how: str, threads: int = 1) -> subprocess.Popen:
    (folder / "killed.py").write_text(KILLED)
    words = [sys.executable, "killed.py", how, str(threads)]
    return subprocess.Popen(words, cwd=folder, start_new_session=True, stderr=subprocess.PIPE, text=True)


def wait_for_lines(path: Path, number: int) -> None:
    patience = time.monotonic() + 60
    while time.monotonic() < patience:
        if path.exists() and path.read_text().count("\n") >= number:
            return
        time.sleep(0.01)
    raise AssertionError("no records came")


@pytest.fixture
def folder(tmp_path, ring: Graph) -> Path:
    (tmp_path / "ring").mkdir()
    write_npz(ring, tmp_path / "ring" / "graph.npz")
    return tmp_path


@pytest.mark.parametrize("threads", [1, 2])  # forks, and children of a fork server
@pytest.mark.parametrize("whom", ["all of it", "the first process alone"])
def test_killed_in_the_middle_a_second_run_loses_nothing_and_repeats_nothing(folder, path, whom, threads):
    process = start(folder, "slow", threads)
    wait_for_lines(path, 6)  # seed 0 is done, and of seed 1 the first mode of both methods
    if whom == "all of it":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        os.kill(process.pid, signal.SIGKILL)  # as the kernel does when memory runs out
    process.communicate(timeout=30) if whom == "all of it" else process.wait(30)
    before = path.read_text()
    first = {json.loads(line)["key"] for line in before.splitlines()}
    assert len(first) == 6 < len(expected_keys())
    again = start(folder, "quick")
    _, errors = again.communicate(timeout=60)
    assert again.returncode == 0, errors
    (folder / "go").touch()
    time.sleep(0.5)  # a worker of the first run that lived on has written by now
    process.stderr.close()
    assert path.read_text().startswith(before)
    assert set(keys(path)) == expected_keys()
    assert len(keys(path)) == len(expected_keys())
    assert not any(record.error is not None for record in read_records(path))


def test_a_second_run_into_the_same_folder_is_refused_and_says_who_writes(quick, path):
    def second(mode):
        code = (
            "import sys; from pathlib import Path; from gvdn.bench.run import run_tasks\n"
            "run_tasks([], Path(sys.argv[1]))"
        )
        tried = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
        assert tried.returncode == 1
        (path.parent / "said").write_text(tried.stderr.splitlines()[-1])

    quick({0: second})
    grid.run_tasks(tasks_of([0], modes=MODES[:1]), path)
    assert not any(record.error for record in read_records(path))
    assert f"are being written by process {os.getpid()} since" in (path.parent / "said").read_text()
    grid.run_tasks(tasks_of([1]), path)  # free again
