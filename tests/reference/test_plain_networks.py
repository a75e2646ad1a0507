"""MC Dropout, MLP, the retrained GCN and the snapshot against networks written out in torch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_models import grown, mislabelled, rewired, small_method

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.defences.mc_dropout import MCDropout
from gvdn.methods.references.gcn import GNN
from gvdn.methods.references.mlp import MLP
from gvdn.methods.references.snapshot import Snapshot
from gvdn.nn.dropout import Dropout
from gvdn.seeds import derive

NO_NODES = np.empty(0, dtype=np.int64)


def dropped(H, rate):
    return Dropout(rate, torch.default_generator)(H)


@pytest.fixture(autouse=True)
def _own_generator():
    with torch.random.fork_rng():
        yield


@pytest.fixture
def parts(barbell) -> Split:
    return random_split(barbell, seed=0, train=0.3, stratified=True)


@pytest.fixture
def split(ring) -> Split:
    return random_split(ring, seed=0, train=0.2, stratified=True)


def dense_A_hat(graph: Graph) -> torch.Tensor:
    A = graph.adjacency.toarray() + np.eye(graph.num_nodes)
    scale = A.sum(axis=1) ** -0.5
    return torch.from_numpy((scale[:, None] * A * scale).astype(np.float32))


# ---- MC Dropout


def test_the_mean_is_that_of_as_many_forward_passes_with_the_dropout_on(barbell, parts):
    model = MCDropout(hidden=8, epochs=5, dropout=0.6, samples=7).fit(barbell, parts, seed=4)
    A_hat, X = dense_A_hat(barbell), torch.from_numpy(barbell.features.copy())
    W_1, W_2 = (layer.W.detach() for layer in (model.network_.first, model.network_.out))
    torch.manual_seed(derive(4, "inference", "mc-dropout"))
    draws = []
    for _ in range(7):
        H = torch.relu(dropped(A_hat @ X, 0.6) @ W_1)
        draws.append((A_hat @ (dropped(H, 0.6) @ W_2)).double().softmax(dim=1).numpy())
    np.testing.assert_allclose(model.predict_proba(barbell), np.mean(draws, axis=0), atol=1e-5)
    assert np.std(draws, axis=0).max() > 0.01, "the draws differ"


def test_the_entropy_splits_in_two(ring, split):
    model = small_method("mc-dropout").fit(ring, split, seed=0)
    found = model.uncertainty(ring, samples=6)
    np.testing.assert_allclose(found.total, found.expected + found.mutual, atol=1e-9)
    assert found.mutual.max() > 0
    assert np.array_equal(model.uncertainty(ring, samples=5).probs, model.predict_proba(ring))
    np.testing.assert_allclose(model.set_params(dropout=0.0).uncertainty(ring, samples=3).mutual, 0, atol=1e-9)


def test_no_draw_at_all_is_refused(ring, split):
    with pytest.raises(InvalidInput, match="expected at least one draw, got 0"):
        small_method("mc-dropout").fit(ring, split, seed=0).uncertainty(ring, samples=0)


# ---- MLP, and with it the training that all methods share


def trained_by_hand(graph: Graph, split: Split, model: MLP, seed: int) -> tuple[list[dict[str, float]], np.ndarray]:
    """Two layers, Adam, dropout before each, and the weights of the best validation accuracy, then loss."""
    X, y = torch.from_numpy(graph.features.copy()), torch.from_numpy(graph.labels.copy())
    train, val = (torch.from_numpy(part.copy()) for part in (split.train, split.val))
    W_1, W_2 = torch.empty(X.shape[1], model.hidden), torch.empty(model.hidden, graph.num_classes)
    torch.manual_seed(derive(seed, "init", "mlp"))
    for W in (W_1, W_2):
        torch.nn.init.xavier_uniform_(W)
        W.requires_grad_()
    adam = torch.optim.Adam([W_1, W_2], lr=model.learning_rate, weight_decay=model.weight_decay)
    best, taken, history = (-1.0, 0.0), (W_1, W_2), []
    for epoch in range(model.epochs):
        torch.manual_seed(derive(seed, "fit mlp", str(epoch)))
        H = torch.relu(dropped(X, model.dropout) @ W_1)
        loss = F.cross_entropy((dropped(H, model.dropout) @ W_2)[train], y[train])
        logits = (torch.relu(X @ W_1) @ W_2)[val]
        right = (logits.argmax(dim=1) == y[val]).float().mean().item()
        score = (right, -F.cross_entropy(logits, y[val]).item())
        if score > best:
            best, taken = score, (W_1.detach().clone(), W_2.detach().clone())
        history.append({"ce": loss.item(), "val": right})
        adam.zero_grad()
        loss.backward()
        adam.step()
    return history, (torch.relu(X @ taken[0]) @ taken[1]).softmax(dim=1).detach().numpy()


@pytest.mark.parametrize("seed", [0, 1])
def test_an_mlp_is_two_layers_on_each_nodes_own_features(seed, barbell, parts):
    model = MLP(hidden=8, epochs=15, dropout=0.3, weight_decay=0.01).fit(barbell, parts, seed=seed)
    history, probs = trained_by_hand(barbell, parts, model, seed)
    for record, expected in zip(model.outcome_.history, history, strict=True):
        assert record == pytest.approx(expected, abs=1e-4)
    scores = [record["val"] for record in history]
    assert scores[model.outcome_.epoch] == max(scores)
    np.testing.assert_allclose(model.predict_proba(barbell), probs, atol=1e-4)


def test_links_mean_nothing_to_an_mlp(ring, split):
    model = small_method("mlp").fit(ring, split, seed=0)
    no_edges = Graph.from_edges(np.empty((0, 2), dtype=np.int64), ring.features, ids=ring.ids)
    assert np.array_equal(model.predict_proba(no_edges), model.predict_proba(ring))


# ---- the retrained GCN


def test_recovering_is_fitting_a_gcn_on_the_perturbed_graph(ring, split):
    hurt = rewired(ring)
    retrained = small_method("gcn-retrained").fit(ring, split, seed=3).recover(mislabelled(hurt, np.arange(60)))
    plain = GNN(hidden=8, epochs=10).fit(hurt, split, seed=3)
    assert np.array_equal(retrained.predict_proba(hurt), plain.predict_proba(hurt))
    assert retrained.outcome_ == plain.outcome_


def test_no_weight_of_the_clean_graph_is_used(ring, split):
    model, hurt = small_method("gcn-retrained").fit(ring, split, seed=3), rewired(ring)
    before = model.recover(hurt).predict_proba(hurt)
    for parameter in model.network_.parameters():
        parameter.data.fill_(9.0)
    assert np.array_equal(model.recover(hurt).predict_proba(hurt), before)


def test_labels_are_found_by_id_where_the_order_of_the_nodes_changed(ring, split):
    order = np.random.default_rng(1).permutation(60)
    moved = rewired(ring).subgraph(order)
    position = np.argsort(order)
    retrained = small_method("gcn-retrained").fit(ring, split, seed=3).recover(moved)
    plain = GNN(hidden=8, epochs=10).fit(moved, Split(position[split.train], position[split.val], NO_NODES), seed=3)
    assert np.array_equal(retrained.predict_proba(moved), plain.predict_proba(moved))


def test_before_it_recovers_it_is_the_gcn(ring, split):
    model, plain = (small_method(word).fit(ring, split, seed=0) for word in ("gcn-retrained", "gcn"))
    assert np.array_equal(model.predict_proba(ring), plain.predict_proba(ring))


# ---- the snapshot


@pytest.fixture
def snapshot(ring, split) -> Snapshot:
    return small_method("snapshot").fit(ring, split, seed=0)


def test_the_stored_answers_are_returned_whatever_happened_and_wherever_the_nodes_are(snapshot, ring):
    stored = snapshot.predict_proba(ring)
    order = np.random.default_rng(0).permutation(60)[:40]
    hurt = rewired(ring)
    assert np.array_equal(snapshot.predict_proba(hurt), stored)
    assert np.array_equal(snapshot.predict_proba(hurt.subgraph(order)), stored[order])


def test_a_node_that_was_not_there_gets_the_networks_answer(snapshot, ring):
    stored, larger = snapshot.predict_proba(ring), grown(rewired(ring), 3)
    answers = snapshot.predict_proba(larger)
    assert np.array_equal(answers[:60], stored)
    A_hat, X = dense_A_hat(larger), torch.from_numpy(larger.features.toarray())
    W_1, W_2 = (layer.W.detach() for layer in (snapshot.network_.first, snapshot.network_.out))
    expected = (A_hat @ torch.relu(A_hat @ X @ W_1) @ W_2).softmax(dim=1).numpy()
    np.testing.assert_allclose(answers[60], expected[60], atol=1e-5)


def test_new_nodes_get_the_networks_predictions(snapshot, ring):
    others = Graph(ring.adjacency, ring.features, ids=np.arange(60))
    np.testing.assert_allclose(snapshot.predict_proba(others), snapshot.predict_proba(ring), atol=1e-9)
