"""Robust node representations for graphs that are perturbed after the model was trained.

The public names are listed by `dir(gvdn)`. They are imported when first used, so that `import gvdn` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gvdn.data import DATASETS as DATASETS
    from gvdn.data import load_graph as load_graph
    from gvdn.errors import GvdnError as GvdnError
    from gvdn.errors import InvalidInput as InvalidInput
    from gvdn.graph import Graph as Graph
    from gvdn.graph import Split as Split
    from gvdn.graph import random_split as random_split
    from gvdn.methods.contract import METHODS as METHODS
    from gvdn.methods.contract import make_method as make_method
    from gvdn.methods.defences.adversarial_training import AdversarialTraining as AdversarialTraining
    from gvdn.methods.defences.airgnn import AirGNN as AirGNN
    from gvdn.methods.defences.dropedge import DropEdge as DropEdge
    from gvdn.methods.defences.elastic_gnn import ElasticGNN as ElasticGNN
    from gvdn.methods.defences.gcn_jaccard import GCNJaccard as GCNJaccard
    from gvdn.methods.defences.gcn_svd import GCNSVD as GCNSVD
    from gvdn.methods.defences.gnnguard import GNNGuard as GNNGuard
    from gvdn.methods.defences.gpr_gae import GPRGAE as GPRGAE
    from gvdn.methods.defences.grand import GRAND as GRAND
    from gvdn.methods.defences.graphss import GraphSS as GraphSS
    from gvdn.methods.defences.gtrans import GTrans as GTrans
    from gvdn.methods.defences.lindt import LInDT as LInDT
    from gvdn.methods.defences.mc_dropout import MCDropout as MCDropout
    from gvdn.methods.defences.prognn import ProGNN as ProGNN
    from gvdn.methods.defences.rgcn import RGCN as RGCN
    from gvdn.methods.defences.soft_median_gdc import SoftMedianGDC as SoftMedianGDC
    from gvdn.methods.files import load_model as load_model
    from gvdn.methods.gvdn import GVDN as GVDN
    from gvdn.methods.poisoned import TrustedInTurn as TrustedInTurn
    from gvdn.methods.references.gcn import GNN as GNN
    from gvdn.methods.references.gcn_retrained import GCNRetrained as GCNRetrained
    from gvdn.methods.references.mlp import MLP as MLP
    from gvdn.methods.references.snapshot import Snapshot as Snapshot
    from gvdn.methods.trusted import Trusted as Trusted
    from gvdn.methods.whitebox import WhiteBox as WhiteBox
    from gvdn.perturbations import PERTURBATIONS as PERTURBATIONS
    from gvdn.perturbations import Perturbed as Perturbed
    from gvdn.perturbations import Receipt as Receipt
    from gvdn.perturbations import load_receipt as load_receipt
    from gvdn.perturbations import perturb as perturb
    from gvdn.perturbations import replay as replay
    from gvdn.perturbations import save_receipt as save_receipt

__version__ = "0.1.0"

_MODULES = {
    "gvdn.data": ("DATASETS", "load_graph"),
    "gvdn.errors": ("GvdnError", "InvalidInput"),
    "gvdn.graph": ("Graph", "Split", "random_split"),
    "gvdn.methods.contract": ("METHODS", "make_method"),
    "gvdn.methods.files": ("load_model",),
    "gvdn.methods.poisoned": ("TrustedInTurn",),
    "gvdn.methods.trusted": ("Trusted",),
    "gvdn.methods.whitebox": ("WhiteBox",),
    "gvdn.perturbations": (
        "PERTURBATIONS", "Perturbed", "Receipt", "load_receipt", "perturb", "replay", "save_receipt",
    ),
}  # fmt: skip

_METHODS = {
    "GVDN": "gvdn", "GCNJaccard": "gcn-jaccard", "GCNSVD": "gcn-svd", "DropEdge": "dropedge", "GRAND": "grand",
    "RGCN": "rgcn", "ProGNN": "prognn", "MCDropout": "mc-dropout", "GraphSS": "graphss", "LInDT": "lindt",
    "GPRGAE": "gpr-gae", "GNNGuard": "gnnguard", "AirGNN": "airgnn", "ElasticGNN": "elastic-gnn",
    "SoftMedianGDC": "soft-median-gdc", "AdversarialTraining": "adversarial-training", "GTrans": "gtrans",
    "GNN": "gcn", "GCNRetrained": "gcn-retrained", "MLP": "mlp", "Snapshot": "snapshot",
}  # fmt: skip
"""Class name of each method -> its name in METHODS, through which the class is imported."""

_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted([*_HOMES, *_METHODS, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _METHODS:
        return import_module("gvdn.methods.contract").METHODS[_METHODS[name]]
    raise AttributeError(f"module 'gvdn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
