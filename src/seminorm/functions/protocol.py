"""The protocol of functions, and what its classes share: value, gradient, Hessian, semi-norm, files."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from .._base.saving import load_npz, save_npz


@runtime_checkable
class Function(Protocol):
    """What plotting, meshing and tests ask of a function; with k outputs, an axis of length k comes after the first
    one.

    See Also
    --------
    Expansion, seminorm.fields.Field, seminorm.fields.BasisField

    Examples
    --------
    >>> from seminorm import Smoother
    >>> from seminorm.functions import Function
    >>> isinstance(Smoother(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0]).function_, Function)
    True
    """

    def __call__(self, X: Any) -> np.ndarray:
        """Values at X (n, d): (n,), or (n, k)."""

    def gradient(self, X: Any) -> np.ndarray:
        """Gradients at X: (n, d), or (n, k, d)."""

    def hessian(self, X: Any) -> np.ndarray:
        """Hessians at X: (n, d, d), or (n, k, d, d)."""

    def seminorm(self) -> float | np.ndarray:
        """|f|; one number per output."""


class StoredFunction(ABC):
    """A function that derives its methods from one for derivatives of any order, and can be saved.

    A derived class has ``_derivative(X, times)``, :meth:`content` and :meth:`from_content`.
    """

    def __call__(self, X: Any) -> np.ndarray:
        """Values at X: (n,), or (n, k) for k outputs."""
        return self._derivative(X, 0)

    def gradient(self, X: Any) -> np.ndarray:
        """Gradients at X: (n, d), or (n, k, d) for k outputs."""
        return self._derivative(X, 1)

    def hessian(self, X: Any) -> np.ndarray:
        """Hessians at X: (n, d, d), or (n, k, d, d) for k outputs."""
        return self._derivative(X, 2)

    @abstractmethod
    def _derivative(self, X: Any, times: int) -> np.ndarray:
        """All derivatives of one order."""

    @abstractmethod
    def content(self) -> dict:
        """What a file holds of the function; :meth:`from_content` reads it."""

    @classmethod
    @abstractmethod
    def from_content(cls, content: dict, path: Any = "the file") -> Self:
        """The function that :meth:`content` describes; other entries are ignored. ``path`` is for messages."""

    def save(self, path: str | Path) -> Path:
        """Write the function to one npz file without pickle; :meth:`load` reads it."""
        return save_npz(path, {"type": type(self).__name__, **self.content()})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a function written by :meth:`save`; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != cls.__name__:
            article = "an" if cls.__name__[0] in "AEIOU" else "a"
            raise ValueError(f"{path} does not hold {article} {cls.__name__}.")
        return cls.from_content(content, path)


def output_columns(coefficients: np.ndarray) -> np.ndarray:
    """Coefficients with a column per output, also where there is one output and no axis for it."""
    return coefficients[:, None] if coefficients.ndim == 1 else coefficients
