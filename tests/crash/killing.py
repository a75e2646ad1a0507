"""Kill a command right before its k-th file operation, and watch the operations of one that is left alone."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Operation:
    """One operation that changes files of the watched folder; `to` is the second path of a rename."""

    name: str
    path: str
    to: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.path}" + (f" -> {self.to}" if self.to else "")


@dataclass(frozen=True)
class Ran:
    """How a command ended; `killed` if it was by the kill that was asked for, `orphans` if a worker outlived it."""

    code: int
    said: str
    operations: list[Operation]
    killed: bool
    orphans: bool


def run_watched(work: Callable[[], tuple[int, str]], folder: Path, *, kill_at: int = -1, torn: bool = False) -> Ran:
    """Run `work` in a forked child; with `kill_at`, kill -9 it right before that operation, counted from 0.

    Operations of worker processes are counted too; a kill in one of them kills all of them. With `torn`, a write is
    made by half before the kill.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    counter = mmap.mmap(-1, 8)
    reading, writing = os.pipe()
    log = os.memfd_create("log")
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.setsid()
        _watch(Watch(folder.resolve(), counter, log, kill_at, torn, os.getpid(), os.write))
        try:
            code, said = work()
        except BaseException as problem:
            code, said = 70, f"{type(problem).__name__}: {problem}"
        os.write(writing, f"{code} {said}".encode(errors="replace"))
        os._exit(0)
    os.close(writing)
    said = b""
    while data := os.read(reading, 1 << 16):
        said += data
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    orphans = not _gone(pid)
    os.lseek(log, 0, os.SEEK_SET)
    lines = Path(f"/proc/self/fd/{log}").read_text(errors="replace").splitlines()
    os.close(log)
    operations = [Operation(*line.split("\t")) for line in lines]
    code, _, words = said.decode(errors="replace").partition(" ")
    return Ran(int(code or -9), words, operations, os.WIFSIGNALED(status), orphans)


def _gone(group: int) -> bool:
    """Whether all processes of the command have ended, within three seconds."""
    for _ in range(150):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        time.sleep(0.02)
    os.killpg(group, signal.SIGKILL)
    return False


@dataclass
class Watch:
    folder: Path
    counter: mmap.mmap
    log: int
    kill_at: int
    torn: bool
    main: int
    write: Callable[[int, bytes], int]
    """The real os.write."""

    def inside(self, path: Any, at: int = -1) -> str:
        """The path within the folder, else nothing."""
        if isinstance(path, int):
            return self.inside(_path_of(path))
        if path is None or (isinstance(path, bytes) and not path):
            return ""
        given = Path(os.fsdecode(path))
        if at >= 0 and not given.is_absolute():
            given = Path(_path_of(at)) / given
        whole = Path(os.path.normpath(Path.cwd() / given))
        return str(whole.relative_to(self.folder)) if whole.is_relative_to(self.folder) else ""

    def about_to(self, name: str, path: str, to: str = "") -> bool:
        """Count an operation; returns whether it is the one to be torn, and does not return if it is the last one."""
        (count,) = struct.unpack("q", self.counter[:8])
        self.counter[:8] = struct.pack("q", count + 1)
        if count == self.kill_at:
            if self.torn and name == "write":
                return True
            self.kill()
        self.write(self.log, f"{name}\t{path}\t{to}\n".encode(errors="replace"))
        return False

    def kill(self) -> None:
        if os.getpid() == self.main:
            os.kill(self.main, signal.SIGKILL)
        os.killpg(0, signal.SIGKILL)


def _path_of(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def _watch(watch: Watch) -> None:
    """Count, from now on, the operations of this process and its children."""
    one_path = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 2, "os.chmod": 2, "os.truncate": -1}

    def hook(event: str, words: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = words
            if (
                isinstance(flags, int)
                and flags & WRITING
                and not isinstance(path, int)
                and (inside := watch.inside(path))
            ):
                watch.about_to("open", inside)
        elif event in one_path:
            at = words[one_path[event]] if one_path[event] > 0 and len(words) > one_path[event] else -1
            if inside := watch.inside(words[0], at):
                watch.about_to(event.removeprefix("os."), inside)
        elif event in ("os.rename", "os.link", "os.symlink") and (inside := watch.inside(words[1])):
            watch.about_to(event.removeprefix("os."), watch.inside(words[0]), inside)

    sys.addaudithook(hook)
    for name in ("fsync", "fdatasync", "ftruncate", "write"):
        setattr(os, name, _counted(watch, name, getattr(os, name)))


def _counted(watch: Watch, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(descriptor: Any, *rest: Any) -> Any:
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        inside = watch.inside(number)
        if inside and watch.about_to(name, inside):
            real(descriptor, bytes(rest[0])[: len(rest[0]) // 2])
            watch.kill()
        return real(descriptor, *rest)

    return call
