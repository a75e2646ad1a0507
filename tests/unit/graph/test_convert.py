import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data, HeteroData

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, as_graph


def test_there_and_back_through_pyg(ring, barbell):
    for graph in (ring, barbell):
        data = graph.to_pyg()
        assert data.edge_index.shape[1] == 2 * graph.num_edges
        back = Graph.from_pyg(data, class_names=graph.class_names)
        assert back.hash == graph.hash


def test_a_directed_pyg_graph_becomes_undirected():
    data = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 0, 1, 2], [1, 1, 0, 2]]))
    assert Graph.from_pyg(data).edges.tolist() == [[0, 1]]


def test_pyg_without_features_has_none_and_needs_its_number_of_nodes():
    links = torch.tensor([[0, 1], [1, 2]])
    for more in ({"y": torch.tensor([0, 1, 0])}, {"num_nodes": 3}, {"node_id": ["a", "b", "c"]}):
        graph = Graph.from_pyg(Data(edge_index=links, **more))
        assert (graph.num_nodes, graph.num_features, graph.num_edges) == (3, 0, 2)
    with pytest.raises(InvalidInput, match="expected a PyG Data with x, y, node_id or num_nodes, .* set num_nodes"):
        Graph.from_pyg(Data(edge_index=links))
    with pytest.raises(InvalidInput, match="expected a PyG Data with edge_index"):
        Graph.from_pyg(Data(x=torch.ones(3, 2)))


def test_networkx_without_features_has_none_there_and_back():
    graph = Graph.from_networkx(networkx.Graph([("a", "b"), ("b", "c")]))
    assert (graph.num_nodes, graph.num_features, graph.num_edges) == (3, 0, 2)
    assert Graph.from_networkx(graph.to_networkx()).hash == graph.hash


def data(**changes) -> Data:
    parts = {"x": torch.ones(3, 2), "edge_index": torch.tensor([[0, 1], [1, 2]]), "y": torch.tensor([0, 1, 0])}
    return Data(**(parts | changes))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"y": torch.tensor([0.0, 1.0, 1.0])}, r"expected whole numbers in data.y, got float32; .* data.y.long\(\)"),
        ({"y": torch.tensor([0.5, 1.5, 0.2])}, "expected whole numbers in data.y, got float32"),
        ({"y": torch.eye(3).long()}, r"expected 3 whole numbers as labels, got int64 of shape \(9,\)"),
        ({"x": torch.ones(3, 2, dtype=torch.complex64)}, "expected features as real numbers, got complex64"),
        ({"x": torch.ones(3)}, "expected features as a matrix"),
        ({"edge_index": torch.tensor([[0.0, 1.0], [1.0, 2.0]])}, "expected edges as pairs of positions"),
        ({"edge_index": torch.tensor([[0, 1, 2], [1, 2, 0], [0, 0, 0]])}, "expected edges as pairs of positions"),
    ],
)
def test_a_pyg_graph_of_another_kind_is_a_sentence(changes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Graph.from_pyg(data(**changes))


def test_features_of_any_float_type_are_taken():
    for kind in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool):
        assert Graph.from_pyg(data(x=torch.ones(3, 2, dtype=kind))).features.tolist() == [[1, 1]] * 3


def test_sparse_pyg_features_stay_sparse():
    dense = torch.tensor([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]])
    graph = Graph.from_pyg(data(x=dense.to_sparse()))
    assert sp.issparse(graph.features)
    assert graph.features.nnz == 2
    assert graph.hash == Graph.from_pyg(data(x=dense)).hash


def test_predictions_go_back_to_pyg(ring):
    probabilities = np.full((60, 3), 1 / 3, dtype=np.float32)
    back = ring.to_pyg(prediction=ring.labels, probability=probabilities, wrong=torch.zeros(60, dtype=torch.bool))
    assert back.prediction.tolist() == ring.labels.tolist()
    assert (back.probability.dtype, tuple(back.probability.shape)) == (torch.float32, (60, 3))
    assert back.wrong.dtype == torch.bool


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ({"prediction": np.zeros(59)}, r"each of the 60 nodes in prediction, got float64 of shape \(59,\)"),
        ({"prediction": 1}, r"each of the 60 nodes in prediction, got int64 of shape \(\)"),
        ({"prediction": ["a"] * 60}, "expected numbers with a row for each of the 60 nodes in prediction, got <U1"),
        ({"y": np.zeros(60)}, "expected another name than y, which the graph sets itself"),
    ],
)
def test_a_column_that_does_not_fit_is_named(ring, column, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        ring.to_pyg(**column)


class Mine(Data):
    pass


def test_as_graph_takes_graphs_of_three_kinds_and_what_derives_from_them(ring):
    assert as_graph(ring) is ring
    assert as_graph(ring.to_networkx()).hash == ring.hash
    assert as_graph(Mine(**data().to_dict())).edges.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (HeteroData(), r"one kind of nodes, got HeteroData; give data.to_homogeneous\(\)"),
        ([data()], "expected a Graph, a torch-geometric Data or a NetworkX graph, got list; give one graph"),
        (np.eye(3), "got ndarray; give one graph"),
        (None, "got NoneType"),
    ],
)
def test_what_is_no_graph_is_a_sentence(given, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        as_graph(given)


def test_a_pyg_dataset_is_not_one_of_its_graphs():
    from torch_geometric.datasets import FakeDataset

    dataset = FakeDataset(num_graphs=2)
    with pytest.raises(
        InvalidInput, match=r"expected a PyG Data, got FakeDataset; give one graph, such as dataset\[0\]"
    ):
        as_graph(dataset)


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


def named(graph: networkx.Graph) -> networkx.Graph:
    networkx.set_node_attributes(graph, {node: [1.0, 2.0] for node in graph}, "x")
    return graph


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (named(networkx.MultiGraph([(0, 1), (0, 1)])), r"got a MultiGraph; give networkx.Graph\(graph\)"),
        (named(networkx.MultiDiGraph([(0, 1), (0, 1)])), "got a MultiDiGraph"),
        (named(networkx.Graph([(0, 1.5)])), "expected whole numbers or text as NetworkX nodes, got 1.5; relabel them"),
        (named(networkx.Graph([(True, "a")])), "expected whole numbers or text as NetworkX nodes, got True"),
        (named(networkx.grid_2d_graph(1, 2)), r"got \(0, 0\); relabel .* networkx.convert_node_labels_to_integers"),
        (networkx.Graph(), "expected a vector in the attribute 'x' of every node"),
    ],
)
def test_a_networkx_graph_of_another_kind_is_a_sentence(graph, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Graph.from_networkx(graph)


def test_a_directed_networkx_graph_becomes_undirected():
    assert Graph.from_networkx(named(networkx.DiGraph([(0, 1), (1, 0), (2, 1)]))).edges.tolist() == [[0, 1], [1, 2]]


def test_networkx_vectors_of_two_lengths_are_refused():
    graph = networkx.Graph([(0, 1)])
    graph.nodes[0]["x"], graph.nodes[1]["x"] = [1.0, 2.0], [1.0]
    with pytest.raises(
        InvalidInput, match="expected feature rows of one length, got 1 values in row 1 after rows of 2"
    ):
        Graph.from_networkx(graph)


def test_whole_numbers_and_text_together_become_text():
    assert Graph.from_networkx(named(networkx.Graph([(1, "a")]))).ids.tolist() == ["1", "a"]
