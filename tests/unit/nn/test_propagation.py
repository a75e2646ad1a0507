import numpy as np
import pytest
import torch

from gvdn.graph import normalised_adjacency
from gvdn.nn.view import propagation

CPU = torch.device("cpu")


@pytest.mark.parametrize("aggregator", ["gcn", "sgc"])
def test_a_symmetric_matrix_is_stored_once(ring, aggregator):
    S = propagation(ring, aggregator, CPU)
    assert S.forward_half is S.backward_half
    np.testing.assert_allclose(S @ torch.eye(ring.num_nodes), normalised_adjacency(ring).toarray(), atol=1e-6)


def test_the_mean_over_the_neighbours_is_not_symmetric(star):
    S = propagation(star, "sage", CPU)
    assert S.forward_half is not S.backward_half
    with_loops = star.adjacency.toarray() + np.eye(star.num_nodes)
    np.testing.assert_allclose(S @ torch.eye(star.num_nodes), with_loops / with_loops.sum(1, keepdims=True), atol=1e-6)
