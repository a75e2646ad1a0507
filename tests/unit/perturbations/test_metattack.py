import dataclasses
import tracemalloc

import numpy as np
import pytest
import torch

from gvdn import METHODS
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.perturbations import perturb
from gvdn.perturbations.metattack.attack import _Search
from gvdn.perturbations.self_training import Training, learning_rate, self_training_labels

SHORT = {"inner_steps": 15, "block_size": 400}


@pytest.fixture(scope="module")
def town() -> Graph:
    """Ninety nodes of three classes, mostly linked within a class, with words that say it half of the time."""
    rng = np.random.default_rng(5)
    labels = np.arange(90) % 3
    chance = np.where(labels[:, None] == labels, 0.09, 0.01)
    edges = np.argwhere(np.triu(rng.random((90, 90)) < chance, 1))
    words = rng.random((90, 30)) < np.where(np.arange(30) % 3 == labels[:, None], 0.3, 0.15)
    return Graph.from_edges(edges, words.astype(np.float32), labels=labels, name="town")


@pytest.fixture(scope="module")
def parts(town) -> Split:
    return random_split(town, seed=0, train=0.2)


def attack(graph, parts, *, seed=0, **given):
    return perturb(graph, "metattack", parts, seed=seed, **(SHORT | given))


def poisoned(graph, parts, seed: int) -> float:
    """The accuracy of a GCN that was trained on this graph."""
    return METHODS["gcn"](hidden=16, epochs=100, learning_rate=0.05).fit(graph, parts, seed=seed).score(graph, parts)


# ---- what it does


def test_whoever_trains_on_the_graph_is_hurt_more_than_by_chance(town, parts):
    done = attack(town, parts, edge_fraction=0.15, inner_steps=40)
    flips = len(done.added) + len(done.removed)
    rng = np.random.default_rng(0)
    links = rng.integers(0, 90, (flips, 2))
    chance = Graph.from_edges(
        np.concatenate([town.edges, links[links[:, 0] != links[:, 1]]]), town.features, labels=town.labels
    )
    clean, hurt, random = (np.mean([poisoned(one, parts, s) for s in range(3)]) for one in (town, done.graph, chance))
    assert hurt < clean - 0.08
    assert hurt < random - 0.03


@pytest.mark.parametrize("given", [{}, {"flips_per_step": 4}, {"objective": "train"}, {"block_size": 10_000}])
def test_the_budget_is_spent_to_the_last_flip(town, parts, given):
    done = attack(town, parts, edge_fraction=0.1, **given)
    assert len(done.added) + len(done.removed) == int(town.num_edges * 0.1 + 0.5)
    assert done.victims.tolist() == parts.test.tolist()
    assert len(done.perturbators) == 0
    assert done.receipt.settings["training_nodes"] == len(parts.train)


@pytest.mark.parametrize("at_once", [1, 2])
def test_nobody_loses_the_last_link(at_once):
    """On a path, with a gradient that wants every link removed and those that are gone back: two links can go."""
    path = np.stack([np.arange(5), np.arange(1, 6)], axis=1)
    graph = Graph.from_edges(path, np.eye(6, dtype=np.float32), labels=np.arange(6) % 2, name="path")

    def unwanted(edges: np.ndarray, block: np.ndarray) -> np.ndarray:
        return np.where(np.isin(block, edges), -2.0, np.where(block % 6 == block // 6 + 1, 1.0, -1.0))

    search = _Search(graph, unwanted, 1000, np.random.default_rng(0))
    for _ in range(2 // at_once):
        search.step(at_once)
    assert search.edges.tolist() == [0 * 6 + 1, 2 * 6 + 3, 4 * 6 + 5]
    search.step(1)
    assert len(search.edges) == 4
    assert set(search.edges.tolist()) > {0 * 6 + 1, 2 * 6 + 3, 4 * 6 + 5}
    assert not {1 * 6 + 2, 3 * 6 + 4} & set(search.edges.tolist()), "no link is flipped twice"


def test_a_larger_block_finds_flips_that_hurt_more_on_average(town, parts):
    """A block of all pairs sees the best flip of all; a block of few pairs sees the best of few."""

    def harm(block_size: int) -> float:
        graphs = [attack(town, parts, seed=s, edge_fraction=0.1, block_size=block_size).graph for s in range(3)]
        return float(np.mean([surrogate_accuracy(graph, parts) for graph in graphs]))

    assert harm(5000) < harm(8)


def surrogate_accuracy(graph: Graph, parts: Split) -> float:
    return float((self_training_labels(graph, parts.train, 15) == graph.labels)[parts.test].mean())


def test_progress_has_a_total_at_once_and_counts_every_step(town, parts):
    told: list[tuple[int, int]] = []
    attack(town, parts, edge_fraction=0.1, flips_per_step=4, progress=lambda *now: told.append(now))
    steps = -(-int(town.num_edges * 0.1 + 0.5) // 4)
    assert told == [(number, steps) for number in range(steps + 1)]


def test_by_default_the_budget_is_spread_over_twelve_steps(town, parts):
    told: list[tuple[int, int]] = []
    done = attack(town, parts, edge_fraction=0.35, progress=lambda *now: told.append(now))
    budget = int(town.num_edges * 0.35 + 0.5)
    assert budget > 40
    assert 9 < told[-1][1] <= 12
    assert len(done.added) + len(done.removed) == budget
    one_by_one = attack(town, parts, edge_fraction=0.05, flips_per_step=1)
    assert attack(town, parts, edge_fraction=0.05).graph.hash == one_by_one.graph.hash, "12 flips or fewer: one a step"


# ---- what it does not


@pytest.mark.parametrize("kind", ["metattack", "dice"])
def test_only_labels_of_training_nodes_are_read(town, parts, kind):
    given = SHORT if kind == "metattack" else {}
    expected = perturb(town, kind, parts, seed=0, **given)
    others = np.setdiff1d(np.arange(90), parts.train)
    for swapped in ((town.labels[others] + 1) % 3, np.full(len(others), -1)):
        labels = town.labels.copy()
        labels[others] = swapped
        other = dataclasses.replace(town, labels=labels, class_names=town.class_names)
        done = perturb(other, kind, parts, seed=0, **given)
        assert done.added.tolist() == expected.added.tolist()
        assert done.removed.tolist() == expected.removed.tolist()


@pytest.mark.parametrize("kind", ["metattack", "dice"])
def test_other_labels_of_training_nodes_are_another_attack(town, parts, kind):
    given = SHORT if kind == "metattack" else {"edge_fraction": 0.2}
    labels = town.labels.copy()
    labels[parts.train] = (labels[parts.train] + (parts.train % 2)) % 3
    other = dataclasses.replace(town, labels=labels, class_names=town.class_names)
    first, second = (perturb(graph, kind, parts, seed=0, **given) for graph in (town, other))
    assert first.added.tolist() != second.added.tolist()


def test_the_global_generators_are_left_alone(town, parts):
    torchs, numpys = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    attack(town, parts, edge_fraction=0.02)
    assert torch.equal(torch.get_rng_state(), torchs)
    assert np.array_equal(np.random.get_state()[1], numpys)  # noqa: NPY002


@pytest.mark.parametrize("kind", ["metattack", "dice"])
def test_nothing_grows_with_the_number_of_pairs(kind):
    """Twenty thousand nodes have two hundred million pairs; a byte for each would be two hundred megabytes."""
    rng = np.random.default_rng(0)
    edges, labels = rng.integers(0, 20_000, (40_000, 2)), rng.integers(0, 3, 20_000)
    edges = edges[edges[:, 0] != edges[:, 1]]
    graph = Graph.from_edges(edges, rng.random((20_000, 8)).astype(np.float32), labels=labels, name="large")
    split = random_split(graph, seed=0, train=0.02)
    given = {"edge_fraction": 5e-5, "inner_steps": 5, "block_size": 20_000} if kind == "metattack" else {}
    tracemalloc.start()
    try:
        perturb(graph, kind, split, seed=0, **given)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1e8


# ---- the surrogate


@pytest.mark.parametrize("shape", [(7, 4), (7, 7), (7, 12)])
def test_the_training_backwards_is_a_difference_quotient(shape):
    rng = np.random.default_rng(0)
    F, Y, rest = rng.normal(size=shape), np.eye(3)[rng.integers(0, 3, 7)], rng.normal(size=(shape[1], 3))
    training = Training(Y, learning_rate(F), 6)
    training.run(F)
    gradient = training.gradient(rest)
    for row, column in ((0, 0), (3, 2), (6, 3)):
        step = np.zeros_like(F)
        step[row, column] = 1e-6
        up, down = (float((training.run(F + sign * step) * rest).sum()) for sign in (1, -1))
        assert gradient[row, column] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_surrogate_learns_whatever_the_scale_of_the_features_is(town, parts, scale):
    scaled = dataclasses.replace(town, features=town.features * np.float32(scale))
    assert surrogate_accuracy(scaled, parts) > 0.6


def test_the_surrogate_keeps_the_labels_that_it_was_given(town, parts):
    assert (self_training_labels(town, parts.train)[parts.train] == town.labels[parts.train]).all()


# ---- the edges of it


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"objective": "test"}, "expected self, train, both as objective of metattack, got 'test'"),
        ({"inner_steps": 0}, "expected inner_steps of at least 1, got 0"),
        ({"flips_per_step": -1}, "expected flips_per_step of at least 0, got -1"),
        ({"flips_per_step": 1, "block_size": 1}, "a block_size of at least 2, twice the 1 flips of a step, got 1"),
        ({"edge_fraction": 1.0, "block_size": 9}, "twice the [0-9]+ flips of a step, got 9; raise it"),
        ({"edge_fraction": 0.0}, "expected edge_fraction above 0, got 0"),
        ({"edge_fraction": 1.5}, "expected edge_fraction between 0 and 1, got 1.5"),
        ({"train": [90]}, "expected train among the 90 nodes, got position 90"),
        ({"train": None}, "expected the training nodes, whose labels metattack knows, got none; give a split"),
        ({"train": list(range(90))}, "expected nodes that are not trained on, got none; give objective=train"),
    ],
)
def test_a_mistake_is_a_sentence(town, parts, given, sentence):
    with pytest.raises(InvalidInput, match=sentence) as told:
        attack(town, parts, **given)
    assert "\n" not in str(told.value)


def test_without_a_label_to_train_on_there_is_no_surrogate(town, parts):
    blank = dataclasses.replace(town, labels=np.full(90, -1), class_names=town.class_names)
    for kind in ("metattack", "dice"):
        with pytest.raises(InvalidInput, match=f"expected a labelled training node of town for {kind}, got none"):
            perturb(blank, kind, parts, seed=0)


@pytest.mark.parametrize("kind", ["metattack", "dice"])
def test_candidates_without_a_split_need_the_training_nodes(town, parts, kind):
    with pytest.raises(InvalidInput, match="give a split, or train=positions of nodes"):
        perturb(town, kind, parts.test, seed=0)
    given = SHORT if kind == "metattack" else {}
    by_hand = perturb(town, kind, parts.test, seed=0, train=parts.train, **given)
    assert by_hand.graph.hash == perturb(town, kind, parts, seed=0, **given).graph.hash
