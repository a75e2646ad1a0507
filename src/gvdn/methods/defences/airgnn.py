"""AirGNN: each node keeps as much of its own row as its neighbours agree with."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from gvdn.graph import Graph
from gvdn.methods.propagating import Propagating
from gvdn.methods.search import Space, space
from gvdn.nn.propagated import adaptive_residual
from gvdn.nn.view import View, propagation


@dataclass
class AirGNN(Propagating):
    """Liu et al., Graph neural networks with adaptive residual (NeurIPS 2021).

    A network of two layers on the features alone, then `order` steps of adaptive message passing
    (`nn.propagated.adaptive_residual`): the residual connection of a node is strong where its neighbours agree with it
    and vanishes where its features are unlike theirs. Made against abnormal features; links are taken as they are.

    The weight of the residual was tuned for each graph and is not printed; the default is that of the published code,
    as the other settings are, and the catalogue has the example that the code comes with. That code trains for at most
    1,000 epochs and stops after 100 without a better validation loss; here all epochs are run and the best is taken, as
    for every method.

    Args:
        residual_weight: lambda, from 0 (neighbours alone) to 1 (the node alone).
        order: K, steps of message passing.
    """

    hidden: int = 64
    dropout: float = 0.8
    epochs: int = 400
    residual_weight: float = 0.1
    order: int = 10

    name: ClassVar[str] = "airgnn"
    why_opaque: ClassVar[str] = ""
    static: ClassVar[bool] = True
    search_space: ClassVar[Space] = space(residual_weight=(0.1, 0.3, 0.6), order=(2, 5, 10))
    ranges: ClassVar = {"[0, 1)": ("residual_weight",), "at least 0": ("order",), "at most 10,000": ("order",)}

    def view(self, graph: Graph) -> View:
        return View(propagation(graph, "gcn", self.torch_device()), graph, self.torch_device(), changing=True)

    def spread(self, network: Any, view: View) -> Any:
        return partial(adaptive_residual, view, weight=self.residual_weight, steps=self.order)
