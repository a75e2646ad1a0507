"""The steps of Algorithm 3 (recovery on a perturbed graph) that are not in Algorithm 2."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from gvdn.graph.graph import find_ids
from gvdn.methods.gvdn.objective import Objective
from gvdn.methods.labels import StoredLabels
from gvdn.nn.encoder import Encoder, Fallback
from gvdn.training.loop import Callback

Ids = Shaped[np.ndarray, "_"]
Inferred = Callable[[], tuple[Float[np.ndarray, "n h"], Float[np.ndarray, "n k"]]]
"""Computes H_emb and logits of every node with the current weights and eps = 0."""
Look = Callable[[int, Inferred], None]
"""Called after each epoch with its number, counted from 1, and a function that computes what is inferred then."""

PSEUDO_LABELS = ("stored", "second-layer")
"""The predictions on the clean graph; or the paper's: the second layer over the stored embeddings (Algorithm 3)."""


@torch.no_grad()
def pseudo_labels(kind: str, network: Encoder, view: Any, stored: Fallback) -> Int64[Tensor, " n"]:
    """The labels that recovery trains on (Algorithm 3, line 1); meaningless for a node without a stored row."""
    if kind == "stored":
        return stored.logits.argmax(dim=1)
    logits = network.second_layer(view, stored.H_emb)
    return torch.lerp(logits, stored.logits, stored.weight).argmax(dim=1)


def with_training_labels(pseudo: Int64[Tensor, " k"], ids: Ids, stored: StoredLabels) -> Int64[Tensor, " k"]:
    """The true label in place of the pseudo label, for the nodes that the model was trained on."""
    found = find_ids(stored.train_ids, ids)
    truth = torch.from_numpy(stored.train_labels[np.maximum(found, 0)]).to(pseudo.device)
    return torch.where(torch.from_numpy(found >= 0).to(pseudo.device), truth, pseudo)


def withheld(stored: Ids, known: Ids, ids: Ids) -> Bool[np.ndarray, " k"]:
    """Which of these ids were stored and are not among the known ones."""
    return (find_ids(stored, ids) >= 0) & (find_ids(known, ids) < 0)


def with_absent_rows(
    W_z: Float[Tensor, "m h"], ids: Ids, old_W_z: Float[Tensor, "n h"], old_ids: Ids, hidden: Bool[np.ndarray, " n"]
) -> tuple[Float[Tensor, "r h"], Ids]:
    """W_z and its ids, followed by the old rows of nodes outside of this graph; not those that are hidden."""
    absent = (find_ids(ids, old_ids) < 0) & ~hidden
    rows = old_W_z.detach()[torch.from_numpy(absent).to(old_W_z.device)]
    return torch.cat([W_z.detach(), rows]), np.concatenate([ids, old_ids[absent]])


def looking(objective: Objective, look: Look | None, callback: Callback | None) -> Callback | None:
    """The callback, after a call of `look` with what the network of the objective infers."""
    if look is None:
        return callback

    def after(epoch: int, losses: dict[str, float]) -> None:
        def inferred() -> tuple[np.ndarray, np.ndarray]:
            made = objective.inferred(objective.schedule[epoch - 1])
            return made.H_emb.cpu().numpy(), made.logits.cpu().numpy()

        look(epoch, inferred)
        if callback is not None:
            callback(epoch, losses)

    return after


def in_turn(callback: Callback | None, epochs: int) -> tuple[Callback | None, Callback | None]:
    """The callback for the first of two trainings, and for the second, whose epochs are counted on."""
    if callback is None:
        return None, None
    told = callback
    return callback, lambda epoch, losses: told(epoch + epochs, losses)
