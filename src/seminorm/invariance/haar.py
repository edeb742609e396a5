"""Haar-integral features: functions averaged over transformations, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.validation import check_is_fitted

from .._base.memory import require_memory
from .._base.patterns import validated
from .transformations.base import Transformation
from .transformations.finite import Identity

_BLOCK_VALUES = 2**21


class HaarFeatures(TransformerMixin, BaseEstimator):
    """f(x) = average of h(t x) over the transformations t, for several functions h [Haasdonk and Burkhardt 2007, (1)].

    They are invariant under a group with its invariant measure; monomials up to the size of a finite group distinguish
    all orbits.

    Parameters
    ----------
    transformation : Transformation, optional
        The set T, the identity alone if left out.
    degree : int
        The functions h are the monomials up to this degree.
    functions : callable or sequence of callables, optional
        Other h, which map patterns (n, d) to (n,) or (n, k).
    include_constant : bool
        Whether the monomial 1 is one of the features.

    See Also
    --------
    IntegrationKernel : Kernels averaged over a set, which need no explicit features.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X in ``fit``.

    Examples
    --------
    >>> from seminorm.invariance import HaarFeatures, Reflection
    >>> features = HaarFeatures(Reflection(axis=0), degree=2).fit([[1.0, 2.0]])
    >>> features.transform([[1.0, 2.0], [-1.0, 2.0]])
    array([[0., 2., 1., 0., 4.],
           [0., 2., 1., 0., 4.]])
    >>> features.get_feature_names_out().tolist()
    ['mean x0', 'mean x1', 'mean x0^2', 'mean x0 x1', 'mean x1^2']
    """

    def __init__(
        self,
        transformation: Transformation | None = None,
        degree: int = 2,
        functions: Callable | Sequence[Callable] | None = None,
        include_constant: bool = False,
    ):
        self.transformation, self.degree, self.functions, self.include_constant = (
            transformation,
            degree,
            functions,
            include_constant,
        )

    def fit(self, X: ArrayLike, y: object = None) -> HaarFeatures:
        """Learn the number and the names of the features; y is not used."""
        patterns = validated(self, self._set().patterns, X, dtype=np.float64)
        self.monomials_ = None if self.functions is not None else self._monomials(*patterns.shape)
        if self.monomials_ is None:
            self.names_ = self._names_of_functions(patterns[:1])
        else:
            known = getattr(self, "feature_names_in_", None) if self._keeps_columns() else None
            self.names_ = self.monomials_.get_feature_names_out(known)
        return self

    def _monomials(self, n: int, dimension: int) -> PolynomialFeatures:
        size = self._set().transformed_size(dimension)
        lowest = 0 if self.include_constant else 1
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= lowest):
            raise ValueError(f"degree must be an integer >= {lowest}, got {self.degree!r}.")
        n_features = comb(size + self.degree, self.degree)
        require_memory(
            8 * n_features * n, f"{n_features} features of {n} patterns",
            "lower the degree, name functions=, or use IntegrationKernel(Polynomial(degree), transformation), which "
            "works with the same features without computing them.",
        )  # fmt: skip
        return PolynomialFeatures(self.degree, include_bias=self.include_constant).fit(np.zeros((1, size)))

    def _keeps_columns(self) -> bool:
        """Whether the monomials are those of the columns of X, without padding."""
        return self._set().transformed_size(self.n_features_in_) == self.n_features_in_

    def transform(self, X: ArrayLike) -> np.ndarray:
        """The averages (n, number of functions) for patterns X (n, d)."""
        check_is_fitted(self)
        patterns = validated(self, self._set().patterns, X, dtype=np.float64, reset=False)
        nodes, weights = self._set().quadrature()
        result = np.empty((len(patterns), len(self.names_)))
        widest = max(len(self.names_), self._set().transformed_size(patterns.shape[1]))
        step = max(1, _BLOCK_VALUES // (widest * len(nodes)))
        for i in range(0, len(patterns), step):
            moved = self._set().apply(patterns[i : i + step], nodes)
            values = self._values(moved.reshape(-1, moved.shape[2])).reshape(*moved.shape[:2], -1)
            result[i : i + step] = np.tensordot(weights, values, axes=1)
        return result

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Names of the features: what they are averages of."""
        check_is_fitted(self)
        names = self.names_
        if self.monomials_ is not None and self._keeps_columns():
            known = getattr(self, "feature_names_in_", None)
            if input_features is not None and known is not None and list(input_features) != list(known):
                raise ValueError("input_features is not equal to feature_names_in_")
            if input_features is not None and len(input_features) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), got "
                    f"{len(input_features)}"
                )
            names = self.monomials_.get_feature_names_out(known if input_features is None else input_features)
        return np.array([f"mean {name}" for name in names], dtype=object)

    def _set(self) -> Transformation:
        return Identity() if self.transformation is None else self.transformation

    def _functions(self) -> list[Callable]:
        functions = [self.functions] if callable(self.functions) else list(self.functions or ())
        if not functions or not all(callable(function) for function in functions):
            raise ValueError(f"functions must be callables mapping X (n, d) to (n,) or (n, k), got {self.functions!r}.")
        return functions

    def _values(self, X: np.ndarray) -> np.ndarray:
        if self.monomials_ is not None:
            return self.monomials_.transform(X)
        return np.concatenate([_columns(function, X) for function in self._functions()], axis=1)

    def _names_of_functions(self, X: np.ndarray) -> list[str]:
        moved = self._set().apply(X, self._set().identity[None])[0]
        names: list[str] = []
        for number, function in enumerate(self._functions()):
            name = getattr(function, "__name__", "")
            name = name if name.isidentifier() else f"h{number}"
            width = _columns(function, moved).shape[1]
            names += [name] if width == 1 else [f"{name}_{k}" for k in range(width)]
        return names


def _columns(function: Callable, X: np.ndarray) -> np.ndarray:
    values = np.asarray(function(X), dtype=float)
    if values.ndim not in (1, 2) or len(values) != len(X):
        raise ValueError(f"each of functions must return (n,) or (n, k) with n = {len(X)}, got {values.shape}.")
    return values.reshape(len(X), -1)
