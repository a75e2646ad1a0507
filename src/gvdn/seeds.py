"""Random generators named by their purpose: adding a run never changes the numbers of another run."""

import hashlib
import operator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gvdn.errors import InvalidInput

# Seeds of any kind are accepted and checked at run time: `whole_seed` refuses 1.5 in a sentence.
if TYPE_CHECKING:
    import torch

    Seed: TypeAlias = int
else:
    Seed = object


def derive(seed: Seed, *purpose: str) -> int:
    """A 63-bit seed: the sha256 of the run's seed and the words of its purpose."""
    words = "\x1f".join((str(whole_seed(seed)), *purpose))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") >> 1


def whole_seed(seed: Seed) -> int:
    """The seed as an int; anything but a whole number is refused, since 1.5 would silently become 1."""
    try:
        return operator.index(seed)
    except TypeError as problem:
        raise InvalidInput(f"expected a whole number as seed, got {seed!r}; give an int") from problem


def generator(seed: Seed, *purpose: str) -> np.random.Generator:
    """A numpy generator of its own for one purpose."""
    return np.random.default_rng(derive(seed, *purpose))


def torch_generator(seed: Seed, *purpose: str, device: "torch.device | str" = "cpu") -> "torch.Generator":
    """A torch generator of its own for one purpose; torch's global one is never used or changed."""
    import torch

    return torch.Generator(device).manual_seed(derive(seed, *purpose))
