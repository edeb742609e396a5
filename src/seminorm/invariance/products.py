"""Kernels that do not change under orthogonal maps, as functions of inner products and lengths alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..kernels.algebra import AxisScale, Product, Scaled, Sum
from ..kernels.base import Kernel
from ..kernels.dot_product import Linear, Polynomial, PowerSeries
from ..kernels.radial import Radial

#: a function (inner products, squared distances) -> kernel values; it may overwrite neither
OfProducts = Callable[[np.ndarray, np.ndarray], np.ndarray]


def of_products(kernel: Kernel) -> OfProducts | None:
    """The kernel as a function of <x, y> and |x - y|^2; None if it is not known to be one."""
    if isinstance(kernel, Radial):
        return lambda products, distances: kernel.profile(distances)
    if isinstance(kernel, Linear):
        return lambda products, distances: products
    if isinstance(kernel, Polynomial):
        return lambda products, distances: kernel.of_inner_products(products)
    if isinstance(kernel, PowerSeries):
        return _after(of_products(kernel._inner()), lambda values: kernel._series(values, 0))
    if isinstance(kernel, Scaled):
        return _after(of_products(kernel.kernel), lambda values: kernel.factor * values)
    if isinstance(kernel, AxisScale) and np.ndim(kernel.scale) == 0:
        inner, factor = of_products(kernel.kernel), 1.0 / float(kernel.scale) ** 2
        return None if inner is None else lambda products, distances: inner(factor * products, factor * distances)
    if isinstance(kernel, (Sum, Product)):
        first, second = of_products(kernel.first), of_products(kernel.second)
        if first is None or second is None:
            return None
        combine = np.add if isinstance(kernel, Sum) else np.multiply
        return lambda products, distances: combine(first(products, distances), second(products, distances))
    return None


def _after(inner: OfProducts | None, outer) -> OfProducts | None:
    return None if inner is None else lambda products, distances: outer(inner(products, distances))
