"""What is run and what is recorded: cells, modes, specs, records. Holds names of methods, not methods; no torch."""

from gvdn.study.cell import Cell, Mode
from gvdn.study.record import Record, Scores
from gvdn.study.spec import Row, Spec, Task, load_spec
from gvdn.study.store import append_record, read_records, records_by_key

__all__ = [
    "Cell",
    "Mode",
    "Record",
    "Row",
    "Scores",
    "Spec",
    "Task",
    "append_record",
    "load_spec",
    "read_records",
    "records_by_key",
]
