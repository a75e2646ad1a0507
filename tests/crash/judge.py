"""What is wrong after a kill and a restart, and with the order of operations of a run that is left alone."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crash.killing import Operation, Ran, run_watched
from crash.scenarios import SCENARIOS, Scenario, content, copied, prepare, work

PROBLEMS = ("different", "lost", "left", "orphan", "refused", "order")


@dataclass(frozen=True)
class Problem:
    """One of `PROBLEMS`, after a kill at this operation (or none, of the order)."""

    scenario: str
    what: str
    at: str
    detail: str
    repeat: str


@dataclass
class Bench:
    """A scenario with its prepared folder, and the run that is left alone."""

    scenario: Scenario
    home: Path
    alone: Ran
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)

    @property
    def here(self) -> Path:
        return self.home / "here"

    def points(self) -> list[tuple[int, bool]]:
        """Every operation, and every write a second time, torn."""
        found = []
        for number, operation in enumerate(self.alone.operations):
            found += [(number, False)] + ([(number, True)] if operation.name == "write" else [])
        return found


@contextmanager
def bench(name: str) -> Iterator[Bench]:
    scenario = SCENARIOS[name]
    home = Path(tempfile.mkdtemp(prefix="gvdn-crash-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        start, here = home / "start" / "here", home / "here"
        prepare(scenario, start)
        copied(start, here)
        before = content(here)
        alone = run_watched(work(scenario, here), here)
        assert alone.code == 0, alone.said
        yield Bench(scenario, home, alone, before, content(here))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def killed_at(one: Bench, number: int, torn: bool) -> list[Problem]:
    """Kill at this operation, run the same command again, and compare with the run that was left alone."""
    here = copied(one.home / "start" / "here", one.here)
    killed = run_watched(work(one.scenario, here), here, kill_at=number, torn=torn)
    operation = one.alone.operations[number]
    word = f"{one.scenario.name}:{number}" + ":torn" * torn
    found: list[Problem] = []

    def problem(what: str, detail: str) -> None:
        repeat = f"python tests/crash/run.py --only {word}"
        found.append(
            Problem(one.scenario.name, what, f"{_plain(str(operation))}{', torn' * torn}", _plain(detail), repeat)
        )

    if killed.orphans:
        problem("orphan", "a worker outlived the command for three seconds")
    if one.scenario.replaces and killed.killed and not _complete(one, here):
        problem("lost", f"neither the old nor the new {one.scenario.output} is whole anywhere")
    again = run_watched(work(one.scenario, here), here)
    now = content(here)
    wrong = sorted(name for name in one.after if name not in now or now[name] != one.after[name])
    more = sorted(name for name in now if name not in one.after)
    if wrong:
        problem("different", ", ".join(wrong))
    if more:
        complete = "the result was whole already, and the second run refused: " if again.code else ""
        problem("left", complete + ", ".join(more))
    if again.code and wrong:
        problem("refused", again.said)
    return found


def _complete(one: Bench, here: Path) -> bool:
    """Whether all files of the old or of the new output are in some folder: in its place, or in a draft beside it."""
    place = Path(one.scenario.output)
    wanted = [_below(state, str(place)) for state in (one.before, one.after)]
    beside = [path for path in (here / place.parent).rglob("*") if path.is_dir()]
    return any(content(path) in wanted for path in beside)


def _below(state: dict[str, Any], folder: str) -> dict[str, Any]:
    return {name.removeprefix(folder + "/"): value for name, value in state.items() if name.startswith(folder + "/")}


def order(one: Bench) -> list[Problem]:
    """Written, synchronised, renamed, the folder synchronised, and only then is anything deleted that it replaces."""
    operations = one.alone.operations
    output = one.scenario.output
    found: list[Problem] = []

    def problem(at: int, detail: str) -> None:
        repeat = f"python tests/crash/run.py --scenario {one.scenario.name} --order"
        found.append(Problem(one.scenario.name, "order", _plain(str(operations[at])), detail, repeat))

    arrival = next((at for at, done in enumerate(operations) if done.name == "rename" and done.to == output), None)
    for at, done in enumerate(operations):
        progress = done.name == "remove" and done.path.endswith(".progress.safetensors")
        if progress and (arrival is None or at < arrival):
            problem(at, "progress is deleted before the result is in its place")
        if done.name in ("remove", "rmdir") and _is_in(done.path, output) and arrival is not None and at < arrival:
            problem(at, "the old output is deleted before the new one is in its place")
            break
    for at, done in enumerate(operations):
        if done.name != "rename" or not _matters(done, output):
            continue
        earlier, later = operations[:at], operations[at + 1 :]
        names = {done.path} | {
            other.path for other in earlier if other.name == "rename" and _is_in(other.to, done.path)
        }
        synced = [other.path for other in earlier if other.name in ("fsync", "fdatasync")]
        if not any(_is_in(path, name) for path in synced for name in names):
            problem(at, "renamed before its content was synchronised")
        if not any(other.name == "fsync" and other.path == str(Path(done.to).parent) for other in later):
            problem(at, "the folder is not synchronised after the rename")
    return found


def _matters(done: Operation, output: str) -> bool:
    """Whether a rename puts something in its place that must survive: the result, or progress."""
    made_by_attack = "/attacked/" in done.to and ".draft-" not in done.to
    return done.to == output or done.to.endswith(".progress.safetensors") or made_by_attack


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _plain(words: str) -> str:
    """Without the random part of the names of drafts."""
    words = re.sub(r"-[0-9a-f]{12}\.progress", "-*.progress", words)
    return re.sub(r"(?<=-)[a-z0-9_]{8}(?=[-./,\s]|$)", "*", words)[:300]
