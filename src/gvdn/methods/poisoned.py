"""Trust in front of any method whose graph may have been poisoned before the method was fitted."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from gvdn.graph import Graph, GraphLike
from gvdn.methods.gvdn.choice import AS_IT_IS, IN_TURN, Report, by_validation
from gvdn.methods.trusted import Trusted
from gvdn.trust.turns import InTurn, in_turn


class TrustedInTurn:
    """A method that was fitted on a graph that may be poisoned, fitted again on that graph as far as it is trusted.

    It is what `GVDN.recover(graph, poisoned=True)` does, for any method. The graph is judged in turn by what the fitted
    method stores of it (`gvdn.trust.turns`); the method is fitted again, with its settings, seed and labels, on the
    links as far as they are trusted; and by what is stored then, the graph is judged once more. Where that is right
    about clearly fewer validation nodes than the method as it is, the latter answers; `report` says which.

    >>> import gvdn
    >>> graph = gvdn.load_graph("debian")
    >>> split = gvdn.random_split(graph, seed=0)
    >>> poisoned = gvdn.perturb(graph, "dice", split, seed=0).graph
    >>> model = gvdn.make_method("gcn", epochs=3, hidden=8).fit(poisoned, split, seed=0)
    >>> TrustedInTurn(model, poisoned).predict_proba(poisoned).shape == (graph.num_nodes, graph.num_classes)
    True

    Args:
        model: any fitted method.
        graph: the graph that it was fitted on.
    """

    def __init__(self, model: Any, graph: GraphLike) -> None:
        first = Trusted(model, graph)
        fitted_on = model.accepted(graph)
        trusted = dataclasses.replace(fitted_on, adjacency=_judged(first, fitted_on).seen.adjacency)
        again = dataclasses.replace(model)
        again.fit(*model.labels_.on(trusted, model.class_names_), seed=model.seed_)
        self.model, self.again = model, Trusted(again, trusted)
        self.report = self._compared(fitted_on)

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node."""
        accepted = self.model.accepted(graph)
        return self._answers(accepted) if self.report.chosen == IN_TURN else self.model.predict_proba(accepted)

    def _answers(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        """Those of the method that was fitted again, with the graph judged in turn."""
        front = _judged(self.again, graph)
        return front.answers(self.again.model.predict_proba(front.seen))

    def _compared(self, graph: Graph) -> Report:
        """Which of the two answers, by the validation nodes."""
        labels = self.model.labels_
        nodes = graph.locate(labels.val_ids)
        there, truth = nodes[nodes >= 0], labels.val_labels[nodes >= 0]
        answers = {IN_TURN: self._answers(graph), AS_IT_IS: self.model.predict_proba(graph)}
        right = {way: probs[there].argmax(axis=1) == truth for way, probs in answers.items()}
        return by_validation(right[IN_TURN], right[AS_IT_IS], graph.num_nodes)


def _judged(trusted: Trusted, graph: Graph) -> InTurn:
    return in_turn(trusted.baseline.trust(), trusted.baseline.stored(), graph, seed=trusted.model.seed_)
