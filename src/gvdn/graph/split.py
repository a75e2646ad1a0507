"""Train, validation and test nodes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.graph.checks import frozen, numpy_array, positions
from gvdn.graph.convert import as_graph, comes_from
from gvdn.graph.edges import sorted_once
from gvdn.graph.graph import UNLABELLED, Graph, GraphLike, Vector, find_ids
from gvdn.limits import require_file, short
from gvdn.seeds import Seed, generator

if TYPE_CHECKING:
    from torch_geometric.data import Data

PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Train, validation and test nodes of one graph, as disjoint positions.

    Methods learn from `train`, choose the best epoch on `val`, and are measured on `test`. Masks are no positions:
    `Split.from_masks` and `Split.from_pyg` take them.

    >>> Split([0, 1], [2], [3, 4, 5])
    Split(2 train, 1 val, 3 test)
    """

    train: Vector
    val: Vector
    test: Vector

    def __post_init__(self) -> None:
        for part in PARTS:
            object.__setattr__(self, part, frozen(sorted_once(positions(part, getattr(self, part)))))
        every = np.sort(np.concatenate([self.train, self.val, self.test]))
        twice = every[1:][every[1:] == every[:-1]]
        if twice.size:
            raise InvalidInput(f"expected disjoint parts, got node {twice[0]} in more than one of them")
        if not self.train.size:
            raise InvalidInput("expected at least one training node, got none; give a larger training fraction")

    @classmethod
    def from_masks(cls, train: Any, val: Any, test: Any) -> "Split":
        """The split of three boolean masks with one entry per node, in numpy or torch.

        >>> Split.from_masks([True, False, False], [False, True, False], [False, False, True])
        Split(1 train, 1 val, 1 test)
        """
        masks = [numpy_array(mask) for mask in (train, val, test)]
        for part, mask in zip(PARTS, masks, strict=True):
            if mask.dtype.kind != "b" or mask.ndim != 1:
                got = f"{mask.dtype} of shape {mask.shape}; positions are given to Split(train, val, test)"
                raise InvalidInput(f"expected a boolean mask with one entry per node as {part}, got {got}")
        if len({len(mask) for mask in masks}) > 1:
            got = ", ".join(f"{len(mask)} in {part}" for part, mask in zip(PARTS, masks, strict=True))
            raise InvalidInput(f"expected masks of one length, the number of nodes, got {got}; mask the same graph")
        return cls(*map(np.flatnonzero, masks))

    @classmethod
    def from_pyg(cls, data: "Data", *, column: int | None = None) -> "Split":
        """The split of the masks `train_mask`, `val_mask` and `test_mask` of a torch-geometric `Data`.

        Some datasets hold several splits as columns of their masks: `column` chooses one.
        """
        masks = []
        for name in (f"{part}_mask" for part in PARTS):
            if getattr(data, name, None) is None:
                got = f"none as {name}; set it, or give a split such as gvdn.random_split(graph, seed=0)"
                raise InvalidInput(f"expected a PyG Data with train_mask, val_mask and test_mask, got {got}")
            mask = numpy_array(getattr(data, name))
            if mask.ndim == 2:
                if column is None or not 0 <= column < mask.shape[1]:
                    do = f"choose one with Split.from_pyg(data, column=0), up to {mask.shape[1] - 1}"
                    raise InvalidInput(f"expected one split, got {mask.shape[1]} in the columns of {name}; {do}")
                mask = mask[:, column]
            masks.append(mask)
        labels = numpy_array(getattr(data, "y", None)).reshape(-1)
        for part, mask in zip(PARTS, masks, strict=True):
            bare = np.flatnonzero(mask & (labels == UNLABELLED)) if labels.shape == mask.shape else np.zeros(0)
            if bare.size:
                got = f"-1 on node {bare[0]}; clear its mask"
                raise InvalidInput(f"expected labels on all nodes of {part}_mask, got {got}")
        return cls.from_masks(*masks)

    def save(self, path: str | Path, graph: Graph) -> None:
        """Write a CSV of ids and parts, which does not depend on the order of the nodes."""
        parts = np.repeat(PARTS, [len(self.train), len(self.val), len(self.test)])
        every = np.concatenate([self.train, self.val, self.test])
        table = pa.table({"id": pa.array(graph.ids[every]), "part": pa.array(parts)})
        with whole_file(Path(path)) as draft:
            pacsv.write_csv(table, draft)

    @classmethod
    def load(cls, path: str | Path, graph: Graph) -> "Split":
        """The split of a CSV with the columns id and part (train, val or test), found in this graph by id."""
        try:
            require_file(Path(path))
            text = pacsv.ConvertOptions(column_types={"id": pa.string(), "part": pa.string()})
            table = pacsv.read_csv(path, convert_options=text)
            names = table.column_names
        except (OSError, pa.ArrowException, UnicodeDecodeError) as problem:
            raise InvalidInput(f"could not read the split {path}: {problem}") from problem
        if not {"id", "part"} <= set(names):
            raise InvalidInput(f"{path}: expected the columns id and part, got {', '.join(names)[:200]}")
        ids, parts = (table[name].to_numpy(zero_copy_only=False).astype(str) for name in ("id", "part"))
        unknown = np.flatnonzero(~np.isin(parts, PARTS))
        if unknown.size:
            got = str(parts[unknown[0]])
            raise InvalidInput(f"{path}, row {unknown[0] + 1}: expected train, val or test, got {short(got)}")
        found = find_ids(graph.ids.astype(str), ids)
        missing = np.flatnonzero(found < 0)
        if missing.size:
            node = str(ids[missing[0]])
            raise InvalidInput(f"{path}, row {missing[0] + 1}: no node {short(node)} in the graph {graph.name}")
        return cls(*(found[parts == part] for part in PARTS))

    def __repr__(self) -> str:
        return f"Split({len(self.train):,} train, {len(self.val):,} val, {len(self.test):,} test)"


def as_split(split: object, given: GraphLike) -> Split:
    """The split as it is; where it is None, that of the masks of a torch-geometric `Data`."""
    if isinstance(split, Split):
        return split
    if split is None and comes_from(given, "torch_geometric"):
        return Split.from_pyg(given)
    got = "none" if split is None else type(split).__name__
    raise InvalidInput(f"expected a split of the graph, got {got}; give gvdn.random_split(graph, seed=0)")


def random_split(
    graph: GraphLike,
    *,
    seed: Seed,
    train: float = 0.1,
    val: float = 0.2,
    test: float | None = None,
    stratified: bool | None = None,
) -> Split:
    """The labelled nodes at random: 10 % train, 20 % validation and the rest, or the share `test`, test.

    The split depends on the seed, the ids and the labels; not on links, features, order or the name of a folder.
    `stratified` draws within each class; when left out, it does so where a class would have fewer than two training
    nodes otherwise.

    >>> import gvdn
    >>> random_split(gvdn.load_graph("debian"), seed=0)
    Split(481 train, 962 val, 3,366 test)
    """
    graph = as_graph(graph)
    if not (train > 0 and val >= 0 and train + val + (test or 0) <= 1 + 1e-9 and (test or 0) >= 0):
        given = f"train={train}, val={val}" + ("" if test is None else f", test={test}")
        raise InvalidInput(f"expected shares with train > 0 and a sum of at most 1, got {given}")
    order = np.argsort(graph.ids, kind="stable")
    labelled = order[graph.labels[order] != UNLABELLED]
    if not labelled.size:
        raise InvalidInput(f"the graph {graph.name} has no labelled node to split; give it a label column")
    shares, identity = (train, val, test), _identity(graph, order)
    if not stratified:
        split = Split(*_drawn([labelled], shares, 1, generator(seed, "split", identity)))
        counts = np.bincount(graph.labels[split.train], minlength=graph.num_classes)
        there = np.bincount(graph.labels[labelled], minlength=graph.num_classes)
        if stratified is False or (counts[there > 1] >= 2).all():
            return split
    groups = [labelled[graph.labels[labelled] == label] for label in np.unique(graph.labels[labelled])]
    return Split(*_drawn(groups, shares, 2, generator(seed, "split", "stratified", identity)))


def _drawn(
    groups: list[Vector], shares: tuple[float, float, float | None], fewest: int, rng: np.random.Generator
) -> list[Vector]:
    """Train, validation and test nodes of each group, joined; at least `fewest` of a group are training nodes."""
    train, val, test = shares
    parts = []
    for group in groups:
        first = max(min(fewest, len(group)), round(len(group) * train))
        second = min(first + round(len(group) * val), len(group))
        last = len(group) if test is None else min(second + round(len(group) * test), len(group))
        parts.append(np.split(rng.permutation(group), [first, second, last])[:3])
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _identity(graph: Graph, order: Vector) -> str:
    """A hash of the ids and labels, in the order of the ids."""
    ids, labels = graph.ids[order], graph.labels[order]
    words = "\n".join(ids.tolist()).encode("utf-8", "surrogatepass") if ids.dtype.kind == "U" else ids.tobytes()
    return hashlib.sha256(words + b"\x1f" + labels.astype(np.int64).tobytes()).hexdigest()
