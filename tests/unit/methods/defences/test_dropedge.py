"""DropEdge: the plain network on the edges that are left."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Split, random_split
from gvdn.methods.defences.dropedge import DropEdge
from gvdn.methods.references.gcn import GNN


@pytest.fixture
def split(ring) -> Split:
    return random_split(ring, seed=0, train=0.2, stratified=True)


def test_an_answer_is_that_of_the_plain_network_with_the_same_weights(ring, split):
    model = DropEdge(hidden=6, epochs=5).fit(ring, split, seed=0)
    plain = GNN(hidden=6, epochs=1).fit(ring, split, seed=0)
    plain.network_.load_state_dict(model.network_.state_dict())  # the same weights and no others
    np.testing.assert_allclose(model.predict_proba(ring), plain.predict_proba(ring), atol=1e-6)


def test_an_epoch_sees_the_normalised_graph_of_the_edges_that_are_left(ring):
    model = DropEdge(hidden=4, edge_dropout=0.5, dropout=0.0)
    network = model.build(ring.num_features, 3, torch.Generator().manual_seed(0))
    logits, terms = model.learn(network, model.view(ring), torch.Generator().manual_seed(7))
    left = (torch.rand(ring.num_edges, generator=torch.Generator().manual_seed(7)) >= 0.5).numpy()
    assert 0 < left.sum() < ring.num_edges
    rows, columns = ring.edges[left].T
    A = np.eye(ring.num_nodes)
    A[rows, columns] = A[columns, rows] = 1
    scale = A.sum(axis=1) ** -0.5
    A_hat = scale[:, None] * A * scale
    W_1, W_2 = (W.detach().double().numpy() for W in (network.first.W, network.out.W))
    expected = A_hat @ np.maximum(A_hat @ ring.dense_features() @ W_1, 0) @ W_2
    np.testing.assert_allclose(logits.detach().numpy(), expected, rtol=1e-4, atol=1e-6)
    assert terms == {}


def test_a_node_far_from_a_row_of_large_norm_is_answered_as_before(ring, split):
    model = DropEdge(hidden=6, epochs=20).fit(ring, split, seed=0)
    features = sp.csr_array(ring.features).toarray()
    features[0] = 1000.0
    loud = dataclasses.replace(ring, features=sp.csr_array(features))
    before, after = model.predict_proba(ring), model.predict_proba(loud)
    far = np.flatnonzero((np.linalg.matrix_power(np.eye(60) + ring.adjacency.toarray(), 2) == 0)[0])
    assert len(far) > 30
    np.testing.assert_allclose(after[far], before[far], atol=1e-6)
    assert not np.allclose(after[0], before[0], atol=1e-3)
