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
        self._members: dict[str, T] = {}
        self._elsewhere: dict[str, Callable[[], T]] = {}
        self._aliases: dict[str, str] = {}
        self._group, self._check = entry_point_group, check

    def add(self, name: str, member: T, *, aliases: tuple[str, ...] = ()) -> None:
        """Register a member."""
        self._require_free(name, *aliases)
        self._members[name] = member
        self._aliases.update(dict.fromkeys(aliases, name))

    def add_lazily(self, name: str, home: str) -> None:
        """Register 'module:name', to be imported when it is asked for."""
        self._require_free(name)
        self._add_later(name, lambda: _imported(home))

    def register(self, name: str, *, aliases: tuple[str, ...] = ()) -> Callable[[D], D]:
        """Decorator: register what is decorated and return it unchanged."""

        def put(member: D) -> D:
            self.add(name, member, aliases=aliases)  # type: ignore[arg-type]
            return member

        return put

    def canonical(self, name: str) -> str:
        """The name that tables print, for a name or an alias of it."""
        self._find_installed()
        name = self._aliases.get(name, name)
        if name not in self._members:
            raise InvalidInput(f"unknown {self.family} {name!r}{did_you_mean(name, [*self, *self._aliases])}")
        return name

    def __getitem__(self, name: str) -> T:
        name = self.canonical(name)
        if name in self._elsewhere:
            self._members[name] = self._elsewhere[name]()
            del self._elsewhere[name]
        return self._members[name]

    def get(self, name: str, default: T | None = None) -> T | None:  # type: ignore[override]
        return self[name] if name in self else default  # noqa: SIM401

    def __contains__(self, name: object) -> bool:
        self._find_installed()
        return name in self._members or name in self._aliases

    def __iter__(self) -> Iterator[str]:
        self._find_installed()
        return iter(self._members)

    def __len__(self) -> int:
        self._find_installed()
        return len(self._members)

    def __repr__(self) -> str:
        return f"<{len(self)} of the family {self.family}: {', '.join(self)}>"

    def _find_installed(self) -> None:
        """Add what installed packages offer, once."""
        if self._group is None:
            return
        group, self._group = self._group, None
        for point in entry_points(group=group):
            if point.name in self:
                wanted = f"a new name for the {self.family} of an installed package"
                do = "rename its entry point, or uninstall the package"
                raise InvalidInput(f"expected {wanted}, got {point.name!r} ({point.value}), which is taken; {do}")
            self._add_later(point.name, lambda point=point: self._loaded(point.name, point.load()))  # type: ignore[misc]

    def _loaded(self, name: str, member: Any) -> T:
        return member if self._check is None else self._check(name, member)

    def _add_later(self, name: str, load: Callable[[], T]) -> None:
        self._elsewhere[name] = load
        self._members[name] = None  # type: ignore[assignment]  # keeps its position in the order

    def _require_free(self, *names: str) -> None:
        for name in names:
            if name in self._members or name in self._aliases:
                raise ValueError(f"the {self.family} {name!r} is registered twice")


def did_you_mean(word: str, known: list[str]) -> str:
    """The end of a sentence about an unknown word: the nearest known one, and all of them."""
    near = difflib.get_close_matches(word, known, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ";"
    return f"{guess} known: {', '.join(known)}"


def _imported(home: str) -> Any:
    module, _, member = home.partition(":")
    return getattr(import_module(module), member)
