import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gvdn.errors import InvalidInput
from gvdn.graph import Graph


def test_there_and_back_through_pyg(ring, barbell):
    for graph in (ring, barbell):
        data = graph.to_pyg()
        assert data.edge_index.shape[1] == 2 * graph.num_edges
        back = Graph.from_pyg(data, class_names=graph.class_names)
        assert back.hash == graph.hash


def test_a_directed_pyg_graph_becomes_undirected():
    data = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 0, 1, 2], [1, 1, 0, 2]]))
    assert Graph.from_pyg(data).edges.tolist() == [[0, 1]]


def test_pyg_without_features_is_refused():
    with pytest.raises(InvalidInput, match="expected a PyG Data with x and edge_index"):
        Graph.from_pyg(Data(edge_index=torch.zeros(2, 0, dtype=torch.long)))


def test_there_and_back_through_networkx(ring, barbell):
    for graph in (ring, barbell):
        back = Graph.from_networkx(graph.to_networkx())
        assert back.hash == graph.hash


def test_a_networkx_node_without_a_vector_is_named():
    nodes = networkx.Graph()
    nodes.add_node("a", x=[1.0])
    nodes.add_node("b")
    with pytest.raises(InvalidInput, match="got none on 'b'"):
        Graph.from_networkx(nodes)


def test_networkx_nodes_without_label_are_unlabelled():
    nodes = networkx.Graph([(1, 2), (2, 3)])
    for node in nodes:
        nodes.nodes[node]["x"] = np.array([1.0, 2.0])
    nodes.nodes[2]["label"] = "spam"
    nodes.nodes[3]["label"] = "ham"
    graph = Graph.from_networkx(nodes)
    assert graph.class_names == ("ham", "spam")
    assert graph.labels.tolist() == [-1, 1, 0]
    assert graph.ids.tolist() == [1, 2, 3]
