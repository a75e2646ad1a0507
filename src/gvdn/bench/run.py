"""Many cells, each in a process of its own: what is there is skipped, what fails is recorded and passed over."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from gvdn.experiments.cell import Cell, Mode
from gvdn.experiments.measure import measure
from gvdn.experiments.runs import Record, append_record, by_key
from gvdn.experiments.spec import Task

NEEDED = ("torch._dynamo", "gvdn.experiments.measure", "gvdn.methods.supervised")
"""torch's optimizers import the first when they are made."""

Report = Callable[[int, int], None]
"""Called with cells done and cells to do."""


def missing(tasks: Iterable[Task], folder: Path, *, retry: bool = False) -> list[Task]:
    """Each cell with the modes that no file of the folder has a record of; a recorded failure counts as there, unless
    it is to be tried again."""
    there = {key for key, record in by_key(folder).items() if not (retry and "error" in record)}
    left: list[Task] = []
    for cell, modes in tasks:
        mine = tuple(mode for mode in dict.fromkeys(modes) if cell.key(mode) not in there)
        there.update(cell.key(mode) for mode in mine)
        if mine:
            left.append((cell, mine))
    return left


def run_grid(
    tasks: Iterable[Task],
    path: Path,
    *,
    workers: int = 1,
    threads: int = 1,
    device: str = "cpu",
    retry: bool = False,
    kept: Path | None = None,
    report: Report | None = None,
) -> list[Record]:
    """The records of what was missing, measured and appended to the file; killed at any moment, a second call goes on
    from there.

    What attacks made is kept in the folder `kept`, if there is one (see `shared`).
    """
    tasks = missing(tasks, path.parent, retry=retry)
    waiting, done = list(reversed(tasks)), 0
    running: dict[Any, tuple[BaseProcess, Task]] = {}
    processes = _processes("fork" if threads == 1 and device == "cpu" else "forkserver")
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                task = waiting.pop()
                given = (task, path, threads, device, kept)
                process: BaseProcess = processes.Process(target=_work, args=given, daemon=True)
                process.start()
                running[process.sentinel] = (process, task)
            for sentinel in wait(list(running)):
                ended, (cell, modes) = running.pop(sentinel)
                ended.join()
                done += 1
                if ended.exitcode:
                    _record_failure(path, cell, modes, f"the process ended with exit code {ended.exitcode}")
                if report is not None:
                    report(done, len(tasks))
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()
    there = by_key(path.parent)
    return [there[cell.key(mode)] for cell, modes in tasks for mode in modes]


def _work(task: Task, path: Path, threads: int, device: str, kept: Path | None) -> None:
    """In the process: one cell, a record after each mode."""
    import torch

    _end_with_the_parent()
    torch.set_num_threads(threads)
    cell, modes = task
    try:
        for record in measure(cell, modes, device=device, kept=kept):
            append_record(path, record)
    except Exception as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        _record_failure(path, cell, modes, f"{type(problem).__name__}: {problem} ({place})")


def _record_failure(path: Path, cell: Cell, modes: tuple[Mode, ...], error: str) -> None:
    """Of every mode that was not measured; the same error is not told twice."""
    there = by_key(path.parent)
    for mode in modes:
        if there.get(cell.key(mode), {"error": ""}).get("error", error) != error:
            append_record(path, cell.heading(mode) | {"error": error})


def _processes(kind: str) -> Any:
    """Where processes come from: a fork of this one, or, where OpenMP's threads or a GPU would not survive that, of a
    clean server. Either way what every process needs is imported once, instead of a second or two in each."""
    context: Any = multiprocessing.get_context(kind)
    if kind == "fork":
        for module in NEEDED:
            import_module(module)
    else:
        context.set_forkserver_preload(list(NEEDED))
    return context


def _end_with_the_parent() -> None:
    """On Linux: a process whose parent is killed ends too, so that nothing is measured twice by a second run."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
