"""Derivatives of composed and multiplied kernels, to any order.

A *jet* is a callable ``jet(x, y)`` that returns the tensor of all partial derivatives taken ``x`` times in the first
and ``y`` times in the second argument of a kernel, with shape ``(n, m) + (d,) * (x + y)``. Two shortcuts keep it
cheap: ``None`` stands for a tensor of zeros, and a tensor without the leading ``(n, m)`` axes for one that is the
same at every pair of points.

Chain rule and product rule are sums over partitions and over subsets of the slots: one of each serves all kernels.
"""

import math
from collections.abc import Callable, Iterator
from itertools import chain, combinations

import numpy as np

Jet = Callable[[int, int], "np.ndarray | None"]
_FIRST, _SECOND = "abcd", "efgh"


def chain_rule(outer: Callable[[int], np.ndarray], inner: Jet, x: int, y: int) -> np.ndarray:
    """Derivatives of ``t(k(X, Y))`` by Faa di Bruno's formula, with the p-th derivative ``outer(p)`` of t."""
    slots = _slots(x, y)
    total = None
    for partition in _partitions(slots):
        factors = [(inner(*_orders(block)), block) for block in partition]
        total = _plus(total, _outer_product([(outer(len(partition)), ""), *factors], slots))
    return _zeros(outer(0).shape, slots, inner) if total is None else total


def product_rule(left: Jet, right: Jet, x: int, y: int) -> np.ndarray:
    """Derivatives of ``k1(X, Y) * k2(X, Y)``: the sum over all subsets of the slots (Leibniz' rule)."""
    slots = _slots(x, y)
    total = None
    for subset in chain.from_iterable(combinations(slots, size) for size in range(len(slots) + 1)):
        taken = "".join(subset)
        rest = "".join(letter for letter in slots if letter not in subset)
        factors = [(left(*_orders(taken)), taken), (right(*_orders(rest)), rest)]
        total = _plus(total, _outer_product(factors, slots))
    if total is None:
        raise ValueError("both factors of a product vanish identically.")
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


def _outer_product(factors: list[tuple[np.ndarray | None, str]], slots: str) -> np.ndarray | None:
    """The product of tensors over their slots; None if one of them vanishes."""
    operands, subscripts = [], []
    for tensor, block in factors:
        if tensor is None:
            return None
        operands.append(tensor)
        subscripts.append(block if tensor.ndim == len(block) else "nm" + block)
    return np.einsum(f"{','.join(subscripts)}->nm{slots}", *operands)


def _plus(total: np.ndarray | None, term: np.ndarray | None) -> np.ndarray | None:
    return term if total is None else total if term is None else total + term


def _zeros(shape: tuple[int, ...], slots: str, jet: Jet) -> np.ndarray:
    """An identically vanishing derivative in its full shape."""
    gradient = jet(1, 0) if jet(1, 0) is not None else jet(0, 1)
    if gradient is None:
        raise ValueError("a jet without first derivatives does not tell the dimension.")
    return np.zeros(shape + (gradient.shape[-1],) * len(slots))
