"""The plain two-layer GCN of torch-geometric that every speed is printed beside."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from gvdn.graph import Graph, Split


class PygGCN(nn.Module):
    """The usual two-layer GCN, normalisation cached as its documentation advises."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = GCNConv(features, hidden, cached=True)
        self.second = GCNConv(hidden, classes, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = F.dropout(x, 0.5, training=self.training)
        x = F.relu(self.first(x, edge_index))
        return self.second(F.dropout(x, 0.5, training=self.training), edge_index)


def pyg_epoch(graph: Graph, split: Split, hidden: int, device: torch.device) -> Callable[[], None]:
    """One epoch with validation, as its examples write it: the weights are not stored, the accuracy is fetched."""
    torch.manual_seed(0)
    data = graph.to_pyg().to(device)
    train, val = (torch.from_numpy(part.copy()).to(device) for part in (split.train, split.val))
    network = PygGCN(graph.num_features, hidden, graph.num_classes).to(device)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4, fused=True)

    def epoch() -> None:
        network.train()
        loss = F.cross_entropy(network(data.x, data.edge_index)[train], data.y[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        network.eval()
        with torch.no_grad():
            float((network(data.x, data.edge_index)[val].argmax(1) == data.y[val]).float().mean())

    return epoch
