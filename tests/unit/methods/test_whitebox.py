import copy

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from small_models import SMALL, rewired, small, small_method

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.base import Base
from gvdn.methods.gvdn.choice import IN_TURN, JUDGING, WAYS
from gvdn.methods.references.gcn import GNN
from gvdn.methods.trusted import Trusted
from gvdn.methods.whitebox import WhiteBox
from gvdn.perturbations import DifferentiableModel, Surrogate, perturb

MODELS = ["gcn", "linear gcn", "gvdn", "gvdn, recovered", "gvdn, recovered elsewhere"]
_MODELS: dict[str, tuple[object, Graph]] = {}


@pytest.fixture(params=MODELS)
def model_and_graph(request, ring, split):
    """A model, and the graph it is asked about; made once, to be asked only."""
    way = request.param
    if way not in _MODELS:
        if way.endswith("gcn"):
            model = GNN(hidden=8, epochs=30, learning_rate=0.05, linear=way == "linear gcn")
        else:
            model = small(evidence_floor=0.9, trust=False)
        model.fit(ring, split, seed=0)
        graph = rewired(ring) if way != "gvdn" else ring
        if "recovered" in way:
            model = model.recover(graph if way == "gvdn, recovered" else ring)
        _MODELS[way] = (model, graph)
    return _MODELS[way]


def dense(features) -> np.ndarray:
    return sp.csr_array(features).toarray().astype(np.float64)


def dense_propagation(graph: Graph) -> np.ndarray:
    loops = graph.adjacency.toarray().astype(np.float64) + np.eye(graph.num_nodes)
    scale = loops.sum(axis=1) ** -0.5
    return scale[:, None] * loops * scale


def both_ways(graph: Graph) -> torch.Tensor:
    both = graph.adjacency.tocoo()
    return torch.from_numpy(np.stack([both.row, both.col]).astype(np.int64))


def asked(module, graph: Graph, index: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return module(torch.zeros(graph.num_nodes, 1), index, weights)


def log_probs_of(model, graph: Graph) -> np.ndarray:
    return np.log(model.predict_proba(graph))


# ---- the weights


def test_w_is_the_product_of_the_layers(ring, split):
    model = GNN(hidden=8, epochs=5).fit(ring, split, seed=0)
    state = {name: tensor.double().numpy() for name, tensor in model.network_.state_dict().items()}
    np.testing.assert_allclose(WhiteBox(model).W, state["first.W"] @ state["out.W"], rtol=1e-12)
    assert WhiteBox(model).W.shape == (ring.num_features, 3)


def test_w_of_a_gvdn_is_its_head_h_and_its_output_layer(fitted, ring):
    state = {name: tensor.double().numpy() for name, tensor in fitted.network_.state_dict().items()}
    H = state["heads.W"][:, :8]  # of three heads side by side: H, mu, log sigma
    np.testing.assert_allclose(WhiteBox(fitted).W, H @ state["out.W"], rtol=1e-12)


def test_the_head_that_is_taken_is_the_one_that_the_network_calls_h(fitted, ring):
    """Not by its position in the matrix: by what the first layer gives."""
    view, _ = fitted.through(ring)
    H = fitted.network_.first_layer(view).H.detach().numpy()
    W_1 = fitted.network_.heads.W.detach().numpy()[:, : fitted.hidden]
    aggregated = dense_propagation(ring) @ dense(ring.features) @ W_1
    assert np.allclose(H, aggregated, atol=1e-5) or np.allclose(H, np.maximum(aggregated, 0), atol=1e-5)


def test_the_logits_of_a_linear_gcn_are_two_steps_of_propagation(ring, split):
    model = GNN(hidden=8, epochs=30, learning_rate=0.05, linear=True).fit(ring, split, seed=0)
    for graph in (ring, rewired(ring)):
        A_hat = dense_propagation(graph)
        logits = A_hat @ A_hat @ dense(graph.features) @ WhiteBox(model).W
        shifted = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(log_probs_of(model, graph), shifted, atol=1e-5)
        module = WhiteBox(model).module(graph)
        said = asked(module, graph, both_ways(graph), torch.ones(2 * graph.num_edges)).detach().numpy()
        np.testing.assert_allclose(said, logits, atol=1e-5)


def test_with_an_activation_they_are_not(ring, split):
    model = GNN(hidden=8, epochs=30, learning_rate=0.05).fit(ring, split, seed=0)
    A_hat = dense_propagation(ring)
    logits = A_hat @ A_hat @ dense(ring.features) @ WhiteBox(model).W
    shifted = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert np.abs(log_probs_of(model, ring) - shifted).max() > 1e-2


# ---- through the edges


def test_with_unit_weights_the_module_gives_the_models_own_answers(model_and_graph):
    model, graph = model_and_graph
    logits = asked(WhiteBox(model).module(graph), graph, both_ways(graph), torch.ones(2 * graph.num_edges))
    np.testing.assert_allclose(
        logits.detach().double().log_softmax(dim=1).numpy(), log_probs_of(model, graph), atol=1e-5
    )


def test_the_order_of_the_edges_and_what_x_holds_say_nothing(model_and_graph):
    model, graph = model_and_graph
    module, index = WhiteBox(model).module(graph), both_ways(graph)
    weights = torch.linspace(0.1, 1, graph.num_edges)
    low, high = index.min(dim=0).values, index.max(dim=0).values
    keys = {(a, b): number for number, (a, b) in enumerate(map(tuple, graph.edges.tolist()))}
    both = weights[torch.tensor([keys[pair] for pair in zip(low.tolist(), high.tolist(), strict=True)])]
    shuffled = torch.from_numpy(np.random.default_rng(0).permutation(index.shape[1]))
    first = asked(module, graph, index, both)
    second = module(torch.full((graph.num_nodes, 5), 7.0), index[:, shuffled], both[shuffled])
    torch.testing.assert_close(first, second, atol=1e-5, rtol=1e-5)


def test_an_edge_of_weight_zero_is_an_edge_that_is_gone(ring, split):
    model = GNN(hidden=8, epochs=10).fit(ring, split, seed=0)
    gone = ring.edges[[3, 50]]
    index = both_ways(ring)
    weights = torch.ones(index.shape[1])
    for a, b in gone.tolist():
        weights[((index[0] == a) & (index[1] == b)) | ((index[0] == b) & (index[1] == a))] = 0
    logits = asked(WhiteBox(model).module(ring), ring, index, weights).detach().double().log_softmax(dim=1).numpy()
    rest = {"labels": ring.labels, "ids": ring.ids, "class_names": ring.class_names, "name": ring.name}
    cut = Graph.from_edges(np.delete(ring.edges, [3, 50], axis=0), ring.features, **rest)
    np.testing.assert_allclose(logits, log_probs_of(model, cut), atol=1e-5)


def test_an_edge_that_was_not_there_can_be_given(ring, split, fitted):
    rest = {"labels": ring.labels, "ids": ring.ids, "class_names": ring.class_names, "name": ring.name}
    more = Graph.from_edges(np.concatenate([ring.edges, [[0, 30]]]), ring.features, **rest)
    for model in (GNN(hidden=8, epochs=10).fit(ring, split, seed=0), fitted):
        logits = asked(WhiteBox(model).module(ring), ring, both_ways(more), torch.ones(2 * more.num_edges))
        said = logits.detach().double().log_softmax(dim=1).numpy()
        np.testing.assert_allclose(said, log_probs_of(model, more), atol=1e-5)
        assert np.abs(said - log_probs_of(model, ring)).max() > 1e-4


def test_the_gradient_into_an_edge_is_a_difference_quotient(model_and_graph):
    model, graph = model_and_graph
    module, index = WhiteBox(model).module(graph), both_ways(graph)
    rest = torch.from_numpy(np.random.default_rng(2).normal(size=(graph.num_nodes, 3)).astype(np.float32))

    def value(one_way: torch.Tensor) -> torch.Tensor:
        keys = index.min(dim=0).values * graph.num_nodes + index.max(dim=0).values
        _, which = torch.unique(keys, sorted=True, return_inverse=True)
        return (asked(module, graph, index, one_way[which]) * rest).double().sum()

    weights = torch.linspace(0.4, 1.0, graph.num_edges).requires_grad_()
    (gradient,) = torch.autograd.grad(value(weights), weights)
    assert gradient.abs().max() > 1e-2
    largest = gradient.abs().argsort(descending=True)[:6].tolist()
    agreed = 0
    for edge in [*largest, *range(0, graph.num_edges, 17)]:
        step = torch.zeros(graph.num_edges)
        step[edge] = 5e-3
        with torch.no_grad():
            quotient = (value(weights + step) - value(weights - step)).item() / 1e-2
        # A ReLU that turns within the step is no error of the gradient, so a few may disagree.
        agreed += gradient[edge].item() == pytest.approx(quotient, abs=5e-3, rel=2e-2)
    assert agreed >= len([*largest, *range(0, graph.num_edges, 17)]) - 2


def test_looking_through_a_model_leaves_it_as_it_was(model_and_graph):
    model, graph = model_and_graph
    before = {name: tensor.clone() for name, tensor in model.network_.state_dict().items()}
    answers, identity = model.predict_proba(graph), WhiteBox(model).identity
    index = both_ways(graph)
    weights = torch.ones(index.shape[1], requires_grad=True)
    asked(WhiteBox(model).module(graph), graph, index, weights).sum().backward()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.network_.state_dict().items())
    assert np.array_equal(model.predict_proba(graph), answers)
    assert WhiteBox(model).identity == identity


def test_the_module_has_the_models_own_parameters_and_no_copies(model_and_graph):
    model, graph = model_and_graph
    module = WhiteBox(model).module(graph)
    assert {id(one) for one in module.parameters()} == {id(one) for one in model.network_.parameters()}


# ---- who it is


def test_it_is_what_both_attacks_ask_for(fitted):
    assert isinstance(WhiteBox(fitted), Surrogate)
    assert isinstance(WhiteBox(fitted), DifferentiableModel)


def test_the_identity_names_the_method_and_follows_the_weights(ring, split, fitted, tmp_path):
    gcn = GNN(hidden=8, epochs=5).fit(ring, split, seed=0)
    first = WhiteBox(gcn).identity
    assert first.startswith("gcn ")
    assert WhiteBox(fitted).identity.startswith("gvdn ")
    gcn.save(tmp_path / "model")
    assert WhiteBox(GNN.load(tmp_path / "model")).identity == first
    assert WhiteBox(GNN(hidden=8, epochs=5).fit(ring, split, seed=0)).identity == first
    assert WhiteBox(GNN(hidden=8, epochs=5).fit(ring, split, seed=1)).identity != first
    with torch.no_grad():
        gcn.network_.out.W[0, 0] += 1e-3
    assert WhiteBox(gcn).identity != first
    assert WhiteBox(fitted).identity != WhiteBox(fitted.recover(ring)).identity


def test_a_linear_gcn_is_not_the_same_model_as_one_that_is_not(ring, split):
    """The same weights with and without the activation answer differently; the receipt should tell them apart."""
    plain, linear = (GNN(hidden=8, epochs=1, linear=linear).fit(ring, split, seed=0) for linear in (False, True))
    linear.network_.load_state_dict(plain.network_.state_dict())
    assert not np.allclose(plain.predict_proba(ring), linear.predict_proba(ring))
    assert WhiteBox(plain).identity != WhiteBox(linear).identity


# ---- every other method

EXACT = ["gcn-jaccard", "dropedge", "dropedge, normalised", "grand", "grand, normalised", "rgcn", "graphss", "lindt"]
EXACT += ["gcn-retrained", "gnnguard", "airgnn", "elastic-gnn", "adversarial-training", "gtrans"]
EXACT += ["gpr-gae", "soft-median-gdc", "gcn-svd", "prognn"]
REFUSED = {
    "mlp": "it reads no links",
    "snapshot": "its answers are stored ones",
    "sgc": "its aggregator is sgc",
    "sage": "its aggregator is sage",
    "gat": "its aggregator is gat",
}


@pytest.fixture
def weighted(ring) -> Graph:
    """The ring with other edges, of different weights."""
    graph = rewired(ring)
    rest = {"labels": ring.labels, "ids": ring.ids, "class_names": ring.class_names, "name": ring.name}
    return Graph.from_edges(graph.edges, ring.features, weights=np.linspace(0.5, 2, graph.num_edges), **rest)


def test_every_method_is_attacked_or_refused():
    assert sorted([*EXACT, *REFUSED, "mc-dropout", "gcn", "gvdn"]) == sorted(SMALL)


@pytest.mark.parametrize("word", EXACT)
def test_the_module_gives_the_answers_of_the_method(word, ring, split, weighted):
    model = small_method(word).fit(ring, split, seed=0)
    for graph in (ring, weighted):
        logits = asked(WhiteBox(model).module(graph), graph, both_ways(graph), torch.ones(2 * graph.num_edges))
        said = logits.detach().double().log_softmax(dim=1).numpy()
        np.testing.assert_allclose(said, log_probs_of(model, graph), atol=1e-4)
    assert WhiteBox(model).identity.startswith(model.name + " ")


@pytest.mark.parametrize("word", [*EXACT, "gcn"])
def test_before_an_attack_changes_links_the_view_has_those_of_the_graph(word, ring, split, weighted):
    """Trust in front of a method asks it so."""
    model = small_method(word).fit(ring, split, seed=0)
    view, logits = model.through(weighted)
    said = logits(view).detach().double().log_softmax(dim=1).numpy()
    np.testing.assert_allclose(said, log_probs_of(model, weighted), atol=1e-4)


@pytest.mark.parametrize("word", EXACT)
def test_a_link_that_was_not_there_counts_as_the_method_counts_it(word, ring, split):
    rest = {"labels": ring.labels, "ids": ring.ids, "class_names": ring.class_names, "name": ring.name}
    more = Graph.from_edges(np.concatenate([ring.edges, [[0, 30], [7, 45]]]), ring.features, **rest)
    model = small_method(word).fit(ring, split, seed=0)
    logits = asked(WhiteBox(model).module(ring), ring, both_ways(more), torch.ones(2 * more.num_edges))
    said = logits.detach().double().log_softmax(dim=1).numpy()
    np.testing.assert_allclose(said, log_probs_of(model, more), atol=1e-4)


def test_a_link_that_jaccard_removes_has_no_gradient_and_another_has_one(ring, split):
    model = small_method("gcn-jaccard", threshold=0.2).fit(ring, split, seed=0)
    kept = model.link_factors(ring, ring.edges) > 0
    assert 0 < kept.sum() < ring.num_edges
    index, module = both_ways(ring), WhiteBox(model).module(ring)
    weights = torch.ones(index.shape[1], requires_grad=True)
    (gradient,) = torch.autograd.grad((asked(module, ring, index, weights) ** 2).sum(), weights)
    low, high = index.min(dim=0).values.numpy(), index.max(dim=0).values.numpy()
    of_kept = np.isin(low * 60 + high, (ring.edges[:, 0] * 60 + ring.edges[:, 1])[kept])
    once = (index[0] < index[1]).numpy()
    assert (gradient.numpy()[~of_kept] == 0).all()
    assert (gradient.numpy()[of_kept & once] != 0).mean() > 0.9


def test_mc_dropout_is_attacked_without_its_dropout(ring, split):
    model = small_method("mc-dropout").fit(ring, split, seed=0)
    logits = asked(WhiteBox(model).module(ring), ring, both_ways(ring), torch.ones(2 * ring.num_edges))
    with torch.no_grad():
        expected = model.network_(model.view(ring))
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
@pytest.mark.parametrize("word", [*EXACT, "mc-dropout"])
def test_an_attack_through_a_method_lowers_its_own_certainty(word, kind, ring, split):
    changes = {"neighbours": 20} if word == "soft-median-gdc" else {}  # with 8, a few links move next to nothing
    model = small_method(word, epochs=30, learning_rate=0.05, **changes).fit(ring, split, seed=0)
    given = {"victims": [3, 27, 44], "flips_per_victim": 4, "epochs": 20, "block_size": 600}
    done = perturb(ring, kind, split, seed=0, model=WhiteBox(model), **given)
    rows, own = [3, 27, 44], model.predict(ring)[[3, 27, 44]]
    before, after = (model.predict_proba(graph)[rows, own] for graph in (ring, done.graph))
    assert after.sum() < before.sum() - 0.02


@pytest.mark.parametrize("word", REFUSED)
def test_a_method_without_a_gradient_is_refused_with_the_reason(word, ring, split):
    fitted = small_method(word, **({} if word == "snapshot" else {"epochs": 2})).fit(ring, split, seed=0)
    with pytest.raises(InvalidInput, match=f"expected a method to attack.*{REFUSED[word]}.*attack a gcn") as refused:
        WhiteBox(fitted)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("word", ["graphss", "lindt"])
def test_a_recovered_method_that_goes_by_stored_predictions_is_refused(word, ring, split):
    recovered = small_method(word).fit(ring, split, seed=0).recover(ring)
    with pytest.raises(InvalidInput, match="after recover its answers are conditional on stored predictions"):
        WhiteBox(recovered)


def test_a_method_that_says_nothing_of_links_is_refused(ring, split):
    class Own(Base):
        name = "own"

    with pytest.raises(InvalidInput, match="got own: it does not say how its answers depend on links"):
        WhiteBox(Own(hidden=8, epochs=2).fit(ring, split, seed=0))


@pytest.mark.parametrize("word", SMALL)
def test_a_model_that_is_not_fitted_is_refused(word):
    with pytest.raises(InvalidInput, match="expected a fitted method to attack, got a .* that is not fitted"):
        WhiteBox(small_method(word))


def test_what_is_no_method_is_refused():
    with pytest.raises(InvalidInput, match="expected a fitted method to attack, got str"):
        WhiteBox("gcn")


def test_only_a_gcn_or_gvdn_has_the_weights_of_a_surrogate(ring, split):
    box = WhiteBox(small_method("rgcn").fit(ring, split, seed=0))
    with pytest.raises(InvalidInput, match="expected a gcn or gvdn as the surrogate of nettack, got rgcn"):
        perturb(ring, "nettack", split, seed=0, surrogate=box)


# ---- through trust in front of a method


def test_trust_in_front_of_a_method_is_attacked_through(ring, split):
    model = GNN(hidden=8, epochs=30, learning_rate=0.05).fit(ring, split, seed=0)
    unknown = split.test[:6]
    box = WhiteBox(Trusted(model, ring), unknown=unknown)
    assert box.identity.startswith("gcn through trust ")
    given = {"victims": unknown, "edge_fraction": 0.1, "epochs": 6, "block_size": 300}
    through, around = (perturb(ring, "prbcd", split, seed=0, model=one, **given) for one in (box, WhiteBox(model)))
    assert through.graph.hash != around.graph.hash


def test_trust_needs_the_nodes_that_are_unknown_and_a_method_needs_trust(ring, split):
    model = GNN(hidden=8, epochs=5).fit(ring, split, seed=0)
    with pytest.raises(InvalidInput, match="expected the nodes of which nothing is stored"):
        WhiteBox(Trusted(model, ring))
    with pytest.raises(InvalidInput, match=r"got gcn; give gvdn.Trusted\(model, graph\)"):
        WhiteBox(model, unknown=split.test[:3])


def test_a_graph_of_other_columns_is_refused(fitted, barbell):
    with pytest.raises(InvalidInput, match="the model was fitted on"):
        WhiteBox(fitted).module(barbell)


# ---- a gvdn that recovered with trust


@pytest.fixture
def recovered(ring, split):
    """A GVDN that recovered with nothing stored of six nodes, whatever way it chose."""
    graph = rewired(ring)
    return small().fit(ring, split, seed=0).recover(graph, known=np.delete(ring.ids, split.test[:6])), graph


@pytest.mark.parametrize("way", WAYS)
def test_a_gvdn_that_recovered_with_trust_is_attacked_as_it_answers(recovered, split, way):
    model, graph = copy.copy(recovered[0]), recovered[1]
    model.way_ = way
    front = model.front(graph)
    doubtful = front.weight_of_stored > 0.01
    assert 0 < doubtful.sum() < graph.num_nodes - 6
    said = asked(WhiteBox(model).module(graph), graph, both_ways(graph), torch.ones(2 * graph.num_edges))
    probs, expected = said.softmax(dim=1).detach().numpy(), model.predict_proba(graph)
    joined = front.in_question if way in JUDGING else np.empty(0, dtype=np.int64)  # with the first of three accounts
    rest = np.delete(np.arange(graph.num_nodes), joined)
    np.testing.assert_allclose(probs[rest], expected[rest], atol=1e-5)
    np.testing.assert_allclose(probs[joined], expected[joined], atol=0.01)
    plain = model._forward(graph).logits.softmax(dim=1).numpy()
    assert np.abs(plain[doubtful] - expected[doubtful]).max() > 1e-3, "the stored answers count"


def test_a_gvdn_that_judges_in_turn_has_weights_for_nettack_and_no_gradient(recovered):
    model, graph = copy.copy(recovered[0]), recovered[1]
    expected, model.way_ = WhiteBox(model).W, IN_TURN
    np.testing.assert_array_equal(WhiteBox(model).W, expected)
    with pytest.raises(InvalidInput, match="judges a poisoned graph's nodes in turn"):
        WhiteBox(model).module(graph)


def test_an_unknown_node_that_is_no_position_is_named(ring, split):
    model = small().fit(ring, split, seed=0)
    with pytest.raises(InvalidInput, match="expected unknown as positions from 0 up, got -1"):
        WhiteBox(model, unknown=np.array([3, -1]))
    with pytest.raises(InvalidInput, match="in ring as unknown, 0 to 59, got 60; find them with"):
        WhiteBox(model, unknown=np.array([3, 60])).module(ring)


# ---- after a reaction of the defender


def test_a_gvdn_that_reacted_is_recovered_with_nothing_stored_of_the_unknown_nodes(ring, split):
    unknown, attacked = np.array([3, 27, 44]), rewired(ring)
    model = small().fit(ring, split, seed=0)
    after = WhiteBox(model, unknown=unknown).after(attacked)
    expected = model.recover(attacked, known=np.delete(ring.ids, unknown))
    np.testing.assert_array_equal(after.model.predict_proba(attacked), expected.predict_proba(attacked))
    np.testing.assert_array_equal(after.unknown, unknown)


@pytest.mark.parametrize("word", ["gcn", "graphss", "lindt"])
def test_without_a_recovery_that_has_a_gradient_the_model_stays_as_it_is(word, ring, split):
    box = WhiteBox(small_method(word).fit(ring, split, seed=0))
    assert box.after(rewired(ring)) is box


def test_trust_in_front_stays_as_it_is_and_judges_the_graph_that_it_is_asked_about(ring, split):
    box = WhiteBox(Trusted(small_method("gcn").fit(ring, split, seed=0), ring), unknown=np.array([3, 27]))
    assert box.after(rewired(ring)) is box
