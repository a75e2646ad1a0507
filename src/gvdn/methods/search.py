"""Search spaces: the settings that `gvdn tune` tries for a method, and the choices for each."""

import math
from collections.abc import Mapping

Choice = bool | int | float | str
Space = Mapping[str, tuple[Choice, ...]]
"""Setting -> the values that are tried."""

COMMON: Space = {
    "learning_rate": (0.001, 0.003, 0.01, 0.03),
    "weight_decay": (0.0, 5e-5, 5e-4, 5e-3),
    "dropout": (0.0, 0.3, 0.5, 0.7),
    "hidden": (16, 64, 200),
}
"""The settings that every method has. A method may name other values, but not more or fewer of them."""

OWN = 9
"""The combinations of the other settings that a space of a method's own has: two settings with three choices each."""


def space(**choices: tuple[Choice, ...]) -> Space:
    """The common settings and those of a method, whose choices replace the common ones where it names them."""
    return {**COMMON, **choices}


def size(choices: Space) -> int:
    """The number of combinations."""
    return math.prod(map(len, choices.values()))
