"""Victims that arrive in groups: the paper's ten streaming sub-graphs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from gvdn.experiments.encounter import Encounter, timed
from gvdn.experiments.runs import Record
from gvdn.graph import Graph, Positions
from gvdn.seeds import generator

GROUPS = 10


def streamed(met: Encounter) -> Record:
    """Seconds for each sub-graph after the fit, and the scores of all victims, each in its own sub-graph."""
    probs = np.zeros((met.clean.num_nodes, met.clean.num_classes))
    fitted = met.fit.model
    model, spent = fitted, 0.0
    for number, (graph, group) in enumerate(sub_graphs(met.perturbed, met.scored, met.cell.seed)):
        if number == 0 or fitted.capabilities.recovers_per_graph:
            model, seconds = timed(partial(fitted.recover, graph))
            spent += seconds
        answers, seconds = timed(partial(model.predict_proba, graph))
        spent += seconds
        probs[group] = answers[graph.locate(met.perturbed.ids[group])]
    found = met.answered_afterwards(model, probs, {"stream": spent})
    return found | {"seconds_each": round(spent / GROUPS, 4)}


def sub_graphs(graph: Graph, victims: Positions, seed: int) -> Iterator[tuple[Graph, Positions]]:
    """Everybody but the victims, with one group of the victims at a time; and who the group is."""
    others = np.setdiff1d(np.arange(graph.num_nodes), victims)
    for group in np.array_split(generator(seed, "streaming").permutation(victims), GROUPS):
        yield graph.subgraph(np.sort(np.concatenate([others, group]))), group
