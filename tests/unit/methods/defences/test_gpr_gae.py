"""GPR-GAE: what the auto-encoder learns of links, and that the classifier is the plain GCN."""

import dataclasses

import numpy as np
import pytest
import torch
from communities import communities, with_links
from sklearn.metrics import roc_auc_score
from small_models import small_method

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.defences.gpr_gae import GPRGAE, LinkTraining
from gvdn.methods.files import load_model
from gvdn.methods.references.gcn import GNN
from gvdn.seeds import torch_generator

SMALL = {"hidden": 16, "epochs": 30, "link_steps": 150, "filters": 3, "width": 32, "pair_width": 32}


@pytest.fixture(scope="module")
def clean() -> Graph:
    return communities()


@pytest.fixture(scope="module")
def split(clean) -> Split:
    return random_split(clean, seed=0, train=0.2, stratified=True)


@pytest.fixture(scope="module")
def fitted(clean, split) -> GPRGAE:
    return GPRGAE(**SMALL).fit(clean, split, seed=0)


@pytest.fixture(scope="module")
def perturbed(clean) -> Graph:
    """With a quarter more links, between random nodes of different classes."""
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, clean.num_nodes, (400, 2))
    pairs = pairs[clean.labels[pairs[:, 0]] != clean.labels[pairs[:, 1]]][: clean.num_edges // 4]
    return with_links(clean, [tuple(pair) for pair in pairs.tolist()])


def added(graph: Graph, clean: Graph) -> np.ndarray:
    """Which links of the graph the clean one does not have."""
    known = {tuple(edge) for edge in clean.edges.tolist()}
    return np.array([tuple(edge) not in known for edge in graph.edges.tolist()])


def test_links_that_were_added_get_lower_weights_than_those_of_the_clean_graph(fitted, clean, perturbed):
    new = added(perturbed, clean)
    weights = fitted.purified(perturbed).edge_weights
    assert 100 < new.sum() < len(new) / 4
    assert ((weights > 0) & (weights <= 1)).all()
    assert roc_auc_score(~new, weights) > 0.8


def test_an_untrained_auto_encoder_does_not_tell_them_apart(clean, split, perturbed):
    model = GPRGAE(**SMALL | {"link_steps": 1, "epochs": 1}).fit(clean, split, seed=0)
    assert roc_auc_score(~added(perturbed, clean), model.purified(perturbed).edge_weights) < 0.75


def test_the_loss_of_the_links_falls_and_is_recorded(fitted):
    losses = [record["links"] for record in fitted.outcome_.history]
    assert len(losses) == fitted.rounds() == 30
    assert losses[-1] < 0.8 * losses[0]


def test_the_purified_graph_is_the_given_one_with_other_weights(fitted, perturbed):
    found = fitted.purified(perturbed)
    assert np.array_equal(found.edges, perturbed.edges)
    for part in ("features", "labels", "ids"):
        assert np.array_equal(getattr(found, part), getattr(perturbed, part))
    assert not perturbed.is_weighted


def test_the_classifier_is_the_plain_gcn_on_the_purified_graph(fitted, clean, split, perturbed):
    gcn = GNN(hidden=16, epochs=30).fit(clean, split, seed=0)
    assert torch.equal(gcn.network_.first.W, fitted.network_.gnn.first.W)
    purified = fitted.purified(perturbed)
    assert np.array_equal(fitted.predict_proba(perturbed), gcn.predict_proba(purified))
    assert np.array_equal(fitted.embed(perturbed), gcn.embed(purified))
    assert not np.allclose(fitted.predict_proba(perturbed), gcn.predict_proba(perturbed), atol=1e-3)


def test_without_a_pass_the_graph_is_the_given_one(fitted, perturbed):
    assert dataclasses.replace(fitted, passes=0).passes == 0
    model = GPRGAE(**SMALL | {"passes": 0, "epochs": 1, "link_steps": 1})
    model.fit(perturbed, random_split(perturbed, seed=0), seed=0)
    assert model.purified(perturbed) is perturbed


def test_passes_end_when_the_sum_of_the_weights_stands_still(fitted, perturbed, monkeypatch):
    calls = []
    auto_encoder = fitted.network_.auto_encoder
    given = auto_encoder.probabilities
    monkeypatch.setattr(auto_encoder, "probabilities", lambda *how: calls.append(1) or given(*how))
    monkeypatch.setattr("gvdn.methods.defences.gpr_gae.STILL", 10.0)
    fitted.purified(perturbed)
    assert len(calls) == 1
    monkeypatch.setattr("gvdn.methods.defences.gpr_gae.STILL", -1.0)
    fitted.purified(perturbed)
    assert len(calls) == 1 + fitted.passes


def test_weights_that_the_graph_has_are_multiplied(fitted, clean):
    heavy = Graph.from_edges(
        clean.edges, clean.features, labels=clean.labels, weights=np.full(clean.num_edges, 4.0), ids=clean.ids
    )
    ratio = fitted.purified(heavy).edge_weights / fitted.purified(clean).edge_weights
    np.testing.assert_allclose(ratio, 4, rtol=1e-4)  # all weights alike: the normalised links are the same


@pytest.mark.parametrize(("steps", "epochs"), [(20, 10), (7, 10), (25, 10), (1, 3)])
def test_the_steps_are_spread_over_the_epochs(steps, epochs, ring, monkeypatch):
    counts = []
    monkeypatch.setattr(LinkTraining, "step", lambda self, generator: counts.append(1))
    model = small_method("gpr-gae", link_steps=steps, epochs=epochs)
    network = model.build(5, 3, torch_generator(0, "test"))
    training, taken = LinkTraining(network.auto_encoder, ring, model), []
    for epoch in range(epochs):
        before = len(counts)
        training.epoch(epoch, torch_generator(0, "test"))
        taken.append(len(counts) - before)
    assert sum(taken) == steps
    assert taken[0] >= 1
    assert max(taken) - min(taken) <= 1


def test_what_is_left_out_has_no_weight_and_the_rest_is_between_one_and_the_heaviest(ring, monkeypatch):
    seen = []
    name = "gvdn.methods.defences.gpr_gae.normalised_links"
    original = __import__("gvdn.nn.gpr_gae", fromlist=["normalised_links"]).normalised_links
    monkeypatch.setattr(name, lambda *given: seen.append(given) or original(*given))
    model = small_method("gpr-gae", non_links=20.0)
    network = model.build(5, 3, torch_generator(0, "test"))
    LinkTraining(network.auto_encoder, ring, model).step(torch_generator(0, "test"))
    u, v, weights, nodes = seen[0]
    assert (len(u), nodes) == (21 * ring.num_edges, 60)
    pairs = set(zip(u[: ring.num_edges].tolist(), v[: ring.num_edges].tolist(), strict=True))
    assert pairs == {tuple(edge) for edge in ring.edges.tolist()}
    assert pairs.isdisjoint(zip(u[ring.num_edges :].tolist(), v[ring.num_edges :].tolist(), strict=True))
    kept = weights[weights > 0]
    assert 0.77 < len(kept) / len(weights) < 0.83
    assert 1 <= kept.min() < 1.05
    assert 2.95 < kept.max() <= 3


def test_an_update_goes_on_from_the_auto_encoder_and_leaves_the_old_model(fitted, perturbed):
    before = fitted.predict_proba(perturbed)
    same, more = (fitted.update(perturbed, epochs=epochs) for epochs in (0, 2))
    weights = [model.network_.auto_encoder.W for model in (fitted, same, more)]
    assert torch.equal(weights[0], weights[1])
    assert 0 < (weights[0] - weights[2]).abs().max() < 0.15, "ten steps of at most about 0.01 each"
    assert np.array_equal(fitted.predict_proba(perturbed), before)


def test_a_file_with_another_number_of_filters_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    about = tmp_path / "model" / "model.json"
    about.write_text(about.read_text().replace('"filters": 3', '"filters": 4'))
    with pytest.raises(InvalidInput, match="the settings ask for network.auto_encoder.*; copy or train it again"):
        load_model(tmp_path / "model")
