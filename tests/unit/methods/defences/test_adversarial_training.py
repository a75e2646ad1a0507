"""Adversarial training: which graph is attacked, what is learned from, and what that is good for."""

import dataclasses

import numpy as np
import pytest
import torch
from communities import communities

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.defences import adversarial_training
from gvdn.methods.defences.adversarial_training import AdversarialTraining, links_of
from gvdn.nn.diffusion import cross_entropy
from gvdn.seeds import torch_generator

SMALL = {"hidden": 16, "epochs": 40, "warm_up": 20, "order": 4, "block_size": 3000, "attack_steps": 3}


@pytest.fixture(scope="module")
def clean() -> Graph:
    return communities()


@pytest.fixture(scope="module")
def split(clean) -> Split:
    return random_split(clean, seed=0, train=0.2, val=0.2, stratified=True)


def task_of(model: AdversarialTraining, clean: Graph, split: Split) -> adversarial_training.AttackedTask:
    return model.training(clean, split, seed=0)[0]


def test_validation_nodes_are_absent_from_the_training_graph(clean, split):
    task = task_of(AdversarialTraining(**SMALL), clean, split)
    left = np.setdiff1d(np.arange(clean.num_nodes), split.val)
    assert task.training_graph.ids.tolist() == clean.ids[left].tolist()
    assert task.training_graph.ids[task.nodes].tolist() == clean.ids[split.train].tolist()
    alone = task_of(AdversarialTraining(**SMALL), clean, Split(split.train, split.val[:0], split.test))
    assert alone.training_graph is clean


def test_the_attack_begins_after_the_warm_up_and_stays_within_the_budget(clean, split, monkeypatch):
    seen = []
    original = adversarial_training.worst_flips

    def spied(links, loss, budget, steps):
        flips = original(links, loss, budget, steps)
        seen.append((links.edges.pattern.shape[0], budget, int(flips.sum())))
        return flips

    monkeypatch.setattr(adversarial_training, "worst_flips", spied)
    task = task_of(AdversarialTraining(**SMALL | {"warm_up": 2}), clean, split)
    for epoch in range(4):
        task.losses(epoch, torch_generator(epoch, "test"))
    assert len(seen) == 2
    assert int(task.network.trained) == 4
    number = task.training_graph.num_nodes
    budget = round(0.1 * task.training_graph.num_edges)
    assert all(one[:2] == (number, budget) and 0 < one[2] <= budget for one in seen)
    task.score(torch_generator(9, "test"))
    assert seen[-1][:2] == (clean.num_nodes, round(0.1 * links_of(clean, split.val)))


def test_self_training_learns_from_all_nodes_and_keeps_the_given_labels(clean, split):
    task = task_of(AdversarialTraining(**SMALL | {"warm_up": 0}), clean, split)
    assert task.carried() == {}
    nodes, labels = task._learned_from()
    assert len(nodes) == len(labels) == task.training_graph.num_nodes
    assert torch.equal(labels[task.nodes], task.train[1])
    assert torch.equal(task.carried()["pseudo"], labels)
    alone = task_of(AdversarialTraining(**SMALL | {"self_training": False}), clean, split)
    assert torch.equal(alone._learned_from()[0], alone.nodes)


@pytest.mark.parametrize("wrong", [torch.zeros(3, dtype=torch.int64), torch.full((192,), 7), torch.zeros(192)])
def test_labels_of_another_graph_are_refused(clean, split, wrong):
    task = task_of(AdversarialTraining(**SMALL), clean, split)
    assert task.training_graph.num_nodes == 192
    with pytest.raises(InvalidInput, match="expected labels of the 192 nodes of the training graph, or none"):
        task.carry({"pseudo": wrong})


def test_an_update_goes_on_with_attacks(clean, split, monkeypatch):
    model = AdversarialTraining(**SMALL).fit(clean, split, seed=0)
    assert int(model.network_.trained) > SMALL["warm_up"], "the best epoch is one after the warm-up"
    seen = []
    monkeypatch.setattr(
        adversarial_training.AttackedTask, "_learned_from", lambda task: seen.append(1) or (task.nodes, task.train[1])
    )
    model.update(clean, epochs=3)
    assert len(seen) == 3


def test_it_is_harder_to_attack_than_the_same_network_without_attacks(clean, split):
    """On words that say less, both under flips against themselves: twenty steps, a tenth of the links."""
    rng = np.random.default_rng(7)
    words = ((clean.features > 0) & (rng.random(clean.features.shape) < 0.35)) | (
        rng.random(clean.features.shape) < 0.1
    )
    noisy, losses = dataclasses.replace(clean, features=words.astype(np.float32)), {}
    nodes, labels = torch.from_numpy(split.test.copy()), torch.from_numpy(clean.labels[split.test])
    for share in (0.0, 0.1):
        how = SMALL | {"epochs": 100, "warm_up": 40, "attack_steps": 5}
        model = AdversarialTraining(**how, edge_fraction=share).fit(noisy, split, seed=0)
        strong = AdversarialTraining(**how | {"attack_steps": 20, "block_size": 100_000})
        task = task_of(strong, noisy, split)
        task.network.load_state_dict(model.network_.state_dict())
        view = task._attacked(noisy, task.view, nodes, labels, torch_generator(5, "test"))
        with torch.no_grad():
            losses[share] = float(cross_entropy(strong.answer(task.network, view)[nodes], labels))
    assert losses[0.1] < 0.8 * losses[0.0]
