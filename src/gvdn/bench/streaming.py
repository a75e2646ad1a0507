"""Victims that arrive in groups: the paper's ten streaming sub-graphs."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from gvdn.bench.experiment import Experiment, Fields, timed
from gvdn.graph import Graph, Positions
from gvdn.seeds import generator

GROUPS = 10


def streamed(experiment: Experiment) -> Fields:
    """Seconds for each sub-graph after the fit, and the scores of all victims, each in its own sub-graph."""
    clean, perturbed = experiment.clean, experiment.perturbed
    probs = np.zeros((clean.num_nodes, clean.num_classes))
    fitted = experiment.fit(clean).model
    model, spent = fitted, 0.0
    for number, (graph, group) in enumerate(sub_graphs(perturbed, experiment.scored, experiment.cell.seed)):
        if number == 0 or fitted.capabilities.recovers_per_graph:
            model, seconds = timed(partial(fitted.recover, graph))
            spent += seconds
        predicted, seconds = timed(partial(model.predict_proba, graph))
        spent += seconds
        probs[group] = predicted[graph.locate(perturbed.ids[group])]
    fields = experiment.fields(model, probs, {"stream": spent}, fitted_on=clean)
    return fields | {"seconds_each": round(spent / GROUPS, 4)}


def sub_graphs(graph: Graph, victims: Positions, seed: int) -> Iterator[tuple[Graph, Positions]]:
    """All nodes but the victims, with one group of the victims at a time; and who the group is."""
    others = np.setdiff1d(np.arange(graph.num_nodes), victims)
    for group in np.array_split(generator(seed, "streaming").permutation(victims), GROUPS):
        yield graph.subgraph(np.sort(np.concatenate([others, group]))), group
