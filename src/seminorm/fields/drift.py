"""Features that are free beside a field: how they are read, and what is known of their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .field import Field
from .vector_field import VectorField


@dataclass(frozen=True)
class FreeFeatures:
    """Functions of the coordinates, ``call``, and columns of X that are no coordinates, by their numbers."""

    call: Callable[[np.ndarray], Any] | None = None
    columns: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return self.call is not None or bool(self.columns)

    def split(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (n, d) and features (n, p) of points."""
        coordinates = self.coordinates(X)
        parts = [X[:, list(self.columns)]]
        if self.call is not None:
            parts.insert(0, features_at(self.call, coordinates))
        return coordinates, np.concatenate(parts, axis=1)

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """The columns that are coordinates."""
        return X[:, self.kept(X.shape[1])] if self.columns else X

    def kept(self, width: int) -> list[int]:
        """The numbers of the columns that are coordinates."""
        return [k for k in range(width) if k not in self.columns]


def features_at(features: Callable[[np.ndarray], Any], X: np.ndarray) -> np.ndarray:
    """Features (n, p) at points, checked; a feature alone may have shape (n,)."""
    P = np.asarray(features(X), dtype=float)
    P = P[:, None] if P.ndim == 1 else P
    if P.ndim != 2 or len(P) != len(X) or not P.shape[1]:
        raise ValueError(f"null_space must give one row of features for each of {len(X)} points, got shape {P.shape}.")
    if not np.isfinite(P).all():
        count = np.count_nonzero(~np.isfinite(P).all(axis=1))
        raise ValueError(f"null_space gives NaN or infinity at {count} of {len(X)} points: leave these points out.")
    return P


@dataclass(frozen=True)
class Drift:
    """Features P beside a field, in units of their own: (P - mean) / deviation.

    For a given alpha the field is linear in the values, f = H y, and the coefficients are those of generalised least
    squares. If these are wrong by c, the field is wrong by -H P c, so what an error of the coefficients does to values
    is c times the :meth:`excess` P - H P of a feature over the field of it. Noise of variance one gives them the
    ``covariance`` (P' W (P - H P))^-1.

    Attributes
    ----------
    mean, deviation : arrays (p,)
    coef : array (p,), or (p, k) for k outputs
        Of the features in their units.
    fields, solutions : sequence of p Fields, array (p, blocks, functions)
        H P, on the tree of the field, and their coefficients on all levels.
    covariance : array (p, p)
    freedom : float
        What the features add to the effective number of parameters.
    """

    mean: np.ndarray
    deviation: np.ndarray
    coef: np.ndarray
    fields: Sequence[Field] = ()
    solutions: np.ndarray | None = None
    covariance: np.ndarray | None = None
    freedom: float = 0.0

    def scaled(self, P: np.ndarray) -> np.ndarray:
        """Features (n, p) in their units."""
        return (P - self.mean) / self.deviation

    @property
    def given_coef(self) -> np.ndarray:
        """Coefficients of the features as they were given."""
        return (self.coef.T / self.deviation).T

    @property
    def given_covariance(self) -> np.ndarray:
        """That of :attr:`given_coef`, for noise of variance one."""
        return self.covariance / np.outer(self.deviation, self.deviation)

    def without_constant(self, field: Field | VectorField) -> Any:
        """The field beside the features as they were given, whose means are not taken out."""
        shifts = np.atleast_1d(self.mean @ self.given_coef)
        parts = [
            Field(part.tree, part.coef, part.roughness, part.offset - float(shift))
            for part, shift in zip(field.components, shifts, strict=True)
        ]
        return VectorField(parts) if isinstance(field, VectorField) else parts[0]

    def excess(self, X: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Features (n, p) at coordinates X, in their units, minus the fields of them."""
        return self.scaled(P) - np.stack([field(X) for field in self.fields], axis=1)

    def variance(self, X: np.ndarray, P: np.ndarray) -> np.ndarray:
        """What the uncertain coefficients add to the variance of values (n,), for noise of variance one."""
        return self.variance_of(self.excess(X, P))

    def variance_of(self, excess: np.ndarray) -> np.ndarray:
        """The same for the excess of any linear quantities (n, p)."""
        return ((excess @ self._root) ** 2).sum(axis=1)

    def draw(self, excess: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What random coefficients do to values (n,), for noise of variance one."""
        return excess @ (self._root @ rng.standard_normal(len(self.mean)))

    @cached_property
    def _root(self) -> np.ndarray:
        assert self.covariance is not None
        return np.linalg.cholesky(self.covariance)
