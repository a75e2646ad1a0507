"""The steps of GVDN that a subclass may replace: its objective, the terms of the Gaussian heads, the row of W_z."""

from dataclasses import dataclass

import numpy as np
import torch
from small_models import SMALL as MODELS

from gvdn.graph import Split
from gvdn.methods.gvdn import GVDN
from gvdn.methods.gvdn.objective import Objective

SMALL = MODELS["gvdn"][1]


class Unregularised(Objective):
    """No term of the Gaussian heads."""

    def regularisers(self, epoch, hidden, eps, Z):
        return {"kl": 0 * hidden.mu.sum(), "df": 0 * Z.sum()}


@dataclass
class Free(GVDN):
    def objective(self, **parts):
        return Unregularised(**parts)


@dataclass
class Halves(GVDN):
    def blank_row(self):
        return torch.full((self.hidden,), 0.5, device=self.torch_device())


def test_an_objective_of_a_subclass_is_minimised_in_fit_and_in_recovery(ring, split):
    model = Free(**SMALL).fit(ring, split, seed=0)
    for outcome in (model.outcome_, model.recover(ring).outcome_):
        assert all(losses["kl"] == losses["df"] == 0 for losses in outcome.history)
        assert outcome.history[-1]["ce"] > 0


def test_the_terms_of_a_subclass_are_weighted(ring, split):
    class Ones(Objective):
        def regularisers(self, epoch, hidden, eps, Z):
            return {"kl": torch.ones(()), "df": torch.full((), float(epoch))}

    @dataclass
    class Weighted(GVDN):
        def objective(self, **parts):
            return Ones(**parts)

    task, _ = Weighted(**SMALL, lambda_kl=2.0, lambda_df=3.0).training(ring, split, seed=0)
    terms = task.losses(4, torch.Generator().manual_seed(0))
    assert (terms["kl"].item(), terms["df"].item()) == (2.0, 12.0)


def test_the_blank_row_stands_for_new_nodes(ring, split):
    model = Halves(**SMALL).fit(ring.subgraph(np.setdiff1d(np.arange(60), [7])), without(split, 7), seed=0)
    W_z = model.W_z(ring)
    assert torch.equal(W_z[7], torch.full((model.hidden,), 0.5))
    assert not (W_z[8] == 0.5).any()


def test_the_blank_row_stands_for_withheld_nodes_when_recovery_begins(ring, split):
    model = Halves(**SMALL, recovery_learning_rate=1e-30, trust=False).fit(ring, split, seed=0)
    healed = model.recover(ring, known=np.delete(ring.ids, 7))
    assert torch.equal(healed.W_z(ring)[7], torch.full((model.hidden,), 0.5))
    assert torch.equal(healed.W_z(ring)[8], model.W_z(ring)[8])


def without(split, node):
    """The split of the graph that lacks this node."""
    parts = (part[part != node] for part in (split.train, split.val, split.test))
    return Split(*(np.where(kept > node, kept - 1, kept) for kept in parts))
