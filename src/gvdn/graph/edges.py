"""Lists of links: direction, loops and repetitions are merged, weights are added, and what was merged is counted."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int64

from gvdn.errors import InvalidInput
from gvdn.graph import checks


class Dropped(NamedTuple):
    """Rows of an edge list that are no edges of their own: loops, and repetitions in either direction.

    `both_ways` counts the edges that were there in both directions.
    """

    loops: int = 0
    duplicates: int = 0
    both_ways: int = 0


class Edges(NamedTuple):
    """Each undirected edge once as (smaller, larger), sorted; its weight, None where all are 1; what was dropped."""

    pairs: Int64[np.ndarray, "e 2"]
    weights: Float32[np.ndarray, " e"] | None
    dropped: Dropped
    notes: tuple[str, ...]


def clean_edges(edges: Any, nodes: int, weights: Any = None) -> Edges:
    """The undirected edges of a list of pairs of positions.

    The weights of parallel links are added, those of both directions too; but a list that holds every link in both
    directions with the same weight is an undirected graph written twice, and each of its weights counts once.
    """
    pairs = _pairs(edges, nodes)
    given = None if weights is None else _weights(weights, len(pairs))
    source, target = pairs.T
    up, straight = source < target, source != target
    every = (np.where(up, source, target) * nodes + np.where(up, target, source))[straight]
    up, number = up[straight], len(pairs)
    keys, counts = _directions(every, up)
    dropped = Dropped(
        loops=number - len(every), duplicates=len(every) - len(keys), both_ways=int((np.minimum(*counts) > 0).sum())
    )
    written_twice, total = bool(len(keys)) and bool((counts[0] == counts[1]).all()), None
    if given is not None:
        which = np.searchsorted(keys, every)
        sums = [np.bincount(which[way], given[straight][way], minlength=len(keys)) for way in (up, ~up)]
        written_twice = written_twice and np.allclose(sums[0], sums[1], rtol=1e-6, atol=0)
        total = (sums[0] if written_twice else sums[0] + sums[1]).astype(np.float32)
        if not np.isfinite(total).all():
            raise InvalidInput("expected weights whose sum is a finite number in single precision; divide them all")
    plain = total is None or bool((total == 1).all())
    told = _notes(dropped, written_twice and dropped.duplicates == len(keys), weighted=not plain)
    return Edges(np.stack(np.divmod(keys, nodes), axis=1), None if plain else total, dropped, told)


def _directions(
    every: Int64[np.ndarray, " e"], up: Bool[np.ndarray, " e"]
) -> tuple[Int64[np.ndarray, " k"], list[Int64[np.ndarray, " k"]]]:
    """The keys, each once and sorted, and how often each is there upwards and downwards.

    One sort of plain numbers, which have the direction as their last bit; a key is below 2^62.
    """
    coded = np.sort(2 * every + up)
    starts = np.flatnonzero(np.diff(coded >> 1, prepend=-1))
    times = np.diff(starts, append=len(coded))
    upwards = np.add.reduceat(coded & 1, starts) if len(coded) else times
    return coded[starts] >> 1, [upwards, times - upwards]


def _notes(dropped: Dropped, undirected: bool, *, weighted: bool) -> tuple[str, ...]:
    """What was merged, in sentences; nothing of an undirected graph whose links are all written in both directions."""
    found, added = [], ", and their weights were added" if weighted else ""
    if dropped.loops:
        links = checks.counted(dropped.loops, "link of a node to itself was", "links of a node to itself were")
        found.append(f"{links} left out")
    if undirected:
        return tuple(found)
    if dropped.both_ways:
        pairs = checks.counted(dropped.both_ways, "pair of nodes is", "pairs of nodes are")
        found.append(f"{pairs} linked in both directions; each pair is one edge{added}")
    if dropped.duplicates > dropped.both_ways:
        again = dropped.duplicates - dropped.both_ways
        links = checks.counted(again, "link is a repetition", "links are repetitions")
        found.append(f"{links} of others; parallel links are one edge{added}")
    return tuple(found)


def _pairs(edges: Any, nodes: int) -> Int64[np.ndarray, "e 2"]:
    given = checks.numpy_array(edges)
    if given.size and (given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu"):
        got = f"{given.dtype} of shape {given.shape}; transpose a matrix of two rows"
        raise InvalidInput(f"expected edges as pairs of positions (integers, two columns), got {got}")
    pairs = checks.whole_numbers("edges", given).reshape(-1, 2)
    if pairs.size and (pairs.min() < 0 or pairs.max() >= nodes):
        row = int(np.flatnonzero(((pairs < 0) | (pairs >= nodes)).any(axis=1))[0])
        raise InvalidInput(f"edge {row} joins positions {tuple(pairs[row].tolist())}, but there are {nodes} nodes")
    return pairs


def _weights(weights: Any, number: int) -> np.ndarray:
    """One positive number for each link."""
    given = checks.numpy_array(weights)
    if given.shape != (number,) or (given.size and given.dtype.kind not in "biuf"):
        got = f"{given.dtype} of shape {given.shape}"
        raise InvalidInput(f"expected a weight for each of the {number} links, got {got}; give one number per link")
    numbers = given.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        single = numbers.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(single) & (single > 0)))
    if bad.size:
        got = f"{given[bad[0]]} on link {bad[0]}"
        raise InvalidInput(f"expected positive, finite weights, got {got}; leave out links of weight 0")
    return numbers


def weights_by_edge(keys: Int64[np.ndarray, " k"], weights: np.ndarray, wanted: Int64[np.ndarray, " m"]) -> np.ndarray:
    """The weight of each wanted edge, found by its key among sorted keys; 1 for an edge that is not there."""
    found = find_keys(keys, wanted)
    return np.where(found >= 0, weights[found], np.float32(1)) if len(keys) else np.ones(len(wanted), dtype=np.float32)


def find_keys(keys: Int64[np.ndarray, " k"], wanted: Int64[np.ndarray, " m"]) -> Int64[np.ndarray, " m"]:
    """The position of each wanted key among sorted keys, -1 where it is not there; fastest if both are sorted."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[found] == wanted, found, -1)


def are_among(keys: Int64[np.ndarray, " k"], wanted: Int64[np.ndarray, " m"]) -> Bool[np.ndarray, " k"]:
    """Which of the sorted keys, each once, are wanted: a search for each of the wanted, which may be few."""
    found, chosen = find_keys(keys, wanted), np.zeros(len(keys), dtype=bool)
    chosen[found[found >= 0]] = True
    return chosen


def sorted_once(keys: Int64[np.ndarray, " m"]) -> Int64[np.ndarray, " k"]:
    """The keys sorted, each once: by a sort, which is several times faster for many keys than `np.unique`."""
    ordered = np.sort(keys)
    return ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
