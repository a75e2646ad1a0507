"""Changes of tables: CSV as cells and as text, Parquet as columns and as bytes."""

from __future__ import annotations

import csv
import gzip
import io
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from fuzz.chance import Chance
from fuzz.mutate_bytes import mutate_bytes, zeros_deflated
from fuzz.mutate_json import odd_text

BOMB = b"\x1f\x8b\x08" + bytes(7) + zeros_deflated(3 << 30) + struct.pack("<II", 0, 3 << 30)


def mutate_csv(rng: Chance, data: bytes, *, zipped: bool = False) -> bytes:
    """A CSV, gzipped if it was, with changed cells, columns, rows or text."""
    if zipped:
        if rng.one_in(6):
            return mutate_bytes(rng, data)
        if rng.one_in(60):
            rng.note("gzip that unpacks to 3 GiB")
            return BOMB
        return gzip.compress(mutate_csv(rng, gzip.decompress(data)), 1, mtime=0)
    what = rng.randrange(10)
    if what == 0:
        return mutate_bytes(rng, data)
    if what == 1:
        return odd_text(rng, data.decode())
    rows = list(csv.reader(io.StringIO(data.decode())))
    for _ in range(rng.choice([1, 1, 2, 4])):
        _change_rows(rng, rows)
    file = io.StringIO()
    dialect: dict[str, Any] = {"lineterminator": rng.choice(["\n", "\n", "\n", "\r\n", "\r"])}
    if rng.one_in(20):
        dialect["delimiter"] = rng.choice([";", "\t", "|"])
    if rng.one_in(10):
        dialect["quoting"] = csv.QUOTE_ALL
    csv.writer(file, **dialect).writerows(rows)
    return file.getvalue().encode("utf-8", "surrogatepass")


def _change_rows(rng: Chance, rows: list[list[str]]) -> None:
    if not rows or not rows[0]:
        rows.append([rng.word()])
        return
    what, row = rng.randrange(12), rng.randrange(len(rows))
    column = rng.randrange(len(rows[row])) if rows[row] else 0
    if what <= 5 and rows[row]:
        rows[row][column] = rng.choice([rng.word(), rng.word(), str(rng.number()), "9" * 40])
        rng.note(f"cell {row},{column} = {rows[row][column][:20]!r}")
    elif what == 6:
        rng.note(f"row {row} twice")
        rows.insert(row, list(rows[row]))
    elif what == 7:
        rng.note(f"row {row} gone")
        del rows[row]
    elif what == 8:
        rng.note(f"row {row} of another length")
        rows[row] = rng.choice([rows[row][:-1], [*rows[row], "1"], [], [""] * 50])
    elif what == 9:
        rng.note(f"column {column} gone")
        for cells in rows:
            del cells[column : column + 1]
    elif what == 10:
        name = rng.choice([rows[0][0], rows[0][-1], rng.word(), "label", "id"])
        rng.note(f"column {column} called {name[:20]!r}")
        if column < len(rows[0]):
            rows[0][column] = name
    else:
        keep = rng.choice([0, 1, 2])
        rng.note(f"only {keep} rows")
        del rows[keep:]


def parquet_of(csv_bytes: bytes) -> bytes:
    """The Parquet file of a CSV."""
    return _written(pacsv.read_csv(io.BytesIO(csv_bytes)))


def mutate_parquet(rng: Chance, data: bytes) -> bytes:
    """A Parquet file with columns of other kinds or changed bytes."""
    if rng.one_in(3):
        return mutate_bytes(rng, data)
    table = pq.read_table(io.BytesIO(data))
    for _ in range(rng.choice([1, 1, 2])):
        table = _change_column(rng, table)
    return _written(table, compression=rng.choice(["none", "snappy"]), use_dictionary=rng.one_in(2))


def _written(table: pa.Table, **how: Any) -> bytes:
    file = pa.BufferOutputStream()
    try:
        pq.write_table(table, file, **how)
    except (pa.ArrowException, ValueError):  # a kind of column that Parquet cannot hold
        return _written(table.slice(0, 0).select([]))
    return file.getvalue().to_pybytes()


KINDS: list[Any] = [
    *(
        pa.timestamp("s"),
        pa.timestamp("ns", "UTC"),
        pa.date32(),
        pa.time64("us"),
        pa.duration("s"),
        pa.decimal128(20, 3),
    ),
    *(pa.float16(), pa.float32(), pa.float64(), pa.uint64(), pa.int8(), pa.uint8(), pa.bool_(), pa.null()),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())),
    *(pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())),
]


def _change_column(rng: Chance, table: pa.Table) -> pa.Table:
    if not table.num_columns:
        return pa.table({"id": pa.array([1, 1])})
    what, at = rng.randrange(8), rng.randrange(table.num_columns)
    name, column = table.column_names[at], table.column(at)
    if what <= 3:
        kind = rng.choice(KINDS)
        rng.note(f"column {name} as {kind}")
        return table.set_column(at, name, _as_kind(column, kind))
    if what == 4:
        try:
            values = column.to_pylist()
        except ValueError:  # nanoseconds, which Python's datetime cannot hold
            return table
        value = rng.choice([None, None, rng.word(), rng.number()])
        if values:
            values[rng.randrange(len(values))] = value
        rng.note(f"column {name}: {str(value)[:20]!r}")
        try:
            return table.set_column(at, name, pa.array(values))
        except (pa.ArrowException, OverflowError, ValueError, TypeError, UnicodeError):
            return table.set_column(at, name, pa.array([str(one)[:50] for one in values]))
    if what == 5:
        rng.note(f"column {name} gone")
        return table.remove_column(at)
    if what == 6:
        new = rng.choice([table.column_names[0], rng.word().replace("\x00", ""), "label"])
        rng.note(f"column {name} called {new[:20]!r}")
        return table.rename_columns([new if one == at else old for one, old in enumerate(table.column_names)])
    rows = rng.choice([0, 1, 2])
    rng.note(f"only {rows} rows")
    return table.slice(0, rows)


def _as_kind(column: pa.ChunkedArray, kind: Any) -> Any:
    try:
        return column.cast(kind, safe=False)
    except pa.ArrowException:
        pass
    count = len(column)
    if pa.types.is_float16(kind):
        return pa.array(np.arange(count, dtype=np.float16))
    if pa.types.is_list(kind):
        return pa.array([[1]] * count, kind)
    if pa.types.is_struct(kind):
        return pa.array([{"a": 1}] * count, kind)
    if pa.types.is_map(kind):
        return pa.array([[("a", 1)]] * count, kind)
    try:
        return pa.array(range(count), pa.int64()).cast(kind, safe=False)
    except pa.ArrowException:
        return pa.nulls(count, kind)
