"""Registries: a family of things by name; an unknown name is answered with the known ones."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from gvdn.errors import InvalidInput

T = TypeVar("T")
D = TypeVar("D")


class Registry(Mapping[str, T], Generic[T]):
    """A family of things by kebab-case name, in the order they were registered; aliases are found, but not listed.

    A member may be registered as 'module:name', which is imported when it is first asked for: listing the names
    imports nothing. Installed packages add members through entry points of the given group; `check` returns such a
    member if it is one of the family, and raises otherwise.
    """

    def __init__(
        self, family: str, *, entry_point_group: str | None = None, check: Callable[[str, Any], T] | None = None
    ) -> None:
        self.family = family
        self._members: dict[str, Callable[[], T]] = {}
        self._homes: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._group, self._check = entry_point_group, check or (lambda _, member: member)

    def add(self, name: str, member: T, *, aliases: tuple[str, ...] = ()) -> None:
        """Register a member."""
        self._add(lambda: member, name, *aliases)

    def add_lazily(self, name: str, home: str) -> None:
        """Register 'module:name', to be imported when it is asked for."""
        module, _, member = home.partition(":")
        self._add(lambda: getattr(import_module(module), member), name)
        self._homes[name] = module

    def register(self, name: str, *, aliases: tuple[str, ...] = ()) -> Callable[[D], D]:
        """Decorator: register what is decorated and return it unchanged."""

        def put(member: D) -> D:
            self.add(name, member, aliases=aliases)  # type: ignore[arg-type]
            return member

        return put

    def canonical(self, name: str) -> str:
        """The name that tables print, for a name or an alias of it."""
        if name not in self:
            raise InvalidInput(f"unknown {self.family} {name!r}{did_you_mean(name, [*self, *self._aliases])}")
        return self._aliases.get(name, name)

    def home(self, name: str) -> str:
        """The module that a member comes from; one that is registered as 'module:name' is not imported for it."""
        name = self.canonical(name)
        return self._homes.get(name) or str(getattr(self[name], "__module__", ""))

    def __getitem__(self, name: str) -> T:
        return self._members[self.canonical(name)]()

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        return self[name] if name in self else default  # noqa: SIM401

    def __contains__(self, name: object) -> bool:
        return name in self._found() or name in self._aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def __repr__(self) -> str:
        return f"<{len(self)} of the family {self.family}: {', '.join(self)}>"

    def _found(self) -> dict[str, Callable[[], T]]:
        """The members, to which the first call adds what installed packages offer."""
        group, self._group = self._group, None
        for point in entry_points(group=group) if group else ():
            if point.name in self:
                wanted = f"a new name for the {self.family} of an installed package"
                do = "rename its entry point, or uninstall the package"
                raise InvalidInput(f"expected {wanted}, got {point.name!r} ({point.value}), which is taken; {do}")
            self._add(lambda point=point: self._check(point.name, point.load()), point.name)  # type: ignore[misc]
            self._homes[point.name] = point.module
        return self._members

    def _add(self, load: Callable[[], T], name: str, *aliases: str) -> None:
        for one in (name, *aliases):
            if one in self._members or one in self._aliases:
                raise ValueError(f"the {self.family} {one!r} is registered twice")
        self._members[name] = load
        self._aliases.update(dict.fromkeys(aliases, name))


def did_you_mean(word: str, known: list[str]) -> str:
    """The end of a sentence about an unknown word: the nearest known one, and all of them."""
    near = difflib.get_close_matches(word[:100], known, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ";"
    return f"{guess} known: {', '.join(known)}"
