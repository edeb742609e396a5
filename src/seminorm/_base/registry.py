"""Registries: the public classes of one kind, by name, with examples of each.

A registry serves three purposes. The tests run over its examples, so a class that is registered is tested. Saved
files refer to classes by the names in it. And users may register classes of their own, which are then treated alike.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes of one kind ("kernel", "distance", ...) by name; calling it gives one or more instances of each.

    Examples
    --------
    >>> from seminorm._base.registry import Registry
    >>> numbers = Registry("number")
    >>> _ = numbers.register(int, lambda: [0, 1])
    >>> numbers(), numbers["int"], "float" in numbers
    ([0, 1], <class 'int'>, False)
    """

    def __init__(self, kind: str):
        self.kind = kind
        self._classes: dict[str, type[T]] = {}
        self._examples: dict[str, Callable[[], Iterable[T]]] = {}

    def __repr__(self) -> str:
        return f"<Registry of {len(self._classes)} classes of the kind {self.kind!r}>"

    def register(self, cls: type[T], examples: Callable[[], Iterable[T]] | None = None) -> type[T]:
        """Add a class; ``examples`` makes the instances for the tests, by default one without arguments."""
        known = self._classes.get(cls.__name__)
        if known is not None and known is not cls:
            raise ValueError(f"there is already a {self.kind} {cls.__name__!r}: {known!r}. Choose another name.")
        self._classes[cls.__name__] = cls
        self._examples[cls.__name__] = examples or (lambda: [cls()])
        return cls

    def unregister(self, name: str) -> None:
        """Forget a class."""
        del self._classes[name], self._examples[name]

    def __call__(self) -> list[T]:
        """Instances of every class, made anew."""
        return [instance for make in list(self._examples.values()) for instance in make()]

    def __getitem__(self, name: str) -> type[T]:
        try:
            return self._classes[name]
        except KeyError:
            raise KeyError(f"unknown {self.kind} {name!r}; known are {', '.join(sorted(self._classes))}.") from None

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)
