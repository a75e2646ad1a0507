"""The arrays of a saved model: what a method declares of each (`Base.saved`), and the check of a file against it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from gvdn.errors import InvalidInput

TEXT = ".text"
"""The ending of the names of text arrays, which are bytes in the file."""


class Tensor(NamedTuple):
    """The type and shape of an array, as the header of a file declares them."""

    dtype: str
    shape: tuple[int, ...]


DTYPES = {"ids": ("int64",), "labels": ("int64",), "rows": ("int64",), "shares": ("float32", "float64")}
"""The types that each kind of array may have; any other kind is the type itself. Ids may also be text."""
BELOW = {"labels": "classes", "rows": "n"}
"""The side whose length the numbers of a kind are below."""


def declared_sizes(held: Mapping[str, Tensor], declared: Mapping[str, str], sizes: Mapping[str, int]) -> dict[str, int]:
    """The length of every named side; raises unless exactly the declared arrays are held, with their types and shapes.

    Sides of one name have one length.

    Args:
        held: the arrays of the file by name.
        declared: name -> kind and sides, such as "float32 n hidden"; a side that is a number has that length.
        sizes: the lengths that are known.
    """
    plain = {name.removesuffix(TEXT) for name in held}
    require_names(plain, declared)
    known = dict(sizes)
    for name, words in declared.items():
        kind, *sides = words.split()
        is_text = name + TEXT in held
        if is_text and kind != "ids":
            raise InvalidInput(f"expected {name} as {kind}, got text")
        if is_text == (name in held):
            raise InvalidInput(f"expected the array {name} once, got it as numbers and as text")
        dtype, shape = held[name + TEXT if is_text else name]
        if dtype not in (("uint8",) if is_text else DTYPES.get(kind, (kind,))):
            raise InvalidInput(f"expected {name} as {kind}, got {dtype}")
        if is_text and (len(shape) != 2 or not shape[1]):
            raise InvalidInput(f"expected {name} as text, got bytes of shape {shape}")
        got = shape[:1] if is_text else shape
        wanted = tuple(
            int(side) if side.isdecimal() else known.setdefault(side, length)
            for side, length in zip(sides, got, strict=False)
        )
        if len(got) != len(sides) or got != wanted:
            raise InvalidInput(f"expected {name} of the shape ({', '.join(sides)}) = {wanted}, got {got}")
    return known


def require_names(held: Iterable[str], wanted: Iterable[str]) -> None:
    """Raise unless both are the same names."""
    lacking, unknown = sorted(set(wanted) - set(held)), sorted(set(held) - set(wanted))
    if lacking or unknown:
        what = f"lack {lacking[0]!r}" if lacking else f"hold {unknown[0]!r}, which is unknown"
        raise InvalidInput(f"the weights {what}")


def require_values(arrays: Mapping[str, np.ndarray], declared: Mapping[str, str], sizes: Mapping[str, int]) -> None:
    """Raise unless numbers are finite, ids unique, labels classes, rows those of the n nodes, and shares sum to 1."""
    for name, array in arrays.items():
        kind = declared[name].split()[0] if name in declared else ""
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InvalidInput(f"the weights {name} hold NaN or infinity")
        if kind == "ids" and len(np.unique(array)) < len(array):
            raise InvalidInput(f"expected unique ids in {name}")
        if kind in BELOW and array.size and not 0 <= array.min() <= array.max() < sizes[BELOW[kind]]:
            raise InvalidInput(f"expected {kind} from 0 to {sizes[BELOW[kind]] - 1} in {name}")
        if kind == "shares" and not ((array >= 0).all() and np.allclose(array.sum(axis=-1), 1, atol=1e-5)):
            raise InvalidInput(f"expected shares that sum to 1 in {name}")
