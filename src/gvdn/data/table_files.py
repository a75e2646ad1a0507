"""Tables as files: CSV and Parquet, in and out."""

import gzip
import json
import zlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph.tables.reading import require_names

ENDINGS = (".parquet", ".csv", ".csv.gz")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MOST_SAID = 160
"""Characters of another library's error that a sentence repeats: it may quote a whole row."""


def read_table(path: Path, *, text: tuple[str, ...] = ()) -> pa.Table:
    """The table of a file; the columns named in `text` are read as text, so that 007 stays 007."""
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}; expected a table ending in {', '.join(ENDINGS)}")
    require_ending(path)
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path}: the file is empty; expected a header and at least one row")
    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            table.validate(full=True)  # text that is not UTF-8, above all
        else:  # only an empty field is missing; with one thread, so that the error names a bad row
            texts = {name: pa.string() for name in text}
            convert = pacsv.ConvertOptions(column_types=texts, null_values=[""], strings_can_be_null=True)
            one_thread = pacsv.ReadOptions(use_threads=False)
            parse = pacsv.ParseOptions(delimiter=separator_of(path, text))
            table = pacsv.read_csv(path, read_options=one_thread, convert_options=convert, parse_options=parse)
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise unreadable(path, problem) from problem
    require_names(names, str(path))
    return table


def unreadable(path: Path, problem: BaseException) -> InvalidInput:
    """The error of a table that could not be read, with the first line of the reason."""
    reason = (str(problem).splitlines() or ["?"])[0]
    reason = reason if len(reason) <= MOST_SAID else f"{reason[:MOST_SAID]} ..."
    return InvalidInput(f"{path}: not a readable table ({reason}); repair or export it again")


def separator_of(path: Path, wanted: Sequence[str] = ()) -> str:
    """The sign between the columns of a CSV: the one with which its header has most of the wanted names, else most
    columns."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            header = file.readline(1 << 20).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError, zlib.error):  # the reader of the whole file says what is wrong with it
        return ","

    def fit(sign: str) -> tuple[int, int]:
        names = [name.strip(" \"'\r\n") for name in header.split(sign)]
        return sum(name in names for name in wanted), len(names)

    return max(SEPARATORS, key=fit)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in the format that the file name ends in; the file is written whole or not at all."""
    require_ending(path)
    with whole_file(path) as draft:
        if path.suffix == ".parquet":
            pq.write_table(table, draft)
        elif path.suffix == ".gz":
            with pa.CompressedOutputStream(str(draft), "gzip") as stream:
                pacsv.write_csv(table, stream)
        else:
            pacsv.write_csv(table, draft)


def write_json(content: object, path: Path) -> None:
    """Write JSON; the file is written whole or not at all."""
    with whole_file(path) as draft:
        draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def require_ending(path: Path) -> None:
    """Raise unless the file name ends in a format that can be read and written."""
    if not path.name.endswith(ENDINGS):
        raise InvalidInput(f"{path}: expected a table ending in {', '.join(ENDINGS)}; rename or convert it")
