"""f_W(S, H) = S H W (Eq. 2), with a fixed S (gcn, sgc, sage) or with weights from attention (gat)."""

import math

import numpy as np
import scipy.sparse as sp
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from gvdn.graph import Graph
from gvdn.nn.dropout import NO_DROPOUT, Dropout
from gvdn.nn.view import View, propagation
from gvdn.registry import Registry

HEADS = 3


class Linear(nn.Module):
    """S H W with one weight matrix, Glorot-initialised, no bias, as in the paper."""

    def __init__(self, inputs: int, outputs: int, blocks: int = 1, *, generator: Generator | None = None) -> None:
        """`blocks` matrices side by side, each initialised by itself, so that several heads cost one product."""
        super().__init__()
        self.W = nn.Parameter(torch.empty(inputs, outputs * blocks))
        for block in self.W.data.split(outputs, dim=1):
            nn.init.xavier_uniform_(block, generator=generator)

    def features(self, view: View, dropout: Dropout = NO_DROPOUT, columns: int | None = None) -> Float[Tensor, "n k"]:
        """S X W, or its first columns."""
        return view.aggregate(self.W[:, :columns], dropout)

    def hidden(self, view: View, H: Float[Tensor, "n h"]) -> Float[Tensor, "n k"]:
        """S (H W): by W first, since it has fewer columns than H."""
        return view.propagate(H @ self.W)


class Attention(nn.Module):
    """Graph attention (Velickovic et al., ICLR 2018), three heads averaged, by torch-geometric's layer."""

    def __init__(self, inputs: int, outputs: int, blocks: int = 1, *, generator: Generator | None = None) -> None:
        super().__init__()
        with torch.device("cpu"):  # the import makes tensors, which must not be on the device of a surrounding block
            from torch_geometric.nn import GATConv

        with torch.device("meta"):  # draws nothing, since the layer would draw from torch's global generator
            layer = GATConv(inputs, outputs * blocks, heads=HEADS, concat=False, bias=False, add_self_loops=False)
        self.layer = layer.to_empty(device=torch.get_default_device())
        for parameter in self.layer.parameters():
            _glorot(parameter, generator)

    def features(
        self, view: "AttentionView", dropout: Dropout = NO_DROPOUT, columns: int | None = None
    ) -> Float[Tensor, "n k"]:
        return self.layer(dropout(view.X), view.edge_index)[:, :columns]

    def hidden(self, view: "AttentionView", H: Float[Tensor, "n h"]) -> Float[Tensor, "n k"]:
        return self.layer(H, view.edge_index)


@torch.no_grad()
def _glorot(parameter: Tensor, generator: Generator | None) -> None:
    """Glorot's bounds over the last two axes, as torch-geometric initialises its layers."""
    bound = math.sqrt(6.0 / (parameter.size(-2) + parameter.size(-1)))
    parameter.uniform_(-bound, bound, generator=generator)


class AttentionView:
    """Dense X and the edge list with loops, for layers that compute a weight for each edge."""

    def __init__(self, graph: Graph, device: torch.device) -> None:
        both = (graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32)).tocoo()
        self.num_nodes, self.num_features = graph.num_nodes, graph.num_features
        self.edge_index = torch.from_numpy(np.stack([both.col, both.row]).astype(np.int64)).to(device)
        self.X = torch.from_numpy(graph.dense_features()).to(device)


AGGREGATORS: Registry[type[Linear] | type[Attention]] = Registry("aggregator")
for _name in ("gcn", "sgc", "sage"):
    AGGREGATORS.add(_name, Linear)
AGGREGATORS.add("gat", Attention)


def view_of(graph: Graph, aggregator: str, device: torch.device) -> View | AttentionView:
    """What a network with this aggregator sees of the graph."""
    if AGGREGATORS[aggregator] is Attention:
        return AttentionView(graph, device)
    return View(propagation(graph, aggregator, device), graph, device, hops=2 if aggregator == "sgc" else 1)
