import numpy as np
import pytest

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
