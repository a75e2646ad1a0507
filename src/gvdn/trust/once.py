"""A property that is computed once."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):
    """As `functools.cached_property`, which in Python 3.11 holds a lock of all instances while it computes.

    Workers of one process that wait for each other's rows would wait for ever.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "once[T]": ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: Any, owner: type | None = None) -> "T | once[T]":
        if instance is None:
            return self
        found = self.function(instance)
        vars(instance)[self.name] = found  # which is found before this descriptor from now on
        return found
