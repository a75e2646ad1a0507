import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.graph import Graph
from gvdn.graph import nearest as module
from gvdn.graph.nearest import nearest_by_features

NO_EDGES = np.empty((0, 2), dtype=np.int64)


def by_sorting(features, number):
    """Every cosine, sorted; pairs as a set."""
    norms = np.linalg.norm(features, axis=1)
    found = set()
    for node in range(len(features)):
        others = [other for other in range(len(features)) if other != node and norms[node] * norms[other]]
        cosine = {other: features[node] @ features[other] / (norms[node] * norms[other]) for other in others}
        best = sorted(cosine, key=lambda other: -cosine[other])[:number]
        found |= {(min(node, other), max(node, other)) for other in best if cosine[other] > 0}
    return found


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("number", [1, 2, 5, 100])
@pytest.mark.parametrize("block", [1 << 27, 4 * 30 * 7])
def test_the_nearest_are_those_of_sorting_all_cosines_whatever_the_block(kind, number, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", block)
    rng = np.random.default_rng(3)
    features = rng.random((30, 8)).astype(np.float32) * (rng.random((30, 8)) < 0.6)
    features[4] = 0
    found = nearest_by_features(Graph.from_edges(NO_EDGES, kind(features)), number)
    assert {tuple(pair) for pair in found.tolist()} == by_sorting(features, number)


def test_one_node_and_no_features_have_no_nearest():
    assert nearest_by_features(Graph.from_edges(NO_EDGES, np.ones((1, 2))), 3).shape == (0, 2)
    assert nearest_by_features(Graph.from_edges(NO_EDGES, np.zeros((3, 2))), 3).shape == (0, 2)
    assert nearest_by_features(Graph.from_edges(NO_EDGES, np.ones((3, 2))), 0).shape == (0, 2)
