"""JSON and TOML from files: read within limits, and checked field by field before anything is made of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.registry import did_you_mean

MOST_BYTES = 1 << 28
"""The largest JSON file that is read."""

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table", list: "a list"}


@dataclass(frozen=True)
class Field:
    """What a field must be: its type, whether it may be missing or null, the range of a number, the kind of items."""

    type: type
    optional: bool = False
    low: int | float = -math.inf
    high: int | float = math.inf
    items: Field | None = None

    def check(self, value: Any, where: str) -> None:
        if value is None and self.optional:
            return
        whole = isinstance(value, int) and not isinstance(value, bool)
        fits = whole or isinstance(value, float) if self.type is float else isinstance(value, self.type)
        if not fits or (self.type is int and not whole):
            raise InvalidInput(f"expected {_WORDS[self.type]} as {where}, got {_short(value)}")
        if self.type in (int, float) and not self.low <= value <= self.high:
            raise InvalidInput(f"expected {where} from {self.low:g} to {self.high:g}, got {_short(value)}")
        if self.items is not None:
            for place, item in value.items() if isinstance(value, dict) else enumerate(value):
                self.items.check(item, f"{where}[{_short(place)}]")


Schema = Mapping[str, Field]


def checked(content: Any, schema: Schema, where: str) -> dict[str, Any]:
    """The content, if it is a table with these fields and no others, each of its kind."""
    Field(dict).check(content, where)
    for name in content:
        if name not in schema:
            raise InvalidInput(f"unknown key {_short(name)} in {where}{did_you_mean(str(name), sorted(schema))}")
    for name, field in schema.items():
        if name in content:
            field.check(content[name], f"{name} of {where}")
        elif not field.optional:
            raise InvalidInput(f"expected {name} in {where}, got {', '.join(map(str, content)) or 'nothing'}")
    return dict(content)


def read_json(path: Path, remedy: str) -> Any:
    """The content of a JSON file; what is no JSON is refused in a sentence that ends with the remedy."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InvalidInput(f"{path}: expected at most {MOST_BYTES:,} bytes of JSON, got {size:,}; {remedy}")
        return parse_json(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as problem:
        if isinstance(problem, InvalidInput | FileNotFoundError):
            raise
        raise InvalidInput(f"{path}: not whole JSON ({problem}); {remedy}") from problem


def parse_json(text: str) -> Any:
    """JSON as Python objects; ValueError for anything that is none, also NaN, infinity and endless nesting."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as problem:
        raise ValueError("nested too deeply") from problem


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
