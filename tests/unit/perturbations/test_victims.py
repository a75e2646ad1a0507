import numpy as np
import pytest
import torch

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.perturbations import LinearSurrogate, perturb

SURROGATE = LinearSurrogate(np.eye(2))
RING = Graph.from_edges(
    np.array([(node, (node + 1) % 6) for node in range(6)]),
    np.eye(2)[np.arange(6) % 2],
    labels=np.arange(6) % 2,
    ids=np.array(list("abcdef")),
    name="ring",
)


def victims(given):
    done = perturb(RING, "nettack", [0], seed=0, surrogate=SURROGATE, victims=given, link_flips=1, feature_flips=0)
    return done.victims.tolist()


@pytest.mark.parametrize("given", [["a"], ["f"], ["f", "a", "a"]])
def test_victims_are_named_by_id_each_once_in_order(given):
    assert victims(given) == sorted({"abcdef".index(one) for one in given})


@pytest.mark.parametrize("given", [[0], [5], [5, 0, 0]])
def test_victims_are_named_by_position_each_once_in_order(given):
    assert victims(given) == sorted(set(given))


@pytest.mark.parametrize(("given", "word"), [(["a", "z"], "z"), ([0, 6], "6"), ([-1], "-1")])
def test_a_victim_that_is_not_there_is_named(given, word):
    with pytest.raises(InvalidInput, match=f"expected victims among the 6 nodes of ring, got {word}"):
        victims(given)


# ---- one draw for several perturbations


class Constant(torch.nn.Module):
    """A model to attack through whose logits are the weighted degree."""

    identity = "constant"

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1, 2))

    def module(self, graph: Graph) -> "Constant":
        return self

    def forward(self, x, edge_index, edge_weight):
        degrees = torch.zeros(len(x)).index_add(0, edge_index[0], edge_weight)
        return degrees[:, None] * self.scale * torch.tensor([1.0, -1.0])


def drawn(graph, candidates, kind, seed, **given):
    if kind in ("prbcd", "grbcd"):
        given |= {"model": Constant(), "epochs": 2, "block_size": 300, "edge_fraction": 0.02}
    return perturb(graph, kind, candidates, seed=seed, **given).victims.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_one_seed_gives_the_same_victims_under_four_perturbations(ring, seed):
    kinds = ("wrong-links", "node-injection", "prbcd", "grbcd")
    found = [drawn(ring, np.arange(10, 60), kind, seed, victim_fraction=0.3) for kind in kinds]
    assert found[0] == found[1] == found[2] == found[3]
    assert len(found[0]) == 15
    assert found[0] != drawn(ring, np.arange(10, 60), "wrong-links", seed + 1, victim_fraction=0.3)


def test_nodes_without_a_neighbour_are_drawn_last(ring):
    kept = ring.edges[(ring.edges >= 20).all(axis=1)]
    graph = Graph.from_edges(kept, ring.features, labels=ring.labels, name="ring")
    few, many = (drawn(graph, np.arange(40), "wrong-links", 0, victim_fraction=share) for share in (0.5, 0.6))
    assert few == list(range(20, 40))
    assert set(many) > set(few)
    assert drawn(graph, np.arange(40), "prbcd", 0, victim_fraction=0.2) == drawn(
        graph, np.arange(40), "node-injection", 0, victim_fraction=0.2
    )
