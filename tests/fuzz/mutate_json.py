"""Changes of JSON and TOML: values of another kind, keys that are missing, unknown or there twice, odd text."""

from __future__ import annotations

import json
import math
from typing import Any

from fuzz.chance import Chance
from fuzz.mutate_bytes import mutate_bytes

WHOLE = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b"7",
    b'""',
    b"{",
    b"[" * 200_000,
    b'{"a":' * 100_000,
    b"[" * 900 + b"]" * 900,
    b'{"key":{}}',
    b"9" * 5000,
    b"NaN",
    b"\xff\xfe{\x00}\x00",
    b"\x80\x81",
    b'{"a": 1e999}',
]


def mutate_json(rng: Chance, data: bytes) -> bytes:
    """JSON with changed values, or with changed text."""
    what = rng.randrange(12)
    if what == 0:
        return mutate_bytes(rng, data)
    if what == 1:
        whole = rng.choice(WHOLE)
        rng.note(f"the whole is {whole[:20]!r}, {len(whole)} bytes")
        return whole
    text = data.decode()
    if what == 2:
        return odd_text(rng, text)
    content = mutate_content(rng, json.loads(text))
    return json.dumps(content).encode()


def mutate_content(rng: Chance, content: Any) -> Any:
    """JSON's objects with one to three values changed, removed or added."""
    holder = {"": content}
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        _change_one(rng, holder)
    return holder.get("")


def _change_one(rng: Chance, holder: dict[str, Any]) -> None:
    owner: Any = holder
    path: list[str] = []
    key: Any = ""
    while isinstance(owner[key], dict | list) and owner[key] and not rng.one_in(4):
        owner = owner[key]
        key = rng.choice(sorted(owner)) if isinstance(owner, dict) else rng.randrange(len(owner))
        path.append(str(key)[:30])
    where = ".".join(path) or "the whole"
    what = rng.randrange(8)
    if what <= 3 or owner is holder:
        owner[key] = rng.json_value()
        rng.note(f"{where} = {_short(owner[key])}")
    elif what == 4:
        rng.note(f"{where} removed")
        del owner[key]
    elif what == 5 and isinstance(owner, dict):
        name = rng.choice(["unknown", "format", "version", "settings", rng.word()[:2000]])
        owner[name] = rng.json_value()
        rng.note(f"{where}: beside it {name[:20]!r} = {_short(owner[name])}")
    elif isinstance(owner, list):
        rng.note(f"{where} repeated")
        owner += [owner[key]] * rng.choice([1, 5])
    else:
        owner[key] = _near(rng, owner[key])
        rng.note(f"{where} = {_short(owner[key])}")


def _near(rng: Chance, value: Any) -> Any:
    """A value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, value * 2, value * 1000, value * 10**6])
    if isinstance(value, float) and math.isfinite(value):
        return rng.choice([value + 1, -value, value * 1e-9, value * 1e9])
    if isinstance(value, str):
        return rng.choice(
            [value + "x", value[:-1], value.upper(), value * 2, value + rng.word()[:100], value + "\ud800"]
        )
    return rng.json_value()


def odd_text(rng: Chance, text: str) -> bytes:
    """Text that parses as something else, or in another encoding."""
    what = rng.choice(["utf-16", "bom", "latin", "twice", "comma", "escape", "newlines", "tail", "nan"])
    rng.note(f"text: {what}")
    if what == "utf-16":
        return text.encode("utf-16")
    if what == "bom":
        return b"\xef\xbb\xbf" + text.encode()
    if what == "latin":
        return text.replace("e", "é", 1).encode("latin-1", "replace")
    if what == "twice":
        return text.encode() * 2
    if what == "comma":
        return text.replace(",", ",,", 1).encode()
    if what == "escape":
        return text.replace('"', '"\\u001b[31m', 3).encode()
    if what == "newlines":
        return text.replace("\n", "\r").encode()
    if what == "nan":
        return "".join("NaN" if c.isdigit() and rng.one_in(20) else c for c in text).encode()
    return text.encode() + rng.choice([b"}", b"\x00", b"[" * 100_000, b"\x1b[2J"])


def _short(value: Any) -> str:
    words = repr(value)
    return words if len(words) < 40 else f"{words[:37]}… ({len(words)} characters)"


def toml_of(content: dict[str, Any]) -> str:
    """TOML of the kind that specs are; what it cannot hold (None, a key of another type) becomes text."""
    return "".join(f"{_key(name)} = {_toml(value)}\n" for name, value in content.items())


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return (
            "nan" if value != value else "inf" if value == math.inf else "-inf" if value == -math.inf else repr(value)
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_toml(one)}" for name, one in value.items()) + " }" if value else "{}"
    return _key(str(value))


def _key(word: str) -> str:
    return json.dumps(word.replace("\x7f", "?").encode("utf-8", "replace").decode(), ensure_ascii=False)
