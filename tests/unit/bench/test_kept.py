"""Processes that go on to other cells, as they do on a GPU: here on a CPU, with cells that take no time."""

import multiprocessing
import os
import resource

import pytest

from gvdn.bench import run as grid
from gvdn.bench.origin import forget_peaks, origin
from gvdn.study import Cell, Mode, Record, Scores, read_records

SEEDS = range(6)


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Runs six batches with two workers that are kept; what a seed does can be told. Returns records and the process
    that was at each seed."""
    told = tmp_path / "told"
    told.mkdir()

    def run(doings=None):
        def measure(cell, modes, *, device="cpu", attacked=None, fits=None):
            (told / str(cell.seed)).write_text(str(os.getpid()))
            if doings and cell.seed in doings:
                doings[cell.seed]()
            assert fits == {}
            fits["a fit"] = cell.seed
            for mode in modes:
                yield Record(cell=cell, mode=mode, scores=Scores(0.5, 0.5, 0.5, 0.5, 10))

        monkeypatch.setattr(grid, "measure", measure)
        monkeypatch.setattr(grid, "is_kept", lambda device: True)
        tasks = [(Cell("ring", "gcn", seed), (Mode.EVASION,)) for seed in SEEDS]
        grid.run_tasks(tasks, tmp_path / "runs.jsonl", workers=2)
        records = {one.cell.seed: one for one in read_records(tmp_path / "runs.jsonl")}
        return records, {seed: (told / str(seed)).read_text() for seed in SEEDS}

    return run


def fail():
    raise RuntimeError("device-side assert")


def test_a_process_goes_on_to_other_batches_and_none_is_left_in_the_end(kept):
    records, processes = kept()
    assert [records[seed].error for seed in SEEDS] == [None] * 6
    assert len(set(processes.values())) <= 2
    assert multiprocessing.active_children() == []


def test_after_a_failure_a_process_gets_no_other_cell(kept):
    records, processes = kept({2: fail})
    assert [seed for seed in SEEDS if records[seed].error] == [2]
    assert "device-side assert" in records[2].error
    assert [seed for seed in SEEDS if seed > 2 and processes[seed] == processes[2]] == []


def test_a_kept_process_that_dies_is_a_recorded_failure_of_its_cell_alone(kept):
    records, _ = kept({3: lambda: os._exit(9)})
    assert [seed for seed in SEEDS if records[seed].error] == [3]
    assert records[3].error == "the process ended with exit code 9"


def test_an_idle_process_that_ended_is_passed_over(monkeypatch):
    ours, theirs = multiprocessing.Pipe()
    gone = multiprocessing.get_context("fork").Process(target=os._exit, args=(0,))
    gone.start()
    gone.join()
    idle = [grid.Worker(gone, [], ours, theirs)]
    assert grid._order(idle, [(Cell("ring", "gcn", 0), (Mode.EVASION,))]) is None
    assert idle == []


def test_processes_are_kept_on_a_gpu_alone():
    assert [grid.is_kept(device) for device in ("cpu", "cuda", "cuda:1")] == [False, True, True]


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak of memory cannot be reset here")
def test_memory_is_counted_anew():
    held = bytearray(200 << 20)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del held
    forget_peaks()
    assert origin("cpu")["peak_mib"] < most / 2**10 - 100
