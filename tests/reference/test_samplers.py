"""Algorithm 1, vectorised, against a loop over the nodes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gvdn.graph import Graph
from gvdn.nn.samplers import NO_LABEL, SAMPLERS, Neighbourhood, Replacement, select_neighbours

CPU = torch.device("cpu")
CLASSES = 3
DRAWING = ["degree", "major", "random"]

ends = st.integers(0, 14)
cases = st.tuples(st.integers(0, 2**16), st.integers(2, 15), st.lists(st.tuples(ends, ends), max_size=40))


class Case:
    """A random graph, some of its nodes, and what a network predicted; made outside of the strategy."""

    def __init__(self, seed: int, nodes: int, edges: list[tuple[int, int]]) -> None:
        rng = np.random.default_rng(seed)
        pairs = np.array(edges, dtype=np.int64).reshape(-1, 2) % nodes
        self.graph = Graph.from_edges(pairs, np.ones((nodes, 1), dtype=np.float32))
        self.nodes = np.flatnonzero(rng.random(nodes) < 0.7)
        self.predicted = rng.integers(0, CLASSES, nodes)
        self.labels = rng.integers(0, CLASSES, len(self.nodes))
        self.H = torch.from_numpy(rng.normal(size=(nodes, 4)).astype(np.float32))
        self.near = Neighbourhood(self.graph, self.nodes, CPU)

    def neighbours(self, node: int) -> list[int]:
        return [int(a if b == node else b) for a, b in self.graph.edges if node in (a, b)]

    def select(self, sampler):
        return select_neighbours(
            self.near, sampler, torch.from_numpy(self.predicted), torch.from_numpy(self.labels), CLASSES
        )


def replaced(near, selection, H):
    """H with rows replaced; a selection and the lists that are made of it say the same."""
    after = selection.apply(near, H)
    torch.testing.assert_close(Replacement.of(near, selection).apply(H), after)
    return after


def drawn_by_hand(case: Case, node: int, sampler: str) -> int:
    votes = [0] * CLASSES
    for neighbour in case.neighbours(node):
        votes[case.predicted[neighbour]] += len(case.neighbours(neighbour)) if sampler == "degree" else 1
    return votes.index(max(votes)) if any(votes) else NO_LABEL


def replaced_by_hand(case: Case, drawn: list[int]) -> np.ndarray:
    """H with the row of each wrong node replaced by the mean of the neighbours that carry its drawn label."""
    H = case.H.numpy()
    after = H.copy()
    for node, label, wanted in zip(case.nodes, drawn, case.labels, strict=True):
        selected = [n for n in case.neighbours(node) if case.predicted[n] == label]
        if case.predicted[node] != wanted and selected:
            after[node] = sum(H[n] for n in selected) / len(selected)
    return after


@pytest.mark.parametrize("sampler", ["major", "degree"])
@given(cases)
def test_the_vote_of_the_neighbours_is_that_of_a_loop(sampler, parts):
    case = Case(*parts)
    drawn = SAMPLERS[sampler](case.near, torch.from_numpy(case.predicted), CLASSES)
    assert drawn.tolist() == [drawn_by_hand(case, node, sampler) for node in case.nodes]


@given(cases)
def test_a_randomly_drawn_label_is_one_of_the_neighbours(parts):
    case = Case(*parts)
    drawn = SAMPLERS["random"](case.near, torch.from_numpy(case.predicted), CLASSES)
    for node, label in zip(case.nodes, drawn.tolist(), strict=True):
        assert label in ({int(case.predicted[n]) for n in case.neighbours(node)} or {NO_LABEL})


def test_random_labels_are_drawn_in_proportion_to_the_neighbours_that_carry_them(star):
    near = Neighbourhood(star, np.arange(7), CPU)
    predicted = torch.tensor([2, 0, 0, 0, 1, 1, 2])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        drawn = torch.stack([SAMPLERS["random"](near, predicted, CLASSES) for _ in range(6000)])
    shares = torch.bincount(drawn[:, 0], minlength=3) / 6000
    torch.testing.assert_close(shares, torch.tensor([3, 2, 1]) / 6, atol=0.03, rtol=0)
    assert (drawn[:, 1:] == 2).all()


@pytest.mark.parametrize("sampler", DRAWING)
@given(cases)
def test_the_rows_of_wrong_nodes_become_the_mean_of_the_selected_neighbours(sampler, parts):
    case, drawn = Case(*parts), []

    def remember(*given):
        drawn.append(SAMPLERS[sampler](*given))
        return drawn[0]

    after = replaced(case.near, case.select(remember), case.H)
    np.testing.assert_allclose(after.numpy(), replaced_by_hand(case, drawn[0].tolist()), atol=1e-5)


@pytest.mark.parametrize("sampler", DRAWING)
def test_right_nodes_and_nodes_that_are_not_trained_on_are_left_alone(sampler, star):
    near, H = Neighbourhood(star, np.array([0, 1, 2]), CPU), torch.arange(7.0)[:, None]
    predicted = torch.tensor([0, 0, 1, 1, 1, 1, 1])
    selection = select_neighbours(near, SAMPLERS[sampler], predicted, torch.tensor([0, 1, 1]), 2)
    assert replaced(near, selection, H)[:, 0].tolist() == [
        0,
        0,
        2,
        3,
        4,
        5,
        6,
    ]  # 1 was wrong, its neighbour is 0
    assert H[1].item() == 1


@pytest.mark.parametrize("sampler", DRAWING)
def test_nodes_without_neighbours_are_left_alone(sampler, isolated):
    near, H = Neighbourhood(isolated, np.array([0, 5, 13]), CPU), torch.arange(14.0)[:, None]
    predicted, wanted = torch.zeros(14, dtype=torch.int64), torch.ones(3, dtype=torch.int64)
    after = replaced(near, select_neighbours(near, SAMPLERS[sampler], predicted, wanted, 2), H)
    assert after[[5, 13], 0].tolist() == [5, 13]
    assert after[0].item() == 2  # the mean of 1, 2 and 3


@pytest.mark.parametrize("sampler", DRAWING)
def test_a_graph_without_any_edge_is_left_alone(sampler):
    graph = Graph.from_edges(np.empty((0, 2), dtype=np.int64), np.ones((3, 1), dtype=np.float32))
    near, H = Neighbourhood(graph, np.arange(3), CPU), torch.arange(3.0)[:, None]
    predicted, wanted = torch.zeros(3, dtype=torch.int64), torch.ones(3, dtype=torch.int64)
    assert torch.equal(replaced(near, select_neighbours(near, SAMPLERS[sampler], predicted, wanted, 2), H), H)


def test_a_tie_goes_to_the_lower_class(path):
    near = Neighbourhood(path, np.array([1, 2]), CPU)
    predicted = torch.tensor([2, 0, 1, 0, 0, 0])
    assert SAMPLERS["major"](near, predicted, CLASSES).tolist() == [1, 0]


def test_a_hub_outvotes_two_leaves_by_degree_but_not_by_number():
    edges = np.array([[0, 1], [0, 2], [0, 3], [3, 4], [3, 5], [3, 6]])
    graph = Graph.from_edges(edges, np.ones((7, 1), dtype=np.float32))
    near, predicted = Neighbourhood(graph, np.array([0]), CPU), torch.tensor([0, 1, 1, 2, 0, 0, 0])
    assert SAMPLERS["major"](near, predicted, CLASSES).tolist() == [1]
    assert SAMPLERS["degree"](near, predicted, CLASSES).tolist() == [2]


def test_the_gradient_flows_to_the_selected_neighbours_and_not_to_the_replaced_row(star):
    near, H = Neighbourhood(star, np.array([0]), CPU), torch.ones(7, 2, requires_grad=True)
    predicted = torch.tensor([0, 1, 1, 1, 1, 0, 0])
    selection = select_neighbours(near, SAMPLERS["major"], predicted, torch.tensor([1]), 2)
    selection.apply(near, H)[0].sum().backward()
    assert H.grad[:, 0].tolist() == [0, 0.25, 0.25, 0.25, 0.25, 0, 0]


def test_muting_the_sampler_is_a_choice_like_the_others():
    assert list(SAMPLERS) == ["none", "random", "major", "degree"]
    assert SAMPLERS["none"] is None
