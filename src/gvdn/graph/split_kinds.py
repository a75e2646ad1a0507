"""The kinds of splits: at random, as published with a graph, and by time."""

from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph.checks import numpy_array
from gvdn.graph.convert import as_graph
from gvdn.graph.graph import UNLABELLED, Graph, GraphLike
from gvdn.graph.published import TEST, TRAIN, VAL
from gvdn.graph.split import Split, random_split
from gvdn.registry import did_you_mean
from gvdn.seeds import Seed, whole_seed

RANDOM, PUBLISHED, TIME = KINDS = "random", "published", "time"
TRAIN_SHARE, VAL_SHARE = 0.5, 0.2
"""Of the labelled nodes, in a split by time: about those of the splits by time that are published."""


def published_split(graph: Graph, *, seed: Seed) -> Split:
    """The split that was published with the graph; of several the one with the number of the seed.

    After the last, they begin again with the first. Nodes without a label are left out.
    """
    known = graph.published
    if known is None or not known.num_splits:
        do = f"give gvdn.random_split(graph, seed={seed}), or --split random"
        raise InvalidInput(f"expected a graph with a published split, got {graph.name}, which has none; {do}")
    where = graph.locate(known.ids)
    there = where >= 0
    there[there] = graph.labels[where[there]] != UNLABELLED
    column = known.splits[:, whole_seed(seed) % known.num_splits]
    return Split(*(where[there & (column == part)] for part in (TRAIN, VAL, TEST)))


def temporal_split(
    graph: GraphLike,
    *,
    times: Any = None,
    train: float = TRAIN_SHARE,
    val: float = VAL_SHARE,
    test: float | None = None,
) -> Split:
    """The labelled nodes by time: the oldest train, those that follow validate, the latest test.

    Nodes of one time are never divided: a part ends after the time where its share is nearest to what was asked for,
    and each part that is asked for has at least one time.

    Args:
        times: a number for each node, in the order of the graph; those that came with the graph when left out.

    >>> import gvdn
    >>> temporal_split(gvdn.load_graph("growing"))
    Split(1,500 train, 600 val, 900 test)
    """
    graph = as_graph(graph)
    if not (train > 0 and val >= 0 and train + val + (test or 0) <= 1 + 1e-9 and (test or 0) >= 0):
        given = f"train={train}, val={val}" + ("" if test is None else f", test={test}")
        raise InvalidInput(f"expected shares with train > 0 and a sum of at most 1, got {given}")
    when, known = _times(graph, times)
    rows = np.flatnonzero((graph.labels != UNLABELLED) & known)
    if not rows.size:
        raise InvalidInput(f"the graph {graph.name} has no labelled node with a time; give it labels and times")
    moments, which, counts = np.unique(when[rows], return_inverse=True, return_counts=True)
    tested = train + val < 1 - 1e-9 if test is None else test > 0
    if len(moments) < 1 + (val > 0) + tested:
        wanted = f"at least {1 + (val > 0) + tested} times, one for each part"
        raise InvalidInput(f"expected nodes of {wanted}, in {graph.name}, got {len(moments)}; split at random")
    shares = np.cumsum(counts) / len(rows)
    first = min(_nearest(shares, train), len(moments) - (val > 0) - tested)
    second = min(max(_nearest(shares, train + val), first + (val > 0)), len(moments) - tested) if val > 0 else first
    last = len(moments) if test is None else max(_nearest(shares, train + val + test), second + tested)
    part = np.searchsorted([first, second, last], which, side="right")
    return Split(*(rows[part == number] for number in range(3)))


def choose_split(graph: Graph, *, seed: Seed, kind: str | None = None, **shares: Any) -> Split:
    """A split of one of the `KINDS`; shares are those of `random_split` and of `temporal_split`.

    Without a kind it is the published one where the graph has one, by time where it has times, else at random; and at
    random where shares are given.
    """
    shares = {name: share for name, share in shares.items() if share is not None}
    chosen = kind if kind is not None else RANDOM if shares else usual_kind(graph)
    if chosen == RANDOM:
        return random_split(graph, seed=seed, **shares)
    if chosen == TIME:
        shares.pop("stratified", None)
        return temporal_split(graph, **shares)
    if chosen != PUBLISHED:
        raise InvalidInput(f"unknown kind of split {chosen!r}{did_you_mean(str(chosen), list(KINDS))}")
    if shares:
        given = ", ".join(f"{name}={share}" for name, share in shares.items())
        raise InvalidInput(f"a published split has its own shares, got {given}; leave them out, or split at random")
    return published_split(graph, seed=seed)


def usual_kind(graph: Graph) -> str:
    """The kind of split of a graph where none is asked for."""
    known = graph.published
    if known is None:
        return RANDOM
    return PUBLISHED if known.num_splits else TIME if known.times is not None else RANDOM


def _times(graph: Graph, given: Any) -> tuple[np.ndarray, np.ndarray]:
    """The time of each node of the graph, and of which nodes it is known."""
    if given is not None:
        times = numpy_array(given)
        if times.shape != (graph.num_nodes,) or times.dtype.kind not in "iuf" or not np.isfinite(times).all():
            got = f"{times.dtype} of shape {times.shape}"
            raise InvalidInput(f"expected a finite number for each of the {graph.num_nodes} nodes as times, got {got}")
        return times, np.ones(graph.num_nodes, dtype=bool)
    known = graph.published
    if known is None or known.times is None:
        do = "give times, a number for each node, or split at random"
        raise InvalidInput(f"expected a graph whose nodes have times, got {graph.name}, whose nodes have none; {do}")
    where = graph.locate(known.ids)
    times, told = np.zeros(graph.num_nodes, dtype=np.int64), np.zeros(graph.num_nodes, dtype=bool)
    times[where[where >= 0]], told[where[where >= 0]] = known.times[where >= 0], True
    return times, told


def _nearest(shares: np.ndarray, wanted: float) -> int:
    """The number of times, at least one, whose nodes are nearest to a share of all."""
    return int(np.abs(shares - wanted).argmin()) + 1
