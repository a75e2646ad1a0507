"""Many cells, each in a process of its own: what is recorded is skipped, what fails is recorded and passed over."""

import ctypes
import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from gvdn.bench.measure import measure
from gvdn.study import Cell, Mode, Record, Task, append_record, records_by_key
from gvdn.study.plan import missing

PRELOADED = ("torch._dynamo", "gvdn.bench.measure", "gvdn.methods.base")
"""torch's optimizers import the first when they are made."""

Report = Callable[[int, int], None]
"""Called with cells done and cells to do."""


def run_tasks(
    tasks: Iterable[Task],
    path: Path,
    *,
    workers: int = 1,
    threads: int = 1,
    device: str = "cpu",
    retry: bool = False,
    attacked: Path | None = None,
    report: Report | None = None,
) -> list[Record]:
    """The records of what was missing, measured and appended to the file; killed at any moment, a second call goes on
    from there.

    What attacks made is kept in the folder `attacked`, if one is given (see `perturbed_graph`).
    """
    tasks = missing(tasks, records_by_key(path.parent), retry=retry)
    waiting, done = list(reversed(tasks)), 0
    running: dict[Any, tuple[BaseProcess, Task]] = {}
    processes = _processes("fork" if threads == 1 and device == "cpu" else "forkserver")
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                task = waiting.pop()
                given = (task, path, threads, device, attacked)
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
    there = records_by_key(path.parent)
    return [there[cell.key(mode)] for cell, modes in tasks for mode in modes]


def _work(task: Task, path: Path, threads: int, device: str, attacked: Path | None) -> None:
    """In the process: one cell, a record after each mode."""
    import torch

    _end_with_the_parent()
    torch.set_num_threads(threads)
    cell, modes = task
    try:
        for record in measure(cell, modes, device=device, attacked=attacked):
            append_record(path, record)
    except Exception as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        _record_failure(path, cell, modes, f"{type(problem).__name__}: {problem} ({where})")


def _record_failure(path: Path, cell: Cell, modes: Sequence[Mode], error: str) -> None:
    """Of every mode that was not measured; the same error is not recorded twice."""
    there = records_by_key(path.parent)
    for mode in modes:
        known = there.get(cell.key(mode))
        if known is None or known.error not in (None, error):
            append_record(path, Record(cell=cell, mode=mode, error=error))


def _processes(kind: str) -> Any:
    """Where processes come from: a fork of this one, or, where OpenMP's threads or a GPU would not survive that, of a
    clean server. Either way what every process needs is imported once, instead of a second or two in each."""
    context: Any = multiprocessing.get_context(kind)
    if kind == "fork":
        for module in PRELOADED:
            import_module(module)
    else:
        context.set_forkserver_preload(list(PRELOADED))
    return context


def _end_with_the_parent() -> None:
    """On Linux: a process whose parent is killed ends too, so that nothing is measured twice by a second run."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
