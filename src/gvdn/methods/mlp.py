"""MLP: what the features alone can say."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph
from gvdn.methods.backbone import Backbone


@dataclass
class MLP(Backbone):
    """A reference row: two layers on each node's own features. A GCN on the graph without links is exactly that."""

    name: ClassVar[str] = "mlp"

    def view(self, graph: Graph) -> Any:
        nothing = sp.csr_array((graph.num_nodes, graph.num_nodes), dtype=np.float32)
        return super().view(dataclasses.replace(graph, adjacency=nothing))
