"""A graph that was perturbed before it was fitted on."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from communities import communities, strangers, with_links
from small_models import scaled, small

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.files import load_model
from gvdn.methods.gvdn import GVDN, recovering
from gvdn.methods.gvdn.choice import AS_IT_IS, IN_TURN, by_validation
from gvdn.trust.guard import guarded
from gvdn.trust.turns import in_turn

SETTINGS = {"hidden": 16, "epochs": 60, "learning_rate": 0.02, "recovery_epochs": 3}


@pytest.fixture(scope="module")
def town() -> Graph:
    return communities()


@pytest.fixture(scope="module")
def parts(town) -> Split:
    return random_split(town, seed=0, train=0.2, stratified=True)


@pytest.fixture(scope="module")
def shouting(town, parts) -> Graph:
    """Three test nodes have rows that are a thousand times as long, with links to half of the other test nodes."""
    loud, rest = parts.test[:3], parts.test[3:]
    links = [(int(loud[at % 3]), int(node)) for at, node in enumerate(rest[::2])]
    graph = with_links(town, links)
    for node in loud:
        graph = scaled(graph, int(node), 1000.0)
    return graph


# ---- rows of large norm


def test_a_fit_on_rows_of_large_norm_is_that_on_the_guarded_graph(shouting, parts):
    model = small(**SETTINGS).fit(shouting, parts, seed=0)
    norms = np.abs(shouting.dense_features()).sum(axis=1)
    assert model.fit_norm_ == model.memory_.max_norm == np.sort(norms)[-4]
    quiet = guarded(shouting, model.fit_norm_)
    same = small(**SETTINGS).fit(quiet, parts, seed=0)
    assert same.fit_norm_ is None
    assert np.array_equal(model.predict_proba(shouting), same.predict_proba(quiet))
    assert np.array_equal(model.embed(shouting), same.embed(quiet))


def test_rows_of_large_norm_cost_little_with_the_guard_and_much_without(shouting, town, parts):
    def right(graph: Graph, **changes: bool) -> float:
        model = small(**SETTINGS | changes).fit(graph, parts, seed=0)
        return model.score(graph, parts)

    with_guard, without, clean = right(shouting), right(shouting, guard=False), right(town)
    assert with_guard > without + 0.1
    assert with_guard > clean - 0.1


@pytest.mark.parametrize("guard", [True, False])
def test_a_graph_without_such_rows_is_fitted_on_as_it_is(town, parts, guard):
    model = small(**SETTINGS, guard=guard).fit(town, parts, seed=0)
    assert model.fit_norm_ is None
    assert model.seen(town) is town


def test_without_the_guard_the_fit_sees_every_row(shouting, parts):
    model = small(**SETTINGS, guard=False).fit(shouting, parts, seed=0)
    assert model.fit_norm_ is None
    assert model.seen(shouting) is shouting


def test_a_saved_model_keeps_the_guard_of_its_fit(shouting, parts, tmp_path):
    model = small(**SETTINGS).fit(shouting, parts, seed=0)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.fit_norm_ == model.fit_norm_
    np.testing.assert_allclose(again.predict_proba(shouting), model.predict_proba(shouting), atol=1e-6)


def test_an_update_to_a_graph_with_such_rows_guards_too(shouting, town, parts):
    model = small(**SETTINGS).fit(town, parts, seed=0)
    assert model.update(shouting, epochs=2).fit_norm_ is not None
    assert model.fit_norm_ is None


# ---- links


@pytest.fixture(scope="module")
def rewired(town, parts) -> tuple[Graph, np.ndarray]:
    """Every eighth test node has ten links to nodes of other classes."""
    victims, rng = parts.test[::8], np.random.default_rng(0)
    links = [(int(node), int(other)) for node in victims for other in rng.choice(strangers(town, int(node), 240), 10)]
    return with_links(town, links), victims


@pytest.fixture(scope="module")
def fitted(rewired, parts) -> GVDN:
    return small(**SETTINGS, trust=True).fit(rewired[0], parts, seed=0)


@pytest.fixture(scope="module")
def healed(fitted, rewired) -> GVDN:
    return fitted.recover(rewired[0], poisoned=True)


def test_a_poisoned_graph_is_judged_by_what_most_of_it_taught(fitted, healed, rewired, parts):
    graph, victims = rewired
    assert healed.way_ == healed.report_.chosen == IN_TURN
    assert healed.report_.validation == len(parts.val)
    assert healed.score(graph, victims) > fitted.score(graph, victims) + 0.1
    assert not fitted.recovered_


def test_it_is_fitted_again_on_the_links_as_far_as_they_are_trusted(fitted, healed, rewired):
    graph, _ = rewired
    front = in_turn(fitted.baseline_.trust(), fitted.baseline_.stored(), graph, seed=0)
    trusted = dataclasses.replace(graph, adjacency=front.seen.adjacency)
    again = dataclasses.replace(fitted).fit(*fitted.labels_.on(trusted, graph.class_names), seed=0)
    assert torch.equal(again.memory_.logits, healed.memory_.logits)
    assert not torch.equal(fitted.memory_.logits, healed.memory_.logits)


def test_labels_that_arrive_later_are_used_as_after_any_recovery(fitted, healed, rewired, parts):
    graph, _ = rewired
    assert [len(part) for part in vars(healed.labels_).values()] == [
        len(part) for part in vars(fitted.labels_).values()
    ]
    left = graph.subgraph(np.setdiff1d(np.arange(graph.num_nodes), parts.train[:3]))
    again = fitted.recover(left, poisoned=True)
    assert np.array_equal(again.labels_.train_ids, fitted.labels_.train_ids)
    assert (again.columns_, again.feature_names_) == (fitted.columns_, fitted.feature_names_)


def test_where_it_does_harm_the_model_stays_as_it_is_and_uses_nothing_stored(fitted, rewired, monkeypatch):
    graph, _ = rewired
    worse = by_validation(np.zeros(48, dtype=bool), np.ones(48, dtype=bool), graph.num_nodes)
    monkeypatch.setattr(recovering, "by_validation", lambda *told: worse)
    same = fitted.recover(graph, poisoned=True)
    assert (same.way_, same.report_) == (AS_IT_IS, worse)
    assert np.array_equal(same.predict_proba(graph), fitted.predict_proba(graph))
    alone = dataclasses.replace(graph, adjacency=sp.csr_array(graph.adjacency.shape, dtype=np.float32))
    assert np.array_equal(same.predict_proba(alone), fitted.predict_proba(alone))


def test_the_reason_of_a_prediction_names_the_witnesses_where_they_have_most_of_the_weight(healed, rewired):
    graph, _ = rewired
    weight, told = healed.front(graph).weight_of_witnesses, healed.why(graph)
    assert 0 < (weight >= 0.5).sum() < graph.num_nodes
    assert [words.startswith("answer of row, links and network together, weight ") for words in told] == (
        weight >= 0.5
    ).tolist()


@pytest.mark.parametrize("given", [{"known": np.array(["n001"])}, {"look": lambda *told: None}])
def test_what_every_node_is_judged_without_is_refused(fitted, rewired, given):
    with pytest.raises(InvalidInput, match="known and look are not supported with it"):
        fitted.recover(rewired[0], poisoned=True, **given)


def test_a_graph_of_other_nodes_is_refused(fitted, rewired):
    graph, _ = rewired
    others = dataclasses.replace(graph, ids=np.array([f"x{node}" for node in range(graph.num_nodes)]))
    with pytest.raises(InvalidInput, match="has a stored embedding to recover from"):
        fitted.recover(others, poisoned=True)


def test_it_has_as_many_steps_as_the_fit(fitted, rewired):
    seen: list[int] = []
    fitted.recover(rewired[0], poisoned=True, callback=lambda epoch, losses: seen.append(epoch))
    assert seen == list(range(1, fitted.recovery_rounds(poisoned=True) + 1)) == list(range(1, fitted.epochs + 1))


def test_what_it_does_can_be_saved(healed, rewired, tmp_path):
    graph, _ = rewired
    healed.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert (again.way_, again.report_) == (healed.way_, healed.report_)
    np.testing.assert_allclose(again.predict_proba(graph), healed.predict_proba(graph), atol=1e-6)


def test_validation_labels_decide_and_no_test_label_is_read(rewired, parts):
    graph, _ = rewired
    labels = graph.labels.copy()
    labels[parts.test] = -1
    blank = dataclasses.replace(graph, labels=labels)
    one, other = (small(**SETTINGS, trust=True).fit(given, parts, seed=0) for given in (graph, blank))
    healed = one.recover(graph, poisoned=True)
    assert np.array_equal(healed.predict_proba(graph), other.recover(blank, poisoned=True).predict_proba(blank))


def test_a_judgement_that_clearly_does_harm_on_validation_nodes_is_not_taken():
    def right(number: int) -> np.ndarray:
        return np.arange(100) < number

    def chosen(judged: int, as_it_is: int) -> str:
        return by_validation(right(judged), right(as_it_is), 9).chosen

    assert chosen(75, 50) == chosen(75, 75) == IN_TURN
    assert chosen(71, 75) == IN_TURN, "four of four nodes that they differ in are two standard errors"
    assert chosen(70, 75) == AS_IT_IS, "five of five nodes are more than twice the square root of five"
    assert by_validation(right(41), ~right(41), 9).chosen == IN_TURN, "18 of a hundred nodes are less than twenty"
    told = by_validation(right(50), right(75), 9)
    assert str(told) == "chose as it is: right about 75.0% of 100 validation nodes (fitted again, judged in turn 50.0%)"
    none = by_validation(np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), 9)
    assert none.chosen == IN_TURN
    assert str(none).endswith("there was no validation node to compare it with the model as it is")


def test_without_trust_a_poisoned_graph_is_recovered_as_any_other(rewired, parts):
    graph, _ = rewired
    model = small(**SETTINGS, trust=False).fit(graph, parts, seed=0)
    told, usual = model.recover(graph, poisoned=True), model.recover(graph)
    assert np.array_equal(told.predict_proba(graph), usual.predict_proba(graph))
