"""Objects by their parameters: scikit-learn's base class with types, equality, and a description in words."""

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing import Self

    class Parametrized:
        """``BaseEstimator`` for type checkers, who take 2 * kernel for a number if its base is of unknown type."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

        def set_params(self, **params: Any) -> Self: ...

        def __getstate__(self) -> dict[str, Any]: ...

else:
    from sklearn.base import BaseEstimator as Parametrized

__all__ = ["EqualByParameters", "Parametrized", "in_words"]


def in_words(instance: Parametrized) -> str:
    """The class with all parameters but those left at None: an object without its parameters says nothing."""
    named = {name: getattr(instance, name) for name in signature(type(instance)).parameters}
    shown = (f"{name}={_brief(value)}" for name, value in named.items() if value is not None)
    return f"{type(instance).__name__}({', '.join(shown)})"


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"<array {'x'.join(map(str, value.shape))}>"
    return " ".join(repr(value).split())


class EqualByParameters(Parametrized):
    """``==`` for scikit-learn style objects, which answer ``get_params``."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        return all(_same(value, theirs[name]) for name, value in mine.items())

    def __hash__(self) -> int:  # parameters may change: only the type is safe to hash
        return hash(type(self))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
