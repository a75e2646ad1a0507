"""Each equation of the paper against an independent implementation, or dense algebra."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Normal, kl_divergence

from gvdn.graph import Graph
from gvdn.nn import view as view_module
from gvdn.nn.aggregators import AGGREGATORS, Attention, view_of
from gvdn.nn.diffusion import (
    Posterior,
    Rate,
    cross_entropy,
    diffused,
    diffusion_loss,
    diffusion_rates,
    embedding_match,
    kl_to_standard_normal,
    undiffused,
)
from gvdn.nn.dropout import Dropout
from gvdn.nn.encoder import LOG_SIGMA_MAX, Encoder, Fallback
from gvdn.nn.samplers import Replacement

CPU = torch.device("cpu")
FIXED = ["gcn", "sgc", "sage"]
DENSE_GAIN = {"dense": 10**9, "sparse": 0}
"""Forces the layout: S X is stored where a dense product is that many times faster, else a sparse X."""


def gaussians(seed: int, nodes: int = 5, width: int = 3) -> Posterior:
    random = torch.Generator().manual_seed(seed)
    return Posterior(torch.randn(nodes, width, generator=random), torch.rand(nodes, width, generator=random))


def numbers(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def dense_S(graph: Graph, aggregator: str) -> np.ndarray:
    """What multiplies from the left, written out entry by entry; sgc takes two hops."""
    loops = graph.adjacency.toarray().astype(np.float64) + np.eye(graph.num_nodes)
    degree = loops.sum(axis=1)
    S = np.zeros_like(loops)
    for row, column in zip(*np.nonzero(loops), strict=True):
        S[row, column] = 1 / degree[row] if aggregator == "sage" else 1 / math.sqrt(degree[row] * degree[column])
    return S @ S if aggregator == "sgc" else S


def dense_X(graph: Graph) -> np.ndarray:
    return np.asarray(graph.features if isinstance(graph.features, np.ndarray) else graph.features.toarray(), float)


def encoder(graph: Graph, aggregator: str) -> Encoder:
    torch.manual_seed(0)
    return Encoder(graph.num_features, 4, graph.num_classes, graph.num_nodes, aggregator)


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


@pytest.fixture(autouse=True)
def _own_generator():
    with torch.random.fork_rng():
        yield


@pytest.fixture(params=["star", "ring"])
def graph(request) -> Graph:
    return request.getfixturevalue(request.param)


@pytest.fixture(params=sorted(DENSE_GAIN))
def layout(request, monkeypatch) -> None:
    """Features stored as S X, or, where they are sparse, as X."""
    monkeypatch.setattr(view_module, "DENSE_GAIN", {"cpu": DENSE_GAIN[request.param]})


# ---- Eq. 2 and 3: aggregation and the first layer


@pytest.mark.parametrize("aggregator", FIXED)
def test_the_first_layer_is_three_products_with_the_dense_matrix(aggregator, graph, layout):
    network = encoder(graph, aggregator)
    hidden = network.first_layer(view_of(graph, aggregator, CPU))
    W_h, W_mu, W_sigma = np.split(array(network.heads.W), 3, axis=1)
    SX = dense_S(graph, aggregator) @ dense_X(graph)
    for got, W in ((hidden.H, W_h), (hidden.q.mu, W_mu), (hidden.q.log_sigma, W_sigma)):
        np.testing.assert_allclose(array(got), np.maximum(SX @ W, 0), atol=1e-5)


@pytest.mark.parametrize("aggregator", FIXED)
def test_sparse_and_dense_layouts_of_the_features_agree(aggregator, ring, monkeypatch):
    W, made = numbers(0, ring.num_features, 6), {}
    for name, gain in DENSE_GAIN.items():
        monkeypatch.setattr(view_module, "DENSE_GAIN", {"cpu": gain})
        made[name] = view_of(ring, aggregator, CPU)
    assert made["dense"].SX is not None
    assert made["dense"].X is None
    assert made["sparse"].SX is None
    assert made["sparse"].X is not None
    torch.testing.assert_close(made["sparse"].aggregate(W), made["dense"].aggregate(W), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("aggregator", FIXED)
def test_the_second_layer_is_a_product_with_the_dense_matrix(aggregator, graph):
    network, H_emb = encoder(graph, aggregator), numbers(1, graph.num_nodes, 4)
    logits = network.second_layer(view_of(graph, aggregator, CPU), H_emb)
    expected = dense_S(graph, aggregator) @ array(H_emb) @ array(network.out.W)
    np.testing.assert_allclose(array(logits), expected, atol=1e-5)


@pytest.mark.parametrize("aggregator", FIXED)
def test_the_gradient_of_the_heads_is_that_of_dense_algebra(aggregator, graph, layout):
    network, weights = encoder(graph, aggregator), numbers(2, graph.num_nodes, 12)
    view = view_of(graph, aggregator, CPU)
    (torch.cat([network.first_layer(view).H, *network.first_layer(view).q], dim=1) * weights).sum().backward()
    SX = dense_S(graph, aggregator) @ dense_X(graph)
    alive = SX @ array(network.heads.W) > 0
    np.testing.assert_allclose(array(network.heads.W.grad), SX.T @ (array(weights) * alive), atol=1e-4)


def test_sigma_is_bounded_however_large_the_features_are(star):
    network = encoder(star, "gcn")
    large = Graph(star.adjacency, np.asarray(star.features) * 1e6, labels=star.labels)
    q = network.first_layer(view_of(large, "gcn", CPU)).q
    assert q.log_sigma.max() == LOG_SIGMA_MAX == 10
    assert torch.isfinite(q.sample(torch.ones_like(q.mu))).all()


def test_an_isolated_node_keeps_its_own_features(isolated):
    W = numbers(0, isolated.num_features, 3)
    for aggregator in FIXED:
        got = view_of(isolated, aggregator, CPU).aggregate(W)
        np.testing.assert_allclose(array(got)[4:7], dense_X(isolated)[4:7] @ array(W), atol=1e-5)


def test_attention_of_equal_rows_gives_equal_rows(ring):
    torch.manual_seed(0)
    layer, view = Attention(5, 4), view_of(ring, "gat", CPU)
    rows = layer.hidden(view, numbers(0, 1, 5).repeat(60, 1))
    torch.testing.assert_close(rows, rows[:1].repeat(60, 1))


def test_attention_is_a_convex_combination_of_the_neighbours_and_oneself(star):
    torch.manual_seed(0)
    layer, H = Attention(2, 3), numbers(3, 7, 2)
    heads = (H @ layer.layer.lin.weight.T).view(7, 3, 3)
    rows = layer.hidden(view_of(star, "gat", CPU), H)
    for node in range(7):
        near = [0, node] if node else list(range(7))
        assert (rows[node] <= heads[near].amax(dim=0).mean(dim=0) + 1e-6).all()
        assert (rows[node] >= heads[near].amin(dim=0).mean(dim=0) - 1e-6).all()


@pytest.mark.parametrize("aggregator", sorted(AGGREGATORS))
def test_every_aggregator_goes_through_both_layers_on_isolated_nodes(aggregator, isolated):
    network, view = encoder(isolated, aggregator), view_of(isolated, aggregator, CPU)
    for noise in (None, torch.randn_like):
        made = network(view, Rate(0.5, 0.5), noise=noise, dropout=Dropout(0.5, torch.Generator().manual_seed(0)))
        assert made.logits.shape == (14, 2)
        assert torch.isfinite(made.logits).all()


def test_each_head_is_initialised_as_if_it_stood_alone():
    torch.manual_seed(0)
    bound = math.sqrt(6 / (30 + 200))
    heads = Encoder(30, 200, 3, 5).heads.W.detach().abs()
    for block in heads.split(200, dim=1):
        assert 0.99 * bound < block.max() <= bound


# ---- Eq. 4: diffusion


@given(st.integers(1, 300), st.floats(0.05, 0.9), st.floats(0.91, 0.9999))
def test_diffusion_rates_are_a_running_product_of_falling_gammas(T, gamma_min, gamma_max):
    product, expected = 1.0, []
    for t in range(T):
        product *= gamma_max - (gamma_max - gamma_min) * (t / (T - 1) if T > 1 else 0)
        expected.append(product)
    np.testing.assert_allclose(diffusion_rates(T, gamma_min, gamma_max).numpy(), expected, rtol=1e-9, atol=1e-300)


def test_a_diffused_schedule_is_the_square_root_of_what_is_left_and_of_what_is_gone():
    assert [rate.mean**2 for rate in diffused(2, 0.5, 0.8)] == pytest.approx([0.8, 0.4])
    assert [rate.noise**2 for rate in diffused(2, 0.5, 0.8)] == pytest.approx([0.2, 0.6])
    assert undiffused(2) == [Rate(1.0, 1.0), Rate(1.0, 1.0)]


def test_diffusion_scales_the_mean_and_the_logarithm_of_sigma():
    q = gaussians(0)
    diffused_q = q.diffuse(Rate(0.6, 0.8))
    np.testing.assert_allclose(array(diffused_q.mu), 0.6 * array(q.mu), rtol=1e-6)
    np.testing.assert_allclose(np.exp(array(diffused_q.log_sigma)), np.exp(array(q.log_sigma)) ** 0.8, rtol=1e-6)


# ---- Eq. 5 and 6: sampling and mixing


def test_a_sample_is_the_mean_plus_noise_times_sigma():
    q, eps = gaussians(0), numbers(1, 5, 3)
    expected = array(q.mu) + array(eps) * np.exp(array(q.log_sigma))
    np.testing.assert_allclose(array(q.sample(eps)), expected, rtol=1e-6)
    assert torch.equal(q.sample(torch.zeros(5, 3)), q.mu)


def test_many_samples_have_the_mean_and_the_deviation_of_the_posterior():
    q = gaussians(0)
    many = Posterior(q.mu.repeat(20000, 1), q.log_sigma.repeat(20000, 1)).sample(numbers(1, 100000, 3)).view(-1, 5, 3)
    torch.testing.assert_close(many.mean(dim=0), q.mu, atol=0.05, rtol=0)
    torch.testing.assert_close(many.std(dim=0), q.log_sigma.exp(), atol=0.05, rtol=0)


# ---- Eq. 3 to 7: the forward pass

RATE = Rate(0.6, 0.8)


def dense_forward(
    network: Encoder, graph: Graph, aggregator: str, W_z: np.ndarray, eps: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """H_emb and H_out, equation by equation."""
    S = dense_S(graph, aggregator)
    H, mu, log_sigma = (np.maximum(S @ dense_X(graph) @ W, 0) for W in np.split(array(network.heads.W), 3, axis=1))
    Z = RATE.mean * mu + eps * np.exp(RATE.noise * log_sigma)
    H_emb = (1 - W_z) * H + W_z * Z
    return H_emb, S @ H_emb @ array(network.out.W)


@pytest.mark.parametrize("aggregator", FIXED)
@pytest.mark.parametrize("own_rows", [True, False])
def test_the_forward_pass_is_the_papers(aggregator, own_rows, graph, layout):
    network, eps = encoder(graph, aggregator), numbers(1, graph.num_nodes, 4)
    W_z = None if own_rows else numbers(2, graph.num_nodes, 4)
    made = network(view_of(graph, aggregator, CPU), RATE, W_z, noise=lambda H: eps)
    expected = dense_forward(network, graph, aggregator, array(network.W_z if W_z is None else W_z), array(eps))
    np.testing.assert_allclose(array(made.H_emb), expected[0], atol=1e-5)
    np.testing.assert_allclose(array(made.logits), expected[1], atol=1e-5)
    assert made.eps is eps


@pytest.mark.parametrize("aggregator", sorted(AGGREGATORS))
def test_without_noise_the_sample_is_the_diffused_mean_and_log_sigma_is_not_computed(aggregator, graph):
    network, view = encoder(graph, aggregator), view_of(graph, aggregator, CPU)
    still, zero = network(view, RATE), network(view, RATE, noise=torch.zeros_like)
    assert still.hidden.log_sigma is None
    assert still.eps is None
    torch.testing.assert_close(still.logits, zero.logits)
    torch.testing.assert_close(still.H_emb, zero.H_emb)


def test_a_first_layer_that_is_given_is_not_computed_again(ring, monkeypatch):
    network, view = encoder(ring, "gcn"), view_of(ring, "gcn", CPU)
    made = network(view, RATE, noise=torch.randn_like)
    monkeypatch.setattr(network, "first_layer", None)
    again = network(view, RATE, hidden=made.hidden)
    np.testing.assert_allclose(
        array(again.H_emb), dense_forward(network, ring, "gcn", array(network.W_z), np.zeros((60, 4)))[0], atol=1e-5
    )


def test_a_fallback_replaces_what_is_computed_by_its_weight(ring):
    network, view = encoder(ring, "gcn"), view_of(ring, "gcn", CPU)
    weight = torch.linspace(0, 1, 60)[:, None]
    stored = Fallback(weight, numbers(1, 60, 4), numbers(2, 60, 3))
    plain, made = network(view, RATE), network(view, RATE, fallback=stored)
    w = array(weight)
    H_emb = (1 - w) * array(plain.H_emb) + w * array(stored.H_emb)
    np.testing.assert_allclose(array(made.H_emb), H_emb, atol=1e-6)
    logits = dense_S(ring, "gcn") @ H_emb @ array(network.out.W)
    np.testing.assert_allclose(array(made.logits), (1 - w) * logits + w * array(stored.logits), atol=1e-5)


def test_a_replacement_is_between_the_layers_and_not_in_the_embedding(star):
    network, view = encoder(star, "gcn"), view_of(star, "gcn", CPU)
    replaced = Replacement(torch.tensor([1]), torch.tensor([0, 0]), torch.tensor([2, 3]), torch.tensor([3.0, 1.0]))
    plain, made = network(view, RATE), network(view, RATE, replaced=replaced.apply)
    assert torch.equal(made.H_emb, plain.H_emb)
    H_emb = array(plain.H_emb)
    H_emb[1] = (3 * H_emb[2] + H_emb[3]) / 4
    np.testing.assert_allclose(array(made.logits), dense_S(star, "gcn") @ H_emb @ array(network.out.W), atol=1e-5)


# ---- Eq. 8 to 11: the losses


@given(st.integers(0, 2**31))
def test_the_divergence_is_torchs(seed):
    q = gaussians(seed)
    expected = kl_divergence(Normal(q.mu, q.log_sigma.exp()), Normal(0.0, 1.0)).mean()
    torch.testing.assert_close(kl_to_standard_normal(q), expected)


def test_cross_entropy_is_the_mean_of_the_surprises():
    logits = torch.tensor([[0.0, math.log(3.0)], [0.0, 0.0]])
    assert cross_entropy(logits, torch.tensor([0, 1])).item() == pytest.approx((math.log(4) + math.log(2)) / 2)


def test_diffusion_loss_and_embedding_match_are_means_over_nodes_and_dimensions():
    one, other = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    assert diffusion_loss(one, other).item() == embedding_match(one, other).item() == pytest.approx(13 / 4)
