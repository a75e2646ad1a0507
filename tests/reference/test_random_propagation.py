"""GRAND against the formula of its paper, with every X̅ written out."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from small_models import rewired

from gvdn.graph import Graph, Split
from gvdn.methods.defences.grand import GRAND, disagreement
from gvdn.nn import gnn
from gvdn.nn.dropout import Dropout
from gvdn.nn.gnn import RandomPropagation, mixed_orders

HIDDEN = 4
RAW = GRAND(normalise_rows=False)
"""Sees the features as they are."""


def dropped(H, rate):
    return Dropout(rate, torch.default_generator)(H)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(autouse=True)
def _own_generator():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture(params=["barbell", "ring", "isolated"])
def graph(request) -> Graph:
    return request.getfixturevalue(request.param)


def parts(graph: Graph) -> tuple[torch.Tensor, torch.Tensor]:
    """Â and X, dense."""
    A = graph.adjacency.toarray() + np.eye(graph.num_nodes)
    scale = A.sum(axis=1) ** -0.5
    X = sp.csr_array(graph.features).toarray()
    return torch.from_numpy((scale[:, None] * A * scale).astype(np.float32)), torch.from_numpy(X)


def by_hand(graph: Graph, network: RandomPropagation, order: int, factors: torch.Tensor) -> torch.Tensor:
    """Per draw: X̅ = 1 / (K + 1) sum_k Â^k (factor X), then two layers."""
    A_hat, X = parts(graph)
    draws = []
    for draw in range(factors.shape[1]):
        X_bar = torch.zeros_like(X)
        for k in range(order + 1):
            X_bar += torch.linalg.matrix_power(A_hat, k) @ (factors[:, [draw]] * X) / (order + 1)
        draws.append(torch.relu(X_bar @ network.W_1 + network.b_1) @ network.W_2 + network.b_2)
    return torch.stack(draws)


def network_for(graph: Graph) -> RandomPropagation:
    network = RandomPropagation(graph.num_features, HIDDEN, graph.num_classes)
    for bias in (network.b_1, network.b_2):
        torch.nn.init.normal_(bias)
    return network


# ---- the forward pass


@pytest.mark.parametrize("order", [0, 1, 4])
def test_every_draw_is_the_formula_over_its_own_mask(order, graph):
    network, factors = network_for(graph), 2.0 * (torch.rand(graph.num_nodes, 3) < 0.5)
    logits = network(RAW.view(graph), order, factors)
    torch.testing.assert_close(logits, by_hand(graph, network, order, factors), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("order", [0, 3])
def test_an_answer_has_no_mask(order, graph):
    model, network = GRAND(order=order, input_dropout=0.9, dropout=0.9, normalise_rows=False), network_for(graph)
    answer = model.answer(network, model.view(graph))
    expected = by_hand(graph, network, order, torch.ones(graph.num_nodes, 1))[0]
    torch.testing.assert_close(answer, expected, atol=1e-5, rtol=1e-4)
    assert torch.equal(answer, model.answer(network, model.view(graph)))


def test_the_draws_of_an_epoch_leave_out_nodes_and_scale_the_others_up(graph):
    model = GRAND(order=2, draws=3, node_dropout=0.25, input_dropout=0.0, dropout=0.0, normalise_rows=False)
    network = network_for(graph)
    logits, _ = model.learn(network, model.view(graph), seeded(7))
    torch.manual_seed(7)
    factors = (torch.rand(graph.num_nodes, 3) >= 0.25) / 0.75
    assert logits.shape == (3, graph.num_nodes, graph.num_classes)
    torch.testing.assert_close(logits, by_hand(graph, network, 2, factors), atol=1e-5, rtol=1e-4)


def test_both_dropouts_fall_where_they_are_said_to(barbell):
    """Dense features: the input dropout is drawn over X after the masks, the other over the hidden layer."""
    model = GRAND(order=2, draws=2, node_dropout=0.5, input_dropout=0.4, dropout=0.3, normalise_rows=False)
    network = network_for(barbell)
    logits, _ = model.learn(network, model.view(barbell), seeded(7))
    A_hat, X = parts(barbell)
    torch.manual_seed(7)
    factors = (torch.rand(20, 2) >= 0.5) / 0.5
    X = dropped(X, 0.4)
    mixed = (torch.eye(20) + A_hat + A_hat @ A_hat) / 3
    H = torch.stack([torch.relu(mixed @ (factors[:, [s]] * X) @ network.W_1 + network.b_1) for s in range(2)])
    expected = dropped(H, 0.3) @ network.W_2 + network.b_2
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-4)


def normalised(H: torch.Tensor) -> torch.Tensor:
    """Batch normalisation by hand."""
    return (H - H.mean(dim=0)) / (H.var(dim=0, unbiased=False) + 1e-5).sqrt()


def test_the_hidden_layer_is_normalised_draw_by_draw_behind_the_activation(barbell):
    network = RandomPropagation(barbell.num_features, HIDDEN, 2, batch_norm=True)
    factors = 2.0 * (torch.rand(20, 2) < 0.5)
    logits = network.train()(RAW.view(barbell), 1, factors)
    A_hat, X = parts(barbell)
    for draw in range(2):
        before = (X * factors[:, [draw]] + A_hat @ (X * factors[:, [draw]])) / 2 @ network.W_1 + network.b_1
        expected = normalised(torch.relu(before)) @ network.W_2 + network.b_2
        torch.testing.assert_close(logits[draw], expected, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("piece", [1, 2, 128])
def test_the_propagated_features_are_normalised_as_if_they_had_been_formed(piece, graph, monkeypatch):
    monkeypatch.setattr(gnn, "PIECE", piece)
    network = RandomPropagation(graph.num_features, HIDDEN, graph.num_classes, batch_norm=True).train()
    torch.nn.init.normal_(network.b_1)
    view = RAW.view(graph)
    network.standardise(*gnn.column_moments(view, 2, torch.device("cpu")))
    A_hat, X = parts(graph)
    X_bar = (X + A_hat @ X + A_hat @ A_hat @ X) / 3
    H = normalised(torch.relu(normalised(X_bar) @ network.W_1 + network.b_1))
    torch.testing.assert_close(network(view, 2)[0], H @ network.W_2 + network.b_2, atol=1e-4, rtol=1e-3)


def test_a_fit_takes_the_moments_of_its_graph_and_a_prediction_keeps_them(ring):
    split = Split(np.array([0, 25, 50]), np.array([1, 26]), np.array([2]))
    model = GRAND(hidden=HIDDEN, epochs=2, order=2, batch_norm=True).fit(ring, split, seed=0)
    centre, spread = gnn.column_moments(model.view(ring), 2, torch.device("cpu"))
    assert torch.equal(model.network_.centre, centre)
    assert torch.equal(model.network_.spread, spread)
    assert (spread > 0).all()
    model.predict_proba(rewired(ring))
    assert torch.equal(model.network_.centre, centre)


def test_a_row_is_read_divided_by_its_norm(graph):
    features = sp.csr_array(graph.features).toarray()
    features[0] *= -1000
    expected = features / np.maximum(np.abs(features).sum(axis=1, keepdims=True), 1e-9)
    for given in (features, sp.csr_array(features)):
        found = GRAND().read(dataclasses.replace(graph, features=given)).features
        np.testing.assert_allclose(sp.csr_array(found).toarray(), expected, rtol=1e-5)
        assert GRAND(normalise_rows=False).read(graph) is graph


def test_a_row_of_large_norm_changes_no_answer_of_other_nodes_much(ring):
    """What random connections do: every feature of a perturbator has a large value."""
    split = Split(np.arange(0, 60, 5), np.arange(1, 60, 5), np.arange(2, 60, 5))
    model = GRAND(hidden=HIDDEN, epochs=30, order=2, learning_rate=0.1).fit(ring, split, seed=0)
    features = sp.csr_array(ring.features).toarray()
    features[7] = 1.0
    plain = dataclasses.replace(ring, features=sp.csr_array(features))
    features[7] *= 1e6
    loud = dataclasses.replace(ring, features=sp.csr_array(features))
    np.testing.assert_allclose(model.predict_proba(loud), model.predict_proba(plain), atol=1e-5)


def test_the_mean_of_the_orders_is_a_sum_of_powers(graph):
    A_hat, X = parts(graph)
    view = RAW.view(graph)
    expected = sum(torch.linalg.matrix_power(A_hat, k) @ X for k in range(6)) / 6
    torch.testing.assert_close(mixed_orders(view, X, 5), expected, atol=1e-5, rtol=1e-4)


def test_the_hidden_layer_is_what_the_answer_is_made_of(ring):
    split = Split(np.array([0, 25, 50]), np.array([1, 26]), np.array([2]))
    model = GRAND(hidden=HIDDEN, epochs=2, order=2).fit(ring, split, seed=0)
    network = model.network_
    logits = torch.from_numpy(model.embed(ring)) @ network.W_2 + network.b_2
    np.testing.assert_allclose(logits.softmax(dim=1).detach().numpy(), model.predict_proba(ring), atol=1e-5)


# ---- the loss


def disagreement_by_hand(logits: np.ndarray, temperature: float) -> float:
    draws, nodes, classes = logits.shape
    total = 0.0
    for node in range(nodes):
        probs = [np.exp(logits[s, node]) / np.exp(logits[s, node]).sum() for s in range(draws)]
        mean = sum(probs) / draws
        powers = [mean[k] ** (1 / temperature) for k in range(classes)]
        sharp = [power / sum(powers) for power in powers]
        for s in range(draws):
            total += sum((probs[s][k] - sharp[k]) ** 2 for k in range(classes)) / draws / nodes
    return total


@pytest.mark.parametrize("temperature", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("draws", [1, 4])
def test_the_disagreement_is_that_of_a_loop(draws, temperature):
    logits = torch.randn(draws, 6, 3)
    expected = disagreement_by_hand(logits.double().numpy(), temperature)
    assert disagreement(logits, temperature).item() == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_draws_that_agree_and_are_sure_have_nothing_to_disagree_on():
    logits = torch.tensor([[50.0, 0.0], [0.0, 50.0]]).expand(3, 2, 2)
    assert disagreement(logits, 0.5).item() == pytest.approx(0, abs=1e-9)


def test_a_class_without_probability_in_any_draw_is_no_nan():
    logits = torch.tensor([[[300.0, 0.0]], [[300.0, 0.0]]], requires_grad=True)
    loss = disagreement(logits, 0.1)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()


def test_the_sharpened_mean_gets_no_gradient():
    logits = torch.randn(2, 3, 3, requires_grad=True)
    disagreement(logits, 0.5).backward()
    probs = logits.detach().softmax(dim=2)
    target = probs.mean(dim=0) ** 2
    target = target / target.sum(dim=1, keepdim=True)
    again = logits.detach().clone().requires_grad_()
    ((again.softmax(dim=2) - target) ** 2).sum(dim=2).mean().backward()
    torch.testing.assert_close(logits.grad, again.grad, atol=1e-6, rtol=1e-4)


def test_the_terms_are_the_mean_cross_entropy_of_the_draws_and_the_weighted_disagreement(barbell):
    model = GRAND(hidden=HIDDEN, order=2, draws=3, consistency=0.7, temperature=0.5)
    network, view = network_for(barbell), model.view(barbell)
    nodes, labels = torch.tensor([0, 5, 12]), torch.tensor([0, 0, 1])
    task = model.task(network, barbell, view, (nodes, labels), (nodes[:0], labels[:0]))
    terms = task.losses(0, seeded(3))
    logits, _ = model.learn(network, view, seeded(3))
    surprise = [-draw[n].log_softmax(dim=0)[y].item() for draw in logits for n, y in ((0, 0), (5, 0), (12, 1))]
    assert terms["ce"].item() == pytest.approx(sum(surprise) / 9, rel=1e-5)
    expected = 0.7 * disagreement_by_hand(logits.detach().double().numpy(), 0.5)
    assert terms["consistency"].item() == pytest.approx(expected, rel=1e-4)
    (terms["ce"] + terms["consistency"]).backward()
    assert all((parameter.grad != 0).any() for parameter in network.parameters())


def test_the_gradient_is_that_of_the_formula(graph):
    network, factors = network_for(graph), 2.0 * (torch.rand(graph.num_nodes, 2) < 0.5)
    cotangent = torch.randn(2, graph.num_nodes, graph.num_classes)
    found = torch.autograd.grad((network(RAW.view(graph), 3, factors) * cotangent).sum(), network.parameters())
    expected = torch.autograd.grad((by_hand(graph, network, 3, factors) * cotangent).sum(), network.parameters())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)
