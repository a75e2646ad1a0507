"""A model of parts becomes one that needs none."""

from __future__ import annotations

import numpy as np
import torch

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.gvdn import GVDN
from gvdn.methods.gvdn.choice import FITTED
from gvdn.methods.gvdn.memory import Memory
from gvdn.methods.labels import StoredLabels
from gvdn.parts.model import TEST, TRAIN, VAL, PartsModel, Rows


def join(model: PartsModel, graph: Graph) -> GVDN:
    """The same model as one that needs no parts, given the whole clean graph that the parts are of.

    It answers as the parts do, and can do what they cannot: diagnose, trust, update.
    """
    if model.recovered:
        raise InvalidInput("expected a model as gvdn train wrote it, got a recovered one; join that of the training")
    every = [model.rows(number) for number in range(model.parts)]
    new = assembled(model, Rows(*(np.concatenate(column) for column in zip(*every, strict=True))))
    new.keep_baseline(new.accepted(graph))
    return new


def assembled(model: PartsModel, joined: Rows) -> GVDN:
    """A GVDN with the network of a model on parts and the rows of some nodes, without a baseline."""
    new = GVDN(**model.method.get_params())
    new.class_names_, new.features_, new.feature_names_ = model.class_names, model.features, model.feature_names
    new.columns_, new.outcome_, new.seed_ = model.columns, model.outcome, model.seed
    new.ids_, new.recovered_, new.way_, new.report_ = joined.ids, False, FITTED, None
    network = new.build(model.features, len(model.class_names), torch.Generator())
    weights = {name: torch.from_numpy(one) for name, one in model.shared.items()}
    network.load_state_dict(weights | {"W_z": torch.from_numpy(joined.W_z)})
    new.network_, new.rate_, new.decision_, new.val_probs_ = network.to(new.device).eval(), model.rate, None, None
    H_emb, logits = (torch.from_numpy(one).to(new.device) for one in (joined.H_emb, joined.logits))
    new.memory_ = Memory(joined.known, H_emb, logits, joined.mass, joined.own, model.max_norm)
    train, val, test = (joined.roles == role for role in (TRAIN, VAL, TEST))
    new.labels_ = StoredLabels(
        joined.known[train], joined.labels[train], joined.known[val], joined.labels[val], joined.known[test]
    )
    return new
