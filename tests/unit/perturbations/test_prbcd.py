import dataclasses
import math

import numpy as np
import pytest
import torch

from gvdn import METHODS, WhiteBox
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, random_split
from gvdn.perturbations import perturb, replay

SHORT = {"epochs": 8, "block_size": 150}
_MODELS: dict[str, WhiteBox] = {}


@pytest.fixture
def circles() -> Graph:
    """Two circles of twenty with chords and two bridges; the class is the circle, and the features say so softly."""
    around = [(a, (a + step) % 20) for a in range(20) for step in (1, 2, 3)]
    edges = [(a + side, b + side) for a, b in around for side in (0, 20)] + [(0, 20), (10, 30)]
    labels = np.arange(40) // 20
    features = np.random.default_rng(0).random((40, 6)).astype(np.float32)
    features[np.arange(40), labels] += 0.5
    return Graph.from_edges(np.array(edges), features, labels=labels, name="circles")


@pytest.fixture(params=["gcn", "gvdn"])
def model(request, circles) -> WhiteBox:
    if request.param not in _MODELS:
        kind = METHODS[request.param]
        split = random_split(circles, seed=0, train=0.4)
        fitted = kind(hidden=8, epochs=60, learning_rate=0.05, dropout=0.0).fit(circles, split, seed=0)
        _MODELS[request.param] = WhiteBox(fitted)
    return _MODELS[request.param]


def attack(graph, model, *, kind="prbcd", seed=0, **given):
    return perturb(graph, kind, np.arange(graph.num_nodes), seed=seed, model=model, **(SHORT | given))


def flips(done) -> set[tuple[int, int]]:
    return {tuple(edge) for edge in np.concatenate([done.added, done.removed]).tolist()}


def margins(model, graph, victims, classes) -> np.ndarray:
    """How much more probable the old answer is than the best other one."""
    probs = model.model.predict_proba(graph)[victims]
    rows = np.arange(len(victims))
    own = probs[rows, classes].copy()
    probs[rows, classes] = -1
    return own - probs.max(axis=1)


def flipped_at_random(graph, number: int, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    dense = graph.adjacency.toarray().astype(bool)
    a, b = np.triu_indices(graph.num_nodes, 1)
    chosen = rng.choice(len(a), number, replace=False)
    dense[a[chosen], b[chosen]] ^= True
    dense[b[chosen], a[chosen]] = dense[a[chosen], b[chosen]]
    return Graph.from_edges(np.argwhere(np.triu(dense)), graph.features, labels=graph.labels, name=graph.name)


# ---- what it does


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
@pytest.mark.parametrize("budget", [{"edge_fraction": 0.1}, {"flips_per_victim": 4}], ids=["global", "each"])
def test_the_victims_are_hurt_and_more_than_by_chance(circles, model, kind, budget):
    victims = np.array([5, 15, 33])
    done = attack(circles, model, victims=victims.tolist(), kind=kind, epochs=20, block_size=500, **budget)
    answers = model.model.predict(circles)[victims]
    before = margins(model, circles, victims, answers)
    after = margins(model, done.graph, victims, answers)
    assert (before > 0).all()
    assert (after <= before + 1e-3).all()
    assert (after < before - 0.1).any()
    chance = [
        margins(model, flipped_at_random(circles, len(flips(done)), seed), victims, answers).mean() for seed in range(8)
    ]
    assert after.mean() < min(chance)


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
@pytest.mark.parametrize(("share", "most"), [(0.05, 6), (0.1, 12), (0.5, 61)])
def test_one_budget_for_all_is_kept(circles, model, kind, share, most):
    assert circles.num_edges == 122
    for seed in range(2):
        done = attack(circles, model, seed=seed, edge_fraction=share, kind=kind)
        assert 0 < len(flips(done)) <= most
        assert len(flips(done)) == len(done.added) + len(done.removed)


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
def test_a_budget_for_each_is_kept_by_each(circles, model, kind):
    """The first victim of two suffers what it would suffer alone; what the second adds is within its own budget."""
    given = {"flips_per_victim": 3, "kind": kind}
    first, both = (attack(circles, model, victims=who, **given) for who in ([5], [5, 33]))
    assert 0 < len(flips(first)) <= 3
    assert 0 < len(flips(both) ^ flips(first)) <= 3
    three = attack(circles, model, victims=[5, 15, 33], **given)
    assert len(flips(three)) <= 9


def test_a_budget_for_each_goes_before_the_one_for_all(circles, model):
    done = attack(circles, model, victims=[5], flips_per_victim=1, edge_fraction=0.5)
    assert len(flips(done)) == 1


def test_the_flips_are_what_the_graph_lost_and_gained(circles, model):
    done = attack(circles, model, edge_fraction=0.3)
    before, after = ({tuple(edge) for edge in one.edges.tolist()} for one in (circles, done.graph))
    assert before ^ after == flips(done)
    assert np.array_equal(done.graph.features, circles.features)
    assert np.array_equal(done.graph.labels, circles.labels)
    assert replay(circles, done.receipt).graph.hash == done.graph.hash


def test_given_victims_are_the_victims(circles, model):
    done = attack(circles, model, victims=[33, 5])
    assert done.victims.tolist() == [5, 33]
    assert len(done.perturbators) == 0
    assert done.receipt.settings["victims_given"] is True
    assert done.receipt.settings["model"] == model.identity
    assert attack(circles, model).receipt.settings["victims_given"] is False


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
def test_only_the_side_of_the_victim_matters_to_it(circles, model, kind):
    """A flip that neither touches the victim nor one of its neighbours, old or new, cannot move a two-layer model."""
    done = attack(circles, model, victims=[5], flips_per_victim=3, kind=kind, epochs=40, block_size=780)
    near = {5, *circles.adjacency[[5]].indices.tolist(), *done.graph.adjacency[[5]].indices.tolist()}
    assert any(near & set(edge) for edge in flips(done))


# ---- what it does not


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
def test_no_label_is_read(circles, model, kind):
    """Not the victims', nor anybody's: other labels, or none at all, and the same flips."""
    expected = flips(attack(circles, model, kind=kind))
    for labels in (1 - circles.labels, np.full(40, -1), np.random.default_rng(0).integers(0, 2, 40)):
        other = dataclasses.replace(circles, labels=labels, class_names=circles.class_names)
        assert flips(attack(other, model, kind=kind)) == expected


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
def test_the_same_seed_gives_the_same_flips_whatever_was_drawn_before(circles, model, kind):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        first = flips(attack(circles, model, kind=kind))
        torch.manual_seed(2)
        assert flips(attack(circles, model, kind=kind)) == first


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
def test_the_global_generators_are_given_back(circles, model, kind):
    torchs, numpys = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    attack(circles, model, kind=kind)
    assert torch.equal(torch.get_rng_state(), torchs)
    assert np.array_equal(np.random.get_state()[1], numpys)  # noqa: NPY002


def test_a_model_that_draws_noise_is_attacked_the_same_each_time_and_gives_the_generator_back(circles):
    noisy = METHODS["gcn"](hidden=8, epochs=20, noise_weight=0.5).fit(
        circles, random_split(circles, seed=0, train=0.4), seed=0
    )
    found = []
    with torch.random.fork_rng():
        for seed in range(3):
            torch.manual_seed(seed)
            state = torch.get_rng_state()
            found.append(flips(attack(circles, WhiteBox(noisy))))
            assert torch.equal(torch.get_rng_state(), state)
    assert all(one == found[0] for one in found)


def test_the_model_and_the_graph_stay_as_they_were(circles, model):
    identity, answers = model.identity, model.model.predict_proba(circles)
    edges, parameters = circles.edges.copy(), list(model.model.network_.parameters())
    grads = [None if one.grad is None else one.grad.clone() for one in parameters]
    attack(circles, model)
    assert model.identity == identity
    assert np.array_equal(model.model.predict_proba(circles), answers)
    assert np.array_equal(circles.edges, edges)
    for one, grad in zip(parameters, grads, strict=True):
        assert one.requires_grad
        assert (one.grad is None) == (grad is None)
        assert grad is None or torch.equal(one.grad, grad)


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ({}, 8),
        ({"flips_per_victim": 1}, 3 * 8),
        ({"kind": "grbcd"}, 6),  # 5 % of 122 edges
        ({"kind": "grbcd", "edge_fraction": 0.2}, 8),
        ({"kind": "grbcd", "flips_per_victim": 2}, 3 * 2),
    ],
)
def test_progress_has_a_total_at_once_and_counts_every_step(circles, model, given, steps):
    told: list[tuple[int, int]] = []
    done = attack(circles, model, victims=[1, 2, 3], **given, progress=lambda *now: told.append(now))
    assert told == [(number, steps) for number in range(steps + 1)]
    assert flips(done) == flips(attack(circles, model, victims=[1, 2, 3], **given))


# ---- the edges of it


def test_a_graph_without_links_can_only_gain_some(circles, model):
    empty = Graph.from_edges(np.empty((0, 2), dtype=np.int64), circles.features, labels=circles.labels, name="empty")
    done = attack(empty, model, victims=[5], flips_per_victim=2)
    assert len(done.removed) == 0
    assert 0 < len(done.added) <= 2


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
@pytest.mark.parametrize("epochs", [2, 3, 5])
def test_few_epochs_are_enough(circles, model, kind, epochs):
    assert 0 < len(flips(attack(circles, model, epochs=epochs, kind=kind))) <= 6


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"model": None}, "expected a model to attack through, got none"),
        ({"model": "gcn"}, "expected a model to attack through, got str"),
        ({"model": METHODS["gcn"]()}, "expected a model to attack through, got GNN"),
        ({"edge_fraction": 0.0}, "expected a budget of 1 to 390 flips for circles, got 0"),
        ({"edge_fraction": 0.001}, "expected a budget of 1 to 390 flips for circles, got 0"),
        ({"edge_fraction": 1.5}, "expected edge_fraction between 0 and 1, got 1.5"),
        ({"edge_fraction": -0.5}, "expected edge_fraction between 0 and 1, got -0.5"),
        ({"flips_per_victim": -1}, "expected a budget of 1 to 390 flips for circles, got -1"),
        ({"flips_per_victim": 391, "block_size": 1000}, "expected a budget of 1 to 390 flips for circles, got 391"),
        ({"flips_per_victim": 3, "block_size": 3}, "expected block_size above the budget of 3 flips, got 3"),
        ({"block_size": 0}, "expected epochs >= 2 and block_size >= 1, got 8 and 0"),
        ({"epochs": 1}, "expected epochs >= 2 and block_size >= 1, got 1 and 150"),
        ({"victims": [40]}, "expected victims among the 40 nodes of circles, got 40"),
        ({"victims": []}, "expected victims as a list"),
        ({"victim_fraction": 2.0}, "expected victim_fraction between 0 and 1, got 2"),
        ({"max_degree": 1}, "fewer than 1 neighbours, got none"),
        ({"greedy": True}, "unknown setting 'greedy' of prbcd"),
    ],
)
def test_a_mistake_is_a_sentence(circles, model, given, sentence):
    given = {"model": model} | given
    with pytest.raises(InvalidInput, match=sentence) as told:
        attack(circles, given.pop("model"), **given)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
@pytest.mark.parametrize("budget", [50, 200, 390])
def test_a_block_hardly_above_the_budget_works_or_is_refused_in_a_sentence(circles, model, kind, budget):
    try:
        done = attack(circles, model, victims=[5], flips_per_victim=budget, block_size=budget + 1, kind=kind)
    except InvalidInput as told:
        assert "block_size" in str(told)  # noqa: PT017
    else:
        assert 0 < len(flips(done)) <= budget


class Broken:
    """A model whose logits are NaN, or have a gradient that is infinite, where links have a weight."""

    identity = "broken"

    def __init__(self, how: str) -> None:
        self.how = how

    def module(self, graph):
        network = torch.nn.Linear(1, 2)

        def forward(x, edge_index, edge_weight):
            pull = torch.zeros(len(x)).index_add(0, edge_index[0], edge_weight)
            broken = pull * math.nan if self.how == "nan" else (pull - pull.detach()).sqrt()
            return network(x) + broken[:, None] * torch.tensor([1.0, -1.0])

        return _Called(network, forward)


class _Called(torch.nn.Module):
    def __init__(self, network, forward) -> None:
        super().__init__()
        self.network, self.forward = network, forward


@pytest.mark.parametrize("kind", ["prbcd", "grbcd"])
@pytest.mark.parametrize("how", ["nan", "infinite gradient"])
def test_a_gradient_that_is_no_number_is_an_error_and_not_an_attack_without_flips(circles, kind, how):
    with pytest.raises(InvalidInput, match="became NaN or infinite; attack another model"):
        attack(circles, Broken(how), victims=[5], kind=kind)
