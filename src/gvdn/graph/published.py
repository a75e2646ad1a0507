"""What a publisher gives with a graph besides its content: splits of its nodes, and the time of each node."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import checks

if TYPE_CHECKING:
    Array = np.ndarray
else:
    Array = object  # checked at run time, in sentences

NO_PART, TRAIN, VAL, TEST = 0, 1, 2, 3
"""What a column of `Published.splits` says of a node."""
MOST_SPLITS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Published:
    """Splits and times of nodes by id, so that they hold in subgraphs, in any order and after growth.

    Attributes:
        ids: the nodes that something is known of.
        splits: a row for each of them and a column for each split: 1 train, 2 validation, 3 test, 0 none of them.
        times: when each of them came into being, as whole numbers such as years; None where that is not known.

    >>> Published([7, 8, 9], [[1], [2], [3]], times=[2017, 2018, 2019])
    Published(3 nodes, 1 split, times 2017 to 2019)
    """

    ids: Array
    splits: Array
    times: Array | None = None

    def __post_init__(self) -> None:
        nodes = len(checks.numpy_array(self.ids))
        object.__setattr__(self, "ids", checks.ids(self.ids, nodes))
        object.__setattr__(self, "splits", checks.frozen(_splits(self.splits, nodes)))
        if self.times is not None:
            object.__setattr__(self, "times", checks.frozen(_times(self.times, nodes)))

    @classmethod
    def from_masks(cls, ids: Any, train: Any, val: Any, test: Any, times: Any = None) -> "Published":
        """Of boolean masks with a row for each split and a column for each node, as publishers store them."""
        masks = [np.atleast_2d(checks.numpy_array(mask)) for mask in (train, val, test)]
        for part, mask in zip(("train", "validation", "test"), masks, strict=True):
            if mask.dtype.kind != "b" or mask.shape != masks[0].shape:
                got = f"{mask.dtype} of shape {mask.shape}"
                raise InvalidInput(f"expected boolean {part} masks of shape {masks[0].shape}, got {got}")
        if (np.sum(masks, axis=0, dtype=np.int64) > 1).any():
            number, node = np.argwhere(np.sum(masks, axis=0, dtype=np.int64) > 1)[0]
            raise InvalidInput(f"expected disjoint masks, got node {node} in more than one of split {number}")
        parts = sum(part * mask.astype(np.int8) for part, mask in zip((TRAIN, VAL, TEST), masks, strict=True))
        return cls(ids, np.asarray(parts, dtype=np.int8).T, times)

    @property
    def num_splits(self) -> int:
        return int(self.splits.shape[1])

    def __repr__(self) -> str:
        said = checks.counted(self.num_splits, "split", "splits")
        since = "" if self.times is None or not len(self.times) else f", times {self.times.min()} to {self.times.max()}"
        return f"Published({checks.counted(len(self.ids), 'node', 'nodes')}, {said}{since})"


def _splits(values: Any, nodes: int) -> np.ndarray:
    given = checks.numpy_array(values)
    if given.ndim != 2 or given.shape[0] != nodes or given.dtype.kind not in "iu" or given.shape[1] > MOST_SPLITS:
        wanted = f"whole numbers with a row for each of {nodes} nodes and at most {MOST_SPLITS} columns"
        raise InvalidInput(f"expected the splits as {wanted}, got {given.dtype} of shape {given.shape}")
    if given.size and (int(given.min()) < NO_PART or int(given.max()) > TEST):
        strange = given[(given < NO_PART) | (given > TEST)][0]
        raise InvalidInput(f"expected 0, 1 (train), 2 (validation) or 3 (test) in the splits, got {strange}")
    return given.astype(np.int8)


def _times(values: Any, nodes: int) -> np.ndarray:
    given = checks.numpy_array(values)
    if given.shape != (nodes,) or given.dtype.kind not in "iu":
        wanted = f"a whole number for each of {nodes} nodes as their times"
        raise InvalidInput(f"expected {wanted}, got {given.dtype} of shape {given.shape}")
    return checks.whole_numbers("times", given)
