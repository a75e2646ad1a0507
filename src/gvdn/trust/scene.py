"""A graph in hand: what its witnesses say of each link and of each feature row, as numbers."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int64

from gvdn.graph import Graph
from gvdn.metrics import entropy
from gvdn.trust.here import WHOLE, Here
from gvdn.trust.rows import Pairs, Probs, cosines, l1_norms, l2_norms, log_normalised, projected
from gvdn.trust.student import Student

SETTLED = 0.99
"""The probability that a link of the clean graph is genuine."""
START = 0.7
"""That of a link in question before any witness is heard."""
TINY = 1e-6
ERROR = 0.05
"""How often any witness is simply wrong: none can rule out a class alone."""
AIMS, AIMED = 2, 0.25
"""The classes that hostile links may all go to, and the probability beforehand that they do."""

Totals = Float[np.ndarray, "n k"]
Messages = Float[np.ndarray, "t k"]

STRUCTURE = (
    "class against the others", "row against the others", "common neighbours", "share of the others",
    "degree", "its degree", "its entropy", "entropy of the others", "new", "it is new",
)  # fmt: skip
"""What a link is judged by, seen from one of its ends, without that end's own row."""
BY_ROW = ("rows", "row and class", "both", "row against its others", "row against the others", "entropy of the row")
"""What the end's own row adds."""
OTHERS = np.array([0, 1, 3, 7, 14])
"""Those that depend on the other links of the end, which the first round does not hear: a hostile majority agrees."""
SIGNS = ("entropy", "typical", "norm", "norm above the largest", "spread")
"""What a feature row shows by itself."""
OF_ROW = (
    "agrees with the neighbours", "resembles them", "resembles one", "resembles their mean", "links it supports",
    "links without it", "entropy of the neighbours", "degree", "genuine links", "agrees with the neighbours one by one",
    *SIGNS,
)  # fmt: skip
"""What the honesty of a feature row is judged by."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What the clean graph and a model's answers on it taught, besides the regressions.

    Attributes:
        table: T_kl = P(k, l on a link) / P(k) P(l).
        prior: the share of each class.
        basis: the leading directions of the feature rows divided by their length, as columns.
        centre: the mean of these rows in the basis.
        norms: the median and the largest L1 norm of a row.
    """

    student: Student
    table: Float[np.ndarray, "k k"]
    prior: Float[np.ndarray, " k"]
    basis: Float[np.ndarray, "d b"]
    centre: Float[np.ndarray, " b"]
    norms: Float[np.ndarray, " 2"]


class Scene:
    """A graph, what is stored of its nodes, and which of its links and rows are in question.

    Args:
        known: whether something is stored of each node.
        stored: the stored answer of each node; the prior for the others.
        own: what the student says of each row.
        judged: which of the graph's edges are in question.
        doubted: whose rows are in question.
        supposed: pairs that are judged behind these edges as if each were one more link of the graph.
        norms: the L1 norm of each row as given, before a guard scaled it.
        here: where the graph is; a part of it has neighbours of its nodes, but not all of their links.
    """

    def __init__(
        self,
        learned: Learned,
        graph: Graph,
        *,
        known: Bool[np.ndarray, " n"],
        stored: Probs,
        own: Probs,
        judged: Int64[np.ndarray, " j"],
        doubted: Bool[np.ndarray, " n"],
        norms: Float[np.ndarray, " n"] | None = None,
        supposed: Pairs | None = None,
        here: Here = WHOLE,
    ) -> None:
        self.learned, self.graph, self.known, self.own = learned, graph, known, own
        self.judged, self.doubted, self.here = judged, doubted, here
        self.norms = l1_norms(graph.features) if norms is None else norms
        self.stored = stored
        self.Z = projected(graph.features, learned.basis)
        self.energy = np.linalg.norm(self.Z, axis=1)
        self.Z = self.Z - learned.centre.astype(np.float32)
        self.lengths = np.maximum(np.linalg.norm(self.Z, axis=1), 1e-6)
        links = graph.edges[judged]
        if supposed is not None:
            links = np.concatenate([links, supposed])
        self.ends = np.concatenate([links[:, 0], links[:, 1]])
        self.others = np.concatenate([links[:, 1], links[:, 0]])
        self.at_ends = _Sums(self.ends, graph.num_nodes)
        self.similar = np.tile(np.sqrt(np.maximum(cosines(graph.features, links), 0)), 2)
        self.common = np.tile(np.log1p(here.common(graph, links)), 2)
        self._settle()
        self._hear(np.ones(graph.num_nodes))

    def hearing(self, honest: Float[np.ndarray, " n"]) -> "Scene":
        """The same scene, in which each row speaks to the neighbours of its node as far as it is honest.

        With honesty r, a row that the student gives the classes q counts as r q + (1 - r) prior, which says nothing of
        a neighbour where r = 0, and as r times itself where rows around a node are added up.
        """
        scene = copy.copy(self)
        scene._hear(honest)
        return scene

    def _hear(self, honest: Float[np.ndarray, " n"]) -> None:
        """What the rows, trusted that far, and the links that are not in question say."""
        told = honest[:, None] * self.own + (1 - honest[:, None]) * self.learned.prior
        self.classes = np.where(self.known[:, None], self.stored, told)
        self.fits = np.maximum(self.classes @ self.learned.table, TINY)
        """sum_l P(l) T_lk: how much likelier a neighbour of this node is of class k than a random node."""
        self.heard = honest[:, None].astype(np.float32) * self.Z
        self.entropies = entropy(self.classes)
        _, others = self.settled
        self.base_vote = np.where(self.known[:, None], np.log(np.maximum(self.stored, TINY)), np.log(self._prior))
        self.base_vote += self.at_settled.of(np.log(1 - SETTLED + SETTLED * self.fits[others]))
        self.base_rows = SETTLED * self.at_settled.of(self.heard[others])

    def _settle(self) -> None:
        """The links that are not in question, at nodes where others or the row are, and what they say of rows.

        `settled` has each of these links once for each such end: the ends, and the nodes at the other side.
        """
        graph, n = self.graph, self.graph.num_nodes
        touched = self.doubted.copy()
        touched[self.ends] = True
        settled = np.delete(graph.edges, self.judged, axis=0)
        settled = settled[touched[settled].any(axis=1)]
        ends, others = np.concatenate([settled, settled[:, ::-1]]).T if len(settled) else np.zeros((2, 0), np.int64)
        there = touched[ends]
        ends, others = ends[there], others[there]
        self.settled, self.at_settled = (ends, others), _Sums(ends, n)
        self.base_weight = SETTLED * np.bincount(ends, minlength=n).astype(np.float64)
        mine = self.doubted[ends]
        ends, others = ends[mine], others[mine]
        similar = np.sqrt(np.maximum(cosines(graph.features, np.stack([ends, others], axis=1)), 0))
        self.base_similar = SETTLED * np.bincount(ends, weights=similar, minlength=n)
        self.base_most = np.zeros(n)
        np.maximum.at(self.base_most, ends, similar)

    @property
    def _prior(self) -> Float[np.ndarray, " k"]:
        return np.maximum(self.learned.prior, TINY)

    @cached_property
    def degrees(self) -> Float[np.ndarray, " n"]:
        return self.here.degrees(self.graph).astype(np.float64)

    def messages(self, genuine: Float[np.ndarray, " j"], *, by_row: bool = False) -> Iterator[tuple[Totals, Messages]]:
        """What each link in question says of the class of its end, and all together, by each account of hostile links.

        A link that is genuine with probability g says log((1 - g) h + g sum_l P(l) T_lk) of the class k of its end. By
        the first account, hostile links go anywhere, h = 1. By the others they all go to nodes of one class a, one of
        the two that the links name most by the first account, h = P(a) / prior(a), and the end is not of that class: so
        links that agree with each other are one piece of evidence, not many. With `by_row`, the row of the end is heard
        beside its links.
        """
        n, g, fits = self.graph.num_nodes, np.tile(genuine, 2)[:, None], self.fits[self.others]
        base = self.base_vote
        if by_row:
            base = base + np.log((1 - ERROR) * self.own / self._prior + ERROR)
        said = np.log(1 - g + g * fits)
        total = self.here.of_ends(base + self.at_ends.of(said))
        yield total, said
        for aim in _largest(total):
            to = aim[self.ends]
            towards = (self.classes[self.others, to] / self._prior[to])[:, None]
            said = np.log(np.maximum((1 - g) * towards + g * fits, TINY))
            total = self.here.of_ends(base + self.at_ends.of(said)) + np.log(AIMED / AIMS / (1 - AIMED))
            total[np.arange(n), aim] = -np.inf
            yield total, said

    def votes(self, genuine: Float[np.ndarray, " j"]) -> Float[np.ndarray, "n k"]:
        """The log-probability of each class of each node that its links, and what is stored of it, give."""
        return log_normalised(_log_sum([total for total, _ in self.messages(genuine)]))

    def link_numbers(self, genuine: Float[np.ndarray, " j"] | None, *, by_row: bool) -> Float[np.ndarray, "2 j d"]:
        """What each link in question is judged by, from both of its ends, given the probabilities so far, if any."""
        if genuine is None:
            numbers = self.link_numbers(np.full(len(self.judged), START), by_row=by_row)
            numbers[:, :, OTHERS[numbers.shape[2] > OTHERS]] = 0
            return numbers
        n, ends, others, g = self.graph.num_nodes, self.ends, self.others, np.tile(genuine, 2)
        rest = np.exp(log_normalised(_log_sum([
            total[ends] - said for total, said in self.messages(genuine, by_row=by_row)
        ])))  # fmt: skip
        weight = self.here.of_ends(self.base_weight + np.bincount(ends, weights=g, minlength=n))
        rows = self.base_rows + self.at_ends.of(g[:, None].astype(np.float32) * self.heard[others])
        rows = self.here.of_ends(rows)
        degree, fits = self.degrees, self.fits[others]
        share = np.where(degree[ends] > 1, (weight[ends] - g) / np.maximum(degree[ends] - 1, 1), START)
        found = [
            np.log(np.maximum((rest * fits).sum(axis=1), TINY)), self._cosine(rows, ends, others, g), self.common,
            share, np.log1p(degree[ends]), np.log1p(degree[others]), self.entropies[others] * self.known[others],
            entropy(rest), (~self.known[ends]).astype(float), (~self.known[others]).astype(float),
        ]  # fmt: skip
        if by_row:
            own = self.own[ends]
            class_fit = np.log(np.maximum((own * fits).sum(axis=1), TINY))
            agreement = np.log(np.maximum((own * rest / self._prior).sum(axis=1), TINY))
            found += [
                self.similar, class_fit, self.similar * class_fit, self._cosine(rows, others, ends, g), agreement,
                self.own_entropies[ends],
            ]  # fmt: skip
        return np.stack(found, axis=1).reshape(2, len(genuine), len(found))

    def signs(self) -> Float[np.ndarray, "1 r d"]:
        """What the rows in question show by themselves, whatever their links (`SIGNS`)."""
        nodes = np.flatnonzero(self.doubted)
        norm = np.maximum(self.norms[nodes], 1e-9)
        typical, largest = np.maximum(self.learned.norms, 1e-9)
        found = [
            self.own_entropies[nodes], self.energy[nodes], np.log(norm / typical),
            np.maximum(np.log(norm / largest), 0),
            np.log(norm / np.maximum(l2_norms(self.graph.features[nodes]), 1e-9)),
        ]  # fmt: skip
        return np.stack(found, axis=1)[None]

    def row_numbers(
        self, without: Float[np.ndarray, " j"], with_rows: Float[np.ndarray, " j"], apart: Float[np.ndarray, " j"]
    ) -> Float[np.ndarray, "1 r d"]:
        """What the rows in question are judged by, given the probabilities of links without and with rows.

        Args:
            apart: those without rows of the first round, where no link was judged by the others of its end.
        """
        n, nodes, g = self.graph.num_nodes, np.flatnonzero(self.doubted), np.tile(without, 2)
        weight = np.maximum(self.base_weight + np.bincount(self.ends, weights=g, minlength=n), TINY)
        resembles = self.base_similar + np.bincount(self.ends, weights=g * self.similar, minlength=n)
        most = self.base_most.copy()
        np.maximum.at(most, self.ends, self.similar)
        supported = self.base_weight + np.bincount(self.ends, weights=np.tile(with_rows, 2), minlength=n)
        rows = self.base_rows + self.at_ends.of(g[:, None].astype(np.float32) * self.heard[self.others])
        around, own, degree = rows[nodes], self.own[nodes], np.maximum(self.degrees, 1)
        length = np.maximum(np.linalg.norm(around, axis=1), TINY) * self.lengths[nodes]
        vote, one_by_one = (np.exp(self.votes(genuine))[nodes] for genuine in (without, apart))
        agrees, agrees_one_by_one = (
            np.log(np.maximum((own * said / self._prior).sum(axis=1), TINY)) for said in (vote, one_by_one)
        )
        found = [
            agrees, (resembles / weight)[nodes], most[nodes], (around * self.Z[nodes]).sum(axis=1) / length,
            (supported / degree)[nodes], (weight / degree)[nodes], entropy(vote), np.log1p(self.degrees)[nodes],
            np.log1p(weight)[nodes], agrees_one_by_one,
        ]  # fmt: skip
        return np.concatenate([np.stack(found, axis=1)[None], self.signs()], axis=2)

    @cached_property
    def own_entropies(self) -> Float[np.ndarray, " n"]:
        return entropy(self.own)

    def _cosine(
        self, rows: Float[np.ndarray, "n b"], at: Int64[np.ndarray, " t"], of: Int64[np.ndarray, " t"],
        g: Float[np.ndarray, " t"],
    ) -> Float[np.ndarray, " t"]:  # fmt: skip
        """The cosine of the row of one end and the summed rows around the other, without the link itself."""
        around = rows[at] - g[:, None].astype(np.float32) * self.heard[of]
        length = np.linalg.norm(around, axis=1) * self.lengths[of]
        return np.where(length > TINY, (around * self.Z[of]).sum(axis=1) / np.maximum(length, TINY), 0).astype(float)


def _log_sum(logs: list[Float[np.ndarray, "n k"]]) -> Float[np.ndarray, "n k"]:
    """log sum_i exp(logs_i), entry by entry."""
    most = np.max(logs, axis=0)
    return most + np.log(sum(np.exp(one - most) for one in logs))


def _largest(totals: Totals) -> list[Int64[np.ndarray, " n"]]:
    """The columns of the largest numbers of each row, the largest first; as many as `AIMS`, or as there are."""
    left, found = totals.copy(), []
    for _ in range(min(AIMS, totals.shape[1])):
        found.append(left.argmax(axis=1))
        left[np.arange(len(left)), found[-1]] = -np.inf
    return found


class _Sums:
    """Sums of values that belong to rows: which value belongs to which is sorted once.

    Args:
        rows: the row of each value.
        n: the number of rows.
    """

    def __init__(self, rows: Int64[np.ndarray, " t"], n: int) -> None:
        shape, where = (n, len(rows)), (rows, np.arange(len(rows)))
        double = sp.csr_array((np.ones(len(rows)), where), shape=shape)
        single = sp.csr_array((double.data.astype(np.float32), double.indices, double.indptr), shape=shape)
        self._by_type = {np.dtype(np.float64): double, np.dtype(np.float32): single}

    def of(self, values: Float[np.ndarray, "t k"]) -> Float[np.ndarray, "n k"]:
        """The sum of the values of each row."""
        return self._by_type[values.dtype] @ values
