"""Values that a setting of a perturbation may have on any graph: to check them before a graph is read.

What depends on the graph, such as how many victims it has room for, the perturbation says when it is run.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.limits import short
from gvdn.perturbations.dice import KNOWN
from gvdn.perturbations.family import PERTURBATIONS
from gvdn.perturbations.information_sparsity import VARIANTS
from gvdn.perturbations.metattack.attack import OBJECTIVES
from gvdn.perturbations.nettack.feature_flips import FLIPS
from gvdn.registry import did_you_mean

SHARE, SOME = "from 0 to 1", "above 0 and at most 1"
LEAST_0, LEAST_1, LEAST_2 = "at least 0", "at least 1", "at least 2"
HOLDS: Mapping[str, Callable[[float], bool]] = {
    SHARE: lambda value: 0 <= value <= 1,
    SOME: lambda value: 0 < value <= 1,
    LEAST_0: lambda value: value >= 0,
    LEAST_1: lambda value: value >= 1,
    LEAST_2: lambda value: value >= 2,
}
_OF_PRBCD = {
    "victim_fraction": SHARE,
    "edge_fraction": SHARE,
    "flips_per_victim": LEAST_0,
    "epochs": LEAST_2,
    "block_size": LEAST_1,
}
RANGES: Mapping[str, Mapping[str, str]] = {
    "dice": {"edge_fraction": SHARE, "remove": SHARE},
    "information-sparsity": {"link_fraction": SHARE, "feature_fraction": SHARE, "victim_fraction": SHARE},
    "label-noise": {"ratio": SHARE},
    "metattack": {"edge_fraction": SHARE, "inner_steps": LEAST_1, "flips_per_step": LEAST_0, "block_size": LEAST_2},
    "natural-churn": {"share": SHARE, "victim_fraction": SHARE},
    "nettack": {"victim_fraction": SHARE, "link_flips": LEAST_0, "feature_flips": LEAST_0, "influencers": LEAST_0},
    "node-injection": {"victim_fraction": SHARE, "links": LEAST_1, "victims_each": LEAST_1},
    "prbcd": _OF_PRBCD,
    "grbcd": _OF_PRBCD,
    "adaptive-prbcd": _OF_PRBCD | {"rounds": LEAST_1},
    "random-connections": {"rate": SOME, "victim_fraction": SHARE},
    "wrong-links": {"victim_fraction": SHARE, "links": LEAST_1},
}
"""Perturbation -> setting -> the range that its value must be in."""
WORDS: Mapping[tuple[str, str], Collection[str]] = {
    ("dice", "labels"): KNOWN,
    ("information-sparsity", "variant"): VARIANTS,
    ("metattack", "objective"): OBJECTIVES,
    ("nettack", "flip"): FLIPS,
}
"""Perturbation and setting -> the words that it may be."""


def require_ranges(perturbation: str, given: Mapping[str, Any]) -> None:
    """Raise at the first setting that no graph takes; of a perturbation of another package, nothing is known."""
    name = PERTURBATIONS.canonical(perturbation)
    for setting, value in given.items():
        wanted = RANGES.get(name, {}).get(setting)
        if wanted is not None and value is not None and not HOLDS[wanted](value):
            raise InvalidInput(f"expected {setting} of {name} {wanted}, got {value}; give another value")
        words = WORDS.get((name, setting))
        if words is not None and value not in words:
            known = did_you_mean(str(value), list(words))
            raise InvalidInput(f"unknown {setting} {short(value)} of {name}{known}")
