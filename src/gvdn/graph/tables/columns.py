"""The schema of a node table: what becomes of each column, so that a later table is read as the first one was."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gvdn.errors import InvalidInput
from gvdn.registry import did_you_mean
from gvdn.schema import Field, Schema, checked

Kind = Literal["number", "plain", "boolean", "category", "date", "text", "ignore"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""number: scaled to mean 0 and standard deviation 1. plain: a number whose zeros stay zeros. text and ignore: left out.
"""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
OTHER, MISSING = "other", "missing"


@dataclass(frozen=True)
class Column:
    """One column of the table that a model was trained on.

    Attributes:
        mean: taken off a number (of a date: its age in days), and what fills a missing one.
        scale: what a number is divided by.
        categories: the values with a feature of their own, the most frequent first.
        rare: other values that were there, at most a thousand of them.
        latest: the latest date, in days since 1970; ages are counted from it.
        flagged: whether a missing value is told by a feature of its own.
        missing: how many values were missing.
        why: why a column is left out, or what is suspicious in it.
        examples: a few values, for people.
    """

    name: str
    kind: Kind
    mean: float = 0.0
    scale: float = 1.0
    categories: tuple[str, ...] = ()
    latest: float = 0.0
    flagged: bool = False
    rare: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    missing: int = dataclasses.field(default=0, compare=False)
    why: str = dataclasses.field(default="", compare=False)
    examples: tuple[str, ...] = dataclasses.field(default=(), compare=False)

    @property
    def is_used(self) -> bool:
        return self.kind not in ("text", "ignore")

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features that it becomes."""
        if self.kind == "category":
            own = tuple(f"{self.name}={value}" for value in (*self.categories, OTHER))
        elif self.kind == "date":
            own = (f"{self.name}, age in days", *(f"{self.name}={day}" for day in WEEKDAYS))
        else:
            own = (self.name,) if self.is_used else ()
        return (*own, f"{self.name}={MISSING}") if self.flagged and self.is_used else own

    @property
    def encoding(self) -> tuple[object, ...]:
        """What the values that are there become; the mean of a column that is not shifted only fills missing ones."""
        mean = self.mean if self.kind in ("number", "date") else 0.0
        return self.name, self.kind, mean, self.scale, self.categories, self.latest, self.flagged

    @property
    def becomes(self) -> str:
        """What becomes of the column, in words."""
        if not self.is_used:
            return "left out" + (f": {self.why}" if self.why else "")
        if self.kind == "number":
            text = f"(value - {self.mean:.6g}) / {self.scale:.6g}"
        elif self.kind == "category":
            text = f"one feature for each of {len(self.categories)} values, one for the others"
        elif self.kind == "date":
            text = "age in days and weekday"
        else:
            text = "as it is" if self.scale == 1 else f"value / {self.scale:.6g}"
        return text + (", missing or not" if self.flagged else "") + (f" ({self.why})" if self.why else "")


CODES, STEPS = 128, 6
"""Of the codes of surroundings; measured in `results/structure.jsonl`."""
MOST_CODES, MOST_STEPS = 256, 64
"""What a file may say: a code has at most the bits of a sha256."""


@dataclass(frozen=True)
class Structure:
    """Features of the links alone, for nodes that have no others (see `with_structural_features`).

    Attributes:
        mean, scale: of the logarithm of 1 + degree.
        codes, steps: the number of columns of the code of a node's surroundings, and the steps of its walks.
    """

    mean: float
    scale: float
    codes: int = CODES
    steps: int = STEPS

    @property
    def features(self) -> tuple[str, ...]:
        codes = (f"surroundings {number + 1}" for number in range(self.codes))
        return ("degree (logarithm)", "clustering coefficient", *codes)


@dataclass(frozen=True)
class Columns:
    """The columns of a node table and what becomes of each; the relation that was chosen among the links.

    Learned from the table that a model is trained on, stored with the model, and applied by name to every later table.
    """

    columns: tuple[Column, ...] = ()
    relation: str | None = None
    structure: Structure | None = None

    @classmethod
    def plain(cls, names: Sequence[str]) -> Columns:
        """Numbers that are taken as they are."""
        return cls(tuple(Column(name, "plain") for name in names))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features, each once: a second `a=b` is called `a=b (2)`."""
        every = [name for column in self.columns for name in column.features]
        every += self.structure.features if self.structure else ()
        found: dict[str, None] = {}
        for name in every:
            number, other = 1, name
            while other in found:
                number += 1
                other = f"{name} ({number})"
            found[other] = None
        return tuple(found)

    @property
    def is_plain(self) -> bool:
        """Whether every feature is a number of the table as it is, so that another table cannot be read otherwise."""
        return self.structure is None and all(
            not column.is_used or (column.kind == "plain" and column.scale == 1 and not column.flagged)
            for column in self.columns
        )

    def encodes_as(self, other: Columns) -> bool:
        """Whether the same table becomes the same features; columns that are left out do not count."""
        mine, theirs = ([column.encoding for column in one.columns if column.is_used] for one in (self, other))
        return mine == theirs and self.structure == other.structure and self.relation == other.relation

    def difference(self, other: Columns) -> str:
        """The first column that the two read otherwise, in words."""
        mine, theirs = ({column.name: column for column in one.columns if column.is_used} for one in (self, other))
        for name, column in mine.items():
            if name not in theirs:
                return f"the column {name!r} is not in the other"
            if column.encoding != theirs[name].encoding:
                return f"the column {name!r} is {column.becomes} in one and {theirs[name].becomes} in the other"
        more = next((name for name in theirs if name not in mine), None)
        if more is not None:
            return f"the column {more!r} is only in the other"
        return "their columns come in another order, or the links of another relation were chosen"

    # ---- as JSON

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Any, where: str = "the columns") -> Columns:
        """The schema that `as_json` gave; anything else is refused."""
        whole = checked(content, _COLUMNS, where)
        columns = tuple(_column(one, f"column {number} of {where}") for number, one in enumerate(whole["columns"]))
        names = [column.name for column in columns]
        if len(set(names)) < len(names):
            raise InvalidInput(f"expected columns of different names in {where}, got one twice")
        structure = whole.get("structure")
        return cls(columns, whole.get("relation"), None if structure is None else _structure(structure, where))


_COLUMNS: Schema = {
    "columns": Field(list, items=Field(dict)),
    "relation": Field(str, optional=True),
    "structure": Field(dict, optional=True),
}
_COLUMN: Schema = {
    "name": Field(str),
    "kind": Field(str),
    "mean": Field(float, low=-1e300, high=1e300),
    "scale": Field(float, low=0, high=1e300),
    "categories": Field(list, items=Field(str)),
    "rare": Field(list, items=Field(str)),
    "latest": Field(float, low=-1e15, high=1e15),
    "flagged": Field(bool),
    "missing": Field(int, low=0),
    "why": Field(str),
    "examples": Field(list, items=Field(str)),
}
_STRUCTURE: Schema = {
    "mean": Field(float, low=-1e6, high=1e6),
    "scale": Field(float, low=0, high=1e6),
    "codes": Field(int, low=0, high=MOST_CODES),
    "steps": Field(int, low=0, high=MOST_STEPS),
}


def _column(content: Any, where: str) -> Column:
    one = checked(content, _COLUMN, where)
    if one["kind"] not in KINDS:
        raise InvalidInput(f"unknown kind {one['kind']!r} of {where}{did_you_mean(one['kind'], list(KINDS))}")
    one |= {name: float(one[name]) for name in ("mean", "scale", "latest")}
    _require_scale(one["scale"], where)
    if len(set(one["categories"])) < len(one["categories"]):
        raise InvalidInput(f"expected different categories in {where}, got one twice")
    return Column(**one | {name: tuple(one[name]) for name in ("categories", "rare", "examples")})


def _structure(content: Any, where: str) -> Structure:
    one = checked(content, _STRUCTURE, f"structure of {where}")
    mean, scale = float(one["mean"]), float(one["scale"])
    _require_scale(scale, where)
    return Structure(mean, scale, one["codes"], one["steps"])


def _require_scale(scale: float, where: str) -> None:
    if not (0 < scale < math.inf):
        raise InvalidInput(f"expected a positive scale in {where}, got {scale}")
