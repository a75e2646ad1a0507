"""Runs cases in forked children with limits, and says of each how it ended."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import io
import json
import os
import re
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzz.chance import Chance
from fuzz.invariants import Invalid, check_printed
from fuzz.kinds import KINDS, Kind
from fuzz.mutate_bytes import Files, Folder, Link

from gvdn.cli.console import complain
from gvdn.errors import GvdnError

MEMORY = 2 << 30
"""Bytes of address space that a case may take beyond what the process has at its start."""
CPU_S = 10
WALL_S = 60
BATCH = 250
"""Cases per child."""

FINE = ("refused", "valid")
FINDINGS = ("crash", "hang", "memory", "exception", "invalid", "code ran", "warning")
HARNESS = "harness"
"""A defect of the harness itself: a case that could not be made."""


@dataclass
class Ended:
    """How a case ended: one of `FINE`, of `FINDINGS`, or `HARNESS`."""

    kind: str
    number: int
    outcome: str
    what: str = ""
    """The type of the exception, the name of the signal, or the invariant that does not hold."""
    where: str = ""
    """The last place in gvdn, as file:line function."""
    message: str = ""
    notes: list[str] = field(default_factory=list)
    trace: str = ""
    seconds: float = 0.0

    @property
    def defect(self) -> tuple[str, str, str, str]:
        """What cases with the same cause have in common."""
        return self.kind, self.outcome, re.sub(r"\d+", "N", self.what), self.where


def case_generator(kind: str, seed: int, number: int) -> Chance:
    """Depends on nothing but these three."""
    return Chance(f"{kind} {seed} {number}")


def write_files(files: Files, folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        if isinstance(content, Link):
            path.symlink_to(content.target)
        elif isinstance(content, Folder):
            path.mkdir()
        else:
            path.write_bytes(content)


def run_case(kind: Kind, seed: int, number: int, folder: Path) -> Ended:
    """Make, write, read and judge one case in this process."""
    rng = case_generator(kind.name, seed, number)
    ended = Ended(kind.name, number, "valid", notes=rng.notes)
    try:
        files = kind.make(rng)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_files(files, folder)
    except Exception as problem:
        return _failed(ended, HARNESS, problem)
    sys.__dict__.pop("gvdn_fuzz_code_ran", None)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        _read(kind, rng, folder, files, ended)
    if sys.__dict__.pop("gvdn_fuzz_code_ran", None):
        return Ended(kind.name, number, "code ran", "code of the file", ended.where, ended.message, rng.notes)
    loud = [one for one in warned if issubclass(one.category, RuntimeWarning)]
    if ended.outcome in FINE and loud:
        place = f"{Path(loud[0].filename).name}:{loud[0].lineno}"
        return Ended(kind.name, number, "warning", loud[0].category.__name__, place, str(loud[0].message), rng.notes)
    return ended


def _read(kind: Kind, rng: Chance, folder: Path, files: Files, ended: Ended) -> None:
    try:
        kind.read(rng, folder, files)
    except GvdnError as problem:
        _refused(ended, problem)
    except Invalid as problem:
        _failed(ended, "invalid", problem)
        ended.what, ended.where = str(problem), ""
    except MemoryError as problem:
        _failed(ended, "memory", problem)
    except (Exception, SystemExit) as problem:
        _failed(ended, "exception", problem)
        if ended.where.startswith("invariants.py"):  # what was accepted is too odd to be checked
            ended.outcome, ended.what, ended.where = "invalid", f"{ended.what} in {ended.where}", ""


def _refused(ended: Ended, problem: GvdnError) -> None:
    """A refusal is one line that no terminal obeys, and not only the lack of memory in this process."""
    ended.outcome, ended.message = "refused", str(problem)[:300]
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed):
        complain(str(problem))
    try:
        check_printed(printed.getvalue(), lines=1)
    except Invalid as other:
        _failed(ended, "invalid", problem)
        ended.what = f"refusal: {other}"
    cause: BaseException | None = problem
    while cause is not None:
        if _lacked_memory(cause):
            _failed(ended, "memory", cause)
            ended.message = f"refused, but only for lack of memory: {problem}"[:300]
        cause = cause.__cause__ or cause.__context__


def _lacked_memory(problem: BaseException) -> bool:
    """Whether an allocation failed that a machine might have had the memory for, in Python or in torch."""
    said = str(problem)
    wanted = re.search(r"tried to allocate (\d+) bytes", said)
    if wanted:
        return int(wanted[1]) < 1 << 40
    return (isinstance(problem, MemoryError) or "allocate memory" in said) and not re.search(r"\d [TPEZ]iB", said)


def _failed(ended: Ended, outcome: str, problem: BaseException) -> Ended:
    frames = traceback.extract_tb(problem.__traceback__)
    ours = [frame for frame in frames if "/gvdn/" in frame.filename and "/tests/" not in frame.filename]
    place = (ours or frames)[-1] if frames else None
    ended.outcome, ended.what, ended.message = outcome, type(problem).__name__, str(problem)[:300]
    ended.where = f"{_short(place.filename)}:{place.lineno} {place.name}" if place else ""
    ended.trace = "".join(traceback.format_exception(problem, limit=-12))[-4000:]
    return ended


def _short(path: str) -> str:
    return path.rpartition("/gvdn/")[2] if "/gvdn/" in path else Path(path).name


# ---- children


@dataclass
class Child:
    """A process that runs a batch of cases; `now` is the one that it began last."""

    pid: int
    pipe: int
    errors: Path
    left: deque[int]
    kind: Kind
    seed: int
    began: float
    unread: bytes = b""
    now: int | None = None
    done: list[int] = field(default_factory=list)


def run_cases(wanted: dict[str, range | list[int]], seed: int, *, processes: int = 1) -> Iterator[Ended]:
    """How each of the cases ended, as they end; `wanted` has the numbers by kind."""
    batches: deque[tuple[Kind, deque[int]]] = deque()
    for name, numbers in wanted.items():
        every = list(numbers)
        batches += [(KINDS[name], deque(every[at : at + BATCH])) for at in range(0, len(every), BATCH)]
    home = Path(tempfile.mkdtemp(prefix="gvdn-fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    free = deque(home / str(slot) for slot in range(processes))
    selector = selectors.DefaultSelector()
    try:
        while batches or selector.get_map():
            while batches and free:
                kind, numbers = batches.popleft()
                child = _start(kind, numbers, seed, free.popleft())
                selector.register(child.pipe, selectors.EVENT_READ, child)
            for key, _ in selector.select(timeout=1.0):
                child = key.data
                data = os.read(child.pipe, 1 << 16)
                yield from _heard(child, data)
                if not data:
                    selector.unregister(child.pipe)
                    for died in _over(child):
                        yield from blamed(died, child.done, seed)
                    free.append(child.errors.parent)
                    if child.left:
                        batches.appendleft((child.kind, child.left))
            for key in list(selector.get_map().values()):
                if time.monotonic() - key.data.began > WALL_S:
                    os.kill(key.data.pid, signal.SIGALRM)
    finally:
        for key in list(selector.get_map().values()):
            os.kill(key.data.pid, signal.SIGKILL)
            os.waitpid(key.data.pid, 0)
        shutil.rmtree(home, ignore_errors=True)


def _start(kind: Kind, numbers: deque[int], seed: int, folder: Path) -> Child:
    folder.mkdir(exist_ok=True)
    kind.make(Chance("warm"))  # the samples are made once, in this process
    reading, writing = os.pipe()
    errors = folder / "stderr"
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            _work(kind, list(numbers), seed, folder, errors, writing)
        finally:
            os._exit(70)
    os.close(writing)
    return Child(pid, reading, errors, deque(numbers), kind, seed, time.monotonic())


def _work(kind: Kind, numbers: list[int], seed: int, folder: Path, errors: Path, pipe: int) -> None:
    """In the child."""
    handle = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(handle, 2)
    os.dup2(handle, 1)
    faulthandler.enable(handle)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        os.write(pipe, f"{number}\n".encode())
        _limit()
        began = time.perf_counter()
        ended = run_case(kind, seed, number, folder / "case")
        if len(numbers) == 1:
            _shake()
        ended.seconds = round(time.perf_counter() - began, 4)
        os.write(pipe, json.dumps(asdict(ended), default=str).encode() + b"\n")
    os._exit(0)


def _shake() -> None:
    """Use the heap, so that damage to it shows."""
    gc.collect()
    for size in (16, 64, 256, 1024, 4096):
        [bytearray(size) for _ in range(200)]


def _limit() -> None:
    """Limits of one case, counted from what the process has used so far; the kernel ends it at the second."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + CPU_S, resource.RLIM_INFINITY))


def _heard(child: Child, data: bytes) -> Iterator[Ended]:
    child.unread += data
    *lines, child.unread = child.unread.split(b"\n")
    for line in lines:
        child.began = time.monotonic()
        if line.isdigit():
            child.now = int(line)
            continue
        child.done.append(child.left.popleft())
        child.now = None
        yield Ended(**json.loads(line))


def _over(child: Child) -> Iterator[Ended]:
    """The child has ended: by itself, or in the middle of a case."""
    os.close(child.pipe)
    _, status = os.waitpid(child.pid, 0)
    if child.now is None:
        return
    child.left.popleft()
    text = child.errors.read_text(errors="replace")[-6000:]
    ours = re.findall(r'File "[^"]*/gvdn/([^"]*)", line (\d+) in (\w+)', text)
    where = "{}:{} {}".format(*ours[0]) if ours else ""
    name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
    outcome = "hang" if name in ("SIGXCPU", "SIGALRM") else "crash"
    rng = case_generator(child.kind.name, child.seed, child.now)
    child.kind.make(rng)
    yield Ended(child.kind.name, child.now, outcome, name, where, text[:200], rng.notes, text)


def blamed(died: Ended, before: list[int], seed: int) -> Iterator[Ended]:
    """Memory that one case damaged may end a later one: each of the last cases again, in a child of its own."""
    if died.outcome != "crash":
        yield died
        return
    for number in [died.number, *reversed(before[-RETRACED:])]:
        home = Path(tempfile.mkdtemp(prefix="gvdn-fuzz-"))
        child = _start(KINDS[died.kind], deque([number]), seed, home)
        while data := os.read(child.pipe, 1 << 16):
            list(_heard(child, data))
        again = list(_over(child))
        shutil.rmtree(home, ignore_errors=True)
        if again and again[0].outcome == "crash":
            yield again[0]
            return
    died.message = f"not alone; after cases {before[-RETRACED:]}: {died.message}"
    yield died


RETRACED = 30


def samples_of(kind: str, seed: int, number: int, folder: Path) -> list[Any]:
    """Write the files of a case into a folder, to look at; returns the notes."""
    rng = case_generator(kind, seed, number)
    files = KINDS[kind].make(rng)
    folder.mkdir(parents=True)
    write_files(files, folder)
    return rng.notes
