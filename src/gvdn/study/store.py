"""Records on disk: one JSON line each, appended whole, read again without surprises."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from gvdn.errors import InvalidInput
from gvdn.files import naming_full_disk
from gvdn.limits import read_bytes, short
from gvdn.schema import parse_json
from gvdn.study.record import Record

T = TypeVar("T")


def append_record(path: Path, record: Record) -> None:
    """Add one line in one write, so that a process that is killed leaves a whole line or a torn last one."""
    append_line(path, as_line(record))


def append_line(path: Path, text: str) -> None:
    """Add a line, which ends in a newline, to a file of JSON lines: in one write, behind a torn one if there is one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = text.encode()
    with naming_full_disk(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if _has_no_newline(path):
                os.write(descriptor, b"\n")
            if os.write(descriptor, line) < len(line):  # a torn line, which the next run passes over
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        finally:
            os.close(descriptor)


def as_line(record: Record) -> str:
    """The line of a record; ValueError where it holds NaN or infinity."""
    return json.dumps(record.to_json(), sort_keys=True, allow_nan=False) + "\n"


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Keep other processes from writing records to a folder; the lock ends with this process, however it ends.

    Torn ends of its files, which a process that was killed left, are cut off first: no other process writes to them.
    """
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".writer").open("a+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            file.seek(0)
            raise InvalidInput(
                f"the records in {folder} are being written by {file.read() or 'another process'}; wait for it to end, "
                "or give another folder"
            ) from problem
        with naming_full_disk(folder):
            file.truncate(0)
            file.write(f"process {os.getpid()} since {datetime.now():%H:%M}")
            file.flush()
            for path in sorted(folder.glob("*.jsonl")):
                cut_torn_end(path)
        yield
        file.truncate(0)


def cut_torn_end(path: Path) -> None:
    """Cut off a torn last line, if there is one; only for a process that alone writes to the file."""
    start = torn_end(path)
    if start is not None:
        os.truncate(path, start)


def torn_end(path: Path) -> int | None:
    """Where the torn last line of a file begins; None where there is none.

    A last line that is a whole record but for its newline is not torn.
    """
    if not path.is_file() or not _has_no_newline(path):
        return None
    content = path.read_bytes()
    start = content.rfind(b"\n") + 1
    return start if _is_torn(content[start:]) else None


def read_records(path: Path) -> list[Record]:
    """Every record of a file; a torn line, which a killed run leaves, is passed over, anything else is named."""
    return [read_with(Record.from_json, content, where) for where, content in read_lines(path)]


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a file of JSON lines as they stand there, each with its place in the file for error messages.

    Every one has a key; torn lines are passed over. A file that is missing has no lines.
    """
    try:
        lines = read_bytes(path).split(b"\n")
    except FileNotFoundError:
        return
    except OSError as problem:
        raise InvalidInput(f"{path}: not a file of records ({problem}); move it away") from problem
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        content = _content(line, where)
        if content is not None:
            yield where, content


def read_with(read: Callable[[dict[str, Any]], T], content: dict[str, Any], where: str) -> T:
    """What a function makes of the content of a line; a refusal names the line."""
    try:
        return read(content)
    except InvalidInput as problem:
        raise InvalidInput(f"{where}: {problem}; remove the line") from problem


def records_by_key(folder: Path) -> dict[str, Record]:
    """The last record of each run in any file of a folder, since specs share runs; a measured one outlives a failure.

    A run that two specs ask for is the same run, whichever file it was written to.
    """
    return {key: record for key, (record, _) in _last_of_each(folder).items()}


def files_by_key(folder: Path) -> dict[str, Path]:
    """The file that holds what `records_by_key` gives; a run that is measured again is written there."""
    return {key: path for key, (_, path) in _last_of_each(folder).items()}


def _last_of_each(folder: Path) -> dict[str, tuple[Record, Path]]:
    found: dict[str, tuple[Record, Path]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for record in read_records(path):
            if record.error is None or record.key not in found or found[record.key][0].error is not None:
                found[record.key] = record, path
    return found


def _content(line: bytes, where: str) -> dict[str, Any] | None:
    """What a line holds; None where the line is empty or torn."""
    if not line.strip():
        return None
    try:
        content = parse_json(line)
    except ValueError as problem:
        if _is_torn(line):
            return None
        raise InvalidInput(f"{where}: not a record ({problem}); remove the line") from problem
    if not isinstance(content, dict) or "key" not in content:
        raise InvalidInput(f"{where}: expected a record with its key, got {short(line)}")
    return content


def _is_torn(line: bytes) -> bool:
    """Whether a line is the beginning of a record: more brackets are opened than closed."""
    return line.startswith(b"{") and line.count(b"{") > line.count(b"}")


def _has_no_newline(path: Path) -> bool:
    """Whether the last line of a file does not end."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
