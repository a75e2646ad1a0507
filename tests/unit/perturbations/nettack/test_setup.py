import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.perturbations import LinearSurrogate, perturb


def graph_of(nodes: int) -> Graph:
    """A path, with two features and two classes."""
    edges = np.array([(node, node + 1) for node in range(nodes - 1)], dtype=np.int64).reshape(-1, 2)
    labels = np.arange(nodes) % 2
    return Graph.from_edges(edges, np.eye(2)[labels], labels=labels, class_names=("a", "b"), name="path")


@pytest.mark.parametrize(
    ("nodes", "influencers", "most"),
    [
        (5, 0, 4),  # the victim may be joined to all others
        (5, 1, 3),  # an influencer to all but itself and the victim
        (5, 2, 6),  # two of them
        (1, 0, 0),
        (1, 1, 0),
    ],
)
def test_more_links_than_there_are_cannot_be_flipped(nodes, influencers, most):
    graph, surrogate = graph_of(nodes), LinearSurrogate(np.eye(2))
    given = {"seed": 0, "surrogate": surrogate, "victims": [0], "influencers": influencers, "feature_flips": 0}
    with pytest.raises(
        InvalidInput, match=f"expected link_flips from 0 to {most}, .* got {most + 1}; give link_flips={most} or less"
    ):
        perturb(graph, "nettack", [0], link_flips=most + 1, **given)
    if most:
        perturb(graph, "nettack", [0], link_flips=most, **given)


def test_a_surrogate_of_one_class_has_nothing_to_confuse():
    graph = Graph.from_edges(np.array([[0, 1]]), np.eye(2))
    with pytest.raises(InvalidInput, match="expected a surrogate of at least two classes, got 1"):
        perturb(graph, "nettack", [0, 1], seed=0, surrogate=LinearSurrogate(np.ones((2, 1))))
    perturb(graph, "nettack", [0, 1], seed=0, surrogate=LinearSurrogate(np.eye(2)), link_flips=1, feature_flips=1)
