"""Trust in front of a method whose graph may have been poisoned."""

import dataclasses

import numpy as np
import pytest
from communities import communities, strangers, with_links

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.methods import make_method, poisoned
from gvdn.methods.gvdn.choice import AS_IT_IS, IN_TURN, by_validation
from gvdn.methods.poisoned import TrustedInTurn
from gvdn.trust.turns import in_turn

SETTINGS = {"hidden": 16, "epochs": 60, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def town() -> Graph:
    return communities()


@pytest.fixture(scope="module")
def parts(town) -> Split:
    return random_split(town, seed=0, train=0.2, stratified=True)


@pytest.fixture(scope="module")
def rewired(town, parts) -> tuple[Graph, np.ndarray]:
    """Every eighth test node has ten links to nodes of other classes."""
    victims, rng = parts.test[::8], np.random.default_rng(0)
    links = [(int(node), int(other)) for node in victims for other in rng.choice(strangers(town, int(node), 240), 10)]
    return with_links(town, links), victims


@pytest.fixture(scope="module")
def fitted(rewired, parts):
    return make_method("gcn", **SETTINGS).fit(rewired[0], parts, seed=0)


@pytest.fixture(scope="module")
def trusted(fitted, rewired) -> TrustedInTurn:
    return TrustedInTurn(fitted, rewired[0])


def right(probs: np.ndarray, graph: Graph, nodes: np.ndarray) -> float:
    return float((probs[nodes].argmax(axis=1) == graph.labels[nodes]).mean())


def test_it_answers_better_for_nodes_with_wrong_links(fitted, trusted, rewired, parts):
    graph, victims = rewired
    assert trusted.report.chosen == IN_TURN
    assert trusted.report.validation == len(parts.val)
    alone, judged = fitted.predict_proba(graph), trusted.predict_proba(graph)
    assert right(judged, graph, victims) > right(alone, graph, victims) + 0.1
    assert np.allclose(judged.sum(axis=1), 1)


def test_the_method_is_fitted_again_on_the_links_as_far_as_they_are_trusted(fitted, trusted, rewired):
    """With its settings, its seed and its labels; the first one stays as it was."""
    graph, _ = rewired
    before = fitted.predict_proba(graph)
    baseline = poisoned.Trusted(fitted, graph).baseline
    front = in_turn(baseline.trust(), baseline.stored(), graph, seed=0)
    weighed = dataclasses.replace(graph, adjacency=front.seen.adjacency)
    again = dataclasses.replace(fitted).fit(*fitted.labels_.on(weighed, graph.class_names), seed=0)
    assert np.array_equal(again.predict_proba(graph), trusted.again.model.predict_proba(graph))
    assert not np.array_equal(again.predict_proba(graph), before)
    assert np.array_equal(fitted.predict_proba(graph), before)


def test_where_it_does_harm_the_method_answers_as_it_is(fitted, rewired, monkeypatch):
    graph, _ = rewired
    worse = by_validation(np.zeros(48, dtype=bool), np.ones(48, dtype=bool), graph.num_nodes)
    monkeypatch.setattr(poisoned, "by_validation", lambda *told: worse)
    same = TrustedInTurn(fitted, graph)
    assert same.report.chosen == AS_IT_IS
    assert np.array_equal(same.predict_proba(graph), fitted.predict_proba(graph))


def test_no_test_label_is_read(trusted, rewired, parts):
    graph, _ = rewired
    labels = graph.labels.copy()
    labels[parts.test] = -1
    blank = dataclasses.replace(graph, labels=labels)
    model = make_method("gcn", **SETTINGS).fit(blank, parts, seed=0)
    assert np.array_equal(TrustedInTurn(model, blank).predict_proba(blank), trusted.predict_proba(graph))


def test_a_method_that_is_not_fitted_is_refused(rewired):
    with pytest.raises(InvalidInput, match="expected a fitted method"):
        TrustedInTurn(make_method("gcn"), rewired[0])
