"""Many cells, each in a process of its own: what is recorded is skipped, what fails is recorded and passed over."""

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from gvdn.bench.measure import measure
from gvdn.errors import GvdnError, InvalidInput
from gvdn.files import DiskFull, require_output
from gvdn.study import Record, Task, append_record, records_by_key
from gvdn.study.plan import missing
from gvdn.study.store import as_line, only_writer

PRELOADED = ("torch._dynamo", "gvdn.bench.measure", "gvdn.methods.base")
"""torch's optimizers import the first when they are made."""

Report = Callable[[int, int], None]
"""Called with cells done and cells to do."""


class Worker(NamedTuple):
    """A process that measures one cell and sends its records, or the error that stopped it."""

    process: BaseProcess
    task: Task
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
    attacked: Path | None = None,
    report: Report | None = None,
) -> list[Record]:
    """The records of what was missing, measured and appended to the file; killed at any moment, a second call goes on
    from there. This process alone writes, so that a worker that outlives it records nothing; another process that
    writes to the same folder is refused.

    What attacks made is kept in the folder `attacked`, if one is given (see `perturbed_graph`).
    """
    require_records(path)
    with only_writer(path.parent):
        tasks = missing(tasks, records_by_key(path.parent), retry=retry)
        waiting, done = list(reversed(tasks)), 0
        running: list[Worker] = []
        processes = _processes("fork" if threads == 1 and device == "cpu" else "forkserver")
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    running.append(_start(processes, waiting.pop(), threads, device, attacked))
                wait([part for worker in running for part in (worker.sent, worker.process.sentinel)])
                for worker in list(running):
                    ended = not worker.process.is_alive()
                    _collect(worker, path)
                    if ended:
                        running.remove(worker)
                        _close(worker, path)
                        done += 1
                        if report is not None:
                            report(done, len(tasks))
        finally:
            for worker in running:
                worker.process.terminate()
                worker.process.join()
        there = records_by_key(path.parent)
        return [there[cell.key(mode)] for cell, modes in tasks for mode in modes]


def require_records(path: Path) -> None:
    """Raise unless records can be written to the file: called before the work, not after it."""
    require_output(path.parent, "shared folder")
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        raise InvalidInput(f"cannot write {path}: it may only be read; give another folder for the records")


def _start(processes: Any, task: Task, threads: int, device: str, attacked: Path | None) -> Worker:
    sent, sender = processes.Pipe(duplex=False)
    watched, alive = processes.Pipe(duplex=False)
    given = (task, sender, watched, alive, threads, device, attacked)
    process: BaseProcess = processes.Process(target=_work, args=given, daemon=True)
    process.start()
    sender.close()
    watched.close()
    return Worker(process, task, sent, alive)


def _collect(worker: Worker, path: Path) -> None:
    """Append what a worker has sent so far."""
    with suppress(EOFError):
        while worker.sent.poll():
            found: Record | DiskFull | str = worker.sent.recv()
            if isinstance(found, DiskFull):  # not a failure of this run: no other could write either
                raise found
            if isinstance(found, str):
                _record_failure(worker.task, path, found)
            else:
                append_record(path, found)


def _close(worker: Worker, path: Path) -> None:
    worker.process.join()
    worker.sent.close()
    worker.alive.close()
    if worker.process.exitcode:
        _record_failure(worker.task, path, f"the process ended with exit code {worker.process.exitcode}")


def _record_failure(task: Task, path: Path, error: str) -> None:
    """Of every mode that was not measured; the same error is not recorded twice."""
    (cell, modes), there = task, records_by_key(path.parent)
    for mode in modes:
        known = there.get(cell.key(mode))
        if known is None or known.error not in (None, error):
            append_record(path, Record(cell=cell, mode=mode, error=error))


def _work(
    task: Task,
    sender: Connection,
    watched: Connection,
    alive: Connection,
    threads: int,
    device: str,
    attacked: Path | None,
) -> None:
    """In the worker: one cell, a record after each mode."""
    import torch

    alive.close()  # the copy that came along; only the main process keeps the other one
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the main one ends the others
    torch.set_num_threads(threads)
    cell, modes = task
    try:
        for record in measure(cell, modes, device=device, attacked=attacked):
            as_line(record)  # a number that JSON cannot hold is a failure of this run
            sender.send(record)
    except DiskFull as problem:
        sender.send(problem)
    except Exception as problem:
        sender.send(in_one_sentence(problem))


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
