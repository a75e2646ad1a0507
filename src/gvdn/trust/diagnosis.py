"""The diagnosis of a graph: is it perturbed, where, and what should be done."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped

from gvdn.graph import Graph, Positions
from gvdn.trust.baseline import Baseline, Calibration
from gvdn.trust.calibration import RATE, excess
from gvdn.trust.churn import CHURN
from gvdn.trust.evidence import Evidence, weigh
from gvdn.trust.front import front_of
from gvdn.trust.model import TrustModel
from gvdn.trust.reasons import Reasons
from gvdn.trust.rows import Probs


class Advice(StrEnum):
    """What to do about a graph."""

    NOTHING = "nothing"
    UPDATE = "update"
    RECOVER = "recover"
    FIT_ANEW = "fit anew"


COUNTS = (
    "nodes", "new_nodes", "vanished_nodes", "links", "new_links", "lost_links", "changed_rows", "changed_answers",
    "suspicious_nodes", "suspicious_links",
)  # fmt: skip
"""What is counted of a graph."""
LEAST_STORED = 0.5
"""With a smaller share of stored nodes a graph has too little in common with the clean one."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What a model's baseline says of a graph. Scores are in nats: the larger, the more unusual.

    Attributes:
        graph: the graph that was diagnosed.
        perturbed: whether it has more evidence than any of the 59 churned graphs of the calibration.
        p_value: the probability of so much evidence under natural churn; at least 1 / 60.
        rate: the stated share of false alarms under natural churn, of the verdict, of nodes and of links.
        advice: what to do; `because` says why.
        scores, suspicious: of each node of the graph.
        links: the new links as positions in the graph; `link_scores`, `suspicious_links` belong to them.
        evidence: the parts of the scores.
    """

    graph: Graph
    baseline: Baseline
    evidence: Evidence
    class_names: tuple[str, ...]
    rate: float = RATE

    @cached_property
    def excess(self) -> float:
        """The evidence of all nodes beyond the threshold of a node, per changed link."""
        return excess(self.evidence, self.baseline.calibration.node)

    @property
    def p_value(self) -> float:
        return self.baseline.calibration.p_value(self.excess)

    @property
    def perturbed(self) -> bool:
        return self.baseline.calibration.exceeded(self.excess)

    @cached_property
    def scores(self) -> Float[np.ndarray, " n"]:
        return self.evidence.nodes

    @cached_property
    def link_scores(self) -> Float[np.ndarray, " m"]:
        return self.evidence.links

    @property
    def suspicious(self) -> Bool[np.ndarray, " n"]:
        return self.scores > self.baseline.calibration.node

    @property
    def suspicious_links(self) -> Bool[np.ndarray, " m"]:
        return self.link_scores > self.baseline.calibration.link

    @property
    def links(self) -> Shaped[np.ndarray, "m 2"]:
        return self.evidence.changes.links

    @property
    def new_nodes(self) -> Shaped[np.ndarray, " a"]:
        """Ids of the nodes of which nothing is stored."""
        return self.graph.ids[self.evidence.changes.new_nodes]

    @property
    def vanished_nodes(self) -> Shaped[np.ndarray, " b"]:
        """Ids of the stored nodes that the graph has no more."""
        return self.baseline.ids[self.evidence.changes.vanished]

    @property
    def ranked_nodes(self) -> Positions:
        """Positions of all nodes, the most suspicious first."""
        return np.argsort(-self.scores, kind="stable")

    @property
    def ranked_links(self) -> Positions:
        """Rows of `links`, the most suspicious first."""
        return np.argsort(-self.link_scores, kind="stable")

    @cached_property
    def reasons(self) -> Reasons:
        """Why a node or a link is suspicious, in words: `reasons.node(position)`, `reasons.link(row)`."""
        return Reasons(self.graph, self.baseline, self.evidence, self.class_names, self.suspicious)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How much of the graph is new, gone, changed or suspicious."""
        changes, evidence = self.evidence.changes, self.evidence
        found = (
            self.graph.num_nodes, len(changes.new_nodes), len(changes.vanished), self.graph.num_edges,
            changes.number_new, changes.number_lost, evidence.row_changed.sum(), self.reasons.answer_changed.sum(),
            self.suspicious.sum(), self.suspicious_links.sum(),
        )  # fmt: skip
        return {name: int(number) for name, number in zip(COUNTS, found, strict=True)}

    @property
    def advice(self) -> Advice:
        return self._advice[0]

    @property
    def because(self) -> str:
        return self._advice[1]

    @cached_property
    def _advice(self) -> tuple[Advice, str]:
        return advise(self.counts, self.baseline.calibration, self.excess, self.baseline.number)

    def summary(self, most: int = 20) -> dict[str, Any]:
        """The diagnosis as JSON can hold it, with at most so many suspicious nodes, links, new and vanished nodes."""
        nodes, links = (
            rank[flagged[rank]][:most]
            for rank, flagged in (
                (self.ranked_nodes, self.suspicious),
                (self.ranked_links, self.suspicious_links),
            )
        )
        return {
            "graph": self.graph.name,
            "perturbed": self.perturbed,
            "p_value": self.p_value,
            "false_alarm_rate": self.rate,
            "advice": str(self.advice),
            "because": self.because,
            **self.counts,
            **self.ranked(nodes, links),
            "new_ids": self.new_nodes[:most].tolist(),
            "vanished_ids": self.vanished_nodes[:most].tolist(),
        }

    def ranked(self, nodes: Positions, links: Positions) -> dict[str, list[dict[str, Any]]]:
        """Scores and reasons of these nodes, by position, and of these new links, by row."""
        ids = self.graph.ids
        return {
            "nodes_ranked": [
                {"id": ids[node].item(), "score": round(float(self.scores[node]), 2), "why": self.reasons.node(node)}
                for node in nodes.tolist()
            ],
            "links_ranked": [
                {
                    "source": ids[self.links[row, 0]].item(),
                    "target": ids[self.links[row, 1]].item(),
                    "score": round(float(self.link_scores[row]), 2),
                    "why": self.reasons.link(row),
                }
                for row in links.tolist()
            ],
        }


def advise(counts: Mapping[str, int], calibration: Calibration, excess: float, stored: int) -> tuple[Advice, str]:
    """What to do about a graph with these counts and this excess, and why; `stored` nodes were there when the model was
    fitted."""
    there = 1 - counts["new_nodes"] / counts["nodes"]
    if there < LEAST_STORED:
        return Advice.FIT_ANEW, f"only {there:.0%} of the nodes were there when the model was fitted"
    if calibration.exceeded(excess):
        return Advice.RECOVER, (
            f"there is more evidence than in {(calibration.excess < excess).sum()} of "
            f"{len(calibration.excess)} graphs with natural churn (p {calibration.p_value(excess):.3f}); "
            f"{counts['suspicious_nodes']:,} nodes and {counts['suspicious_links']:,} new links are suspicious"
        )
    moved = {
        "new nodes": counts["new_nodes"] / counts["nodes"],
        "vanished nodes": counts["vanished_nodes"] / max(stored, 1),
        "changed feature rows": counts["changed_rows"] / counts["nodes"],
        "new links": counts["new_links"] / max(counts["links"], 1),
    }
    name, share = max(moved.items(), key=lambda item: item[1])
    if share > 2 * CHURN:
        return Advice.UPDATE, f"nothing looks perturbed, but the graph has moved on: {share:.1%} {name}"
    return Advice.NOTHING, "the graph differs no more from the clean one than natural churn would make it"


def diagnose(
    trust: TrustModel, baseline: Baseline, graph: Graph, answers: Probs, class_names: tuple[str, ...]
) -> Diagnosis:
    """Compare a graph, and a model's answers on it, with what was stored of the clean graph."""
    return Diagnosis(graph, baseline, weigh(front_of(trust, baseline, graph), graph, answers), class_names)
