"""GVDN's settings per dataset: ours, chosen on validation data (results/tuning-*.jsonl), and the paper's."""

from __future__ import annotations

from typing import Any

from gvdn.registry import Registry

GAMMA_MIN = {
    "cora": 0.6,
    "citeseer": 0.98,
    "pubmed": 0.99,
    "amazon-photo": 0.84,
    "coauthor-cs": 0.96,
    "flickr": 0.96,
    "flickr-structure": 0.96,
}

PAPER: dict[str, Any] = {
    "learning_rate": 1e-3,
    "recovery_learning_rate": 1e-3,
    "dropout": 0.0,
    "weight_decay": 0.0,
    "guard": False,
    "evidence_floor": 0.0,
    "pseudo_labels": "second-layer",
}
"""Adam at 1e-3, 200 epochs and 300 more, all lambdas 1, and none of our additions."""

PRESETS: Registry[dict[str, Any]] = Registry("preset")
PRESETS.add("cora", {"recovery_learning_rate": 1e-3})
PRESETS.add("citeseer", {"dropout": 0.7, "recovery_learning_rate": 1e-3})
PRESETS.add("pubmed", {"weight_decay": 1e-4})
PRESETS.add("amazon-photo", {"dropout": 0.7, "learning_rate": 3e-3})
PRESETS.add("coauthor-cs", {"dropout": 0.7})
PRESETS.add("flickr", {})
PRESETS.add("flickr-structure", {})
PRESETS.add("debian", {})
PRESETS.add("debian-large", {})


def preset(dataset: str, *, paper: bool = False) -> dict[str, Any]:
    """Keyword arguments of GVDN for a dataset; an unknown one lists the known ones."""
    ours = PRESETS[dataset]
    rates = {"gamma_min": GAMMA_MIN[dataset]} if dataset in GAMMA_MIN else {}
    return rates | (PAPER if paper else ours)


def preset_for_any(graph: str, *, paper: bool = False) -> dict[str, Any]:
    """The preset of a named dataset, and the general settings for a graph of somebody's own."""
    if graph in PRESETS:
        return preset(graph, paper=paper)
    return PAPER if paper else {}
