"""Who is trained on, who chooses, who is measured."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph.checks import frozen
from gvdn.graph.graph import UNLABELLED, Graph, GraphLike, Positions, find_ids
from gvdn.seeds import generator


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint positions of one graph: `train` teaches, `val` chooses, `test` is only ever measured."""

    train: Positions
    val: Positions
    test: Positions

    def __post_init__(self) -> None:
        for field in fields(self):
            part = np.unique(np.asarray(getattr(self, field.name), dtype=np.int64))
            object.__setattr__(self, field.name, frozen(part))
        every = np.concatenate([self.train, self.val, self.test])
        seen, counts = np.unique(every, return_counts=True)
        if (counts > 1).any():
            raise InvalidInput(f"expected disjoint parts, got node {seen[counts > 1][0]} in more than one of them")
        if not self.train.size:
            raise InvalidInput("expected at least one training node, got none; give a larger training fraction")

    def save(self, path: Path, graph: Graph) -> None:
        """A CSV of ids and parts, which outlives the order of the nodes."""
        parts = [np.full(len(getattr(self, part.name)), part.name) for part in fields(self)]
        positions = np.concatenate([self.train, self.val, self.test])
        table = pa.table({"id": pa.array(graph.ids[positions]), "part": pa.array(np.concatenate(parts))})
        with whole_file(path) as draft:
            pacsv.write_csv(table, draft)

    @classmethod
    def load(cls, path: Path, graph: Graph) -> Split:
        """The split of a CSV with the columns id and part (train, val or test), found in this graph by id."""
        columns = _read_split(path)
        ids = columns["id"].to_numpy(zero_copy_only=False).astype(str)
        parts = columns["part"].to_numpy(zero_copy_only=False).astype(str)
        strange = np.flatnonzero(~np.isin(parts, ["train", "val", "test"]))
        if strange.size:
            raise InvalidInput(
                f"{path}, row {strange[0] + 1}: expected train, val or test, got {str(parts[strange[0]])!r}"
            )
        positions = find_ids(graph.ids.astype(str), ids)
        lost = np.flatnonzero(positions < 0)
        if lost.size:
            raise InvalidInput(f"{path}, row {lost[0] + 1}: no node {str(ids[lost[0]])!r} in the graph {graph.name}")
        return cls(*(positions[parts == field.name] for field in fields(cls)))


def as_split(split: Split | None, given: GraphLike) -> Split:
    """The split as it is; where there is none, that of the masks of torch-geometric's `Data`."""
    if split is not None:
        return split
    raise InvalidInput("expected a split of the graph, got none; give gvdn.random_split(graph, seed=0)")


def random_split(graph: Graph, *, seed: int, train: float = 0.1, val: float = 0.2, stratified: bool = False) -> Split:
    """The labelled nodes at random: 10 % train, 20 % validation and the rest test; `stratified` within each class.

    What is drawn depends on the seed and the graph's name; save the split to keep it when a folder is renamed.
    """
    if not (train > 0 and val >= 0 and train + val <= 1):
        raise InvalidInput(f"expected fractions with train > 0 and train + val <= 1, got train={train}, val={val}")
    labelled = np.flatnonzero(graph.labels != UNLABELLED)
    if not labelled.size:
        raise InvalidInput(f"the graph {graph.name} has no labelled node to split; give it a label column")
    rng = generator(seed, "split", graph.name)
    groups = [labelled]
    if stratified:
        groups = [labelled[graph.labels[labelled] == label] for label in np.unique(graph.labels[labelled])]
    parts = [_cut(rng.permutation(group), train, val) for group in groups]
    return Split(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _cut(shuffled: Positions, train: float, val: float) -> tuple[Positions, Positions, Positions]:
    first = max(1, round(len(shuffled) * train))
    second = min(len(shuffled), first + round(len(shuffled) * val))
    return shuffled[:first], shuffled[first:second], shuffled[second:]


def _read_split(path: Path) -> pa.Table:
    try:
        table = pacsv.read_csv(path, convert_options=pacsv.ConvertOptions(column_types={"id": pa.string()}))
        names = table.column_names
    except (OSError, pa.ArrowException, UnicodeDecodeError) as problem:
        raise InvalidInput(f"could not read the split {path}: {problem}") from problem
    if not {"id", "part"} <= set(names):
        raise InvalidInput(f"{path}: expected the columns id and part, got {', '.join(names)}")
    return table
