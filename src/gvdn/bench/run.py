"""Many cells in processes of their own: what is recorded is skipped, what fails is recorded and passed over."""

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
from queue import SimpleQueue
from typing import Any, NamedTuple

import gvdn.bench.poisoned  # noqa: F401, registers its mode
from gvdn.bench.experiment import Fit
from gvdn.bench.measure import measure
from gvdn.bench.origin import forget_peaks
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
    orders: Connection
    """Takes the next cells of a worker that is kept. It closes when this process ends, however it ends; the worker then
    ends too."""


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
        idle: list[Worker] = []
        written = Written(path, again)
        processes = _processes("fork" if threads == 1 and device == "cpu" else "forkserver")
        try:
            while waiting or running:
                while len(running) < workers and (batch := waiting.next()):
                    kept = _order(idle, batch)
                    running.append(kept or _start(processes, batch, threads, device, attacked))
                wait([part for worker in running for part in (worker.sent, worker.process.sentinel)])
                for worker in list(running):
                    ended = not worker.process.is_alive()
                    free = _collect(worker, written)
                    if ended or free:
                        running.remove(worker)
                        waiting.ended(worker.tasks, _close(worker, written) if ended else [])
                        idle += [] if ended else [worker]
                now = sum(map(written.is_done, tasks))
                if report is not None and now > done:
                    report(now, len(tasks))
                done = now
        finally:
            for worker in [*running, *idle]:
                worker.process.terminate()
                worker.process.join()
        return [written.done[cell.key(mode)] for cell, modes in tasks for mode in modes]


def batches(tasks: list[Task], workers: int) -> list[list[Task]]:
    """The cells that one process measures in one go: those of one method, graph and seed, which share their fits.

    Where that leaves processes without work, each cell is a batch.
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


def is_kept(device: str) -> bool:
    """Whether a process goes on to other cells: on a GPU, where a new one spends seconds on getting ready."""
    return device.startswith("cuda")


def _order(idle: list[Worker], tasks: list[Task]) -> Worker | None:
    """An idle worker that was sent these cells; None where there is none."""
    while idle:
        worker = idle.pop()
        if worker.process.is_alive():
            with suppress(OSError):
                worker.orders.send(tasks)
                return worker._replace(tasks=tasks)
    return None


def _start(processes: Any, tasks: list[Task], threads: int, device: str, attacked: Path | None) -> Worker:
    sent, sender = processes.Pipe(duplex=False)
    watched, orders = processes.Pipe(duplex=False)
    given = (tasks, sender, watched, orders, threads, device, attacked, is_kept(device))
    process: BaseProcess = processes.Process(target=_work, args=given, daemon=True)
    process.start()
    sender.close()
    watched.close()
    return Worker(process, tasks, sent, orders)


def _collect(worker: Worker, written: Written) -> bool:
    """Append what a worker has sent so far; true where it is done and waits for other cells."""
    while worker.sent.poll():
        try:
            message = worker.sent.recv()
        except (EOFError, OSError):  # it ended; with OSError in the middle of a message, as when it is killed
            return False
        if message is None:
            return True
        number, found = message
        if isinstance(found, DiskFull):  # not a failure of this run: no other could write either
            raise found
        if isinstance(found, str):
            written.fail(worker.tasks[number], found)
        else:
            written.add(found)
    return False


def _close(worker: Worker, written: Written) -> list[Task]:
    """Of a process that ended early: the cell that it was at failed; returns the cells that are left."""
    worker.process.join()
    worker.sent.close()
    worker.orders.close()
    left = written.left(worker.tasks) if worker.process.exitcode else []
    if left:
        written.fail(left[0], f"the process ended with exit code {worker.process.exitcode}")
    return left[1:]


def _work(
    tasks: list[Task],
    sender: Connection,
    watched: Connection,
    orders: Connection,
    threads: int,
    device: str,
    attacked: Path | None,
    kept: bool,
) -> None:
    """In the worker: one cell after another, a record after each mode; then, if it is kept, those that it is sent.

    After a failure the process ends: a GPU in a bad state would fail later cells, too.
    """
    import torch

    orders.close()  # the copy that came along; only the main process keeps the other one
    ordered: SimpleQueue[list[Task]] = SimpleQueue()
    threading.Thread(target=_listen, args=(watched, ordered), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the main one ends the others
    torch.set_num_threads(threads)
    if device.startswith("cuda:"):
        torch.cuda.set_device(device)  # kernels of Triton run on the current GPU
    while _measured(tasks, sender, device, attacked) and kept:
        forget_peaks()
        sender.send(None)
        tasks = ordered.get()


def _measured(tasks: list[Task], sender: Connection, device: str, attacked: Path | None) -> bool:
    """Measure some cells and send their records; whether none failed."""
    fits: dict[str, Fit] = {}
    well = True
    for number, (cell, modes) in enumerate(tasks):
        try:
            for record in measure(cell, modes, device=device, attacked=attacked, fits=fits):
                as_line(record)  # a number that JSON cannot hold is a failure of this run
                sender.send((number, record))
        except DiskFull as problem:
            sender.send((number, problem))
        except Exception as problem:
            well = False
            sender.send((number, in_one_sentence(problem)))
    return well


def in_one_sentence(problem: Exception) -> str:
    """What a record says of an error: of the user's doing the sentence alone, of others also what and where."""
    words = " ".join(str(problem).split())
    if isinstance(problem, GvdnError):
        return words
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.strerror}: {problem.filename or 'a file'}; check the path, the disk and the rights"
    last = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {words} ({Path(last.filename).name}:{last.lineno})"


def _listen(watched: Connection, ordered: SimpleQueue[list[Task]]) -> None:
    """Pass on what the main process sends, and end this process when that one does, so that no orphan keeps
    computing."""
    try:
        while True:
            ordered.put(watched.recv())
    finally:
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
