import numpy as np
import pytest
import torch

from gvdn.graph import normalised_adjacency
from gvdn.nn.aggregators import AGGREGATORS, view_of

CPU = torch.device("cpu")


@pytest.mark.parametrize(("name", "hops"), [("gcn", 1), ("sgc", 2)])
def test_features_are_aggregated_without_dropout_unless_it_is_asked_for(ring, name, hops):
    layer, view = AGGREGATORS[name](ring.num_features, 4), view_of(ring, name, CPU)
    expected = ring.dense_features()
    for _ in range(hops):
        expected = normalised_adjacency(ring) @ expected
    found = layer.features(view).detach().numpy()
    np.testing.assert_allclose(found, expected @ layer.W.detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", list(AGGREGATORS))
def test_the_first_columns_are_the_first_columns(ring, name):
    layer, view = AGGREGATORS[name](ring.num_features, 4), view_of(ring, name, CPU)
    whole = layer.features(view)
    assert whole.shape == (ring.num_nodes, 4)
    torch.testing.assert_close(layer.features(view, columns=3), whole[:, :3])
    torch.testing.assert_close(layer.features(view), whole)


@pytest.mark.parametrize("name", ["gcn", "sage"])
def test_blocks_are_initialised_one_by_one(name):
    """Glorot's bound is that of a block, not of all side by side; a third as wide, it is larger."""
    torch.manual_seed(0)
    layer = AGGREGATORS[name](50, 40, 3)
    assert layer.W.shape == (50, 120)
    bound = (6 / (50 + 40)) ** 0.5
    for block in layer.W.detach().split(40, dim=1):
        assert bound * 0.97 < block.abs().max() <= bound


def test_attention_averages_its_heads_and_joins_every_node_to_itself(isolated):
    layer, view = AGGREGATORS["gat"](isolated.num_features, 4, 2), view_of(isolated, "gat", CPU)
    assert layer.features(view).shape == (isolated.num_nodes, 8)
    loops = view.edge_index[0] == view.edge_index[1]
    assert loops.sum() == isolated.num_nodes
    assert (~loops).sum() == 2 * isolated.num_edges
