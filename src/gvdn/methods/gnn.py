"""The plain GNNs: what everybody starts from, and what meets the perturbed graph without any defence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from gvdn.graph import Graph, Split
from gvdn.methods.contract import Access
from gvdn.methods.supervised import Supervised, probabilities, require_fitted, require_trainable
from gvdn.nn.aggregators import AGGREGATORS, view_of
from gvdn.nn.device import usable_device
from gvdn.nn.gnn import PlainGNN
from gvdn.seeds import borrow, torch_stream
from gvdn.training.loop import Callback, train


@dataclass
class GNN:
    """Two layers, 200 hidden units, dropout 0.5 (the paper's appendix), selected by validation accuracy.

    Args:
        aggregator: gcn, sgc, sage or gat.
        noise_weight: share of standard Gaussian noise in the hidden layer, at inference too (the paper's ablation).
    """

    aggregator: str = "gcn"
    hidden: int = 200
    dropout: float = 0.5
    learning_rate: float = 1e-2
    weight_decay: float = 5e-4
    epochs: int = 200
    noise_weight: float = 0.0
    device: str = "cpu"

    access: ClassVar[Access] = Access(snapshot=False, perturbed_in_training=False)

    def __post_init__(self) -> None:
        AGGREGATORS.canonical(self.aggregator)

    def fit(self, graph: Graph, split: Split, *, seed: int, callback: Callback | None = None) -> GNN:
        require_trainable(graph, split)
        device = usable_device(self.device)
        with borrow(seed, "init", self.aggregator):
            network = PlainGNN(
                graph.num_features, self.hidden, graph.num_classes, self.aggregator, self.noise_weight
            ).to(device)
        view = view_of(graph, self.aggregator, device)
        task = Supervised.on(
            graph,
            split,
            device,
            network,
            lambda: (network(view, dropout=self.dropout), {}),
            lambda: network(view),
        )
        optimizer = torch.optim.Adam(
            network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay, fused=True
        )
        purpose = f"fit {self.aggregator}"
        self.outcome_ = train(task, optimizer, self.epochs, seed=seed, purpose=purpose, callback=callback)
        self.network_, self.seed_, self.features_ = network, seed, graph.num_features
        return self

    @torch.no_grad()
    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        require_fitted(self, graph)
        view = view_of(graph, self.aggregator, usable_device(self.device))
        return probabilities(self.network_(view, noise=torch_stream(self.seed_, "inference", self.aggregator)))

    @torch.no_grad()
    def embed(self, graph: Graph) -> Float[np.ndarray, "n h"]:
        require_fitted(self, graph)
        view = view_of(graph, self.aggregator, usable_device(self.device))
        return self.network_.embed(view, noise=torch_stream(self.seed_, "inference", self.aggregator)).cpu().numpy()
