"""Derivatives of composed and multiplied kernels, to any order.

A *jet* is a callable ``jet(x, y)`` that returns the tensor of all partial derivatives taken ``x`` times in the first
and ``y`` times in the second argument of a kernel, with shape ``(n, m) + (d,) * (x + y)``. Two shortcuts keep it
cheap: ``None`` stands for a tensor of zeros, and a tensor without the leading ``(n, m)`` axes for one that is the
same at every pair of points.

Chain rule and product rule are sums over partitions and over subsets of the slots, so they are written once here and
serve radial kernels (profile of the squared distance), dot-product kernels (function of the inner product), power
series of kernels, and products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, combinations

import numpy as np

Jet = Callable[[int, int], "np.ndarray | None"]
_FIRST, _SECOND = "abcd", "efgh"


def chain_rule(outer: Callable[[int], np.ndarray], inner: Jet, x: int, y: int) -> np.ndarray:
    """Derivatives of ``t(k(X, Y))``: the sum over all partitions of the slots (Faa di Bruno's formula).

    ``outer(p)`` is the p-th derivative of t at the values of the inner kernel.
    """
    slots = _slots(x, y)
    total = 0.0
    for partition in _partitions(slots):
        blocks = [inner(*_orders(block)) for block in partition]
        if any(block is None for block in blocks):
            continue
        total = total + _outer_product([(outer(len(partition)), "")] + list(zip(blocks, partition, strict=True)), slots)
    return _expand(total, outer(0).shape, slots, inner)


def product_rule(left: Jet, right: Jet, x: int, y: int) -> np.ndarray:
    """Derivatives of ``k1(X, Y) * k2(X, Y)``: the sum over all subsets of the slots (Leibniz' rule)."""
    slots = _slots(x, y)
    total = 0.0
    for subset in chain.from_iterable(combinations(slots, size) for size in range(len(slots) + 1)):
        taken = "".join(subset)
        rest = "".join(letter for letter in slots if letter not in subset)
        factors = left(*_orders(taken)), right(*_orders(rest))
        if any(factor is None for factor in factors):
            continue
        total = total + _outer_product([(factors[0], taken), (factors[1], rest)], slots)
    return total


def squared_distance_jet(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, Jet]:
    """Values and jet of ``|x - y|^2``."""
    difference = X[:, None, :] - Y[None, :, :]
    values = np.einsum("nmi,nmi->nm", difference, difference)
    identity = np.eye(X.shape[1])
    tensors = {(0, 0): values, (1, 0): 2 * difference, (0, 1): -2 * difference}
    tensors |= {(2, 0): 2 * identity, (1, 1): -2 * identity, (0, 2): 2 * identity}
    return values, lambda x, y: tensors.get((x, y))


def inner_product_jet(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, Jet]:
    """Values and jet of ``<x, y>``."""
    values = X @ Y.T
    shape = values.shape + (X.shape[1],)
    tensors = {(0, 0): values, (1, 1): np.eye(X.shape[1])}
    tensors |= {(1, 0): np.broadcast_to(Y[None, :, :], shape), (0, 1): np.broadcast_to(X[:, None, :], shape)}
    return values, lambda x, y: tensors.get((x, y))


def falling_power(exponent: float, times: int) -> float:
    """exponent (exponent - 1) ... (exponent - times + 1), the factor of a ``times``-fold derivative of a power."""
    return math.prod(exponent - i for i in range(times))


def _slots(x: int, y: int) -> str:
    if x > len(_FIRST) or y > len(_SECOND):
        raise ValueError(f"derivatives are available up to {len(_FIRST)} times in each argument, got x={x}, y={y}.")
    return _FIRST[:x] + _SECOND[:y]


def _orders(slots: str) -> tuple[int, int]:
    x = sum(letter in _FIRST for letter in slots)
    return x, len(slots) - x


def _partitions(slots: str) -> Iterator[list[str]]:
    if not slots:
        yield []
        return
    first, rest = slots[0], slots[1:]
    for partition in _partitions(rest):
        yield [first, *partition]
        for i, block in enumerate(partition):
            yield [*partition[:i], first + block, *partition[i + 1 :]]


def _outer_product(factors: list[tuple[np.ndarray, str]], slots: str) -> np.ndarray:
    operands, subscripts = [], []
    for tensor, block in factors:
        constant = tensor.ndim == len(block)
        operands.append(tensor)
        subscripts.append(block if constant else "nm" + block)
    return np.einsum(f"{','.join(subscripts)}->nm{slots}", *operands)


def _expand(total, shape: tuple[int, int], slots: str, inner: Jet) -> np.ndarray:
    """Give an identically vanishing derivative its full shape."""
    if isinstance(total, np.ndarray):
        return total
    dimension = (inner(1, 0) if inner(1, 0) is not None else inner(0, 1)).shape[-1]
    return np.zeros(shape + (dimension,) * len(slots))
