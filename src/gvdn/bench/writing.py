"""The records of one call of a benchmark, written as they come."""

from collections.abc import Container
from pathlib import Path

from gvdn.study import Record, Task, append_record, records_by_key
from gvdn.study.plan import missing
from gvdn.study.store import files_by_key


class Written:
    """Appends records to a file, and knows those of this call by their keys.

    A run that is measured again is appended to the file that holds its record, since the last one in the order of the
    files counts, and a failure of it does not replace what was measured.

    Args:
        path: the file for runs that have no record.
        again: the keys of runs that are measured again.
    """

    def __init__(self, path: Path, again: Container[str] = ()) -> None:
        self.path, self.done = path, dict[str, Record]()
        self._there = records_by_key(path.parent)
        self._files = {key: file for key, file in files_by_key(path.parent).items() if key in again}

    def add(self, record: Record) -> None:
        """Append a record."""
        append_record(self._files.get(record.key, self.path), record)
        self.done[record.key] = record

    def fail(self, task: Task, error: str) -> None:
        """Record the failure of every mode of a cell that this call did not measure; the same one is not written
        twice."""
        cell, modes = task
        for mode in modes:
            failure, known = Record(cell=cell, mode=mode, error=error), self._there.get(cell.key(mode))
            if failure.key in self.done:
                continue
            if known is None or known.error not in (None, error):
                append_record(self.path, failure)
            self.done[failure.key] = failure

    def left(self, tasks: list[Task]) -> list[Task]:
        """Each cell with the modes that this call has not measured."""
        return missing(tasks, self.done)

    def is_done(self, task: Task) -> bool:
        """Whether all modes of a cell were measured, or failed."""
        cell, modes = task
        return all(cell.key(mode) in self.done for mode in modes)
