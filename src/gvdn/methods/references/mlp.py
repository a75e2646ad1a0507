"""MLP: predictions from the features alone."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from gvdn.graph import Graph
from gvdn.methods.base import Base
from gvdn.methods.contract import Capabilities


@dataclass
class MLP(Base):
    """A reference: two layers on each node's own features, which is a GCN on the graph without edges."""

    name: ClassVar[str] = "mlp"
    static: ClassVar[bool] = True
    why_opaque: ClassVar[str] = "it reads no links"
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True, features_only=True)

    def view(self, graph: Graph) -> Any:
        nothing = sp.csr_array((graph.num_nodes, graph.num_nodes), dtype=np.float32)
        return super().view(dataclasses.replace(graph, adjacency=nothing))
