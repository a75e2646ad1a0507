"""GRAND against the formula of its paper, with every X̅ written out."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph, Split
from gvdn.methods.defences.grand import GRAND, disagreement
from gvdn.nn.dropout import Dropout
from gvdn.nn.gnn import RandomPropagation, mixed_orders

HIDDEN = 4


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
    logits = network(GRAND().view(graph), order, factors)
    torch.testing.assert_close(logits, by_hand(graph, network, order, factors), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("order", [0, 3])
def test_an_answer_has_no_mask(order, graph):
    model, network = GRAND(order=order, input_dropout=0.9, dropout=0.9), network_for(graph)
    answer = model.answer(network, model.view(graph))
    expected = by_hand(graph, network, order, torch.ones(graph.num_nodes, 1))[0]
    torch.testing.assert_close(answer, expected, atol=1e-5, rtol=1e-4)
    assert torch.equal(answer, model.answer(network, model.view(graph)))


def test_the_draws_of_an_epoch_leave_out_nodes_and_scale_the_others_up(graph):
    model = GRAND(order=2, draws=3, node_dropout=0.25, input_dropout=0.0, dropout=0.0)
    network = network_for(graph)
    logits, _ = model.learn(network, model.view(graph), seeded(7))
    torch.manual_seed(7)
    factors = (torch.rand(graph.num_nodes, 3) >= 0.25) / 0.75
    assert logits.shape == (3, graph.num_nodes, graph.num_classes)
    torch.testing.assert_close(logits, by_hand(graph, network, 2, factors), atol=1e-5, rtol=1e-4)


def test_both_dropouts_fall_where_they_are_said_to(barbell):
    """Dense features: the input dropout is drawn over X after the masks, the other over the hidden layer."""
    model = GRAND(order=2, draws=2, node_dropout=0.5, input_dropout=0.4, dropout=0.3)
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


def test_a_normalised_layer_is_normalised_draw_by_draw(barbell):
    network = RandomPropagation(barbell.num_features, HIDDEN, 2, batch_norm=True)
    factors = 2.0 * (torch.rand(20, 2) < 0.5)
    logits = network.train()(GRAND().view(barbell), 1, factors)
    A_hat, X = parts(barbell)
    for draw in range(2):
        before = (X * factors[:, [draw]] + A_hat @ (X * factors[:, [draw]])) / 2 @ network.W_1 + network.b_1
        normal = (before - before.mean(dim=0)) / (before.var(dim=0, unbiased=False) + 1e-5).sqrt()
        torch.testing.assert_close(logits[draw], torch.relu(normal) @ network.W_2 + network.b_2, atol=1e-4, rtol=1e-3)


def test_the_mean_of_the_orders_is_a_sum_of_powers(graph):
    A_hat, X = parts(graph)
    view = GRAND().view(graph)
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
    found = torch.autograd.grad((network(GRAND().view(graph), 3, factors) * cotangent).sum(), network.parameters())
    expected = torch.autograd.grad((by_hand(graph, network, 3, factors) * cotangent).sum(), network.parameters())
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)
