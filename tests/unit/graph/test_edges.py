"""Edge weights: how links are merged, and that everything that reads a graph uses its weights."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import gvdn
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, normalised_adjacency, read_npz, write_npz
from gvdn.methods.gvdn.memory import feature_mass
from gvdn.methods.whitebox import WhiteBox
from gvdn.nn.aggregators import view_of
from gvdn.nn.samplers import SAMPLERS, Neighbourhood, select_neighbours
from gvdn.nn.view import WeightedView
from gvdn.perturbations import Changes, perturb, replay

CPU = torch.device("cpu")
X = np.eye(4, dtype=np.float32)
LINKS, WEIGHTS = [[0, 1], [1, 2], [2, 3], [0, 3]], [2.0, 0.5, 1.0, 4.0]


@pytest.fixture
def square() -> Graph:
    return Graph.from_edges(LINKS, X, weights=WEIGHTS, labels=[0, 0, 1, 1], name="square")


@pytest.fixture
def weighted_ring(ring) -> Graph:
    weights = np.random.default_rng(0).random(ring.num_edges) + 0.5
    rest = {name: getattr(ring, name) for name in ("labels", "ids", "class_names", "name")}
    return Graph.from_edges(ring.edges, ring.features, weights=weights, **rest)


def test_the_weights_are_the_entries_of_the_adjacency(square):
    assert square.edges.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert square.edge_weights.tolist() == [2, 4, 0.5, 1]
    assert square.strengths.tolist() == [6, 2.5, 1.5, 5]
    assert square.degrees.tolist() == [2, 2, 2, 2]
    assert square.is_weighted
    assert square.weights_of(np.array([[0, 2], [0, 3]])).tolist() == [1, 4]


def test_weights_of_one_are_no_weights(square):
    plain = Graph.from_edges(LINKS, X, labels=[0, 0, 1, 1])
    ones = Graph.from_edges(LINKS, X, weights=[1, 1, 1, 1], labels=[0, 0, 1, 1])
    assert not plain.is_weighted
    assert not ones.is_weighted
    assert plain.hash == ones.hash != square.hash


def test_parallel_links_are_added_and_said():
    graph = Graph.from_edges([[0, 1], [0, 1], [1, 0], [2, 3], [2, 2]], X, weights=[1, 2, 0.5, 1, 9])
    assert graph.edge_weights.tolist() == [3.5, 1]
    assert graph.notes == (
        "1 link of a node to itself was left out",
        "1 pair of nodes is linked in both directions; each pair is one edge, and their weights were added",
        "1 link is a repetition of others; parallel links are one edge, and their weights were added",
    )


def test_a_list_with_every_link_in_both_directions_is_one_undirected_graph():
    graph = Graph.from_edges([[0, 1], [2, 1], [1, 0], [1, 2]], X, weights=[3, 2, 3, 2])
    assert graph.edge_weights.tolist() == [3, 2]
    assert graph.notes == ()
    other = Graph.from_edges([[0, 1], [2, 1], [1, 0], [1, 2]], X, weights=[3, 2, 3, 5])
    assert other.edge_weights.tolist() == [6, 7]


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1, 0, 1, 1], "positive, finite weights, got 0 on link 1"),
        ([1, 1, -2.5, 1], "got -2.5 on link 2"),
        ([1, 1, 1, np.nan], "got nan on link 3"),
        ([1, 1, 1e-60, 1], "got 1e-60 on link 2"),
        ([1, 1, 1], "a weight for each of the 4 links, got int64 of shape"),
        (["a", "b", "c", "d"], "a weight for each of the 4 links"),
    ],
)
def test_weights_that_are_none_are_named(weights, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Graph.from_edges(LINKS, X, weights=weights)


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[0, 2.0], [3.0, 0]], r"one weight for each edge, got 2 from 0 to 1 and 3 back"),
        ([[0, -1.0], [-1.0, 0]], r"positive, finite weights as entries, got -1 between nodes 0 and 1"),
        ([[0, 1.0], [0, 0]], r"an edge between 0 and 1 in one direction only"),
        ([[0, 1j], [1j, 0]], r"real numbers as weights"),
    ],
)
def test_an_adjacency_without_one_positive_weight_for_each_edge_is_refused(matrix, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Graph(sp.csr_array(np.array(matrix)), np.zeros((2, 1)))


def test_the_normalised_adjacency_uses_the_weights(square):
    A = square.adjacency.toarray().astype(float) + np.eye(4)
    D = np.diag(A.sum(axis=1) ** -0.5)
    np.testing.assert_allclose(normalised_adjacency(square).toarray(), D @ A @ D, rtol=1e-6)
    np.testing.assert_allclose(
        view_of(square, "sage", CPU).propagate(torch.eye(4)).numpy(), A / A.sum(axis=1, keepdims=True), rtol=1e-6
    )


def test_a_view_with_other_edges_begins_with_the_weights_of_the_graph(square):
    pairs = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]])
    view = WeightedView(square, pairs, CPU)
    assert view.given.tolist() == [2, 1, 4, 0.5, 1]
    own = WeightedView(square, square.edges, CPU).propagate(torch.eye(4))
    np.testing.assert_allclose(own.numpy(), normalised_adjacency(square).toarray(), rtol=1e-6)


def test_feature_mass_is_weighted(square):
    np.testing.assert_allclose(feature_mass(square), [7, 3.5, 2.5, 6])


def test_files_and_conversions_keep_the_weights(square, tmp_path):
    write_npz(square, tmp_path / "graph.npz")
    assert read_npz(tmp_path / "graph.npz").hash == square.hash
    assert Graph.from_pyg(square.to_pyg()).hash == square.hash
    back = Graph.from_networkx(square.to_networkx())
    assert back.edge_weights.tolist() == square.edge_weights.tolist()
    assert square.subgraph(np.array([3, 0])).edge_weights.tolist() == [4]


def test_a_wide_edge_attr_is_said_and_a_narrow_one_is_the_weight(square):
    data = square.to_pyg()
    del data.edge_weight
    data.edge_attr = torch.full((8, 1), 3.0)
    assert set(Graph.from_pyg(data).edge_weights.tolist()) == {3.0}
    data.edge_attr = torch.ones(8, 2)
    wide = Graph.from_pyg(data)
    assert not wide.is_weighted
    assert "edge_attr has 2 numbers for each link and is not used" in wide.notes[0]


def test_a_perturbation_keeps_the_weights_and_adds_links_of_weight_one(weighted_ring):
    split = gvdn.random_split(weighted_ring, seed=0)
    done = perturb(weighted_ring, "random-connections", split, seed=0, rate=0.1)
    kept = done.graph.weights_of(weighted_ring.edges)
    assert kept.tolist() == weighted_ring.edge_weights.tolist()
    assert len(done.added)
    assert set(done.graph.weights_of(done.added).tolist()) == {1.0}
    assert replay(weighted_ring, done.receipt).graph.hash == done.graph.hash


def test_an_added_edge_that_is_there_already_keeps_its_weight(square):
    graph = Changes(added=np.array([[3, 0], [1, 3], [1, 3]])).apply(square)
    assert graph.weights_of(np.array([[0, 3], [1, 3]])).tolist() == [4, 1]


def test_a_neighbour_is_drawn_as_often_as_its_weight_says():
    graph = Graph.from_edges([[0, 1], [0, 2]], np.ones((3, 1)), weights=[1, 3])
    near = Neighbourhood(graph, np.zeros(4000, dtype=np.int64), CPU)
    torch.manual_seed(0)
    drawn = SAMPLERS["random"](near, torch.tensor([0, 0, 1]), 2)
    assert abs(drawn.float().mean() - 0.75) < 0.03


def test_votes_and_means_of_neighbours_are_weighted():
    graph = Graph.from_edges([[0, 1], [0, 2], [0, 3]], np.ones((4, 1)), weights=[1, 1, 5])
    near = Neighbourhood(graph, np.array([0]), CPU)
    assert SAMPLERS["major"](near, torch.tensor([0, 0, 0, 1]), 2).tolist() == [1]
    assert SAMPLERS["degree"](near, torch.tensor([0, 0, 0, 1]), 2).tolist() == [1]
    found = select_neighbours(near, SAMPLERS["major"], torch.tensor([0, 1, 1, 1]), torch.tensor([1]), 2)
    H = torch.tensor([[0.0], [7.0], [14.0], [21.0]])
    np.testing.assert_allclose(found.apply(near, H)[0], [(7 + 14 + 5 * 21) / 7])


@pytest.mark.parametrize(
    "method",
    [
        *("gvdn", "gcn", "dropedge", "rgcn", "prognn", "gcn-jaccard", "gcn-svd", "grand", "gpr-gae", "gnnguard"),
        *("airgnn", "elastic-gnn", "soft-median-gdc", "adversarial-training", "gtrans"),
    ],
)
def test_a_method_gives_other_answers_when_the_weights_are_others(method, weighted_ring, ring):
    split = gvdn.random_split(ring, seed=0, train=0.3, val=0.3)
    few = {"link_steps": 3} if method == "gpr-gae" else {}
    model = gvdn.make_method(method, epochs=3, hidden=8, **few)
    model.fit(ring, split, seed=0)
    if method == "prognn":
        model.set_params(epochs=1)
    with_ones = model.predict_proba(ring)
    assert not np.allclose(with_ones, model.predict_proba(weighted_ring), atol=1e-6)


def test_an_attack_through_a_model_sees_the_weights(weighted_ring):
    split = gvdn.random_split(weighted_ring, seed=0, train=0.3, val=0.3)
    model = gvdn.make_method("gcn", epochs=3, hidden=8).fit(weighted_ring, split, seed=0)
    module = WhiteBox(model).module(weighted_ring)
    both = weighted_ring.adjacency.tocoo()
    index = torch.from_numpy(np.stack([both.row, both.col]).astype(np.int64))
    logits = module(torch.zeros(60, 1), index, torch.ones(index.shape[1]))
    probs = logits.detach().double().softmax(dim=1).numpy()
    np.testing.assert_allclose(probs, model.predict_proba(weighted_ring), atol=1e-6)
