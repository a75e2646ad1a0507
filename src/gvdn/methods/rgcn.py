"""RGCN: hidden representations as Gaussians, variance as a reason to listen less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from gvdn.graph import Graph, Split
from gvdn.methods.contract import Access
from gvdn.methods.supervised import Supervised, probabilities, require_fitted, require_trainable
from gvdn.nn.device import usable_device
from gvdn.nn.gaussian import GaussianGCN, GaussianView
from gvdn.seeds import borrow
from gvdn.training.loop import Callback, train


@dataclass
class RGCN:
    """Robust GCN (Zhu et al., KDD 2019): L_ce + beta_1 KL(first layer || N(0, I)) + beta_2 |W_first|^2.

    Everything is a product with a sparse matrix; nothing N x N. The epoch is chosen by validation accuracy, as for
    every method here; published implementations stop on the validation loss, which moves the numbers.
    """

    hidden: int = 64
    dropout: float = 0.6
    gamma: float = 1.0
    beta_1: float = 5e-4
    beta_2: float = 5e-4
    learning_rate: float = 1e-2
    epochs: int = 400
    device: str = "cpu"

    access: ClassVar[Access] = Access(snapshot=False, perturbed_in_training=False)

    def fit(self, graph: Graph, split: Split, *, seed: int, callback: Callback | None = None) -> RGCN:
        require_trainable(graph, split)
        device = usable_device(self.device)
        with borrow(seed, "init", "rgcn"):
            network = GaussianGCN(graph.num_features, self.hidden, graph.num_classes, self.gamma).to(device)
        view = GaussianView(graph, device)
        shape = (graph.num_nodes, graph.num_classes)

        def fit_pass() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            logits, kl = network(view, dropout=self.dropout, eps=torch.randn(shape, device=device))
            return logits, {"kl": self.beta_1 * kl, "decay": self.beta_2 * network.W_first.pow(2).sum()}

        task = Supervised.on(graph, split, device, network, fit_pass, lambda: network(view)[0])
        optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate, fused=True)
        self.outcome_ = train(task, optimizer, self.epochs, seed=seed, purpose="fit rgcn", callback=callback)
        self.network_, self.features_ = network, graph.num_features
        return self

    @torch.no_grad()
    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        require_fitted(self, graph)
        return probabilities(self.network_(GaussianView(graph, usable_device(self.device)))[0])
