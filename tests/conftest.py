"""Small graphs that all tests share, and the real ones where they are on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings

from gvdn.data import load_graph
from gvdn.graph import Graph

# The same examples every time, so that a build does not fail by chance; HYPOTHESIS_PROFILE=explore looks for new ones.
slow = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=30, **slow)
settings.register_profile("explore", max_examples=300, **slow)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(autouse=True)
def _quick_baselines(request):
    """What is saved for a diagnosis is calibrated on few graphs, the trust model fitted on few, except where they
    are tested."""
    with pytest.MonkeyPatch.context() as patch:
        if not any(word in request.node.nodeid for word in ("trust", "diagnos", "answers", "story")):
            patch.setattr("gvdn.trust.calibration.DRAWS", 3)
            patch.setattr("gvdn.trust.student.EPOCHS", 3)
            patch.setattr("gvdn.trust.fitting.REGIMES", ((0.0, 0.5), (0.5, 0.5)))
            patch.setattr("gvdn.trust.regression.STEPS", 5)
            patch.setattr("gvdn.trust.regression.BLEND_STEPS", 5)
        yield


def make_graph(edges: list[tuple[int, int]], nodes: int, *, classes: int = 2, name: str = "toy") -> Graph:
    """A graph whose features point at the class, with a little noise that depends on nothing but the size."""
    labels = np.arange(nodes) * classes // max(nodes, 1)
    noise = np.random.default_rng(nodes).random((nodes, classes + 2)).astype(np.float32)
    noise[np.arange(nodes), labels] += 1
    return Graph.from_edges(np.array(edges, dtype=np.int64).reshape(-1, 2), noise, labels=labels, name=name)


def clique(members: range) -> list[tuple[int, int]]:
    return [(a, b) for a in members for b in members if a < b]


@pytest.fixture
def star() -> Graph:
    """Node 0 in the middle of six."""
    return make_graph([(0, leaf) for leaf in range(1, 7)], 7, name="star")


@pytest.fixture
def path() -> Graph:
    return make_graph([(node, node + 1) for node in range(5)], 6, name="path")


@pytest.fixture
def barbell() -> Graph:
    """Two cliques of ten and one bridge: the class is the side."""
    return make_graph([*clique(range(10)), *clique(range(10, 20)), (9, 10)], 20, name="barbell")


@pytest.fixture
def isolated() -> Graph:
    """Two small cliques and six nodes without a neighbour."""
    return make_graph([*clique(range(4)), *clique(range(7, 11))], 14, name="isolated")


@pytest.fixture
def single() -> Graph:
    return make_graph([], 1, classes=1, name="single")


@pytest.fixture
def ring() -> Graph:
    """Sixty nodes in a ring with chords, sparse features, three classes, text ids."""
    nodes = 60
    edges = [(node, (node + step) % nodes) for node in range(nodes) for step in (1, 2)]
    base = make_graph(edges, nodes, classes=3, name="ring")
    features = sp.csr_array(np.where(base.features > 0.6, base.features, 0))
    ids = np.array([f"n{node:02d}" for node in range(nodes)])
    return Graph(base.adjacency, features, labels=base.labels, ids=ids, class_names=("a", "b", "c"), name="ring")


@pytest.fixture
def real() -> Callable[[str], Graph]:
    """Loads a real graph, or skips where there is none on this machine."""
    folder = os.environ.get("GVDN_DATA")
    if not folder:
        pytest.skip("the real graphs are not on this machine: set GVDN_DATA to their folder")

    def load(name: str) -> Graph:
        if not (Path(folder) / f"{name}.npz").exists():
            pytest.skip(f"{name}.npz is not in $GVDN_DATA")
        return load_graph(name)

    return load


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A local Ray that all tests share, since starting one takes seconds; skips where Ray is not installed."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'gvdn[cluster]'")
    from gvdn.cluster import ray_session

    with ray_session(cpus=3):
        yield
