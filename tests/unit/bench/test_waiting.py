"""Batches of cells that wait for a process, and the attacked graphs that several of them need."""

import os
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gvdn.bench import cluster
from gvdn.bench import run as grid
from gvdn.bench.waiting import Waiting, is_maker
from gvdn.bench.writing import Written
from gvdn.study import Cell, Mode, Record, Scores, read_records

MODES = (Mode.EVASION,)


def batch(method: str, perturbation: str = "nettack", seed: int = 0, **settings):
    return [(Cell("ring", method, seed, perturbation, settings), MODES)]


def taken(waiting: Waiting) -> list[tuple[str, str]]:
    """What is given out until all that is left has to wait: method and what is done, in order."""
    found = []
    while (one := waiting.next()) is not None:
        found.append((one[0][0].method, "makes" if is_maker(one) else "measures"))
    return found


def test_a_graph_that_two_batches_need_is_made_first_and_both_wait_for_it():
    batches = [batch("gcn"), batch("mlp"), batch("rgcn", "wrong-links")]
    waiting = Waiting(batches, share=True)
    maker = waiting.next()
    assert maker == [(batches[0][0][0], ())]
    assert taken(waiting) == [("rgcn", "measures")]
    assert waiting
    waiting.ended(maker, [])
    assert taken(waiting) == [("gcn", "measures"), ("mlp", "measures")]
    assert not waiting


def test_a_batch_waits_for_all_of_its_graphs():
    both = [*batch("gcn"), *batch("gcn", "prbcd", edge_fraction=0.1)]
    waiting = Waiting([both, batch("mlp"), batch("rgcn", "prbcd", edge_fraction=0.1)], share=True)
    first, second = waiting.next(), waiting.next()
    assert [cell.perturbation for one in (first, second) for cell, _ in one] == ["nettack", "prbcd"]
    waiting.ended(first, [])
    assert taken(waiting) == [("mlp", "measures")]
    waiting.ended(second, [])
    assert taken(waiting) == [("gcn", "measures"), ("rgcn", "measures")]


def test_a_graph_that_one_batch_needs_is_made_by_that_batch():
    batches = [batch("gcn"), batch("mlp", seed=1), batch("mlp", "prbcd", edge_fraction=0.1)]
    assert taken(Waiting(batches, share=True)) == [(one[0][0].method, "measures") for one in batches]


def test_cells_of_one_batch_that_have_one_graph_need_nobody_to_make_it():
    (cell, modes), *_ = batch("gcn")
    assert taken(Waiting([[(cell, modes), (replace(cell, settings={"hidden": 8}), modes)]], share=True)) == [
        ("gcn", "measures")
    ]


def test_one_worker_makes_no_graph_apart():
    assert taken(Waiting([batch("gcn"), batch("mlp")], share=False)) == [("gcn", "measures"), ("mlp", "measures")]


def test_what_no_attack_makes_and_what_is_unknown_waits_for_nothing():
    batches = [
        batch(method, perturbation) for perturbation in ("none", "wrong-links", "no-such") for method in ("gcn", "mlp")
    ]
    assert len(taken(Waiting(batches, share=True))) == 6


@pytest.mark.parametrize("share", [False, True])
def test_what_a_process_left_is_next(share):
    waiting = Waiting([batch("gcn"), batch("mlp")], share=share)
    if share:
        waiting.ended(waiting.next(), [])
    waiting.ended(waiting.next(), batch("rgcn"))
    assert taken(waiting) == [("rgcn", "measures"), ("mlp", "measures")]


@pytest.mark.parametrize("trouble", [None, "raises", "dies"])
def test_of_several_workers_one_makes_the_graph_and_the_others_go_on_when_it_ended(monkeypatch, tmp_path, trouble):
    made = tmp_path / "made"
    made.mkdir()

    def measure(cell, modes, *, device="cpu", attacked=None, fits=None):
        if not modes:
            time.sleep(0.2)  # so that who does not wait is there first
            (made / cell.method).touch()
            if trouble == "dies":
                os._exit(3)
            if trouble == "raises":
                raise RuntimeError("no attack")
        for mode in modes:
            assert [one.name for one in made.iterdir()] == ["gcn"]
            yield Record(cell=cell, mode=mode, scores=Scores(0.5, 0.5, 0.5, 0.5, 10))

    monkeypatch.setattr(grid, "measure", measure)
    tasks = [*batch("gcn"), *batch("mlp"), *batch("rgcn")]
    counts = []
    grid.run_tasks(
        tasks,
        tmp_path / "runs.jsonl",
        workers=3,
        attacked=tmp_path / "attacked",
        report=lambda *now: counts.append(now),
    )
    records = read_records(tmp_path / "runs.jsonl")
    assert sorted((one.cell.method, one.error) for one in records) == [("gcn", None), ("mlp", None), ("rgcn", None)]
    assert counts[-1] == (3, 3)


class RayInTurn:
    """Of Ray what a grid needs: what was handed out first is done first, when it is waited for."""

    def __init__(self):
        self.handed_out = []
        self.log = []

    def remote(self, function):
        return self

    def options(self, **how):
        return SimpleNamespace(remote=self.hand_out)

    def hand_out(self, task, **given):
        self.log.append(("handed out", task[0].method, bool(task[1])))
        self.handed_out.append(task)
        return len(self.handed_out) - 1

    def wait(self, handles, num_returns):
        return [min(handles)], []

    def get(self, handle):
        task = self.handed_out[handle]
        self.log.append(("done", task[0].method, bool(task[1])))
        scores = Scores(0.5, 0.5, 0.5, 0.5, 10)
        return [Record(cell=task[0], mode=mode, scores=scores) for mode in task[1]], None


def test_on_ray_a_graph_is_made_before_the_cells_that_need_it_are_handed_out(tmp_path):
    tasks = [*batch("gcn"), *batch("mlp"), *batch("rgcn", "wrong-links")]
    ray, counts = RayInTurn(), []
    written = Written(tmp_path / "runs.jsonl")
    report = lambda *now: counts.append(now)  # noqa: E731
    cluster._measure_all(ray, tasks, written, 1, "cpu", 0.0, tmp_path / "attacked", report)
    assert ray.log[:3] == [("handed out", "gcn", False), ("handed out", "rgcn", True), ("done", "gcn", False)]
    assert ray.log[3:5] == [("handed out", "gcn", True), ("handed out", "mlp", True)]
    assert sorted(one.cell.method for one in read_records(written.path)) == ["gcn", "mlp", "rgcn"]
    assert counts == [(1, 3), (2, 3), (3, 3)]
