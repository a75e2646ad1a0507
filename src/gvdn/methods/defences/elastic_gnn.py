"""Elastic GNN: smoothing over the links that lets a few of them join very different nodes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from torch import Tensor

from gvdn.graph import Graph
from gvdn.methods.propagating import Propagating
from gvdn.methods.search import Space, space
from gvdn.nn.elastic import ElasticView, elastic


@dataclass
class ElasticGNN(Propagating):
    """Liu et al., Elastic graph neural networks (ICML 2021).

    A network of two layers on the features alone, then `order` steps of elastic message passing (`nn.elastic`), which
    penalises differences across links by their norm (lambda_1, of the kind l21) and by its square (lambda_2). The norm
    lets single links join unlike nodes, so that a wrong link costs less than it does by the square alone.

    Both lambdas were tuned for each graph from 0, 3, 6 and 9; the defaults are those of the published code, of which
    the other settings are, too. The catalogue has the example that the code comes with.
    """

    hidden: int = 64
    epochs: int = 500
    lambda_1: float = 3.0
    lambda_2: float = 3.0
    order: int = 10

    name: ClassVar[str] = "elastic-gnn"
    why_opaque: ClassVar[str] = ""
    static: ClassVar[bool] = True
    search_space: ClassVar[Space] = space(lambda_1=(0.0, 3.0, 9.0), lambda_2=(0.0, 3.0, 9.0))
    ranges: ClassVar = {"at least 0": ("lambda_1", "lambda_2", "order"), "at most 10,000": ("order",)}

    def view(self, graph: Graph) -> ElasticView:
        return ElasticView(graph, self.torch_device())

    def spread(self, network: Any, view: ElasticView) -> Any:
        return partial(elastic, view, lambda_1=self.lambda_1, lambda_2=self.lambda_2, steps=self.order)

    def through(self, graph: Graph) -> tuple[ElasticView, Callable[[ElasticView], Tensor]]:
        return self.view(graph), lambda over: self.answer(self.network_, over)
