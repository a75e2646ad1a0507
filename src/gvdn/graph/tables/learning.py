"""Learn from a node table what becomes of its columns.

Numbers are scaled to mean 0 and standard deviation 1. A column of which at least half is 0, or that holds only 0 and 1,
is not shifted, so that zeros stay zeros; it is scaled only if it holds more than 10. Text that is no number, no date
and no yes or no is a category; where more than half of the values differ it is left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gvdn.errors import InvalidInput
from gvdn.graph.tables import values
from gvdn.graph.tables.columns import KINDS, Column, Kind
from gvdn.limits import short
from gvdn.registry import did_you_mean

MOST_CATEGORIES = 50
MOST_RARE = 1000
RARE = 3
"""A category of fewer nodes has no feature of its own."""
NEARLY_ALL = 0.8
"""With this share of numbers, text among them is taken for a mistake."""
SMALL = 10
"""Up to this size, sparse numbers are taken as they are."""
LARGEST = 1e30

TEXT, CONSTANT, INDEX = "nearly every value is different", "the same value on every node", "it counts the rows"
EMPTY, ASKED = "it has no values", "as asked"


def learn_column(name: str, array: pa.Array, where: str, wanted: str | None = None) -> Column:
    """What becomes of a column; `wanted` is the kind that the user says it is."""
    if wanted is not None and wanted not in KINDS:
        raise InvalidInput(f"unknown kind {wanted!r} of the column {name!r}{did_you_mean(wanted, list(KINDS))}")
    kind: Kind = kind_of(name, array, where) if wanted is None else wanted
    about: dict[str, Any] = {"missing": _missing(array, kind), "examples": _examples(array)}
    if kind in ("text", "ignore"):
        why = ASKED if wanted else TEXT if kind == "text" else _why_ignored(array)
        return Column(name, kind, why=why, **about)
    if about["missing"] == len(array):
        return Column(name, "ignore", why=EMPTY, **about)
    flagged = bool(about["missing"])
    if kind == "category":
        return _category(name, array, flagged, about)
    found = _values(name, kind, array, where)
    seen = found.numbers[~np.isnan(found.numbers)]
    if kind == "boolean":
        return Column(name, kind, float(seen.mean()), flagged=flagged, why=_why(seen, array), **about)
    if kind == "date":
        latest = float(seen.max())
        mean, scale = _mean_and_scale(latest - seen)
        return Column(name, kind, mean, scale, latest=latest, flagged=flagged, why=_why(seen, array), **about)
    return _number(name, kind, seen, wanted is not None, flagged, _why(seen, array), about)


def kind_of(name: str, array: pa.Array, where: str) -> Kind:
    """The kind of a column; text that is nearly all numbers is refused at the first that is none."""
    kind = array.type
    if values.is_number(kind):
        return "number"
    if pa.types.is_boolean(kind):
        return "boolean"
    if values.is_date(kind):
        return "date"
    if not values.is_text(kind):
        return "ignore"
    found = values.numbers(array)
    assert found is not None
    present = len(array) - int(found.missing.sum())
    if not present:
        return "ignore"
    strays = int(found.stray.sum())
    if not strays:
        return "number"
    if present - strays >= NEARLY_ALL * present:
        raise stray_value(name, array, found.stray, where, "a number")
    for read, its in ((values.truths, "boolean"), (values.days, "date")):
        other = read(array)
        if other is not None and not other.stray.any() and not other.missing.all():
            return its  # type: ignore[return-value]
    words = values.words(array)
    assert words is not None
    different = pc.count_distinct(words, mode="only_valid").as_py()
    return "text" if different > (len(words) - words.null_count) / 2 else "category"


def stray_value(name: str, array: pa.Array, stray: np.ndarray, where: str, wanted: str) -> InvalidInput:
    """The sentence about the first value that does not fit its column."""
    row = int(np.flatnonzero(stray)[0])
    got, do = short(array[row].as_py()), f"correct it, leave it empty, or give --column {name}=category (or =ignore)"
    return InvalidInput(f"{where}, row {row + 1}: expected {wanted} in the column {name!r}, got {got}; {do}")


def learned_notes(columns: Sequence[Column]) -> Iterable[str]:
    """What a user should know of what was learned, in sentences."""
    groups: dict[tuple[bool, str], list[str]] = {}
    for column in columns:
        if column.why and column.why != ASKED:
            groups.setdefault((column.is_used, column.why), []).append(column.name)
    for (used, why), names in groups.items():
        if not used:
            yield f"{listed(names)} {'is' if len(names) == 1 else 'are'} left out: {why}"
        elif why == INDEX:
            yield f"suspicious: {listed(names)}: {why}; leave it out with --column {names[0]}=ignore if it is an index"
        elif why == CONSTANT:
            yield f"{listed(names)}: {why}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The columns of these names, in words."""
    shown = ", ".join(repr(name) for name in names[:most])
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"the column{'s' * (len(names) > 1)} {shown}{more}"


def _number(
    name: str, kind: Kind, seen: np.ndarray, asked: bool, flagged: bool, why: str, about: Mapping[str, Any]
) -> Column:
    rest = {"flagged": flagged, "why": why, **about}
    sparse = np.isin(seen, (0, 1)).all() or (seen == 0).mean() >= 0.5
    if kind == "plain" or (sparse and not asked):
        large = kind != "plain" and np.abs(seen).max() > SMALL
        scale = float(np.sqrt((seen[seen != 0] ** 2).mean())) if large else 1.0
        return Column(name, "plain", float(seen.mean()), scale, **rest)
    return Column(name, "number", *_mean_and_scale(seen), **rest)


def _mean_and_scale(seen: np.ndarray) -> tuple[float, float]:
    mean, scale = float(seen.mean()), float(seen.std())
    return mean, scale if scale > 1e-9 * max(abs(mean), 1e-30) else 1.0


def _category(name: str, array: pa.Array, flagged: bool, about: Mapping[str, Any]) -> Column:
    words = values.words(array)
    if words is None:
        return Column(name, "ignore", why=_why_ignored(array), **about)
    counted = [(one["values"], one["counts"]) for one in pc.value_counts(words.drop_null()).to_pylist()]
    ordered = sorted(counted, key=lambda one: (-one[1], one[0]))
    frequent = tuple(value for value, number in ordered if number >= RARE)[:MOST_CATEGORIES]
    if not frequent:
        return Column(name, "text", why=f"no value is on {RARE} nodes or more", **about)
    rare = tuple(value for value, _ in ordered if value not in frequent)
    why = f"{len(rare):,} rare values are together" if rare else CONSTANT if len(ordered) == 1 and not flagged else ""
    rest = {"rare": rare[:MOST_RARE], "why": why, **about}
    return Column(name, "category", categories=frequent, flagged=flagged, **rest)


def _values(name: str, kind: Kind, array: pa.Array, where: str) -> values.Values:
    found = read_as(kind, array)
    if found is None:
        raise InvalidInput(f"{where}: the column {name!r} of the type {array.type} cannot be read as {kind}")
    require_fitting(name, kind, array, found, where)
    return found


def read_as(kind: Kind, array: pa.Array) -> values.Values | None:
    """The values of a column as numbers of this kind; None for a type that has none."""
    read = {"boolean": values.truths, "date": values.days}.get(kind, values.numbers)
    return read(array)


def require_fitting(name: str, kind: Kind, array: pa.Array, found: values.Values, where: str) -> None:
    """Raise at the first value that is not of its kind, or that is infinite or too large."""
    if found.stray.any():
        wanted = {"boolean": "yes or no", "date": "a date"}.get(kind, "a number")
        raise stray_value(name, array, found.stray, where, wanted)
    bad = np.flatnonzero(np.abs(found.numbers) > LARGEST)
    if bad.size:
        got = f"{found.numbers[bad[0]]:g}; expected a finite number of at most {LARGEST:g}"
        raise InvalidInput(f"{where}, row {bad[0] + 1}: the feature {name!r} is {got}")


def _why(seen: np.ndarray, array: pa.Array) -> str:
    if (seen == seen[0]).all():
        return CONSTANT
    counts = len(seen) == len(array) >= 10 and pa.types.is_integer(array.type)
    if counts and seen.max() - seen.min() == len(seen) - 1 and len(np.unique(seen)) == len(seen):
        return INDEX
    return ""


def _why_ignored(array: pa.Array) -> str:
    empty = pa.types.is_null(array.type) or values.is_text(array.type)
    return EMPTY if empty else f"values of the type {array.type} are not used"


def _missing(array: pa.Array, kind: Kind) -> int:
    if kind in ("category", "text", "ignore"):
        words = values.words(array)
        return int(array.null_count if words is None else words.null_count)
    found = read_as(kind, array)
    return 0 if found is None else int(found.missing.sum())


def _examples(array: pa.Array, most: int = 3) -> tuple[str, ...]:
    """The first different values, short."""
    words = values.words(array[:50])
    found = dict.fromkeys(word[:30] for word in words.drop_null().to_pylist()) if words is not None else {}
    return tuple(found)[:most]
