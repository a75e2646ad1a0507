"""GraphSS: Bayesian self-supervision by label transition."""

from dataclasses import dataclass
from typing import ClassVar

from gvdn.methods.defences.label_transition import LabelTransition


@dataclass
class GraphSS(LabelTransition):
    """Zhuang and Al Hasan, Defending graph convolutional networks against dynamic graph perturbations via Bayesian
    self-supervision (AAAI 2022): label transition with a constant, symmetric Dirichlet prior.

    100 sweeps, 40 of them warm-up, 60 epochs per retraining, alpha = 1 (the GVDN paper's appendix).
    """

    name: ClassVar[str] = "graphss"
