"""Tables that are read piece by piece: a CSV, a Parquet file, or a folder of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from gvdn.data.table_files import read_table, separator_of, unreadable
from gvdn.errors import InvalidInput
from gvdn.graph.tables import reading


def files_of(path: Path) -> list[Path]:
    """The Parquet files of a table: the file itself, or all of a folder and its folders, in the order of their names.

    Names that begin with a dot or an underscore are left out, as other readers of such folders do.
    """
    if not path.is_dir():
        return [path] if path.is_file() and path.suffix == ".parquet" else []
    found = (file for file in path.rglob("*.parquet") if file.is_file())
    return sorted(file for file in found if not file.name.startswith((".", "_")))


def is_parquet(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".parquet"


def folder_tables(folder: Path) -> tuple[Path, Path] | None:
    """The folders nodes and edges of a folder, where there are both with Parquet files in them."""
    nodes, edges = folder / "nodes", folder / "edges"
    there = all(path.is_dir() and files_of(path) for path in (nodes, edges))
    return (nodes, edges) if there else None


def names(path: Path) -> list[str]:
    """The columns of a table."""
    for _, table in pieces(path, 1):
        return list(table.column_names)
    return list(read_table(path).column_names)


def column(path: Path, name: str) -> pa.ChunkedArray:
    """One column, whole; of a CSV as text, since its first rows need not look like the others."""
    if is_parquet(path):
        return pa.chunked_array(
            [chunk for file in files_of(path) for chunk in pq.read_table(file, columns=[name])[name].chunks],
            type=pq.read_schema(files_of(path)[0]).field(name).type,
        )
    sign = separator_of(path, reading.NAMES)
    convert = pacsv.ConvertOptions(
        include_columns=[name], column_types={name: pa.string()}, null_values=[""], strings_can_be_null=True
    )
    return pacsv.read_csv(path, parse_options=pacsv.ParseOptions(delimiter=sign), convert_options=convert)[name]


def pieces(path: Path, rows: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a table, some at a time, each piece with the number of its first row (from 0)."""
    first = 0
    with named_errors(path):
        if is_parquet(path):
            for file in files_of(path):
                for batch in pq.ParquetFile(file).iter_batches(batch_size=rows):
                    yield first, pa.Table.from_batches([batch])
                    first += batch.num_rows
            return
        sign = separator_of(path, reading.NAMES)
        parse, read = pacsv.ParseOptions(delimiter=sign), pacsv.ReadOptions(block_size=1 << 24, use_threads=False)
        with pacsv.open_csv(path, parse_options=parse) as opened:
            names = opened.schema.names
        texts = {name: pa.string() for name in names}
        convert = pacsv.ConvertOptions(column_types=texts, null_values=[""], strings_can_be_null=True)
        with pacsv.open_csv(path, parse_options=parse, read_options=read, convert_options=convert) as opened:
            for batch in opened:
                yield first, pa.Table.from_batches([batch])
                first += batch.num_rows


def from_row(path: Path, first: int) -> str:
    """How errors name a piece: rows in them are counted from its first."""
    return str(path) if first == 0 else f"{path}, counted from row {first + 1:,}"


class named_errors:
    """Turns an error of Arrow into a sentence that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        if not (self.path.is_file() or files_of(self.path)):
            raise InvalidInput(f"there is no file {self.path}; expected a table of nodes or links")

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, pa.ArrowException | OSError | UnicodeDecodeError):
            raise unreadable(self.path, problem) from problem
