"""Which settings a recovery reads: others, given for it alone, would change nothing and are refused."""

from collections.abc import Iterable, Mapping
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.registry import did_you_mean

OF_TRAINING = ("learning_rate", "weight_decay", "dropout", "epochs", "select", "class_weight")
"""Settings that every method has and that its training reads."""
UNREAD: Mapping[str, tuple[str, ...]] = {
    "gvdn": ("learning_rate", "weight_decay", "dropout", "epochs", "select"),
    "graphss": ("epochs",),
    "lindt": ("epochs",),
    "gtrans": OF_TRAINING,
    "gcn-retrained": (),
}
"""Method -> the settings that its recovery does not read. Of a method that is not listed here, all may be read."""
UNREAD_WHERE_POISONED = ("recovery_epochs", "recovery_learning_rate", "pseudo_labels", "evidence_floor")
"""What GVDN does not read where the graph of the fit may be poisoned: with trust, it fits again instead."""


def read_by_recovery(method: Any, *, poisoned: bool = False) -> tuple[str, ...]:
    """The settings that a recovery by a fitted method reads and that may be changed for it."""
    unread = UNREAD.get(method.name, ())
    if method.name == "gvdn" and poisoned and method.trust:
        unread = UNREAD_WHERE_POISONED
    fixed = {*getattr(method, "shaping", ()), "device"}
    return tuple(name for name in method.get_params() if name not in unread and name not in fixed)


def require_read(method: Any, given: Iterable[str], *, poisoned: bool = False) -> None:
    """Raise at the first of the given settings that a recovery does not read."""
    known = list(read_by_recovery(method, poisoned=poisoned))
    for name in given:
        if name not in known:
            meant = f"recovery_{name}"
            read = f"; did you mean {meant!r}? known: {', '.join(known)}" if meant in known else _known(name, known)
            told = " of a graph that may be poisoned" if poisoned else ""
            raise InvalidInput(f"expected a setting that the recovery of {method.name}{told} reads, got {name!r}{read}")


def _known(name: str, known: list[str]) -> str:
    return did_you_mean(name, known) if known else "; it reads none"
