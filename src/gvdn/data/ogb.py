"""The Open Graph Benchmark's files of ogbn-arxiv: gzipped CSV without a header, in folders of raw files and of splits.

Hu et al., Open Graph Benchmark: datasets for machine learning on graphs (NeurIPS 2020).
"""

import gzip
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Published
from gvdn.graph.published import TEST, TRAIN, VAL
from gvdn.limits import most_bytes, require_file, require_size

RAW = ("raw/edge.csv.gz", "raw/node-feat.csv.gz", "raw/node-label.csv.gz", "raw/node_year.csv.gz")
SPLIT = {"split/time/train.csv.gz": TRAIN, "split/time/valid.csv.gz": VAL, "split/time/test.csv.gz": TEST}
CLASSES = "mapping/labelidx2arxivcategeory.csv.gz"
"""The names of the classes, spelled as the publisher does; optional."""
FILES = (*RAW, *SPLIT)
AGAIN = "get it again"


def read_ogb(folder: Path) -> Graph:
    """The graph of the publisher's files, with its split by time and the year of each node.

    A link is a citation; direction, loops and repetitions are dropped. Ids are the positions in the files.
    """
    edges, rows, classes, years = (_table(folder / name, kind) for name, kind in zip(RAW, _KINDS, strict=True))
    nodes = len(rows)
    for name, found, width in (
        (RAW[0], edges, 2),
        (RAW[2], classes, 1),
        (RAW[3], years, 1),
    ):
        if found.shape[1] != width or (width == 1 and len(found) != nodes):
            wanted = "two columns" if width == 2 else f"one number for each of the {nodes} nodes"
            raise InvalidInput(f"{folder / name}: expected {wanted}, got {_shape(found)}; {AGAIN}")
    given: dict[str, Any] = {"labels": classes[:, 0], "published": _published(folder, years[:, 0])}
    if (folder / CLASSES).exists():
        given["class_names"] = _class_names(folder / CLASSES, int(classes.max(initial=-1)) + 1)
    try:
        return Graph.from_edges(edges, rows, **given)
    except InvalidInput as problem:
        raise InvalidInput(f"{folder}: {problem}; get the files again") from problem


_KINDS = (pa.int64(), pa.float32(), pa.int64(), pa.int64())


def _published(folder: Path, years: np.ndarray) -> Published:
    parts = np.zeros((len(years), 1), dtype=np.int8)
    for name, part in SPLIT.items():
        found = _table(folder / name, pa.int64())
        strange = found[(found < 0) | (found >= len(years))]
        if found.shape[1] != 1 or strange.size:
            got = f"{strange[0]}" if strange.size else _shape(found)
            raise InvalidInput(f"{folder / name}: expected one column of nodes below {len(years)}, got {got}; {AGAIN}")
        twice = found[parts[found[:, 0], 0] != 0]
        if twice.size:
            raise InvalidInput(f"{folder / name}: expected disjoint parts, got node {twice[0, 0]} in two; {AGAIN}")
        parts[found[:, 0], 0] = part
    return Published(np.arange(len(years)), parts, years)


def _class_names(path: Path, classes: int) -> tuple[str, ...]:
    """The names, in the order of their numbers; the file has a header."""
    table = _arrow(path, pa.string())
    words = table.slice(1).to_pydict()
    numbers, names = (list(words.get(f"f{column}", ())) for column in (0, 1))
    if [str(number) for number in range(len(numbers))] != numbers or len(names) < classes or table.num_columns != 2:
        wanted = f"a header, and the number and the name of each of the {classes} classes in order"
        raise InvalidInput(f"{path}: expected {wanted}, got {table.num_rows} rows; {AGAIN}")
    return tuple(names)


def _table(path: Path, kind: pa.DataType) -> np.ndarray:
    """The numbers of a file, all of one kind."""
    table = _arrow(path, kind)
    missing = sum(column.null_count for column in table.columns)
    if missing:
        raise InvalidInput(f"{path}: expected a number in every field, got {missing} empty ones; {AGAIN}")
    return np.stack([column.to_numpy() for column in table.columns], axis=1)


def _arrow(path: Path, kind: pa.DataType) -> pa.Table:
    """A CSV without a header, whose columns f0, f1 and so on are all of one kind."""
    text = _unpacked(path)
    names = [f"f{number}" for number in range(text.partition(b"\n")[0].count(b",") + 1)]
    try:
        return pacsv.read_csv(
            BytesIO(text),
            read_options=pacsv.ReadOptions(column_names=names, use_threads=False),
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(names, kind)),
        )
    except (pa.ArrowException, UnicodeDecodeError) as problem:
        reason = str(problem).splitlines()[0]
        raise InvalidInput(f"{path}: expected a table of {kind}, got another ({reason}); {AGAIN}") from problem


def _unpacked(path: Path) -> bytes:
    """The text of a gzipped file; no more bytes than the limit, whatever the file would unpack to."""
    try:
        require_file(path)
        require_size(int.from_bytes(path.read_bytes()[-4:], "little"))  # what it declares, before anything is unpacked
        with gzip.open(path, "rb") as file:
            text = file.read(most_bytes() + 1)
        require_size(len(text))
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no file {path}; {AGAIN}") from problem
    except (OSError, EOFError, zlib.error) as problem:
        reason = " ".join(str(problem).split())[:300]
        raise InvalidInput(f"{path}: not a whole gzip file ({reason}); {AGAIN}") from problem
    if not text.strip():
        raise InvalidInput(f"{path}: the file is empty; {AGAIN}")
    return text


def _shape(found: np.ndarray) -> str:
    return f"{len(found)} rows of {found.shape[1]}"
