"""Transformations with continuous parameters: a box around the identity."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from .base import Quadrature, Transformation
from .rules import checked_counts, checked_extent, on_interval, product_rule, refuse_infinite


class Box(Transformation):
    """All parameters t with |t_k| <= extent_k; the identity is t = 0.

    A subclass has the parameters ``extent`` (a number for all, or one for each parameter of the maps) and ``n_nodes``.
    """

    n_parameters = 1

    @property
    def extent(self) -> np.ndarray:
        """Half-widths (p,) of the box of parameters."""
        return self._extent

    @extent.setter
    def extent(self, value):
        self._extent = checked_extent(value, self.n_parameters)

    def quadrature(self) -> Quadrature:
        """Gauss-Legendre nodes along each parameter, and all their combinations."""
        refuse_infinite(self.extent)
        counts = checked_counts(self.n_nodes, self.n_parameters)
        return product_rule([self._rule(extent, count) for extent, count in zip(self.extent, counts, strict=True)])

    def _rule(self, extent: float, n_nodes: int) -> Quadrature:
        return on_interval(extent, n_nodes)

    def resized(self, factor: float) -> Box:
        checked_factor(factor)
        return clone(self).set_params(extent=np.zeros_like(self.extent) if factor == 0 else factor * self.extent)


def checked_factor(factor: float) -> None:
    if not (np.isscalar(factor) and np.isfinite(factor) and factor >= 0):
        raise ValueError(f"factor must be a finite number >= 0 (0 leaves the identity alone), got {factor!r}.")
