"""GVDN on the perturbed graph: what was stored by id, and with what weight it is used."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from small_models import scaled, small, stripped

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, random_split
from gvdn.methods.gvdn import GVDN
from gvdn.methods.gvdn.memory import Memory, feature_mass
from gvdn.perturbations import perturb
from gvdn.trust.guard import guarded


@pytest.fixture
def perturbed(ring, split) -> Graph:
    return perturb(ring, "random-connections", split, seed=1, victim_fraction=0.3, rate=0.2).graph


@pytest.fixture
def alone(ring, split) -> GVDN:
    """A model that recovers by Algorithm 3, without a choice."""
    return small(trust=False).fit(ring, split, seed=0)


# ---- recovery


def test_recovery_leaves_the_old_model_as_it_was(fitted, ring, perturbed):
    before, memory = fitted.predict_proba(perturbed), fitted.memory_.H_emb.clone()
    recovered = fitted.recover(perturbed)
    assert np.array_equal(fitted.predict_proba(perturbed), before)
    assert torch.equal(fitted.memory_.H_emb, memory)
    assert not np.allclose(recovered.predict_proba(perturbed), before)
    assert (fitted.recovered_, recovered.recovered_) == (False, True)


def test_recovery_is_the_same_each_time(fitted, perturbed):
    first, second = (fitted.recover(perturbed).predict_proba(perturbed) for _ in range(2))
    assert np.array_equal(first, second)


def test_the_matching_term_joins_the_three_others(alone, perturbed):
    history = alone.recover(perturbed).outcome_.history
    assert len(history) == 6
    assert set(history[0]) == {"ce", "kl", "df", "nm"}


def test_known_restricts_what_is_stored(fitted, ring, perturbed):
    hidden, known = ring.ids[::2], ring.ids[1::2]
    recovered = fitted.recover(perturbed, known=known)
    assert sorted(recovered.memory_.ids) == sorted(known)
    assert len(fitted.memory_.ids) == 60
    fitted.memory_.H_emb[np.isin(fitted.memory_.ids, hidden)] = 1e3
    fitted.memory_.logits[np.isin(fitted.memory_.ids, hidden)] = -1e3
    fitted.memory_.mass[np.isin(fitted.memory_.ids, hidden)] = 1e3
    with torch.no_grad():
        fitted.network_.W_z[torch.from_numpy(np.isin(fitted.ids_, hidden))] = 1e3
    again = fitted.recover(perturbed, known=known)
    assert np.array_equal(again.predict_proba(perturbed), recovered.predict_proba(perturbed))


def test_nothing_of_a_withheld_node_stays_while_it_is_absent(fitted, ring, perturbed):
    known, absent = ring.ids[2:], ring.ids[:4]
    there = np.flatnonzero(~np.isin(perturbed.ids, absent))
    recovered = fitted.recover(perturbed.subgraph(there), known=known)
    assert set(absent) & set(recovered.ids_) == set(ring.ids[2:4])


def test_no_known_node_at_all_is_an_error(fitted, perturbed):
    with pytest.raises(InvalidInput, match="no node of ring has a stored embedding to recover from"):
        fitted.recover(perturbed, known=np.array(["none"]))
    others = dataclasses.replace(perturbed, ids=np.arange(60))
    with pytest.raises(InvalidInput, match="no node of ring has a stored embedding to recover from"):
        fitted.recover(others)


# ---- nodes are known by id


def test_permuting_the_graph_permutes_probabilities(fitted, ring, perturbed):
    order = np.random.default_rng(0).permutation(60)
    for model in (fitted, fitted.recover(perturbed)):
        np.testing.assert_allclose(
            model.predict_proba(perturbed.subgraph(order)), model.predict_proba(perturbed)[order], atol=1e-5
        )


def test_a_subgraph_uses_the_rows_of_its_own_nodes(fitted, ring):
    some = np.array([50, 3, 17])
    assert torch.equal(fitted.W_z(ring.subgraph(some)), fitted.network_.W_z.detach()[some])
    assert torch.equal(fitted.memory_.fallback(ring.subgraph(some)).H_emb, fitted.memory_.H_emb[some])


def test_a_new_node_gets_a_row_of_zeros(fitted, ring):
    ids = ring.ids.copy()
    ids[7] = "new"
    grown = dataclasses.replace(ring, ids=ids)
    W_z = fitted.W_z(grown)
    assert not W_z[7].any()
    assert W_z[8].all()
    fitted.network_.W_z.data[7] = 100.0  # no node has this row any more
    assert np.isfinite(fitted.embed(grown)).all()
    assert fitted.embed(grown).max() < 50


def test_the_graph_may_grow_before_recovery(alone, ring):
    features = sp.vstack([ring.features, ring.features[:1]], format="csr")
    edges = np.concatenate([ring.edges, [[0, 60]]])
    grown = Graph.from_edges(edges, features, ids=np.append(ring.ids, "new"), name="grown")
    recovered = alone.recover(grown)
    assert recovered.predict_proba(grown).shape == (61, 3)
    assert recovered.ids_.tolist() == grown.ids.tolist()
    assert "new" not in recovered.memory_.ids


def test_rows_of_absent_nodes_survive_recovery_on_a_subgraph(alone, ring):
    present, absent = np.arange(59, 19, -1), np.arange(20)
    recovered = alone.recover(ring.subgraph(present))
    old, new = alone.W_z(ring), recovered.W_z(ring)
    assert torch.equal(new[absent], old[absent])
    assert not torch.isclose(new[present], old[present]).all()
    assert sorted(recovered.ids_) == sorted(ring.ids)
    np.testing.assert_allclose(recovered.predict_proba(ring).sum(axis=1), 1)
    twice = recovered.recover(ring)
    assert len(twice.ids_) == len(twice.network_.W_z) == 60


# ---- the guard


def test_a_recovered_model_is_guarded_and_a_fitted_one_is_not(alone, ring):
    large = scaled(ring, 5, 1e4)
    smaller = guarded(large, alone.memory_.max_norm)
    recovered = alone.recover(large)
    assert np.array_equal(recovered.predict_proba(large), recovered.predict_proba(smaller))
    assert not np.allclose(alone.predict_proba(large), alone.predict_proba(smaller))


def test_the_guard_can_be_switched_off(ring, split):
    large = scaled(ring, 5, 30.0)
    on, off = (small(guard=guard, trust=False).fit(ring, split, seed=0).recover(large) for guard in (True, False))
    assert not np.allclose(on.predict_proba(large), off.predict_proba(large))


# ---- the weight of what was stored


def test_nothing_stored_is_used_on_the_clean_graph(fitted, ring):
    assert not fitted.memory_.stored_weight(ring, 0.5).any()
    assert not fitted.memory_.stored_weight(ring, 1.0).any()


def test_a_node_whose_evidence_is_gone_uses_what_was_stored_of_it(alone, ring):
    bare = stripped(ring, 30)
    weight = alone.memory_.stored_weight(bare, 0.5)
    assert weight[30] == 1
    assert not np.delete(weight, 30).any()
    recovered = alone.recover(bare)
    assert np.array_equal(recovered.embed(bare)[30], alone.embed(ring)[30])
    np.testing.assert_allclose(recovered.predict_proba(bare)[30], alone.predict_proba(ring)[30])


def test_the_weight_grows_on_a_line_below_the_floor(isolated):
    model = small().fit(isolated, random_split(isolated, seed=0, train=0.5, stratified=True), seed=0)
    shares = {0.8: 0.0, 0.5: 0.0, 0.4: 0.2, 0.25: 0.5, 0.0: 1.0}  # node 5 has no neighbour: its mass is its own
    for share, expected in shares.items():
        weight = model.memory_.stored_weight(scaled(isolated, 5, share), 0.5)
        assert weight[5] == pytest.approx(expected, abs=1e-5)
        assert not np.delete(weight, 5).any()


def test_lost_links_are_lost_evidence():
    features = np.ones((4, 2), dtype=np.float32)
    hub = Graph.from_edges(np.array([[0, 1], [0, 2], [0, 3]]), features)
    own = np.full(4, 2, dtype=np.float32)
    memory = Memory(hub.ids, torch.zeros(4, 1), torch.zeros(4, 2), feature_mass(hub), own, 2.0)
    assert memory.mass.tolist() == [8, 4, 4, 4]
    cut = Graph.from_edges(np.array([[0, 1]]), features)  # the hub keeps 4 of 8, nodes 2 and 3 keep 2 of 4
    assert memory.stored_weight(cut, 0.5).tolist() == [0, 0, 0, 0]
    assert memory.stored_weight(cut, 0.8) == pytest.approx([0.375, 0, 0.375, 0.375])


def test_a_row_that_is_lost_is_lost_evidence_though_the_neighbours_are_there():
    features = np.ones((4, 2), dtype=np.float32)
    hub = Graph.from_edges(np.array([[0, 1], [0, 2], [0, 3]]), features)
    own = np.full(4, 2, dtype=np.float32)
    memory = Memory(hub.ids, torch.zeros(4, 1), torch.zeros(4, 2), feature_mass(hub), own, 2.0)
    wiped = Graph.from_edges(hub.edges, features * np.array([[0.0], [0.4], [1.0], [10.0]], dtype=np.float32))
    assert memory.stored_weight(wiped, 0.5) == pytest.approx([1.0, 0.6, 0.0, 0.0])  # node 1 gets 0.8 of 4
    assert memory.stored_weight(guarded(wiped, 2.0), 0.5)[3] == pytest.approx(0.9)  # 0.2 of 4


def test_a_node_without_a_stored_embedding_has_nothing_to_use(fitted, ring):
    bare = stripped(ring, 30)
    assert not fitted.memory_.only(np.delete(ring.ids, 30)).stored_weight(bare, 0.5).any()


def test_the_stored_weight_can_be_switched_off(ring, split):
    bare = stripped(ring, 30)
    without = small(evidence_floor=0.0).fit(ring, split, seed=0).recover(bare)
    assert not np.allclose(without.embed(bare)[30], without.memory_.H_emb[30].numpy())


# ---- pseudo labels


def rewired(ring: Graph) -> Graph:
    """Nodes have their features and the neighbours of another node."""
    order = np.random.default_rng(0).permutation(ring.num_nodes)
    return dataclasses.replace(ring, adjacency=sp.csr_array(ring.adjacency[order][:, order]))


def trained_on(model, graph, monkeypatch):
    """The pseudo labels that recovery trains on."""
    seen = []
    monkeypatch.setattr(
        "gvdn.methods.gvdn.recovering.train", lambda objective, *_, **__: seen.append(objective) or stop()
    )
    with pytest.raises(StopIteration):
        model.recover(graph)
    return seen[0].train[1].numpy()


def stop():
    raise StopIteration


def test_stored_pseudo_labels_are_the_predictions_on_the_clean_graph(ring, split, monkeypatch):
    model = small(epochs=40, trust=False).fit(ring, split, seed=0)
    assert np.array_equal(trained_on(model, rewired(ring), monkeypatch), model.predict(ring))


def test_the_papers_pseudo_labels_are_those_of_the_second_layer_on_the_perturbed_graph(ring, split, monkeypatch):
    model = small(epochs=40, pseudo_labels="second-layer", trust=False).fit(ring, split, seed=0)
    S = (rewired(ring).adjacency + sp.eye_array(ring.num_nodes)).toarray()
    scale = 1 / np.sqrt(S.sum(axis=1))
    W = {name: tensor.detach().numpy() for name, tensor in model.network_.state_dict().items()}
    second = next(weight for weight in W.values() if weight.shape == (model.hidden, ring.num_classes))
    logits = (scale[:, None] * S * scale) @ (model.memory_.H_emb.numpy() @ second)
    assert np.array_equal(trained_on(model, rewired(ring), monkeypatch), logits.argmax(axis=1))
    assert not np.array_equal(logits.argmax(axis=1), model.predict(ring))


def test_an_unknown_kind_of_pseudo_labels_is_named():
    with pytest.raises(InvalidInput, match="unknown pseudo_labels 'store'; did you mean 'stored'"):
        small(pseudo_labels="store")
