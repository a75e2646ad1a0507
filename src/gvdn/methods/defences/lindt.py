"""LInDT: label transition with a dynamic prior, and uncertain labels drawn from the neighbours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Generator

from gvdn.graph import Graph
from gvdn.methods.defences.graphss import GraphSS
from gvdn.methods.search import Space, space
from gvdn.nn.samplers import NO_LABEL, SAMPLERS, Neighbourhood
from gvdn.nn.transition import Labels, Prior, follow_classes


@dataclass
class LInDT(GraphSS):
    """Zhuang and Al Hasan, Robust node classification on graphs: jointly from Bayesian label transition and
    topology-based label propagation (CIKM 2022).

    A label that changed from one sweep to the next is uncertain and is replaced by one drawn from the neighbours'
    labels, with the samplers of GVDN's Algorithm 1 (random, major, degree; none leaves the label as it is). With
    `inference="argmax"` a label that differs from the stored prediction is uncertain, too, as in the published code;
    that draws from the neighbours' stored predictions, where here it is from their present labels. The prior is
    dynamic: alpha_k is multiplied by how class k grew in the sweep.
    """

    sampler: str = "random"

    name: ClassVar[str] = "lindt"
    search_space: ClassVar[Space] = space(alpha=(0.1, 0.3, 1.0), sampler=("random", "major", "degree"))

    def __post_init__(self) -> None:
        super().__post_init__()
        SAMPLERS.canonical(self.sampler)

    def settler(self, graph: Graph, generator: Generator) -> Callable[[Labels, Labels], Labels]:
        sampler, near = SAMPLERS[self.sampler], Neighbourhood(graph, np.arange(graph.num_nodes), self.torch_device())

        def settle(labels: Labels, before: Labels) -> Labels:
            if sampler is None:
                return labels
            theirs = sampler(near, labels, len(self.class_names_), generator)
            return torch.where((labels != before) & (theirs != NO_LABEL), theirs, labels)

        return settle

    def next_prior(self, alpha: Prior, labels: Labels, before: Labels) -> Prior:
        return follow_classes(alpha, labels, before)
