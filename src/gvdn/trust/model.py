"""The trust model: which links are genuine, which rows are honest, and the class that all witnesses together name.

It is fitted on the clean graph and on a model's answers: perturbations are simulated there (`simulation`), and small
regressions learn how far each witness can be trusted (`scene` has what they say, `regression` the form).
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int64

from gvdn.graph import Graph, Positions
from gvdn.graph.graph import adjacency_from_pairs
from gvdn.seeds import generator, torch_generator
from gvdn.trust.guard import guarded
from gvdn.trust.links import class_pairs
from gvdn.trust.regression import Blend, Regression, fit_blend, fit_logistic, fit_regression, sigmoid
from gvdn.trust.rows import Pairs, Probs, l1_norms, scaled_rows
from gvdn.trust.scene import (
    ERROR,
    SETTLED,
    TINY,
    Learned,
    Scene,
    directions,
    entropy,
    log_normalised,
    projected,
)
from gvdn.trust.simulation import REGIMES, Answers, Episode, simulate
from gvdn.trust.student import Student

ROUNDS = 3
SHARPNESS = 4.0
"""The log-odds of a link are multiplied by it for the weight that the link has in the propagation."""
LARGEST = 6.0
"""Log-odds of rows are cut there before they are averaged."""
LEAST = 1e-3
"""A link of less weight is left out."""
WITNESSES = ("row", "links", "network")
KNOWN = (
    "honesty of the row", "genuine links", "share of hostile links", "entropy of the row", "of the links",
    "of the network", "row and network agree", "row and links agree", "links and network agree",
)  # fmt: skip
"""What is known of a node, which the weights of its witnesses depend on."""
PSEUDO = 0.25
"""What a node counts in the blend whose class is the model's answer and not a validation label."""
BINS = np.array([0.05, 0.2, 0.5])
"""Bounds of the suspicion, by which nodes are told apart."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the trust model says of a graph.

    Attributes:
        genuine: the probability that each edge of the graph is genuine.
        honest: the probability that each feature row is honest.
        in_question: that of each edge that is in question.
        without_rows, with_rows: the same if the rows at its ends lie, and if they are honest.
    """

    scene: Scene
    genuine: Float[np.ndarray, " m"]
    honest: Float[np.ndarray, " n"]
    in_question: Float[np.ndarray, " j"]
    without_rows: Float[np.ndarray, " j"]
    with_rows: Float[np.ndarray, " j"]

    def weighed(self, graph: Graph) -> Graph:
        """The graph in which links and rows count as far as they are trusted; a link of next to no weight is left out.

        A link in question has the weight sigma(4 log-odds) times its own where the rows at its ends are honest, and its
        probability where they are not; a row in question is multiplied by sigma(4 log-odds of its honesty).
        """
        weight = self.link_weights
        kept = weight > LEAST
        values = (graph.edge_weights[kept] * weight[kept]).astype(np.float32)
        adjacency = adjacency_from_pairs(graph.edges[kept], graph.num_nodes, values)
        honest = sigmoid(SHARPNESS * np.log(np.maximum(self.honest, TINY) / np.maximum(1 - self.honest, TINY)))
        honest[~self.scene.doubted] = 1
        features = graph.features if (honest == 1).all() else scaled_rows(graph.features, honest)
        return dataclasses.replace(graph, adjacency=adjacency, features=features)

    @property
    def link_weights(self) -> Float[np.ndarray, " m"]:
        """What each edge counts in the propagation."""
        weight = np.ones(len(self.genuine))
        both_honest = self.honest[self.scene.ends].reshape(2, -1).prod(axis=0)
        weight[self.scene.judged] = both_honest * sharpened(self.with_rows) + (1 - both_honest) * self.without_rows
        return weight

    @property
    def hostile_share(self) -> Float[np.ndarray, " n"]:
        """The expected share of hostile links among those of each node."""
        scene = self.scene
        expected = np.bincount(scene.ends, weights=np.tile(1 - self.in_question, 2), minlength=len(self.honest))
        return expected / np.maximum(scene.degrees, 1)

    @property
    def suspicion(self) -> Float[np.ndarray, " n"]:
        """The expected share of hostile links of each node, and how dishonest its row is; at most 1."""
        return np.minimum(self.hostile_share + 1 - self.honest, 1)


@dataclass(frozen=True, eq=False)
class TrustModel:
    """Fitted by `fit_trust`.

    Attributes:
        signs: the regression for the honesty of a row by what it shows by itself, before any link is judged.
        structural, by_row: the regressions of each round for links, without and with the row of the end in question.
        rows: the regression for the honesty of a row by these signs and by its links, judged alone.
        company: the weights of a logistic regression on that log-odds and on how suspicious the graph is as a whole.
        blend: how the witnesses of a node are joined: its row, its links, the network on the weighed graph.
        brought_back: the share of simulated nodes whose clean answer came back, by bin of suspicion: with the
            model as it is, with trust; and the number of nodes.
    """

    learned: Learned
    signs: Regression
    structural: tuple[Regression, ...]
    by_row: tuple[Regression, ...]
    rows: Regression
    company: Float[np.ndarray, " 5"]
    blend: Blend
    brought_back: Float[np.ndarray, "4 3"]

    def judge(self, scene: Scene) -> Judgement:
        """Hear the witnesses of a graph: rows by their own signs, links, rows by their links.

        What a row says to the neighbours of its node counts as far as it is trusted at that time (`Scene.hearing`).
        """
        honest = np.ones(scene.graph.num_nodes)
        if scene.doubted.any():
            scene = _hearing(scene, self.signs)
        without, with_rows = (self._links(scene, rounds, by_row) for rounds, by_row in (
            (self.structural, False), (self.by_row, True),
        ))  # fmt: skip
        if scene.doubted.any():
            apart = self._links(scene, self.structural[:1], False)
            alone = self.rows.log_odds(scene.row_numbers(without, with_rows, apart))
            numbers = _in_company(scene, alone, without, with_rows)
            honest[scene.doubted] = sigmoid(self.company[0] + numbers @ self.company[1:])
            scene = scene.hearing(honest)
        both = honest[scene.ends].reshape(2, -1).prod(axis=0)
        in_question = both * with_rows + (1 - both) * without
        genuine = np.full(scene.graph.num_edges, SETTLED)
        genuine[scene.judged] = in_question
        return Judgement(scene, genuine, honest, in_question, without, with_rows)

    def _links(self, scene: Scene, rounds: tuple[Regression, ...], by_row: bool) -> Float[np.ndarray, " j"]:
        genuine: np.ndarray | None = None
        for one in rounds:
            genuine = sigmoid(one.log_odds(scene.link_numbers(genuine, by_row=by_row)))
        assert genuine is not None, "there is at least one round"
        return genuine

    def blended(self, judgement: Judgement, network: Probs, nodes: Positions) -> Float[np.ndarray, "m k"]:
        """The class probabilities of these nodes that all witnesses together give.

        Args:
            network: the model's answers on the weighed graph.
        """
        logs, known = witnesses(judgement, network, nodes)
        return np.exp(log_normalised(self.blend.log_probs(logs, known)))


def sharpened(genuine: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """sigma(4 log-odds) of these probabilities."""
    return sigmoid(SHARPNESS * np.log(np.maximum(genuine, TINY) / np.maximum(1 - genuine, TINY)))


def judged_alone(
    model: TrustModel, judgement: Judgement, pairs: Pairs
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The probability that each of these pairs would be genuine, and its weight, if it alone were linked."""
    scene = judgement.scene
    with_pairs = Scene(
        model.learned, scene.graph, known=scene.known, stored=scene.stored, own=scene.own, judged=scene.judged,
        doubted=scene.doubted, norms=scene.norms, supposed=pairs,
    ).hearing(judgement.honest)  # fmt: skip
    found = []
    for rounds, by_row, now in (
        (model.structural, False, judgement.without_rows),
        (model.by_row, True, judgement.with_rows),
    ):
        numbers = with_pairs.link_numbers(np.concatenate([now, np.zeros(len(pairs))]), by_row=by_row)
        found.append(sigmoid(rounds[-1].log_odds(numbers[:, len(now) :])))
    both_honest = judgement.honest[pairs].prod(axis=1)
    weight = both_honest * sharpened(found[1]) + (1 - both_honest) * found[0]
    return both_honest * found[1] + (1 - both_honest) * found[0], weight


def witnesses(
    judgement: Judgement, network: Probs, nodes: Positions
) -> tuple[Float[np.ndarray, "m 3 k"], Float[np.ndarray, "m f"]]:
    """The log-probabilities that row, links and network give the classes of nodes, and what is known of each node."""
    scene, prior = judgement.scene, judgement.scene.learned.prior
    honest = judgement.honest[nodes]
    row = honest[:, None] * scene.own[nodes] + (1 - honest[:, None]) * prior
    links, net = np.exp(scene.votes(judgement.in_question)[nodes]), network[nodes]
    said = (row, links, net)
    expected = scene.base_weight + np.bincount(
        scene.ends, weights=np.tile(judgement.in_question, 2), minlength=len(judgement.honest)
    )
    agreement = [
        np.log(np.maximum((a * b / np.maximum(prior, TINY)).sum(axis=1), TINY))
        for a, b in ((row, net), (row, links), (links, net))
    ]
    known = [honest, np.log1p(expected[nodes]), judgement.hostile_share[nodes], *map(entropy, said), *agreement]
    doubtful = (1 - ERROR) * np.stack(said, axis=1) + ERROR * prior
    return np.log(np.maximum(doubtful, TINY)), np.stack(known, axis=1)


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
    """
    clean = answers(graph)
    rng = generator(seed, "trust", "basis")
    basis = directions(graph.features, rng)
    norms = l1_norms(graph.features)
    learned = Learned(
        student, class_pairs(clean, graph.edges), clean.mean(axis=0), basis,
        projected(graph.features, basis).mean(axis=0).astype(np.float64),
        np.array([np.median(norms) if len(norms) else 0.0, norms.max(initial=0)]),
    )  # fmt: skip
    free = np.flatnonzero(~trained)
    free = free if free.size else np.arange(graph.num_nodes)
    episodes = [
        simulate(graph, answers, clean, own, student, free, regime, generator(seed, "trust", "episode", str(number)))
        for number, regime in enumerate(REGIMES)
    ]
    scenes = [_scene(learned, one, graph) for one in episodes]
    truth = np.concatenate([~one.lies[one.new] for one in episodes]).astype(float)
    signs = fit_regression(
        np.concatenate([scene.signs() for scene in scenes], axis=1), truth, np.ones(len(truth)),
        torch_generator(seed, "trust", "signs"),
    )  # fmt: skip
    given, scenes = scenes, [_hearing(scene, signs) for scene in scenes]
    structural, without = _fit_links(scenes, episodes, seed, by_row=False)
    by_row, with_rows = _fit_links(scenes, episodes, seed, by_row=True)
    apart = [sigmoid(structural[0].log_odds(scene.link_numbers(None, by_row=False))) for scene in scenes]
    numbers = [scene.row_numbers(*judged) for scene, *judged in zip(scenes, without, with_rows, apart, strict=True)]
    rows = fit_regression(
        np.concatenate(numbers, axis=1), truth, np.ones(len(truth)), torch_generator(seed, "trust", "rows")
    )
    company = fit_logistic(
        np.concatenate([
            _in_company(scene, rows.log_odds(one), *both)
            for scene, one, *both in zip(scenes, numbers, without, with_rows, strict=True)
        ]), truth,
    )  # fmt: skip
    unfitted = fit_blend(
        np.zeros((0, len(WITNESSES), clean.shape[1])), np.zeros((0, len(KNOWN))), np.zeros(0, np.int64), np.zeros(0)
    )
    model = TrustModel(learned, signs, structural, by_row, rows, company, unfitted, np.zeros((len(BINS) + 1, 3)))
    return _fit_answers(model, given, episodes, answers, clean, labels)


def _scene(learned: Learned, episode: Episode, clean: Graph) -> Scene:
    """The scene of an episode: arriving nodes are asked of the student that was not taught on them."""
    seen = guarded(episode.graph, learned.norms[1])
    own = learned.student.answers(seen.features, clean.ids)
    return Scene(
        learned, seen, known=~episode.new, stored=episode.stored, own=own, judged=episode.judged,
        doubted=episode.new, norms=l1_norms(episode.graph.features),
    )  # fmt: skip


def _hearing(scene: Scene, signs: Regression) -> Scene:
    """The scene in which rows are trusted as far as their own signs allow."""
    honest = np.ones(scene.graph.num_nodes)
    honest[scene.doubted] = sigmoid(signs.log_odds(scene.signs()))
    return scene.hearing(honest)


def _in_company(
    scene: Scene, alone: Float[np.ndarray, " r"], without: Float[np.ndarray, " j"], with_rows: Float[np.ndarray, " j"]
) -> Float[np.ndarray, "r 4"]:
    """The log-odds of each row judged alone, their mean, and the share of hostile links around all rows in question.

    How many rows lie, and how many links, is estimated on the graph in hand: where many links around honest rows are
    hostile, a row that contradicts its neighbours is likely to be honest; where many rows lie, it is not.
    """
    nodes, degrees = np.flatnonzero(scene.doubted), np.maximum(scene.degrees, 1)
    alone, shares = np.clip(alone, -LARGEST, LARGEST), []
    for genuine in (without, with_rows):
        weight = scene.base_weight + np.bincount(scene.ends, weights=np.tile(genuine, 2), minlength=len(degrees))
        shares.append(1 - (weight / degrees)[nodes].mean())
    return np.stack([alone, *(np.full(len(nodes), one) for one in (alone.mean(), *shares))], axis=1)


def _fit_links(
    scenes: list[Scene], episodes: list[Episode], seed: int, *, by_row: bool
) -> tuple[tuple[Regression, ...], list[np.ndarray]]:
    """The regressions of all rounds, each fitted on what the one before left; and the last probabilities.

    Those that trust rows are fitted where rows are honest.
    """
    fitted: list[Regression] = []
    genuine: list[Any] = [None for _ in scenes]
    truth = np.concatenate([~one.hostile[one.judged] for one in episodes]).astype(float)
    weight = np.concatenate([_per_node(one) for one in episodes])
    if by_row:
        weight = weight * np.concatenate([~one.lies[one.graph.edges[one.judged]].any(axis=1) for one in episodes])
    for number in range(ROUNDS):
        numbers = [scene.link_numbers(now, by_row=by_row) for scene, now in zip(scenes, genuine, strict=True)]
        rng = torch_generator(seed, "trust", "links", str(by_row), str(number))
        fitted.append(fit_regression(np.concatenate(numbers, axis=1), truth, weight, rng))
        genuine = [sigmoid(fitted[-1].log_odds(one)) for one in numbers]
    return tuple(fitted), genuine


def _per_node(episode: Episode) -> Float[np.ndarray, " j"]:
    """What each link counts: 1 / sqrt(degree) of the end with fewer links, so that a few large nodes do not decide."""
    links = episode.graph.edges[episode.judged]
    return 1 / np.sqrt(np.maximum(episode.graph.degrees[links].min(axis=1), 1.0))


def _fit_answers(
    model: TrustModel, scenes: list[Scene], episodes: list[Episode], answers: Answers, clean: Probs,
    labels: Int64[np.ndarray, " n"],
) -> TrustModel:  # fmt: skip
    """The model with its blend, and with the share of answers that came back."""
    classes = np.where(labels >= 0, labels, clean.argmax(axis=1))
    weight = np.where(labels >= 0, 1.0, PSEUDO)
    said, known, truth, weights, shares, plain = [], [], [], [], [], []
    for scene, episode in zip(scenes, episodes, strict=True):
        judgement, nodes = model.judge(scene), np.flatnonzero(episode.new)
        logs, about = witnesses(judgement, answers(judgement.weighed(scene.graph)), nodes)
        said.append(logs)
        known.append(about)
        truth.append(classes[nodes])
        weights.append(weight[nodes])
        shares.append(judgement.suspicion[nodes])
        plain.append(answers(episode.graph)[nodes].argmax(axis=1))
    logs, about, right = np.concatenate(said), np.concatenate(known), np.concatenate(truth)
    blend = fit_blend(logs, about, right, np.concatenate(weights))
    ours = blend.log_probs(logs, about).argmax(axis=1) == right
    bins = np.digitize(np.concatenate(shares), BINS)
    as_it_is = np.concatenate(plain) == right
    back = np.array([[as_it_is[bins == k].mean() if (bins == k).any() else 0.0,
                      ours[bins == k].mean() if (bins == k).any() else 0.0, (bins == k).sum()]
                     for k in range(len(BINS) + 1)])  # fmt: skip
    return dataclasses.replace(model, blend=blend, brought_back=back)
