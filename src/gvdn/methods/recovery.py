"""Algorithm 3: from a fitted model and a perturbed graph to a recovered model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import find_ids
from gvdn.methods.memory import Memory
from gvdn.methods.objective import Lean, Objective
from gvdn.nn.aggregators import view_of
from gvdn.nn.encoder import Encoder
from gvdn.nn.samplers import SAMPLERS, Neighbourhood
from gvdn.seeds import borrow
from gvdn.training.loop import Callback, train

if TYPE_CHECKING:
    from gvdn.methods.gvdn import GVDN

Inferred = Callable[[], tuple[Float[np.ndarray, "n h"], Float[np.ndarray, "n k"]]]
"""H_emb and logits of every node as the network is now, with eps = 0; nothing is computed until it is called."""
Look = Callable[[int, Inferred], None]
"""Called after each epoch with its number, counted from 1, and what can be asked of the network then."""

PSEUDO_LABELS = ("stored", "second-layer")
"""The answers that were given on the clean graph, or Algorithm 3's: the second layer on the perturbed graph."""


def recover(
    model: GVDN,
    graph: Graph,
    *,
    known: Shaped[np.ndarray, " k"] | None,
    labels: bool,
    callback: Callback | None,
    look: Look | None,
    resume: Path | None,
) -> GVDN:
    """A new model, trained on from the given one on the perturbed graph; see `GVDN.recover`."""
    model.require_fitted(graph)
    new = copy.copy(model)
    new.recovered_ = True
    new.memory_ = model.memory_ if known is None else model.memory_.only(np.asarray(known))
    nodes = np.flatnonzero(new.memory_.places(graph) >= 0)
    if not nodes.size:
        raise InvalidInput(f"no node of {graph.name} has a stored embedding to recover from; give ids of the fit")
    objective = _objective(new, new.guarded(graph), _network(model, graph, new.memory_), nodes)
    if labels:
        objective.labels = _with_training_labels(new, graph.ids[nodes], objective.labels)
    new.outcome_ = train(
        objective,
        new.optimizer(objective.network, new.recovery_learning_rate),
        new.recovery_epochs,
        seed=new.seed_,
        purpose="recover gvdn",
        callback=callback if look is None else _looking(objective, look, callback),
        resume=resume,
    )
    new.network_, new.rate_ = objective.network, objective.schedule[new.outcome_.epoch]
    _append_absent_rows(new, model, graph)
    return new


def _objective(model: GVDN, graph: Graph, network: Encoder, nodes: Positions) -> Objective:
    """Pseudo labels (line 1), then the objective of Algorithm 2 with the matching term (line 2)."""
    device = model.place()
    view = view_of(graph, model.aggregator, device)
    stored, lean = model.memory_.embeddings(graph), model.lean(graph)
    pseudo = _pseudo_labels(model, graph, view, network, lean)
    rows = torch.from_numpy(nodes).to(device)
    return Objective(
        network=network,
        view=view,
        schedule=model.schedule(model.recovery_epochs),
        weights=model.weights(),
        nodes=rows,
        labels=pseudo[rows],
        classes=len(model.class_names_),
        sampler=SAMPLERS[model.sampler],
        near=Neighbourhood(graph, nodes, device),
        match=(rows, stored[rows]),
        lean=lean,
    )


@torch.no_grad()
def _pseudo_labels(model: GVDN, graph: Graph, view: Any, network: Encoder, lean: Lean | None) -> Int64[Tensor, " n"]:
    """What recovery takes for true; of a node without a stored row it says nothing."""
    if model.pseudo_labels == "stored":
        return model.memory_.answers(graph).argmax(dim=1)
    logits = network.second_layer(view, model.memory_.embeddings(graph))
    return (logits if lean is None else lean.answer(logits)).argmax(dim=1)


def _looking(objective: Objective, look: Look, callback: Callback | None) -> Callback:
    """A callback that also lets somebody look at the network."""

    def after(epoch: int, losses: dict[str, float]) -> None:
        def inferred() -> tuple[np.ndarray, np.ndarray]:
            H_emb, logits = objective.inferred(objective.schedule[epoch - 1])
            return H_emb.cpu().numpy(), logits.cpu().numpy()

        look(epoch, inferred)
        if callback is not None:
            callback(epoch, losses)

    return after


def _with_training_labels(
    model: GVDN, ids: Shaped[np.ndarray, " k"], pseudo: Int64[Tensor, " k"]
) -> Int64[Tensor, " k"]:
    """The true label in place of the pseudo one, for nodes that were trained on."""
    places = find_ids(model.train_ids_, ids)
    truth = torch.from_numpy(model.train_labels_[np.maximum(places, 0)]).to(pseudo.device)
    return torch.where(torch.from_numpy(places >= 0).to(pseudo.device), truth, pseudo)


def _network(model: GVDN, graph: Graph, memory: Memory) -> Encoder:
    """A copy of the network whose W_z has the rows of this graph's nodes, in its order; neutral ones for the nodes that
    the memory was made to forget."""
    classes = len(model.class_names_)
    with borrow(model.seed_, "init", "gvdn"):
        network = Encoder(graph.num_features, model.hidden, classes, graph.num_nodes, model.aggregator)
    state = {name: tensor.detach().clone() for name, tensor in model.network_.state_dict().items()}
    W_z = model.W_z(graph).clone()
    W_z[torch.from_numpy(_forgotten(model, memory, graph.ids)).to(W_z.device)] = 0
    network.load_state_dict(state | {"W_z": W_z})
    return model.held(network).to(model.device)


def _forgotten(model: GVDN, memory: Memory, ids: Shaped[np.ndarray, " k"]) -> Bool[np.ndarray, " k"]:
    """Who of these nodes is in the model's own memory and not in the given one."""
    return (find_ids(model.memory_.ids, ids) >= 0) & (find_ids(memory.ids, ids) < 0)


def _append_absent_rows(new: GVDN, old: GVDN, graph: Graph) -> None:
    """Rows of W_z that belong to nodes outside of this graph live on behind the others."""
    absent = (find_ids(graph.ids, old.ids_) < 0) & ~_forgotten(old, new.memory_, old.ids_)
    rows = old.network_.W_z.detach()[torch.from_numpy(absent).to(old.network_.W_z.device)]
    new.network_.W_z = torch.nn.Parameter(torch.cat([new.network_.W_z.detach(), rows]))
    new.ids_ = np.concatenate([graph.ids, old.ids_[absent]])
