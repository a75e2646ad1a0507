"""The plain GNNs: no defence at all."""

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Generator, Tensor, nn

from gvdn.graph import Graph
from gvdn.methods.base import Base
from gvdn.nn.aggregators import AGGREGATORS, view_of
from gvdn.nn.dropout import Dropout
from gvdn.nn.gnn import PlainGNN
from gvdn.training.loop import Terms


@dataclass
class GNN(Base):
    """A GCN (Kipf and Welling, ICLR 2017) or another plain GNN, without any defence.

    Two layers, 200 hidden units, dropout 0.5 (the GVDN paper's appendix).

    Args:
        aggregator: gcn, sgc, sage or gat.
        linear: no activation; a GCN is then logits = Â² X W_1 W_2, the surrogate of Nettack.
        noise_weight: share of standard Gaussian noise in the hidden layer, at inference too (Eq. 13 of the GVDN paper).
    """

    aggregator: str = "gcn"
    noise_weight: float = 0.0
    linear: bool = False

    name: ClassVar[str] = "gcn"
    ranges: ClassVar = {"[0, 1]": ("noise_weight",)}
    shaping: ClassVar[tuple[str, ...]] = ("hidden", "aggregator", "noise_weight", "linear")

    def __post_init__(self) -> None:
        super().__post_init__()
        AGGREGATORS.canonical(self.aggregator)

    def build(self, features: int, classes: int, generator: Generator | None) -> nn.Module:
        return PlainGNN(
            features,
            self.hidden,
            classes,
            self.aggregator,
            noise_weight=self.noise_weight,
            linear=self.linear,
            generator=generator,
        )

    def learn(self, network: Any, view: Any, generator: Generator) -> tuple[Tensor, Terms]:
        return network(view, dropout=Dropout(self.dropout, generator), generator=generator), {}

    def answer(self, network: Any, view: Any, generator: Generator | None = None) -> Tensor:
        return network(view, generator=generator)

    def represent(self, network: Any, view: Any, generator: Generator | None = None) -> Tensor:
        return network.embed(view, generator=generator)

    def is_static(self) -> bool:
        return self.aggregator != "gat"

    def view(self, graph: Graph) -> Any:
        return view_of(graph, self.aggregator, self.torch_device())

    def opaque(self) -> str:
        unknown = f"its aggregator is {self.aggregator}, and only gcn is differentiated"
        return "" if self.aggregator == "gcn" else unknown

    def purpose(self) -> str:
        return self.aggregator
