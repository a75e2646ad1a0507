"""Fitting the trust model: small regressions learn from simulated perturbations how far each witness can be trusted."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.graph import Graph
from gvdn.graph.graph import unused_ids
from gvdn.seeds import generator, torch_generator
from gvdn.trust.guard import guarded
from gvdn.trust.links import class_pairs
from gvdn.trust.model import (
    BINS,
    KNOWN,
    ROUNDS,
    WITNESSES,
    Judgement,
    TrustModel,
    heard_by_signs,
    in_company,
    witnesses,
)
from gvdn.trust.regression import Regression, fit_blend, fit_logistic, fit_regression, sigmoid
from gvdn.trust.rows import Probs, directions, l1_norms, projected
from gvdn.trust.sample import sample_of
from gvdn.trust.scene import Learned, Scene
from gvdn.trust.simulation import REGIMES, Answers, Episode, simulate
from gvdn.trust.student import Student
from gvdn.trust.workers import each, one_at_a_time

PSEUDO = 0.25
"""What a node counts in the blend whose class is the model's answer and not a validation label."""

Judged = list[Float[np.ndarray, " j"]]
"""Probabilities of the links in question of each scene."""


def fit_trust(
    graph: Graph,
    answers: Answers,
    student: Student,
    own: Probs,
    *,
    labels: Int64[np.ndarray, " n"],
    trained: Bool[np.ndarray, " n"],
    seed: int,
) -> TrustModel:
    """The trust model of a clean graph and of a model that was fitted on it.

    Args:
        answers: the model's class probabilities on a graph.
        own: the student's answers on the clean graph.
        labels: the validation labels, -1 for all other nodes; they count in the blend only.
        trained: the nodes that the model was trained on, which never play the part of new ones.

    Everything but the share of each class and the norms of rows is learned on the sample of the graph (`sample_of`).
    """
    answers = one_at_a_time(answers)
    norms, clean, ids = l1_norms(graph.features), answers(graph), graph.ids
    prior, sample = clean.mean(axis=0), sample_of(graph, clean.argmax(axis=1), seed=seed)
    clean, own, labels, trained = (part[sample.rows] for part in (clean, own, labels, trained))
    graph = sample.graph
    basis = directions(graph.features, generator(seed, "trust", "basis"))
    learned = Learned(
        student, class_pairs(clean, graph.edges), prior, basis,
        projected(graph.features, basis).mean(axis=0).astype(np.float64),
        np.array([np.median(norms) if len(norms) else 0.0, norms.max(initial=0)]),
    )  # fmt: skip
    spare = unused_ids(ids, graph.num_nodes, "arrived")
    candidates = (np.flatnonzero(sample.complete & ~trained), np.flatnonzero(sample.complete), np.arange(len(trained)))
    free = next(some for some in candidates if some.size)

    def episode(number: int) -> Episode:
        rng = generator(seed, "trust", "episode", str(number))
        given = (graph, answers, clean, own, student, free, REGIMES[number], rng)
        return simulate(*given, spare=spare, complete=sample.complete)

    episodes = each(episode, range(len(REGIMES)))
    scenes = each(lambda one: _scene(learned, one, graph, own), episodes)
    truth = np.concatenate([~one.lies[one.new] for one in episodes]).astype(float)
    signs = fit_regression(
        np.concatenate([scene.signs() for scene in scenes], axis=1), truth, np.ones(len(truth)),
        torch_generator(seed, "trust", "signs"),
    )  # fmt: skip
    scenes = each(lambda scene: heard_by_signs(scene, signs), scenes)
    structural, apart, without = _fit_links(scenes, episodes, seed, by_row=False)
    by_row, _, with_rows = _fit_links(scenes, episodes, seed, by_row=True)
    numbers = [scene.row_numbers(*judged) for scene, *judged in zip(scenes, without, with_rows, apart, strict=True)]
    rows = fit_regression(
        np.concatenate(numbers, axis=1), truth, np.ones(len(truth)), torch_generator(seed, "trust", "rows")
    )
    company = fit_logistic(
        np.concatenate([
            in_company(scene, rows.log_odds(one), *both)
            for scene, one, *both in zip(scenes, numbers, without, with_rows, strict=True)
        ]), truth,
    )  # fmt: skip
    unfitted = fit_blend(
        np.zeros((0, len(WITNESSES), clean.shape[1])), np.zeros((0, len(KNOWN))), np.zeros(0, np.int64), np.zeros(0)
    )
    model = TrustModel(learned, signs, structural, by_row, rows, company, unfitted, np.zeros((len(BINS) + 1, 3)))
    judgements = [model.concluded(*one) for one in zip(scenes, apart, without, with_rows, strict=True)]
    return _fit_answers(model, judgements, episodes, answers, clean, labels)


def _scene(learned: Learned, episode: Episode, clean: Graph, own: Probs) -> Scene:
    """The scene of an episode: the rows of arriving nodes are asked of the student that was not taught on them.

    Args:
        own: the student's answers on the clean graph; the rows of the other nodes are as they were.
    """
    seen, own = guarded(episode.graph, learned.norms[1]), own.copy()
    own[episode.new] = learned.student.answers(seen.features[episode.new], clean.ids[episode.new])
    return Scene(
        learned, seen, known=~episode.new, stored=episode.stored, own=own, judged=episode.judged,
        doubted=episode.new, norms=l1_norms(episode.graph.features),
    )  # fmt: skip


def _fit_links(
    scenes: list[Scene], episodes: list[Episode], seed: int, *, by_row: bool
) -> tuple[tuple[Regression, ...], Judged, Judged]:
    """The regressions of all rounds, each fitted on what the one before left; the first and the last probabilities.

    Those that trust rows are fitted where rows are honest.
    """
    fitted: list[Regression] = []
    rounds: list[Judged] = []
    truth = np.concatenate([~one.hostile[one.judged] for one in episodes]).astype(float)
    weight = np.concatenate([_per_node(one) for one in episodes])
    if by_row:
        weight = weight * np.concatenate([~one.lies[one.graph.edges[one.judged]].any(axis=1) for one in episodes])
    for number in range(ROUNDS):
        so_far = rounds[-1] if rounds else [None for _ in scenes]
        asked = list(zip(scenes, so_far, strict=True))
        numbers = each(lambda one: one[0].link_numbers(one[1], by_row=by_row), asked)
        rng = torch_generator(seed, "trust", "links", str(by_row), str(number))
        fitted.append(fit_regression(np.concatenate(numbers, axis=1), truth, weight, rng))
        rounds.append([sigmoid(fitted[-1].log_odds(one)) for one in numbers])
    return tuple(fitted), rounds[0], rounds[-1]


def _per_node(episode: Episode) -> Float[np.ndarray, " j"]:
    """What each link counts: 1 / sqrt(degree) of the end with fewer links, so that a few large nodes do not decide."""
    links = episode.graph.edges[episode.judged]
    return 1 / np.sqrt(np.maximum(episode.graph.degrees[links].min(axis=1), 1.0))


def _fit_answers(
    model: TrustModel, judgements: list[Judgement], episodes: list[Episode], answers: Answers, clean: Probs,
    labels: Int64[np.ndarray, " n"],
) -> TrustModel:  # fmt: skip
    """The model with its blend, and with the share of answers that came back."""
    classes = np.where(labels >= 0, labels, clean.argmax(axis=1))
    weight = np.where(labels >= 0, 1.0, PSEUDO)

    def asked(one: tuple[Judgement, Episode]) -> tuple[np.ndarray, ...]:
        judgement, episode = one
        nodes = np.flatnonzero(episode.new)
        logs, about = witnesses(judgement, answers(judgement.weighed(judgement.scene.graph)), nodes)
        return nodes, logs, about, judgement.suspicion[nodes], answers(episode.graph)[nodes].argmax(axis=1)

    found = each(asked, list(zip(judgements, episodes, strict=True)))
    new, said, known, suspicion, plain = zip(*found, strict=True)
    everyone = np.concatenate(new)
    logs, about, right = np.concatenate(said), np.concatenate(known), classes[everyone]
    blend = fit_blend(logs, about, right, weight[everyone])
    came_back = [np.concatenate(plain) == right, blend.log_probs(logs, about).argmax(axis=1) == right]
    bins = np.digitize(np.concatenate(suspicion), BINS)
    count = np.bincount(bins, minlength=len(BINS) + 1)
    back = [np.bincount(bins, weights=one, minlength=len(count)) / np.maximum(count, 1) for one in came_back]
    return dataclasses.replace(model, blend=blend, brought_back=np.stack([*back, count], axis=1))
