"""What ProGNN learned on one graph, seen on another: weights belong to pairs of ids."""

import dataclasses

import numpy as np
import pytest
import torch
from small_models import grown

from gvdn.graph import Graph, Split
from gvdn.methods.defences.prognn import ProGNN, candidate_edges
from gvdn.methods.files import load_model
from gvdn.methods.whitebox import WhiteBox

NO_NODES = np.empty(0, dtype=np.int64)


@pytest.fixture
def learned(path) -> tuple[ProGNN, Graph]:
    """Fitted on the path 0-1-2-3-4-5 of text ids; each candidate has a weight that no other has."""
    graph = dataclasses.replace(path, ids=np.array(list("abcdef")))
    model = ProGNN(hidden=4, epochs=1, neighbours=1).fit(
        graph, Split(np.array([0, 5]), np.array([1]), NO_NODES), seed=0
    )
    model.network_.weights.copy_(torch.linspace(0.15, 0.85, len(model.pairs_)))
    return model, graph


def learned_weights(model: ProGNN) -> dict[frozenset[str], float]:
    names, weights = model.ids_[model.pairs_].tolist(), model.network_.weights.tolist()
    return {frozenset(pair): weight for pair, weight in zip(names, weights, strict=True)}


def expected_S(model: ProGNN, graph: Graph) -> np.ndarray:
    """The docstring, pair by pair."""
    weights, nodes = learned_weights(model), graph.num_nodes
    given = {frozenset(pair) for pair in model.ids_[model.pairs_[model.existing_]].tolist()}
    now = {frozenset(pair) for pair in graph.ids[graph.edges].tolist()}
    S, ids = np.eye(nodes), graph.ids.tolist()
    for i in range(nodes):
        for j in range(nodes):
            pair = frozenset((ids[i], ids[j]))
            if i == j:
                continue
            if pair in weights and (pair in now or pair not in given):
                S[i, j] = weights[pair]  # an edge of both graphs, or one that was only ever thought of
            elif pair in now:
                S[i, j] = 1  # a new edge
    scale = S.sum(axis=1) ** -0.5
    return scale[:, None] * S * scale


def seen_S(model: ProGNN, graph: Graph) -> np.ndarray:
    view = model.view(graph)
    return view.with_learned(model.network_.weights).propagate(torch.eye(graph.num_nodes)).numpy()


def others(graph: Graph) -> dict[str, Graph]:
    rest = {"ids": graph.ids, "labels": graph.labels}
    edges = graph.edges
    return {
        "the same": graph,
        "two edges gone": Graph.from_edges(edges[[0, 2, 4]], graph.features, **rest),
        "all edges gone": Graph.from_edges(edges[:0], graph.features, **rest),
        "new edges": Graph.from_edges(np.concatenate([edges, [[0, 5], [1, 4]]]), graph.features, **rest),
        "another order": graph.subgraph(np.array([3, 0, 5, 1, 4, 2])),
        "a part": graph.subgraph(np.array([4, 2, 3])),
        "grown": grown(graph, 2),
        "new ids": dataclasses.replace(graph, ids=np.array(list("uvwxyz"))),
        "new ids, numbers": dataclasses.replace(graph, ids=np.arange(6)),
        "half of the ids new": dataclasses.replace(graph, ids=np.array(list("abcxyz"))),
    }


KINDS = [
    *("the same", "two edges gone", "all edges gone", "new edges", "another order", "a part", "grown"),
    *("new ids", "new ids, numbers", "half of the ids new"),
]


def test_some_candidates_exist_and_some_do_not(learned):
    model, _ = learned
    assert 0 < model.existing_.sum() < len(model.pairs_)
    assert len(set(model.network_.weights.tolist())) == len(model.pairs_)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_follow_the_ids(kind, learned):
    model, graph = learned
    other = others(graph)[kind]
    np.testing.assert_allclose(seen_S(model, other), expected_S(model, other), atol=1e-6)


def test_removed_edges_stay_removed_and_new_edges_have_weight_one():
    features = np.eye(4, dtype=np.float32)  # no two nodes are similar: no candidates but the edges
    ids = np.array(list("abcd"))
    before = Graph.from_edges(np.array([[0, 1], [1, 2], [2, 3]]), features, ids=ids, labels=np.array([0, 0, 1, 1]))
    model = ProGNN(hidden=4, epochs=1).fit(before, Split(np.array([0, 3]), np.array([1]), NO_NODES), seed=0)
    model.network_.weights.copy_(torch.tensor([0.5, 0.25, 0.125]))
    after = Graph.from_edges(np.array([[0, 1], [0, 3]]), features, ids=ids)
    view = model.view(after)
    assert view.pairs.tolist() == [[0, 1], [0, 3]]
    assert view.learned.tolist() == [0, -1]
    moved = model.view(before.subgraph(np.array([3, 2, 1, 0])))
    assert moved.pairs.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert moved.learned.tolist() == [2, 1, 0]


# ---- an attack through it


def asked(module, graph: Graph, pairs: np.ndarray, weights: torch.Tensor) -> torch.Tensor:
    index = torch.from_numpy(np.concatenate([pairs, pairs[:, ::-1]]).T.copy())
    return module(torch.zeros(graph.num_nodes, 1), index, torch.cat([weights, weights]))


def weighted(graph: Graph) -> Graph:
    rest = {"ids": graph.ids, "labels": graph.labels}
    edges = np.concatenate([graph.edges[1:], [[0, 2], [1, 3]]])
    return Graph.from_edges(edges, graph.features, weights=np.linspace(0.5, 2, len(edges)), **rest)


@pytest.mark.parametrize("kind", [*KINDS, "weighted"])
def test_an_attack_starts_from_the_answers_of_the_method(kind, learned):
    model, graph = learned
    other = weighted(graph) if kind == "weighted" else others(graph)[kind]
    logits = asked(WhiteBox(model).module(other), other, other.edges, torch.ones(other.num_edges))
    np.testing.assert_allclose(logits.detach().softmax(dim=1).numpy(), model.predict_proba(other), atol=1e-6)


@pytest.mark.parametrize("kind", ["the same", "two edges gone", "half of the ids new", "weighted"])
def test_flips_of_any_pair_lead_to_the_answers_on_the_graph_with_them(kind, learned):
    """A link of the fit, a candidate that was none, and any other pair: taken away, put back, added."""
    model, graph = learned
    other = weighted(graph) if kind == "weighted" else others(graph)[kind]
    module, rest = WhiteBox(model).module(other), {"ids": other.ids, "labels": other.labels}
    pairs = np.stack(np.triu_indices(6, 1), axis=1)
    now = {tuple(pair) for pair in other.edges.tolist()}
    there = torch.tensor([float(tuple(pair) in now) for pair in pairs.tolist()])
    for flip in range(len(pairs)):
        flipped = there.clone()
        flipped[flip] = 1 - flipped[flip]
        kept = pairs[flipped.numpy() > 0]
        after = Graph.from_edges(kept, other.features, weights=other.weights_of(kept), **rest)
        probs = asked(module, other, pairs, flipped).detach().softmax(dim=1).numpy()
        np.testing.assert_allclose(probs, model.predict_proba(after), atol=1e-6, err_msg=str(pairs[flip]))


@pytest.mark.parametrize("kind", ["the same", "weighted"])
def test_the_gradient_into_a_link_is_a_difference_quotient_and_none_flows_into_a_candidate(kind, learned):
    model, graph = learned
    other = weighted(graph) if kind == "weighted" else graph
    module, pairs = WhiteBox(model).module(other), np.stack(np.triu_indices(6, 1), axis=1)
    rest = torch.from_numpy(np.random.default_rng(2).normal(size=(6, 2)).astype(np.float32))

    def value(weights: torch.Tensor) -> torch.Tensor:
        return (asked(module, other, pairs, weights) * rest).double().sum()

    weights = torch.linspace(0.4, 1.0, len(pairs)).requires_grad_()
    (gradient,) = torch.autograd.grad(value(weights), weights)
    assert (gradient != 0).sum() >= 5
    for pair in range(len(pairs)):
        step = torch.zeros(len(pairs))
        step[pair] = 5e-3
        with torch.no_grad():
            quotient = (value(weights + step) - value(weights - step)).item() / 1e-2
        assert gradient[pair].item() == pytest.approx(quotient, abs=1e-4, rel=2e-2)
    late = {tuple(pair) for pair in model.pairs_[~model.existing_].tolist()}
    of_late = [number for number, pair in enumerate(pairs.tolist()) if tuple(pair) in late]
    assert of_late
    if kind == "the same":
        assert (gradient[of_late] == 0).all()


def test_learned_weights_are_in_the_answers_and_go_to_disk(learned, tmp_path):
    model, graph = learned
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for other in others(graph).values():
        assert np.array_equal(loaded.predict_proba(other), model.predict_proba(other))
    before = model.predict_proba(graph)
    model.network_.weights.fill_(0.0)
    assert not np.allclose(model.predict_proba(graph), before)


def test_the_graph_does_change_in_training(ring, split):
    model = ProGNN(hidden=8, epochs=6, rank=5, neighbours=2, gamma=50.0, structure_rate=0.5)
    model.fit(ring, Split(split.train, NO_NODES, NO_NODES), seed=0)
    pairs, existing = candidate_edges(ring, 2)
    assert model.pairs_.tolist() == pairs.tolist()
    weights = model.network_.weights
    assert ((weights >= 0) & (weights <= 1)).all()
    assert not torch.allclose(weights, torch.from_numpy(existing.astype(np.float32)), atol=1e-3)
