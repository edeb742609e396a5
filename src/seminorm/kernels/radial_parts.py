"""What a fast summation needs to know of a kernel: its profile, and the coordinates in which it is radial."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .algebra import AxisScale, OnColumns, Product, Scaled, Sum
from .base import ROTATION, TRANSLATION, Kernel
from .forms import Form, table
from .linear_map import LinearMap
from .radial import Radial

#: (squared distances, order of the derivative in them) -> values
Profile = Callable[[np.ndarray, int], np.ndarray]


class NoDerivatives(TypeError):
    """A profile of which only values are known."""


class RadialPart(NamedTuple):
    """phi(x, y) = h(|(x - y) matrix|^2)."""

    profile: Profile
    matrix: np.ndarray  # (d, coordinates)
    knots: np.ndarray  # distances where h is not smooth
    closed_form: Callable[[int], Form | None]

    def form(self, derivative: int, largest: float) -> Form | None:
        """The derivative of the profile for compiled loops, for squared distances up to ``largest``."""
        form = self.closed_form(derivative)
        return form if form is not None else table(lambda s: self.profile(s, derivative), largest, self.knots)

    def has(self, derivative: int) -> bool:
        """Whether the derivative of the profile is known."""
        try:
            self.profile(np.ones(1), derivative)
        except NoDerivatives:
            return False
        return True


def radial_part(kernel: Kernel, dimension: int) -> RadialPart | None:
    """The kernel as a radial one after a linear map, or None if it is not."""
    return _part(kernel.for_dimension(dimension), np.eye(dimension))


def _part(kernel: Kernel, matrix: np.ndarray) -> RadialPart | None:
    if isinstance(kernel, Radial):
        return RadialPart(kernel.profile, matrix, kernel.knots, kernel.closed_form)
    if isinstance(kernel, AxisScale):
        return _part(kernel.kernel, matrix / np.asarray(kernel.scale, dtype=float))
    if isinstance(kernel, LinearMap):
        return _part(kernel.kernel, matrix @ np.asarray(kernel.matrix, dtype=float))
    if isinstance(kernel, OnColumns):
        return _part(kernel.kernel, matrix[:, np.asarray(kernel.columns)])
    if isinstance(kernel, Scaled):
        inner = _part(kernel.kernel, matrix)
        return None if inner is None else _scaled(inner, kernel.factor)
    if isinstance(kernel, (Sum, Product)):
        first, second = _part(kernel.first, matrix), _part(kernel.second, matrix)
        if first is None or second is None or not _same(first.matrix, second.matrix):
            return None
        rule = _sum if isinstance(kernel, Sum) else _product
        knots = np.union1d(first.knots, second.knots)
        return RadialPart(rule(first.profile, second.profile), first.matrix, knots, lambda k: None)
    of_products = kernel.of_products()
    if of_products is None or not kernel.invariances >= {TRANSLATION, ROTATION}:
        return None
    return RadialPart(_values_only(kernel, of_products), matrix, kernel.knots, lambda k: None)


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    return first.shape == second.shape and bool((first == second).all())


def _scaled(part: RadialPart, factor: float) -> RadialPart:
    def closed_form(k: int) -> Form | None:
        form = part.closed_form(k)
        return None if form is None else form.times(factor)

    return part._replace(profile=lambda s, k: factor * part.profile(s, k), closed_form=closed_form)


def _sum(first: Profile, second: Profile) -> Profile:
    return lambda s, k: first(s, k) + second(s, k)


def _product(first: Profile, second: Profile) -> Profile:
    return lambda s, k: sum(math.comb(k, i) * first(s, i) * second(s, k - i) for i in range(k + 1))  # type: ignore


def _values_only(kernel: Kernel, of_products) -> Profile:
    def profile(s: np.ndarray, k: int) -> np.ndarray:
        if k > 0:
            raise NoDerivatives(f"{kernel!r} has no derivatives of its profile.")
        return of_products(np.zeros_like(s), s)

    return profile
