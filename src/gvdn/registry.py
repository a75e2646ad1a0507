"""Names of choices, kept in one table; a miss lists the table."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from gvdn.errors import InvalidInput

T = TypeVar("T")
D = TypeVar("D")


class Registry(Mapping[str, T], Generic[T]):
    """A family of things by kebab-case name, in the order they were registered; aliases find, but are not listed."""

    def __init__(self, family: str) -> None:
        self.family = family
        self._members: dict[str, T] = {}
        self._aliases: dict[str, str] = {}

    def add(self, name: str, member: T, *, aliases: tuple[str, ...] = ()) -> None:
        for word in (name, *aliases):
            if word in self._members or word in self._aliases:
                raise ValueError(f"the {self.family} {word!r} is registered twice")
        self._members[name] = member
        self._aliases.update(dict.fromkeys(aliases, name))

    def register(self, name: str, *, aliases: tuple[str, ...] = ()) -> Callable[[D], D]:
        """Decorator: put the decorated thing into the table and hand it back unchanged."""

        def put(member: D) -> D:
            self.add(name, member, aliases=aliases)  # type: ignore[arg-type]
            return member

        return put

    def canonical(self, name: str) -> str:
        """The name that tables print, for a name or an alias of it."""
        name = self._aliases.get(name, name)
        if name not in self._members:
            raise InvalidInput(f"unknown {self.family} {name!r}{did_you_mean(name, [*self, *self._aliases])}")
        return name

    def __getitem__(self, name: str) -> T:
        return self._members[self.canonical(name)]

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        return self[name] if name in self else default  # noqa: SIM401

    def __contains__(self, name: object) -> bool:
        return name in self._members or name in self._aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


def did_you_mean(word: str, known: list[str]) -> str:
    """The end of a sentence about an unknown word: the nearest known one, and all of them."""
    near = difflib.get_close_matches(word, known, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ";"
    return f"{guess} known: {', '.join(known)}"
