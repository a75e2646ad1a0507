import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.graph.checks import MANY_CLASSES

EDGE = np.array([[0, 1]])


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_a_graph_shares_no_memory_with_what_it_was_made_of(kind):
    features, labels = kind(np.eye(2, dtype=np.float32)), np.array([0, 1])
    graph = Graph.from_edges(EDGE, features, labels=labels)
    (features.data if sp.issparse(features) else features)[:] = 7
    labels[:] = 0
    assert graph.dense_features().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert graph.labels.tolist() == [0, 1]


def test_there_may_be_as_many_classes_as_nodes_and_in_a_small_graph_more():
    assert Graph.from_edges(EDGE, np.eye(2), labels=np.array([0, MANY_CLASSES - 1])).num_classes == MANY_CLASSES
    with pytest.raises(InvalidInput, match=f"expected class numbers below the number of nodes, got {MANY_CLASSES}"):
        Graph.from_edges(EDGE, np.eye(2), labels=np.array([0, MANY_CLASSES]))
