"""What a white-box attack needs of a method: its logits as a function of the weights of links."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32, Int64
from torch import Tensor

from gvdn.graph import Graph
from gvdn.nn.view import WeightedView


class Differentiable:
    """A part of a method: the steps that `WhiteBox` calls, as they are for a network over the normalised adjacency."""

    why_opaque: ClassVar[str] = "it does not say how its answers depend on links"
    """Why the logits cannot be differentiated with respect to links; a method for which `through` is right sets ""."""

    def opaque(self) -> str:
        """The same, where it depends on the settings or on what was done."""
        return self.why_opaque

    def through(self: Any, graph: Graph) -> tuple[Any, Callable[[Any], Tensor]]:
        """A view whose `over(edges, weights)` has other edges and weights, and the function from a view to logits."""
        view = WeightedView(graph, graph.edges, self.torch_device())
        return view, lambda over: self.answer(self.network_, over, self.inference_generator())

    def link_factors(self, graph: Graph, pairs: Int64[np.ndarray, "m 2"]) -> Float32[np.ndarray, " m"]:
        """The factor by which the method multiplies the weight of a link between the nodes of each pair."""
        return np.ones(len(pairs), dtype=np.float32)
