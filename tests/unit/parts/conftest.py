"""A graph with all that makes partitions awkward, and a way to divide it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from communities import communities
from conftest import make_graph
from parts_runs import DEEP, FOUR, UNEQUAL, fitted

from gvdn.graph import Graph
from gvdn.parts.manifest import Manifest
from gvdn.parts.partition import partition
from gvdn.parts.source import GraphSource


@pytest.fixture
def awkward() -> Graph:
    """Seventy nodes: a ring with chords, a hub, weights, ten nodes without a link."""
    ring = [(node, (node + step) % 60) for node in range(60) for step in (1, 7)]
    base = make_graph([*ring, *((0, node) for node in range(10, 50, 2))], 70, classes=3, name="awkward")
    ids = np.array([f"n{node:03d}" for node in np.random.default_rng(3).permutation(70)])
    adjacency = base.adjacency.copy()
    weight = 0.5 + ((np.arange(70)[:, None] * np.arange(70)[None]) % 5) / 4
    adjacency.data = weight[adjacency.tocoo().row, adjacency.tocoo().col].astype(np.float32)
    return dataclasses.replace(base, adjacency=adjacency, ids=ids, labels=np.arange(70) % 3)


@pytest.fixture
def divided(tmp_path, monkeypatch) -> Callable[..., Manifest]:
    """Divides a graph, as UNEQUAL says if nothing else is said."""

    def divide(graph: Graph, name: str = "parts", part: np.ndarray | None = UNEQUAL, **how: Any) -> Manifest:
        number = how.pop("number", None) or int(part.max()) + 1
        with monkeypatch.context() as patch:
            if part is not None:
                patch.setattr("gvdn.parts.partition.assigned", lambda *_: part.astype(np.int32))
            return partition(GraphSource(graph), tmp_path / name, number, partitioner="stream", **how)

    return divide


@pytest.fixture(scope="session")
def clean() -> Graph:
    """150 nodes, which communities do not divide as the parts do: most links are cut."""
    return communities(150, degree=6)


@pytest.fixture(scope="session")
def model(clean, tmp_path_factory) -> tuple[Manifest, Path]:
    """The parts of the clean graph, and a model of them with what diagnoses need; nobody writes into either."""
    folder = tmp_path_factory.mktemp("trusting")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gvdn.parts.partition.assigned", lambda *_: FOUR.astype(np.int32))
        parts = partition(GraphSource(clean), folder / "parts", 4, partitioner="stream")
    return parts, fitted(parts, folder / "model", 2, **DEEP)
