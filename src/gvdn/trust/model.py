"""The trust model: which links are genuine, which rows are honest, and the class that all witnesses together name.

`scene` has what the witnesses say, `regression` the form of the model, `fitting` how it is fitted.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gvdn.graph import Graph, Positions
from gvdn.graph.graph import adjacency_from_pairs
from gvdn.metrics import entropy
from gvdn.trust.once import once
from gvdn.trust.regression import Blend, Regression, sigmoid
from gvdn.trust.rows import Pairs, Probs, log_normalised, scaled_rows
from gvdn.trust.scene import ERROR, SETTLED, TINY, Learned, Scene

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
        heard: the votes, where they were taken in turns (`turns.in_turn`).
    """

    scene: Scene
    genuine: Float[np.ndarray, " m"]
    honest: Float[np.ndarray, " n"]
    in_question: Float[np.ndarray, " j"]
    without_rows: Float[np.ndarray, " j"]
    with_rows: Float[np.ndarray, " j"]
    heard: Float[np.ndarray, "n k"] | None = None

    def weighed(self, graph: Graph) -> Graph:
        """The graph in which links and rows count as far as they are trusted; a link of next to no weight is left out.

        A link in question has the weight sigma(4 log-odds) times its own where the rows at its ends are honest, and its
        probability where they are not; a row in question is multiplied by sigma(4 log-odds of its honesty).
        """
        weight = self.link_weights
        kept = weight > LEAST
        values = (graph.edge_weights[kept] * weight[kept]).astype(np.float32)
        adjacency = adjacency_from_pairs(graph.edges[kept], graph.num_nodes, values)
        honest = sharpened(self.honest)
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

    @once
    def votes(self) -> Float[np.ndarray, "n k"]:
        """The class probabilities that the links of each node give, each as far as it is trusted."""
        return np.exp(self.scene.votes(self.in_question)) if self.heard is None else self.heard

    @property
    def suspicion(self) -> Float[np.ndarray, " n"]:
        """The expected share of hostile links of each node, and how dishonest its row is; at most 1."""
        return np.minimum(self.hostile_share + 1 - self.honest, 1)


@dataclass(frozen=True, eq=False)
class TrustModel:
    """Fitted by `fitting.fit_trust`.

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
        scene = heard_by_signs(scene, self.signs)
        without, with_rows = self._links(scene, by_row=False), self._links(scene, by_row=True)
        return self.concluded(scene, without[0], without[-1], with_rows[-1])

    def concluded(
        self, scene: Scene, apart: Float[np.ndarray, " j"], without: Float[np.ndarray, " j"],
        with_rows: Float[np.ndarray, " j"],
    ) -> Judgement:  # fmt: skip
        """The judgement of a scene in which rows were heard by their signs, given the probabilities of its links.

        Args:
            apart: without rows, in the first round.
            without, with_rows: without and with rows, in the last round.
        """
        honest = np.ones(scene.graph.num_nodes)
        if scene.here.some(scene.doubted):
            alone = self.rows.log_odds(scene.row_numbers(without, with_rows, apart))
            numbers = in_company(scene, alone, without, with_rows)
            honest[scene.doubted] = sigmoid(self.company[0] + numbers @ self.company[1:])
            honest = scene.here.of_all(honest)
            scene = scene.hearing(honest)
        both = honest[scene.ends].reshape(2, -1).prod(axis=0)
        in_question = both * with_rows + (1 - both) * without
        genuine = np.full(scene.graph.num_edges, SETTLED)
        genuine[scene.judged] = in_question
        return Judgement(scene, genuine, honest, in_question, without, with_rows)

    def _links(self, scene: Scene, *, by_row: bool) -> list[Float[np.ndarray, " j"]]:
        """The probabilities of the links in question after each round."""
        found: list[np.ndarray] = []
        for one in self.by_row if by_row else self.structural:
            numbers = scene.link_numbers(found[-1] if found else None, by_row=by_row)
            found.append(sigmoid(one.log_odds(numbers)))
        return found

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
    links, net = judgement.votes[nodes], network[nodes]
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


def heard_by_signs(scene: Scene, signs: Regression) -> Scene:
    """The scene in which rows are trusted as far as their own signs allow."""
    if not scene.doubted.any():
        return scene
    honest = np.ones(scene.graph.num_nodes)
    honest[scene.doubted] = sigmoid(signs.log_odds(scene.signs()))
    return scene.hearing(honest)


def in_company(
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
        shares.append(1 - scene.here.mean((weight / degrees)[nodes], nodes))
    return np.stack([alone, *(np.full(len(nodes), one) for one in (scene.here.mean(alone, nodes), *shares))], axis=1)
