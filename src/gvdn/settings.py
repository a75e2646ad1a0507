"""Settings by name: an unknown one lists the known ones, a value of another kind is refused."""

from collections.abc import Mapping
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.registry import did_you_mean


def checked_settings(owner: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings, each of the kind of its default; a whole number is accepted where a fraction is expected."""
    for name in given:
        if name not in defaults:
            raise InvalidInput(f"unknown setting {name!r} of {owner}{did_you_mean(name, list(defaults))}")
    return {name: _of_kind(owner, name, value, defaults[name]) for name, value in given.items()}


def _of_kind(owner: str, name: str, value: Any, default: Any) -> Any:
    if value is None and default is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, bool):
        fits, wanted = isinstance(value, bool), "true or false"
    elif isinstance(default, int):
        fits, wanted = number and isinstance(value, int), "a whole number"
    elif isinstance(default, float) or default is None:
        fits, wanted = number, "a number"
    else:
        fits, wanted = isinstance(value, str), "a word"
    if not fits:
        raise InvalidInput(f"expected {wanted} for {name} of {owner}, got {value!r}")
    return float(value) if isinstance(default, float) else value
