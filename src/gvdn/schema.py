"""JSON and TOML from files: read within limits, and checked field by field before anything is made of it."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.limits import most_bytes, read_bytes, require_size, short
from gvdn.registry import did_you_mean

TIMES = 16
"""Parsed JSON takes up to this many times the memory of its text, so its limit is as much lower."""
MOST_TOML = 1 << 20
MOST_DOTS = 200
"""In a line of TOML: the time that Python's parser takes is quadratic in the parts of a dotted key."""

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table", list: "a list"}


@dataclass(frozen=True)
class Field:
    """What a field must be.

    Attributes:
        type: text, a whole number, a number, true or false, a table or a list; `object` is any of the first four.
        optional: whether it may be missing or null.
        low, high: the range of a number, or of the length of a table or list.
        items: what each item of a table or list must be.
        fields: what a table must hold, where that is known.
    """

    type: type
    optional: bool = False
    low: int | float = -math.inf
    high: int | float = math.inf
    items: Field | None = None
    fields: Mapping[str, Field] | None = None

    def check(self, value: Any, where: str) -> None:
        if value is None and self.optional:
            return
        if not self._fits(value):
            wanted = _WORDS.get(self.type, "a number, text, true or false")
            raise InvalidInput(f"expected {wanted} as {where}, got {short(value)}")
        size = len(value) if isinstance(value, dict | list) else value
        if self.type in (int, float, dict, list) and not self.low <= size <= self.high:
            got = short(value) if size is value else f"{size} of them"
            raise InvalidInput(f"expected {where} from {self.low:g} to {self.high:g}, got {got}")
        if self.items is not None:
            plain = self.items._is_plain
            for place, item in value.items() if isinstance(value, dict) else enumerate(value):
                if not (plain and self.items._fits(item)):  # names are made only where something may be wrong
                    self.items.check(item, f"{where}[{short(place)}]")
        if self.fields is not None:
            checked(value, self.fields, where)

    @property
    def _is_plain(self) -> bool:
        """Whether the type is all there is to check."""
        return self.low == -math.inf and self.high == math.inf and self.items is None and self.fields is None

    def _fits(self, value: Any) -> bool:
        if self.type is object:
            return isinstance(value, str | int | float | bool)
        if self.type in (int, float) and isinstance(value, bool):
            return False
        return isinstance(value, (int, float) if self.type is float else self.type)


Schema = Mapping[str, Field]

SETTINGS = Field(dict, items=Field(object, optional=True))
"""Settings by name, as methods and perturbations have them."""


def checked(content: Any, schema: Schema, where: str) -> dict[str, Any]:
    """The content, if it is a table with these fields and no others, each of its kind."""
    Field(dict).check(content, where)
    for name in content:
        if name not in schema:
            raise InvalidInput(f"unknown key {short(name)} in {where}{did_you_mean(str(name), sorted(schema))}")
    for name, field in schema.items():
        if name in content:
            field.check(content[name], f"{name} of {where}")
        elif not field.optional:
            raise InvalidInput(f"expected {name} in {where}, got {', '.join(map(str, content)) or 'nothing'}")
    return dict(content)


def read_json(path: Path, remedy: str) -> Any:
    """The content of a JSON file; what is no JSON is refused in a sentence that ends with the remedy."""
    try:
        return parse_json(read_bytes(path, most_bytes() // TIMES))
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as problem:
        raise InvalidInput(f"{path}: not whole JSON ({problem}); {remedy}") from problem


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; what is no TOML is refused in a sentence."""
    try:
        text = read_bytes(path, MOST_TOML).decode("utf-8").replace("\r\n", "\n")
        if max(line.count(".") for line in text.split("\n")) > MOST_DOTS:
            raise ValueError(f"more than {MOST_DOTS} dots in a line")
        return tomllib.loads(text, parse_float=_finite)
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no file {path}; give a .toml file") from problem
    except (ValueError, OSError, RecursionError) as problem:
        raise InvalidInput(f"{path}: not a TOML file ({problem}); repair it") from problem


def parse_json(text: str | bytes) -> Any:
    """JSON as Python objects; ValueError for anything that is none, also NaN, infinity and endless nesting."""
    try:
        require_size(len(text), most_bytes() // TIMES)
        text = text if isinstance(text, str) else text.decode("utf-8")
        content = json.loads(text, parse_constant=_finite, parse_float=_finite)
        if "\\u" in text:  # half of a character, which no file and no terminal can hold
            json.dumps(content, ensure_ascii=False).encode("utf-8")
        return content
    except (RecursionError, OSError) as problem:
        raise ValueError("nested too deeply" if isinstance(problem, RecursionError) else str(problem)) from problem


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{short(word)} is no finite number")
    return number
