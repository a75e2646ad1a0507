import numpy as np
import pytest
import torch

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.perturbations import perturb, replay
from gvdn.perturbations.prbcd.search import Search

SETTINGS = {"victims": [3, 27, 44], "edge_fraction": 0.1, "epochs": 6, "block_size": 200}


class Reacting(torch.nn.Module):
    """A node's logits are its neighbours' votes. After it has reacted, the votes are others."""

    identity = "reacting"

    def __init__(self, reactions: list[Graph] | None = None) -> None:
        super().__init__()
        self.reactions = [] if reactions is None else reactions
        draws = np.random.default_rng(len(self.reactions)).normal(size=(60, 3))
        self.votes = torch.nn.Parameter(torch.from_numpy(draws).float())

    def module(self, graph: Graph) -> "Reacting":
        return self

    def after(self, graph: Graph) -> "Reacting":
        self.reactions.append(graph)
        return Reacting(self.reactions)

    def forward(self, x, edge_index, edge_weight):
        heard = edge_weight[:, None] * self.votes[edge_index[1]]
        return self.votes[: len(x)].index_add(0, edge_index[0], heard)


def attack(graph, model, kind="adaptive-prbcd", **given):
    return perturb(graph, kind, np.arange(60), seed=0, model=model, **(SETTINGS | given))


def test_one_round_is_prbcd(ring):
    model = Reacting()
    once = attack(ring, model, rounds=1)
    assert once.graph.hash == attack(ring, model, "prbcd").graph.hash
    assert model.reactions == []


def test_the_defender_reacts_to_the_flips_so_far_before_each_further_round(ring):
    model = Reacting()
    done = attack(ring, model, rounds=3)
    budget = round(0.1 * ring.num_edges)
    changed = [len(_flips(ring, graph)) for graph in (*model.reactions, done.graph)]
    assert len(model.reactions) == 2
    assert 0 < changed[0] <= budget // 3
    assert changed[0] < changed[1] <= 2 * budget // 3
    assert changed[1] < changed[2] <= budget
    assert replay(ring, done.receipt).graph.hash == done.graph.hash


def test_victims_are_pushed_away_from_the_predictions_on_the_clean_graph_in_every_round(ring, monkeypatch):
    seen, relaxed = [], Search.relaxed

    def watched(self, *given):
        seen.append(self.clean.clone())
        return relaxed(self, *given)

    monkeypatch.setattr(Search, "relaxed", watched)
    attack(ring, Reacting(), rounds=3)
    assert len(seen) == 3
    assert all(torch.equal(seen[0], one) for one in seen)


def test_progress_counts_the_steps_of_all_rounds(ring):
    told = []
    attack(ring, Reacting(), rounds=2, progress=lambda done, steps: told.append((done, steps)))
    assert told == [(done, 12) for done in range(13)]


@pytest.mark.parametrize("rounds", [0, -1, 500])
def test_rounds_without_a_flip_are_refused(ring, rounds):
    with pytest.raises(InvalidInput, match=rf"expected 1 to \d+ rounds, .* got {rounds}"):
        attack(ring, Reacting(), rounds=rounds)


class Mute:
    """A model without `after`."""

    identity = "mute"

    def module(self, graph: Graph) -> torch.nn.Module:
        return Reacting()


@pytest.mark.parametrize("model", [None, "gcn", Mute()])
def test_what_cannot_react_is_refused(ring, model):
    with pytest.raises(
        InvalidInput, match=r"expected a model to attack through that has .* after, got (none|str|Mute);"
    ):
        attack(ring, model)


def _flips(before: Graph, after: Graph) -> set[tuple[int, int]]:
    return {tuple(edge) for edge in before.edges.tolist()} ^ {tuple(edge) for edge in after.edges.tolist()}
