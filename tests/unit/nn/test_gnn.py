import numpy as np
import pytest
import torch

from gvdn.graph import normalised_adjacency
from gvdn.nn.aggregators import view_of
from gvdn.nn.gnn import PlainGNN, RandomPropagation
from gvdn.nn.sparse import LowRank

CPU = torch.device("cpu")


@pytest.mark.parametrize(("aggregator", "linear"), [("gcn", False), ("gcn", True), ("sgc", False)])
def test_without_dropout_the_hidden_layer_is_the_formula(ring, aggregator, linear):
    network = PlainGNN(ring.num_features, 6, 3, aggregator, linear=linear)
    S, X = normalised_adjacency(ring).toarray(), ring.dense_features()
    if aggregator == "sgc":
        S = S @ S
    H = S @ X @ network.first.W.detach().numpy()
    if aggregator != "sgc" and not linear:
        H = np.maximum(H, 0)
    view = view_of(ring, aggregator, CPU)
    np.testing.assert_allclose(network.embed(view).detach(), H, rtol=1e-4, atol=1e-6)
    logits = S @ H @ network.out.W.detach().numpy()
    np.testing.assert_allclose(network(view).detach(), logits, rtol=1e-4, atol=1e-6)


def test_nothing_is_dropped_unless_it_is_asked_for(ring):
    made, view = PlainGNN(ring.num_features, 6, 3), view_of(ring, "gcn", CPU)
    torch.testing.assert_close(made(view), made(view), rtol=0, atol=0)
    torch.testing.assert_close(made.embed(view), made.embed(view), rtol=0, atol=0)


def test_batch_normalisation_is_off_unless_it_is_asked_for():
    for network in (PlainGNN, RandomPropagation):
        assert not [name for name, _ in network(4, 6, 3).named_buffers()]
        assert [name for name, _ in network(4, 6, 3, batch_norm=True).named_buffers()]


def test_a_low_rank_matrix_counts_the_products_that_it_costs():
    """U^T x and U y, r of them for each node, and the diagonal."""
    matrix = LowRank(torch.rand(10, 3), torch.ones(3), torch.ones(10))
    assert matrix.nnz == 10 * 3 + 3 * 10 + 10


def test_a_plain_network_is_normalised_in_front_of_the_activation(ring):
    network, view = PlainGNN(ring.num_features, 6, 3, batch_norm=True).train(), view_of(ring, "gcn", CPU)
    S = normalised_adjacency(ring).toarray()
    H = S @ ring.dense_features() @ network.first.W.detach().numpy()
    H = np.maximum((H - H.mean(axis=0)) / np.sqrt(H.var(axis=0) + 1e-5), 0)
    expected = S @ H @ network.out.W.detach().numpy()
    np.testing.assert_allclose(network(view).detach(), expected, rtol=1e-3, atol=1e-5)
