"""The reasons of a diagnosis in words."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool

from gvdn.graph import Graph
from gvdn.trust.baseline import Baseline
from gvdn.trust.evidence import TINY, Evidence
from gvdn.trust.rows import cosines

LEAST = 1.0
"""A part of a score is named from so many nats on."""


@dataclass(frozen=True, eq=False)
class Reasons:
    """Why nodes and new links are unusual."""

    graph: Graph
    baseline: Baseline
    evidence: Evidence
    class_names: tuple[str, ...]
    suspicious: Bool[np.ndarray, " n"]

    @cached_property
    def answer_changed(self) -> Bool[np.ndarray, " n"]:
        """Whether the model's answer is another one than the stored; never for a new node."""
        stored = self.evidence.changes.stored
        known = stored >= 0
        changed = np.zeros(len(stored), dtype=bool)
        changed[known] = self.baseline.answers[stored[known]].argmax(axis=1) != self.evidence.answers[known]
        return changed

    def node(self, node: int) -> list[str]:
        """The reasons of a node, by its position: what was done to it, then what came of it."""
        return [words for weight, words in self._parts(int(node)) if weight >= LEAST]

    def link(self, row: int) -> list[str]:
        """The reasons of a new link, by its row."""
        evidence, pair = self.evidence, self.evidence.changes.links[row]
        told = []
        if evidence.hostile[row]:
            first, second = (self._class_of(int(end)) for end in pair)
            cosine = float(cosines(self.graph.features[pair], np.array([[0, 1]]))[0])
            told.append(f"does not fit: classes {first} and {second}, cosine of the features {cosine:.2f}")
        for end in pair[np.argsort(-evidence.contact[row], kind="stable")].tolist():
            if evidence.norm[end] >= LEAST:
                told.append(f"{self.graph.ids[end]}: {self._norm(end)}")
            elif evidence.gained[end] >= LEAST and evidence.changes.gained[end] > 1:
                told.append(f"{self.graph.ids[end]}: {self._new_links(end)}")
        return told or ["a new link"]

    def _parts(self, node: int) -> list[tuple[float, str]]:
        """The parts of the score of a node that are not 0, with their words."""
        evidence, changes = self.evidence, self.evidence.changes
        parts: list[tuple[float, str]] = []
        if evidence.norm[node]:
            parts.append((evidence.norm[node], self._norm(node)))
        if evidence.row[node]:
            parts.append((evidence.row[node], self._row(node)))
        if changes.gained[node]:
            parts.append((evidence.gained[node], self._new_links(node)))
            parts += self._neighbours(node)
        if changes.lost[node]:
            parts.append((evidence.lost[node], f"{changes.lost[node]:,} of its {changes.before[node]:,} links lost"))
        if evidence.answer[node]:
            parts.append((evidence.answer[node], self._answer(node)))
        return parts

    def _neighbours(self, node: int) -> list[tuple[float, str]]:
        """The part `neighbours` in two: links that do not fit, and an unusual node at the other end."""
        evidence, rows = self.evidence, self._rows_of(node)
        wrong, links = rows[evidence.hostile[rows]], evidence.changes.links[rows]
        contact, others = evidence.contact[rows][links != node], links[links != node]
        told = f"{len(wrong):,} of its {len(rows):,} new neighbours do not fit its class and features"
        parts = [(float(evidence.misfit[wrong].sum()), told)]
        worst = int(others[np.argmax(contact)])
        if self.suspicious[worst] and self.evidence.nodes[worst] > self.evidence.nodes[node]:
            parts.append((float(contact.max()), f"a new link to {self.graph.ids[worst]}, which is suspicious itself"))
        return parts

    def _rows_of(self, node: int) -> np.ndarray:
        incidence = self._incidence
        return incidence.indices[incidence.indptr[node] : incidence.indptr[node + 1]]

    @cached_property
    def _incidence(self) -> sp.csr_array:
        """Node x new link."""
        links = self.evidence.changes.links
        rows = np.repeat(np.arange(len(links)), 2)
        ones = np.ones(len(rows), dtype=np.int8)
        return sp.csr_array((ones, (links.ravel(), rows)), shape=(self.graph.num_nodes, len(links)))

    def _norm(self, node: int) -> str:
        times = self.evidence.norms[node] / max(self.baseline.max_norm, TINY)
        return f"feature row {times:,.{0 if times >= 10 else 1}f} times the largest norm seen"

    def _row(self, node: int) -> str:
        if self.evidence.changes.stored[node] < 0:
            return "a feature row that does not fit its neighbours"
        return f"a changed feature row that speaks less for {self._stored(node)}"

    def _new_links(self, node: int) -> str:
        changes = self.evidence.changes
        if changes.stored[node] < 0:
            return f"a new node with {changes.gained[node]:,} links"
        return f"{changes.gained[node]:,} new links in one step ({changes.before[node]:,} before)"

    def _answer(self, node: int) -> str:
        before, now = self._stored(node), self.class_names[self.evidence.answers[node]]
        return f"its answer changed from {before} to {now}" if before != now else f"its answer {before} is less certain"

    def _stored(self, node: int) -> str:
        return self.class_names[int(self.baseline.answers[self.evidence.changes.stored[node]].argmax())]

    def _class_of(self, node: int) -> str:
        """The stored answer, or for a new node the one in hand."""
        new = self.evidence.changes.stored[node] < 0
        return self.class_names[self.evidence.answers[node]] if new else self._stored(node)
