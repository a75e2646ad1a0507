"""Trust, or the guard alone, in front of any fitted method."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, GraphLike
from gvdn.methods.diagnosing import lazy_baseline
from gvdn.trust.front import Front, front_of
from gvdn.trust.guard import guarded


class Trusted:
    """A fitted method that sees a graph only after its links and rows were judged; it is not trained again.

    The trust model is fitted on the method's clean graph when it is first needed. Answers of nodes that the clean graph
    did not have are joined with what their rows and links say; of the others, the stored answer is taken as far as
    their surroundings became unreliable.

    >>> import gvdn
    >>> graph = gvdn.load_graph("debian")
    >>> split = gvdn.random_split(graph, seed=0)
    >>> model = gvdn.make_method("gcn", epochs=3, hidden=8).fit(graph, split, seed=0)
    >>> attack = gvdn.perturb(graph, "wrong-links", split, seed=0)
    >>> Trusted(model, graph).predict_proba(attack.graph).shape == (attack.graph.num_nodes, graph.num_classes)
    True

    Args:
        model: any fitted method.
        graph: the clean graph that it was fitted on.
    """

    def __init__(self, model: Any, graph: GraphLike) -> None:
        if not getattr(model, "is_fitted", False):
            raise InvalidInput("expected a fitted method to put trust in front of, got one that is not; call fit first")
        self.model, clean = model, model.accepted(graph)
        device = torch.device(model.device)
        self.baseline = lazy_baseline(clean, model.predict_proba, model.labels_, seed=model.seed_, device=device)

    def front(self, graph: GraphLike) -> Front:
        """What the trust model says of a graph."""
        return front_of(self.baseline.trust(), self.baseline.stored(), self.model.accepted(graph))

    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node."""
        front = self.front(graph)
        return front.answers(self.model.predict_proba(front.seen))

    def weighed_alone(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """The method's own answers on the graph in which links and rows count as far as they are trusted."""
        return self.model.predict_proba(self.front(graph).seen)

    def student_alone(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """What each row says."""
        return self.front(graph).judgement.scene.own

    def links_alone(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """What the links of each node say, each as far as it is trusted."""
        return self.front(graph).judgement.votes

    def guarded_alone(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """The method's answers on the graph whose rows of large norm are scaled down, and that is not judged."""
        seen: Graph = guarded(self.model.accepted(graph), self.baseline.stored().max_norm)
        return self.model.predict_proba(seen)
