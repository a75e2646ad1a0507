"""How sums over the links of a node are completed when the graph is divided among workers."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int64, Shaped

from gvdn.graph import Graph
from gvdn.trust.neighbours import common_neighbours
from gvdn.trust.rows import Pairs


@runtime_checkable
class Here(Protocol):
    """What a scene asks of the place where its graph is. All workers call the same functions in the same order."""

    def of_ends(self, sums: Shaped[np.ndarray, "n ..."]) -> Shaped[np.ndarray, "n ..."]:
        """Sums over the links of each node, where they are right for all ends of links in question."""
        ...

    def of_all(self, values: Shaped[np.ndarray, "n ..."]) -> Shaped[np.ndarray, "n ..."]:
        """Values of each node, where they are right for every node."""
        ...

    def mean(self, values: Float[np.ndarray, " m"], nodes: Int64[np.ndarray, " m"]) -> float:
        """The mean of values of these nodes, each node of the whole graph counted once."""
        ...

    def some(self, flags: Bool[np.ndarray, " n"]) -> bool:
        """Whether any node of the whole graph has the flag."""
        ...

    def degrees(self, graph: Graph) -> Int64[np.ndarray, " n"]:
        """The number of links of each node."""
        ...

    def common(self, graph: Graph, pairs: Pairs) -> Float[np.ndarray, " m"]:
        """As `common_neighbours`."""
        ...


class Whole:
    """Everything is here."""

    def of_ends(self, sums: Shaped[np.ndarray, "n ..."]) -> Shaped[np.ndarray, "n ..."]:
        return sums

    def of_all(self, values: Shaped[np.ndarray, "n ..."]) -> Shaped[np.ndarray, "n ..."]:
        return values

    def mean(self, values: Float[np.ndarray, " m"], nodes: Int64[np.ndarray, " m"]) -> float:
        return float(values.mean())

    def some(self, flags: Bool[np.ndarray, " n"]) -> bool:
        return bool(flags.any())

    def degrees(self, graph: Graph) -> Int64[np.ndarray, " n"]:
        return graph.degrees

    def common(self, graph: Graph, pairs: Pairs) -> Float[np.ndarray, " m"]:
        return common_neighbours(graph, pairs)


WHOLE = Whole()
