"""Many cells, each in a process of its own: what is recorded is skipped, what fails is recorded and passed over."""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import gvdn.bench.poisoned  # noqa: F401, registers its mode
from gvdn.bench.experiment import Fit
from gvdn.bench.measure import measure
from gvdn.bench.waiting import Waiting
from gvdn.bench.writing import Written
from gvdn.errors import GvdnError, InvalidInput
from gvdn.files import DiskFull, require_output
from gvdn.study import Record, Task, records_by_key
from gvdn.study.plan import missing
from gvdn.study.store import as_line, only_writer

PRELOADED = ("torch._dynamo", "gvdn.bench.poisoned", "gvdn.methods.base")
"""torch's optimizers import the first when they are made."""

Report = Callable[[int, int], None]
"""Called with cells done and cells to do."""


class Worker(NamedTuple):
    """A process that measures some cells one after another and sends their records, or the error that stopped each."""

    process: BaseProcess
    tasks: list[Task]
    sent: Connection
    alive: Connection
    """Closes when this process ends, however it ends; the worker then ends too."""


def run_tasks(
    tasks: Iterable[Task],
    path: Path,
    *,
    workers: int = 1,
    threads: int = 1,
    device: str = "cpu",
    retry: bool = False,
    again: Container[str] = (),
    attacked: Path | None = None,
    report: Report | None = None,
) -> list[Record]:
    """The records of what was missing, measured and appended to the file; killed at any moment, a second call goes on
    from there. This process alone writes, so that a worker that outlives it records nothing; another process that
    writes to the same folder is refused.

    Failures are tried again with `retry`, and runs whose keys are in `again` are measured once more (`Written`). What
    attacks made is kept in the folder `attacked`, if one is given (see `perturbed_graph`), and made once (`Waiting`).
    """
    require_records(path)
    with only_writer(path.parent):
        tasks = missing(tasks, records_by_key(path.parent), retry=retry, again=again)
        waiting, done = Waiting(batches(tasks, workers), share=attacked is not None and workers > 1), 0
        running: list[Worker] = []
        written = Written(path, again)
        processes = _processes("fork" if threads == 1 and device == "cpu" else "forkserver")
        try:
            while waiting or running:
                while len(running) < workers and (batch := waiting.next()):
                    running.append(_start(processes, batch, threads, device, attacked))
                wait([part for worker in running for part in (worker.sent, worker.process.sentinel)])
                for worker in list(running):
                    ended = not worker.process.is_alive()
                    _collect(worker, written)
                    if ended:
                        running.remove(worker)
                        waiting.ended(worker.tasks, _close(worker, written))
                    now = sum(map(written.is_done, tasks))
                    if report is not None and now > done:
                        report(now, len(tasks))
                    done = now
        finally:
            for worker in running:
                worker.process.terminate()
                worker.process.join()
        return [written.done[cell.key(mode)] for cell, modes in tasks for mode in modes]


def batches(tasks: list[Task], workers: int) -> list[list[Task]]:
    """The cells that one process measures: those of one method, graph and seed, which share their fits.

    Where that leaves processes without work, each cell has a process of its own.
    """
    together: dict[str, list[Task]] = {}
    for task in tasks:
        together.setdefault(batch_of(task), []).append(task)
    return list(together.values()) if len(together) >= workers else [[task] for task in tasks]


def batch_of(task: Task) -> str:
    """The method, graph and seed of a cell: a name of the cells that share its fits."""
    cell, _ = task
    return repr((cell.dataset, cell.method, cell.settings, cell.chosen, cell.seed, cell.split))


def require_records(path: Path) -> None:
    """Raise unless records can be written to the file: called before the work, not after it."""
    require_output(path.parent, "shared folder")
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        raise InvalidInput(f"cannot write {path}: it may only be read; give another folder for the records")


def _start(processes: Any, tasks: list[Task], threads: int, device: str, attacked: Path | None) -> Worker:
    sent, sender = processes.Pipe(duplex=False)
    watched, alive = processes.Pipe(duplex=False)
    given = (tasks, sender, watched, alive, threads, device, attacked)
    process: BaseProcess = processes.Process(target=_work, args=given, daemon=True)
    process.start()
    sender.close()
    watched.close()
    return Worker(process, tasks, sent, alive)


def _collect(worker: Worker, written: Written) -> None:
    """Append what a worker has sent so far."""
    with suppress(EOFError):
        while worker.sent.poll():
            number, found = worker.sent.recv()
            if isinstance(found, DiskFull):  # not a failure of this run: no other could write either
                raise found
            if isinstance(found, str):
                written.fail(worker.tasks[number], found)
            else:
                written.add(found)


def _close(worker: Worker, written: Written) -> list[Task]:
    """Of a process that ended early: the cell that it was at failed; returns the cells that are left."""
    worker.process.join()
    worker.sent.close()
    worker.alive.close()
    left = written.left(worker.tasks) if worker.process.exitcode else []
    if left:
        written.fail(left[0], f"the process ended with exit code {worker.process.exitcode}")
    return left[1:]


def _work(
    tasks: list[Task],
    sender: Connection,
    watched: Connection,
    alive: Connection,
    threads: int,
    device: str,
    attacked: Path | None,
) -> None:
    """In the worker: one cell after another, a record after each mode."""
    import torch

    alive.close()  # the copy that came along; only the main process keeps the other one
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the main one ends the others
    torch.set_num_threads(threads)
    if device.startswith("cuda:"):
        torch.cuda.set_device(device)  # kernels of Triton run on the current GPU
    fits: dict[str, Fit] = {}
    for number, (cell, modes) in enumerate(tasks):
        try:
            for record in measure(cell, modes, device=device, attacked=attacked, fits=fits):
                as_line(record)  # a number that JSON cannot hold is a failure of this run
                sender.send((number, record))
        except DiskFull as problem:
            sender.send((number, problem))
        except Exception as problem:
            sender.send((number, in_one_sentence(problem)))


def in_one_sentence(problem: Exception) -> str:
    """What a record says of an error: of the user's doing the sentence alone, of others also what and where."""
    words = " ".join(str(problem).split())
    if isinstance(problem, GvdnError):
        return words
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.strerror}: {problem.filename or 'a file'}; check the path, the disk and the rights"
    last = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {words} ({Path(last.filename).name}:{last.lineno})"


def _end_with(watched: Connection) -> None:
    """End this process when the main one does, so that nothing is computed for nobody."""
    with suppress(EOFError, OSError):
        watched.recv()
    os._exit(1)


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
