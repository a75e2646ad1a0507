"""Soft Median GDC: a GCN over personalised PageRank whose mean over the neighbours is a soft median."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor

from gvdn.graph import Graph
from gvdn.graph.pagerank import top_pagerank
from gvdn.methods.base import Base
from gvdn.methods.search import Space, space
from gvdn.nn.diffused import AttackedNeighbours
from gvdn.nn.soft_median import NeighboursView, SoftMedianGCN


@dataclass
class SoftMedianGDC(Base):
    """Geisler et al., Robustness of graph neural networks at scale (NeurIPS 2021).

    The neighbours of a node are the `neighbours` largest entries of its personalised PageRank, the graph diffusion
    convolution (GDC) of Gasteiger et al. (NeurIPS 2019), and each of two layers takes their soft median instead of
    their sum (`nn.soft_median`): a neighbour counts the less, the farther it is from the median of all. The published
    code inverts an N x N matrix for small graphs; here small residuals are dropped (`graph.pagerank`).

    Settings are those of the published code for small graphs. It trains for at most 3,000 epochs and stops after 300
    without a better validation loss; here all epochs are run and the best is taken.

    An attack goes through the PageRank of the links' weights and both soft medians (`nn.diffused`). Constants are which
    entries are the largest, with those of candidate links among them, and which node has the median.

    Args:
        alpha: the probability of a restart in the personalised PageRank.
        temperature: towards 0, the row nearest to the median is taken; towards infinity, the weighted sum of all.
    """

    hidden: int = 64
    weight_decay: float = 1e-3
    alpha: float = 0.15
    neighbours: int = 64
    temperature: float = 0.2

    name: ClassVar[str] = "soft-median-gdc"
    why_opaque: ClassVar[str] = ""
    static: ClassVar[bool] = True
    search_space: ClassVar[Space] = space(alpha=(0.05, 0.15, 0.3), temperature=(0.2, 0.5, 1.0))
    ranges: ClassVar = {
        "positive": ("alpha", "temperature"),
        "[0, 1]": ("alpha",),
        "at least 1": ("neighbours",),
        "at most 10,000": ("neighbours",),
    }

    def build(self, features: int, classes: int, generator: Generator | None) -> SoftMedianGCN:
        return SoftMedianGCN(features, self.hidden, classes, generator=generator)

    def view(self, graph: Graph) -> NeighboursView:
        S = top_pagerank(graph, self.alpha, self.neighbours)
        return NeighboursView(graph, S, self.temperature, self.torch_device())

    def through(self, graph: Graph) -> tuple[AttackedNeighbours, Callable[[AttackedNeighbours], Tensor]]:
        view = AttackedNeighbours(graph, self.alpha, self.neighbours, self.temperature, self.torch_device())
        return view, lambda over: self.answer(self.network_, over)
