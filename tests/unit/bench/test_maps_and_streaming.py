"""Modes that record more than the scores: maps, losses, victims that arrive in groups, counts."""

import dataclasses
import json

import numpy as np
import pytest

from gvdn.bench.experiment import Experiment
from gvdn.bench.maps import plane, shown_nodes
from gvdn.bench.measure import measure, thinned
from gvdn.bench.streaming import GROUPS, sub_graphs
from gvdn.data import load_graph
from gvdn.graph import random_split
from gvdn.methods.contract import METHODS
from gvdn.methods.gvdn.choice import AS_IT_IS, WAYS, Report
from gvdn.perturbations import perturb
from gvdn.study import Cell, Mode, Record

SMALL = {"hidden": 4, "epochs": 6, "recovery_epochs": 12}
MORE = {"victim_fraction": 0.9}
"""So many victims that there is somebody in every group."""


@pytest.fixture
def cell(dataset) -> Cell:
    return Cell(dataset, "gvdn", 0, settings=SMALL | {"trust": False}, perturbation_settings=MORE)


@pytest.fixture
def attack(dataset):
    graph = load_graph(dataset)
    return perturb(graph, "random-connections", random_split(graph, seed=0), seed=0, **MORE)


# ---- maps


@pytest.mark.parametrize(
    ("mode", "states"),
    [
        (Mode.MAPPED, ["clean", "perturbed", "recovered"]),
        (Mode.MAPPED_BY_EPOCH, ["epoch 6", "epoch 10", "epoch 14", "epoch 18"]),
    ],
)
def test_a_map_has_every_state_of_the_same_nodes(mode, states, cell, attack, monkeypatch):
    monkeypatch.setattr("gvdn.bench.maps.plane", lambda embeddings, seed: embeddings[:, :2])
    (record,) = measure(cell, (mode,))
    assert Record.from_json(json.loads(json.dumps(record.to_json(), allow_nan=False))) == record
    drawn = record.map
    assert list(drawn["states"]) == list(record.separation) == states
    nodes = attack.graph.locate(np.array(drawn["ids"]))
    assert np.array_equal(np.flatnonzero(drawn["victims"]), np.flatnonzero(np.isin(nodes, attack.victims)))
    assert drawn["classes"] == attack.graph.labels[nodes].tolist()
    for state in drawn["states"].values():
        assert np.shape(state["xy"]) == (len(nodes), 2)
        assert len(state["answers"]) == len(nodes)
    assert all(-1 <= apart <= 1 for apart in record.separation.values())


def test_a_map_is_of_the_embeddings_that_it_says(cell, monkeypatch):
    monkeypatch.setattr("gvdn.bench.maps.plane", lambda embeddings, seed: embeddings[:, :2])
    (record,) = measure(cell, (Mode.MAPPED,))
    experiment = Experiment(cell, "cpu")
    nodes = experiment.clean.locate(np.array(record.map["ids"]))
    wanted = {
        "clean": experiment.fit(experiment.clean).model.embed(experiment.clean),
        "perturbed": experiment.fit(experiment.clean).model.embed(experiment.perturbed),
        "recovered": experiment.fit(experiment.clean).model.recover(experiment.perturbed).embed(experiment.perturbed),
    }
    for name, H_emb in wanted.items():
        assert record.map["states"][name]["xy"] == pytest.approx(H_emb[nodes, :2], abs=0.006)


def test_while_it_recovers_the_network_changes_and_ends_as_usual(cell):
    looks = {}
    experiment = Experiment(cell, "cpu")
    recovered = experiment.fit(experiment.clean).model.recover(
        experiment.perturbed, look=lambda epoch, inferred: looks.update({epoch: inferred()})
    )
    assert list(looks) == list(range(1, 13))
    assert np.abs(looks[1][0] - looks[12][0]).max() > 1e-4
    assert looks[12][0] == pytest.approx(recovered.embed(experiment.perturbed), abs=1e-5)
    assert np.array_equal(looks[12][1].argmax(axis=1), recovered.predict(experiment.perturbed))
    unwatched = experiment.fit(experiment.clean).model.recover(experiment.perturbed)
    assert np.array_equal(unwatched.embed(experiment.perturbed), recovered.embed(experiment.perturbed))


def test_shown_are_all_victims_and_as_many_others():
    victims, test = np.array([3, 9, 4]), np.arange(40)
    shown = shown_nodes(victims, test, 0)
    assert len(shown) == len(set(shown.tolist())) == 6
    assert {3, 4, 9} <= set(shown.tolist()) <= set(test.tolist())
    assert np.array_equal(shown, shown_nodes(victims, test, 0))
    assert not np.array_equal(shown, shown_nodes(victims, test, 1))


def test_the_plane_keeps_far_clouds_apart():
    drawn = np.random.default_rng(0)
    clouds = [drawn.normal(place, 0.1, (40, 5)) for place in (0.0, 50.0)]
    points = plane(np.concatenate(clouds), 0)
    near = [
        np.linalg.norm(points[part] - points[part].mean(axis=0), axis=1).max() for part in (slice(40), slice(40, 80))
    ]
    assert np.linalg.norm(points[:40].mean(axis=0) - points[40:].mean(axis=0)) > max(near)


# ---- losses


def test_losses_of_both_trainings_are_recorded(cell):
    (record,) = measure(cell, (Mode.WITH_LOSSES,))
    experiment = Experiment(cell, "cpu")
    assert set(record.losses["fit"]) == {"epochs", "ce", "kl", "df"}
    assert set(record.losses["recover"]) == {"epochs", "ce", "kl", "df", "nm"}
    assert record.losses["recover"]["epochs"] == [1, 6, 11]
    assert record.losses["fit"]["ce"][1] == pytest.approx(
        experiment.fit(experiment.clean).model.outcome_.history[5]["ce"], rel=1e-3
    )


def test_a_recovery_that_did_not_train_has_no_losses(cell, monkeypatch):
    told = Report(AS_IT_IS, dict.fromkeys(WAYS, 0.5), 6, 6)
    monkeypatch.setattr("gvdn.methods.gvdn.recovering.choose", lambda *_: told)
    choosing = dataclasses.replace(cell, settings=cell.settings | {"trust": True})
    (record,) = measure(choosing, (Mode.WITH_LOSSES,))
    assert record.losses["recover"] == {"epochs": []}
    assert record.losses["fit"]["epochs"]


def test_every_fifth_epoch_to_four_figures_without_the_score():
    history = [{"ce": 1.23456789 * (epoch + 1), "val": 0.5} for epoch in range(11)]
    assert thinned(history) == {"epochs": [1, 6, 11], "ce": [1.235, 7.407, 13.58]}
    assert thinned([]) == {"epochs": []}


# ---- streaming


def test_every_victim_arrives_once_among_everybody_else(attack):
    arrived = []
    for graph, group in sub_graphs(attack.graph, attack.victims, 0):
        there = set(graph.ids.tolist())
        others = np.delete(attack.graph.ids, attack.victims)
        assert there == set(others.tolist()) | set(attack.graph.ids[group].tolist())
        arrived += group.tolist()
    assert sorted(arrived) == sorted(attack.victims.tolist())


@pytest.mark.parametrize(("method", "times"), [("gvdn", 1), ("graphss", GROUPS)])
def test_gvdn_recovers_once_and_label_transition_once_per_graph(method, times, dataset, monkeypatch):
    kind, recovered = METHODS[method], []
    recover = kind.recover
    monkeypatch.setattr(kind, "recover", lambda self, graph: recovered.append(graph) or recover(self, graph))
    sweeps = {"hidden": 4, "epochs": 3, "sweeps": 4, "warm_up": 1, "retrain_every": 2, "retrain_epochs": 2}
    settings = sweeps if method == "graphss" else SMALL
    (record,) = measure(Cell(dataset, method, 0, settings=settings, perturbation_settings=MORE), (Mode.STREAMED,))
    assert len(recovered) == times
    assert record.seconds_each == pytest.approx(record.seconds["stream"] / GROUPS, abs=1e-3)


def test_streamed_predictions_are_those_of_each_victims_own_sub_graph(cell):
    (record,) = measure(cell, (Mode.STREAMED,))
    experiment = Experiment(cell, "cpu")
    model, right = None, []
    for graph, group in sub_graphs(experiment.perturbed, experiment.scored, 0):
        model = model or experiment.fit(experiment.clean).model.recover(graph)
        answers = dict(zip(graph.ids.tolist(), model.predict(graph).tolist(), strict=True))
        right += [answers[experiment.clean.ids[node]] == experiment.clean.labels[node] for node in group]
    assert record.scores.accuracy == pytest.approx(np.mean(right), abs=1e-5)


# ---- counts


def test_a_graph_is_counted_without_a_method(dataset, ring):
    (record,) = measure(Cell(dataset, "", 0, "none"), (Mode.COUNTS,))
    assert record.cell.method == ""
    assert record.counts["nodes"] == ring.num_nodes
    assert record.counts["edges_both_directions"] == 2 * record.counts["edges"] == 2 * ring.num_edges
    assert record.scores is None
