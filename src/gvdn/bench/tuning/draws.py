"""The settings that a random search tries."""

from collections.abc import Mapping
from typing import Any

from gvdn.methods.search import Space, size
from gvdn.seeds import generator

Settings = Mapping[str, Any]


def drawn_settings(space: Space, method: str, *, seed: int, trials: int) -> list[Settings]:
    """So many distinct combinations of the choices, or all of them where there are fewer.

    Each trial has a generator of its own, named by seed, method and the number of the trial, from 1: a longer search
    begins with the trials of a shorter one, and all graphs are asked about the same combinations.
    """
    found: list[Settings] = []
    for trial in range(1, min(trials, size(space)) + 1):
        rng = generator(seed, "tune", method, str(trial))
        drawn = _draw(space, rng)
        while drawn in found:
            drawn = _draw(space, rng)
        found.append(drawn)
    return found


def _draw(space: Space, rng: Any) -> Settings:
    return {name: choices[int(rng.integers(len(choices)))] for name, choices in space.items()}
