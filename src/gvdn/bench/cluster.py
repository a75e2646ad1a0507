"""The cells of a grid as tasks of Ray: the same records in the same files as those of `run_tasks`.

Ray schedules the tasks and tries one again whose worker or machine was lost. This process alone writes records.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gvdn.bench.experiment import Fit
from gvdn.bench.measure import measure
from gvdn.bench.run import Report, batch_of, in_one_sentence, require_records
from gvdn.bench.waiting import Waiting
from gvdn.bench.writing import Written
from gvdn.cluster import ray_session
from gvdn.files import DiskFull
from gvdn.study import Record, Task, records_by_key
from gvdn.study.plan import missing
from gvdn.study.store import as_line, only_writer

LOSSES = 3
"""How often a cell is tried again after its worker was lost."""

_fits: dict[str, dict[str, Fit]] = {}
"""In a worker, which measures many cells: the fits of the last method, graph and seed."""


def run_on_ray(
    tasks: Iterable[Task],
    path: Path,
    *,
    workers: int = 1,
    threads: int = 1,
    device: str = "cpu",
    gpus: float = 0.0,
    address: str | None = None,
    retry: bool = False,
    again: Container[str] = (),
    attacked: Path | None = None,
    report: Report | None = None,
) -> list[Record]:
    """As `run_tasks`. The folders of graphs and `attacked` must be seen by all machines.

    Args:
        workers: cells at a time, of a Ray that is started here; a cluster takes as many as it has CPUs and GPUs for.
        threads: CPUs of each cell.
        gpus: the share of a GPU that each cell takes.
        address: of a Ray cluster; without one, a local Ray is started.
    """
    require_records(path)
    with only_writer(path.parent):
        tasks = missing(tasks, records_by_key(path.parent), retry=retry, again=again)
        written = Written(path, again)
        if tasks:
            with ray_session(address, cpus=workers * threads) as ray:
                _measure_all(ray, tasks, written, threads, device, gpus, attacked, report)
        return [written.done[cell.key(mode)] for cell, modes in tasks for mode in modes]


def _measure_all(
    ray: Any,
    tasks: list[Task],
    written: Written,
    threads: int,
    device: str,
    gpus: float,
    attacked: Path | None,
    report: Report | None,
) -> None:
    """Hand out cells as soon as their graphs are there, and write down what comes back, in the order in which it
    comes."""
    cell_of = ray.remote(measured).options(num_cpus=threads, num_gpus=gpus, max_retries=LOSSES)
    folder = None if attacked is None else attacked.resolve()
    ask = partial(cell_of.remote, threads=threads, device=device, attacked=folder)
    waiting, handed_out, done = Waiting([[task] for task in tasks], share=attacked is not None), dict[Any, Task](), 0
    try:
        while waiting or handed_out:
            while batch := waiting.next():
                handed_out |= {ask(_absolute(task)): task for task in batch}
            ready = ray.wait(list(handed_out), num_returns=1)[0][0]
            task = handed_out.pop(ready)
            waiting.ended([task], [])
            try:
                records, error = ray.get(ready)
            except ray.exceptions.RayError as problem:
                records, error = [], f"the worker was lost {LOSSES + 1} times ({type(problem).__name__})"
            for record in records:
                written.add(record)
            if isinstance(error, DiskFull):  # not a failure of this run: no other could write either
                raise error
            if error is not None:
                written.fail(task, error)
            done += bool(task[1])
            if report is not None and task[1]:
                report(done, len(tasks))
    finally:
        for one in handed_out:
            ray.cancel(one, force=True)


def _absolute(task: Task) -> Task:
    """The same cell, with a path that does not depend on the folder that a worker is in."""
    cell, modes = task
    return (replace(cell, path=str(Path(cell.path).resolve())) if cell.path else cell), modes


def measured(
    task: Task, *, threads: int, device: str, attacked: Path | None
) -> tuple[list[Record], str | DiskFull | None]:
    """In a worker: the records of the modes of one cell, and the error that ended it early."""
    import torch

    torch.set_num_threads(threads)
    (cell, modes), name, records = task, batch_of(task), []
    if name not in _fits:
        _fits.clear()
    try:
        for record in measure(cell, modes, device=device, attacked=attacked, fits=_fits.setdefault(name, {})):
            as_line(record)  # a number that JSON cannot hold is a failure of this run
            records.append(record)
    except DiskFull as problem:
        return records, problem
    except Exception as problem:
        return records, in_one_sentence(problem)
    return records, None
