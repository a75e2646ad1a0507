"""What the paper's protocol does to each dataset: whom it hits, how, and what is done to the graph before."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from gvdn.data import DATASETS, load_graph
from gvdn.graph import Graph, Positions, Split
from gvdn.methods import make_method
from gvdn.perturbations import perturb

NOTHING = "none"
"""The perturbation that is none: methods are asked on the clean graph."""

ATTACKED = {"cora": 0.1, "citeseer": 0.1, "pubmed": 0.02, "amazon-photo": 0.05, "coauthor-cs": 0.02}
"""Victims of adversarial attacks, as a share of the test nodes; a tenth elsewhere."""

ATTACKS = ("nettack", "prbcd")
"""Perturbations that are aimed through a fitted model."""

DENSE = ("amazon-photo", "coauthor-cs", "flickr", "flickr-structure")
"""Graphs whose links are thinned out (links-only sparsity) before Nettack."""

COUNTS = ("coauthor-cs",)
"""Graphs whose features are counts: present or absent is what Nettack can flip, so that is what everybody sees."""


def graph_for(dataset: str, perturbation: str) -> Graph:
    """The clean graph as a perturbation wants it; every method is fitted on this one."""
    graph = load_graph(dataset)
    if perturbation == "nettack" and dataset in COUNTS:
        return dataclasses.replace(graph, features=sp.csr_array(graph.features != 0, dtype=np.float32))
    return graph


def settings_for(dataset: str, perturbation: str) -> dict[str, Any]:
    """The protocol's settings of a perturbation for a dataset, where they are not the defaults."""
    if perturbation == "random-connections" and dataset in DATASETS:
        return {"victim_fraction": DATASETS[dataset].perturbations["random-connections"]["victim_fraction"]}
    if perturbation in ATTACKS:
        return {"victim_fraction": ATTACKED.get(dataset, 0.1)}
    return {}


class Meeting(NamedTuple):
    """The graph that methods meet, and the nodes that they are scored on."""

    graph: Graph
    scored: Positions


def perturbed(
    graph: Graph, dataset: str, split: Split, perturbation: str, settings: dict[str, Any], *, seed: int, device: str
) -> Meeting:
    """What methods will meet; it depends on nothing but the arguments, so all methods meet the same.

    Scored are the victims, and all test nodes where the perturbation is `none` or hits the training labels. nettack is
    aimed at a linearised GCN fitted on the clean graph; prbcd at the method that its setting `target` names, with its
    settings for the dataset.
    """
    if perturbation == NOTHING:
        return Meeting(graph, split.test)
    settings, given = dict(settings), graph
    if perturbation == "nettack":
        settings["surrogate"] = _fitted("gcn", graph, dataset, split, seed=seed, device=device, linear=True)
        if dataset in DENSE:
            given = perturb(graph, "information-sparsity", split, seed=seed, variant="links-only").graph
    if perturbation == "prbcd":
        target = settings.pop("target", "gvdn")
        settings["model"] = _fitted(target, graph, dataset, split, seed=seed, device=device)
    done = perturb(given, perturbation, split, seed=seed, **settings)
    return Meeting(done.graph, split.test if perturbation == "label-noise" else done.victims)


def _fitted(name: str, graph: Graph, dataset: str, split: Split, *, seed: int, device: str, **settings: Any) -> Any:
    from gvdn.methods.whitebox import WhiteBox

    return WhiteBox(make_method(name, dataset, device=device, **settings).fit(graph, split, seed=seed))
