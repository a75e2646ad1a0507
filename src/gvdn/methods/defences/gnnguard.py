"""GNNGuard: a GCN whose links count as far as the representations of their ends are similar."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor

from gvdn.graph import Graph
from gvdn.methods.base import Base
from gvdn.methods.search import Space, space
from gvdn.nn.guarded import AttackedGuard, GuardedGCN, GuardedView


@dataclass
class GNNGuard(Base):
    """Zhang and Zitnik, GNNGuard: defending graph neural networks against adversarial attacks (NeurIPS 2020).

    In each layer a link counts as much as the cosine of the representations of its two ends, as a share of the links of
    a node (`nn.guarded` has the equations). Links of a cosine below `threshold` are left out, and part of the attention
    of the first layer is remembered in the second. A weight that the graph has multiplies the cosine.

    The paper prunes links by a step function of learned weights, which gives those weights no gradient; its published
    code does so by the threshold. That code differs from the paper, and from this one, in three points: the memory is
    switched off, the attention is put through an exponential function, and the result is normalised once more as a GCN
    does. Dropout is on the hidden layer alone, as in that code, and settings are its own: the same for every graph, and
    no weight decay.

    Args:
        threshold: the cosine below which a link is left out.
    """

    hidden: int = 16
    weight_decay: float = 0.0
    threshold: float = 0.1

    name: ClassVar[str] = "gnnguard"
    why_opaque: ClassVar[str] = ""
    search_space: ClassVar[Space] = space(threshold=(0.05, 0.1, 0.3), epochs=(100, 200, 400))
    ranges: ClassVar = {"[0, 1]": ("threshold",)}

    def build(self, features: int, classes: int, generator: Generator | None) -> GuardedGCN:
        return GuardedGCN(features, self.hidden, classes, generator=generator)

    def view(self, graph: Graph) -> GuardedView:
        return GuardedView(graph, self.threshold, self.torch_device())

    def through(self, graph: Graph) -> tuple[AttackedGuard, Callable[[AttackedGuard], Tensor]]:
        view = AttackedGuard(graph, self.threshold, self.torch_device())
        return view, lambda over: self.answer(self.network_, over)
