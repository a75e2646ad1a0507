"""Recovery of a fitted GVDN (Algorithm 3), with or without trust, and what a recovered model makes of a graph."""

import copy
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Shaped

from gvdn.errors import InvalidInput
from gvdn.files import second_progress
from gvdn.graph import Graph, GraphLike, Positions
from gvdn.graph.graph import find_ids
from gvdn.methods.diagnosing import Diagnosing
from gvdn.methods.gvdn import recovery
from gvdn.methods.gvdn.choice import (
    ALGORITHM_3,
    AS_IT_IS,
    IN_TURN,
    JUDGING,
    TRAINED,
    TRUST,
    WAYS,
    by_validation,
    choose,
    withheld_rows,
)
from gvdn.methods.gvdn.memory import Memory
from gvdn.methods.gvdn.objective import adam
from gvdn.nn.encoder import Encoder, Fallback
from gvdn.nn.heads import Match
from gvdn.seeds import generator
from gvdn.training.loop import Callback, train
from gvdn.trust.front import Front, front_of
from gvdn.trust.guard import guarded, outliers
from gvdn.trust.stored import LazyBaseline
from gvdn.trust.turns import InTurn, in_turn

if TYPE_CHECKING:
    from gvdn.methods.gvdn.model import GVDN

Ids = Shaped[np.ndarray, "_"]


class Kept(NamedTuple):
    """What is stored of some nodes of the clean graph."""

    memory: Memory
    baseline: LazyBaseline


class Recovering(Diagnosing):
    """A part of GVDN: `recover`, and what a recovered model sees of a graph and adds to the network's answers."""

    memory_: Memory
    recovered_: bool
    way_: str
    fit_norm_: float | None = None
    """The largest norm of a row that was not outlying in the graph of the fit, if any row was: the guard of the fit."""
    trust: bool
    guard: bool
    evidence_floor: float
    recovery_epochs: int

    def recover(
        self: Any,
        graph: GraphLike,
        *,
        known: Ids | None = None,
        labels: bool = False,
        poisoned: bool = False,
        callback: Callback | None = None,
        look: recovery.Look | None = None,
        resume: Path | None = None,
    ) -> "GVDN":
        """Train further on a perturbed graph (Algorithm 3): returns a new fitted model; this one stays as it was.

        With `trust`, links and rows are judged first and count as far as they are trusted. Whether Algorithm 3 after
        that is better than the judgement without training ("trust without training"), Algorithm 3 alone, or the model
        as it is, is found out by withholding a tenth of the stored answers: the way that brings most of them back is
        taken, and `report_` of the new model says which.

        Args:
            known: ids of the nodes whose stored embedding, prediction and row of W_z may be used; all when left out.
            labels: whether the training labels may be used too; the paper uses none.
            poisoned: the graph that was fitted on may have been perturbed already. With `trust`, all its links and
                rows are judged in turn then, those of each node as if it were new, by what is stored of the others. The
                method is fitted again, with the labels of its fit, on the graph in which links count as far as they are
                trusted, and judges the graph in turn once more. That is taken unless it is clearly worse on the
                validation nodes.
            callback: called after each epoch with its number, from 1, and its losses.
            look: called after each epoch with a function that computes embeddings and logits (`recovery.Look`).
            resume: a file that a stopped recovery continues from; delete it once the new model is saved.
        """
        graph = self.accepted(graph)
        if poisoned and self.trust and (known is not None or look is not None):
            raise InvalidInput(
                "poisoned judges every node, so that known and look are not supported with it; leave them out"
            )
        stored = self.memory_.ids if known is None else np.intersect1d(self.memory_.ids, np.asarray(known))
        rows = np.flatnonzero(np.isin(graph.ids, stored))
        if not rows.size:
            raise InvalidInput(f"no node of {graph.name} has a stored embedding to recover from; give ids of the fit")
        if poisoned and self.trust:
            return self._fitted_again(graph, callback, resume)
        if self.trust:
            control = withheld_rows(rows, generator(self.seed_, "recover", "withheld"))
            left = np.setdiff1d(stored, graph.ids[control])
            return self._best(graph, known, left, control, labels=labels, callback=callback, look=look, resume=resume)
        kept = self._kept(known)
        return self._recovered(graph, kept, ALGORITHM_3, labels=labels, callback=callback, look=look, resume=resume)

    def _best(
        self: Any, graph: Graph, known: Ids | None, left: Ids, control: Positions, *, labels: bool,
        callback: Callback | None, look: recovery.Look | None, resume: Path | None,
    ) -> "GVDN":  # fmt: skip
        """Recover by all ways from what is stored of the nodes that are left, and take the best for the control group.

        Args:
            known: the nodes of which the model that is returned keeps what is stored; all when None.
            left: those without the control group.
        """
        kept = self._kept(left)
        front = self._front_of(kept.baseline, graph)
        first, second = recovery.in_turn(callback, self.recovery_epochs)
        aside = None if resume is None else second_progress(resume)
        alone = self._recovered(graph, kept, ALGORITHM_3, labels=labels, callback=first, resume=aside)
        ours = self._recovered(graph, kept, TRUST, front, labels=labels, callback=second, look=look, resume=resume)
        ways = {way: self._unchanged(kept, way) for way in WAYS if way not in TRAINED}
        ways |= {ALGORITHM_3: alone, TRUST: ours}
        answers = {way: model._probs(graph, front) for way, model in ways.items()}
        before = self.baseline_.stored()
        clean = before.answers[find_ids(before.ids, graph.ids[control])].argmax(axis=1)
        report, kept = choose(front, control, clean, answers), self._kept(known)
        chosen = ways[report.chosen] if report.chosen in TRAINED else self._unchanged(kept, report.chosen)
        chosen.report_, (chosen.memory_, chosen.baseline_) = report, kept
        if aside is not None:
            aside.unlink(missing_ok=True)
        return chosen

    def _fitted_again(self: Any, graph: Graph, callback: Callback | None, resume: Path | None) -> "GVDN":
        """Fit on the graph as far as it is trusted, and judge it in turn, unless validation nodes say it does harm."""
        trusted = dataclasses.replace(graph, adjacency=self._in_turn(graph).seen.adjacency)
        new: GVDN = dataclasses.replace(self)
        new.fit(*self.labels_.on(trusted, self.class_names_), seed=self.seed_, callback=callback, resume=resume)
        new.recovered_, new.way_, new.decision_ = True, IN_TURN, self.decision_
        new.labels_, new.columns_, new.feature_names_ = self.labels_, self.columns_, self.feature_names_
        ways = {IN_TURN: new, AS_IT_IS: self._copied(self._kept(self.memory_.ids[:0]), AS_IT_IS)}
        nodes = graph.locate(self.labels_.val_ids)
        there, truth = nodes[nodes >= 0], self.labels_.val_labels[nodes >= 0]
        right = {way: model.predict_proba(graph)[there].argmax(axis=1) == truth for way, model in ways.items()}
        report = by_validation(right[IN_TURN], right[AS_IT_IS], graph.num_nodes)
        chosen: GVDN = ways[report.chosen]
        chosen.report_ = report
        return chosen

    def _kept(self, known: Ids | None) -> Kept:
        """What is stored, of these nodes alone."""
        if known is None:
            return Kept(self.memory_, self.baseline_)
        return Kept(self.memory_.only(np.asarray(known)), self.baseline_.only(np.asarray(known)))

    def _copied(self: Any, kept: Kept, way: str) -> "GVDN":
        """A recovered model with the network of this one."""
        new = copy.copy(self)
        new.recovered_, new.way_, new.report_, new.val_probs_ = True, way, None, None
        new.memory_, new.baseline_ = kept
        return new

    def _unchanged(self: Any, kept: Kept, way: str) -> "GVDN":
        """This model without training and without the rows of W_z of withheld nodes, which get `blank_row`."""
        new = self._copied(kept, way)
        left = ~recovery.withheld(self.memory_.ids, new.memory_.ids, self.ids_)
        new.network_, new.ids_ = copy.deepcopy(self.network_), self.ids_[left]
        W_z = self.network_.W_z.detach()[torch.from_numpy(left).to(self.network_.W_z.device)]
        new.network_.W_z = torch.nn.Parameter(W_z)
        return new

    def _recovered(
        self: Any, graph: Graph, kept: Kept, way: str, front: Front | None = None, *, labels: bool,
        callback: Callback | None = None, look: recovery.Look | None = None, resume: Path | None = None,
    ) -> "GVDN":  # fmt: skip
        """Algorithm 3 on the graph as this way sees it.

        Args:
            kept: what is stored of the nodes that are not withheld.
            front: what the trust model says of the graph; for a way that does not judge it, None.
        """
        new = self._copied(kept, way)
        new.ids_ = graph.ids
        nodes = np.flatnonzero(new.memory_.rows(graph) >= 0)
        network, seen = self._network_for(graph, new), new.seen(graph, front)
        view, stored = new.view(seen), new.memory_.fallback(seen, self.evidence_floor)
        rows = torch.from_numpy(nodes).to(self.device)
        pseudo = recovery.pseudo_labels(self.pseudo_labels, network, view, stored)[rows]  # line 1
        if labels:
            pseudo = recovery.with_training_labels(pseudo, graph.ids[nodes], self.labels_)
        rest = {"match": Match.of_rows(rows, stored), "fallback": stored if stored.weight.any() else None}
        epochs, optimizer = self.recovery_epochs, adam(network, self.recovery_learning_rate)
        task = self._objective(network, seen, view, (rows, pseudo), epochs, **rest)  # line 2
        after = recovery.looking(task, look, callback)
        new.outcome_ = train(
            task,
            optimizer,
            epochs,
            seed=self.seed_,
            purpose="recover gvdn",
            callback=after,
            resume=resume,
            every_epoch=look is not None,
        )
        new.network_, new.rate_ = network, task.schedule[new.outcome_.epoch]
        del task, optimizer, after, rest  # their buffers are more than all that follows needs
        hidden = recovery.withheld(self.memory_.ids, new.memory_.ids, self.ids_)
        W_z, new.ids_ = recovery.with_absent_rows(network.W_z, graph.ids, self.network_.W_z, self.ids_, hidden)
        network.W_z = torch.nn.Parameter(W_z)
        return new

    def _network_for(self: Any, graph: Graph, new: "GVDN") -> Encoder:
        """A copy of the network with the rows of W_z of this graph's nodes; `blank_row` for new and withheld ones."""
        with torch.device("meta"):  # nothing is drawn, since all weights are given
            network = new.build(graph.num_features, len(self.class_names_), None)
        network, W_z = network.to_empty(device=self.torch_device()), self.W_z(graph)
        if self.noise_weight is None:
            hidden = recovery.withheld(self.memory_.ids, new.memory_.ids, graph.ids)
            W_z[torch.from_numpy(hidden).to(W_z.device)] = self.blank_row()
        network.load_state_dict(self.network_.state_dict() | {"W_z": W_z})
        return network

    def recovery_rounds(self: Any, *, poisoned: bool = False) -> int:
        if poisoned and self.trust:
            return int(self.epochs)
        return int(self.recovery_epochs) * (2 if self.trust else 1)

    def reliance(self, graph: Graph) -> dict[str, float | None]:
        front = self.front(graph)
        return {
            "nodes_with_stored_embedding": float((self.memory_.rows(graph) >= 0).mean()),
            "nodes_using_it": float((self._weight_of_stored(self.seen(graph, front), front) > 0).mean()),
        }

    def _weight_of_stored(self, seen: Graph, front: Front | None) -> Float[np.ndarray, " n"]:
        """How far the answer of each node is the stored one."""
        floor = self.evidence_floor if self._falls_back() else 0.0
        weights = self.memory_.stored_weight(seen, floor)
        return weights if front is None else np.maximum(weights, front.weight_of_stored)

    def why(self, graph: Graph) -> list[str]:
        """Of a recovered model: which nodes use what was stored of them, and where the guard scaled a row down."""
        if not self.recovered_:
            return super().why(graph)
        front = self.front(graph)
        seen = self.seen(graph, front)
        above = outliers(graph, self.memory_.max_norm) if self.guard else np.zeros(graph.num_nodes, dtype=bool)
        near = graph.adjacency @ above.astype(np.float32) > 0
        weights, left_out = self._weight_of_stored(seen, front), graph.degrees - seen.degrees
        joint = front.weight_of_witnesses if isinstance(front, InTurn) else np.zeros(graph.num_nodes)
        told = zip(*(part.tolist() for part in (weights, joint, above, near, left_out)), strict=True)
        return ["; ".join(_origins(*one)) for one in told]

    # ---- what a recovered model makes of a graph

    def front(self, graph: Graph) -> Front | None:
        """What the trust model says of a graph, if this model is recovered and uses it."""
        if not (self.recovered_ and (self.trust or self._judges())):
            return None
        return self._in_turn(graph) if self.way_ == IN_TURN else self._front_of(self.baseline_, graph)

    def _front_of(self, baseline: LazyBaseline, graph: Graph) -> Front:
        return front_of(baseline.trust(), baseline.stored(), graph, guard=self.guard)

    def _in_turn(self: Any, graph: Graph) -> InTurn:
        return in_turn(self.baseline_.trust(), self.baseline_.stored(), graph, seed=self.seed_, guard=self.guard)

    def _judges(self) -> bool:
        return self.way_ in (*JUDGING, IN_TURN)

    def joined(self, front: Front | None, probs: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """The network's answers with those of the other witnesses, as this way of recovering has it."""
        if front is None:
            return probs
        return front.answers(probs) if self._judges() else front.with_stored(probs)

    def seen(self, graph: Graph, front: Front | None = None) -> Graph:
        """The graph as the network sees it: weighed, or with feature rows of large norm scaled down, or as it is.

        The network of a fit that scaled outlying rows down never sees such rows.

        Args:
            front: what the trust model says of the graph, where that is known already.
        """
        if not self.recovered_ or self.way_ == AS_IT_IS:
            return graph if self.fit_norm_ is None else guarded(graph, self.fit_norm_)
        if self._judges():
            judged = front or self.front(graph)
            assert judged is not None, "the way of trust has a trust model"
            return judged.seen
        return guarded(graph, self.memory_.max_norm) if self.guard else graph

    def fallback(self, graph: Graph) -> Fallback | None:
        """What was stored of the nodes, with its weight, if this model is recovered and any weight is above 0."""
        if not self._falls_back():
            return None
        weight = self.memory_.stored_weight(graph, self.evidence_floor)
        return self.memory_.weighted(graph, weight) if weight.any() else None

    def _falls_back(self) -> bool:
        return self.recovered_ and self.way_ not in (AS_IT_IS, IN_TURN) and self.evidence_floor > 0


def _origins(weight: float, joint: float, own: bool, neighbour: bool, left_out: int) -> list[str]:
    """How the prediction of a node of a recovered model was made, in words."""
    told = [f"stored answer, weight {weight:.0%}"] if weight >= 0.005 else []
    told += [f"answer of row, links and network together, weight {joint:.0%}"] if joint >= 0.5 else []
    told += [f"{left_out} of its links left out"] if left_out else []
    told += ["its feature row was scaled down"] if own else []
    return told + (["a neighbour's feature row was scaled down"] if neighbour else [])
