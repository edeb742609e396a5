"""Regularisation operators, given by their symbol: what the squared semi-norm multiplies |f-hat(omega)|^2 by.

|f|^2 = (2 pi)^-d integral symbol(|omega|) |f-hat(omega)|^2 d omega. The sum of squared m-th derivatives has the symbol
|omega|^(2m); sums, products, powers and exponentials of operators are operators again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike

from .._base.parameters import EqualByParameters, in_words
from ..kernels import Kernel
from .closed_forms import of_binomial, of_exponential, of_monomial, of_tension
from .greens import GreensFunction, check_existence, on_circle
from .symbols import check_polynomial, checked_symbol, log_polynomial, power_at, product_text, term
from .transforms import check_dimension

_GRID = np.logspace(-6, 6, 1201)
_ENDS = (np.logspace(-9, -6, 13), np.logspace(6, 9, 13))


class Operator(EqualByParameters):
    """A translation and rotation invariant regularisation operator.

    Parameters
    ----------
    symbol : callable
        Takes frequencies |omega| >= 0 (any shape) and returns what the squared semi-norm multiplies |f-hat|^2 by: not
        negative.
    zero, growth : float, optional
        The powers of |omega| that the symbol follows at 0 (0 if it is positive there) and far out (infinite if it
        grows faster than any power). Left out, they are read off the symbol at frequencies around 1e-9...1e-6 and
        1e6...1e9.

    See Also
    --------
    derivatives : the operators to start from.
    operator_of : the operator behind a kernel.

    Examples
    --------
    >>> from seminorm.operators import Operator, derivatives
    >>> (1 + derivatives(1)).kernel(dimension=1)  # of |f|^2 + |f'|^2
    Scaled(kernel=Laplacian(scale=1.0), factor=0.5)
    >>> Operator(lambda omega: 1 + omega**3).growth
    3.0
    """

    symbol: Callable[..., np.ndarray]
    #: whether the symbol itself is computed by quadrature, and so less accurate than a formula
    by_quadrature = False

    def __init__(self, symbol: Callable[..., np.ndarray], zero: float | None = None, growth: float | None = None):
        self.symbol = symbol
        if not callable(symbol):
            raise TypeError(f"symbol must be a callable of |omega|, got {symbol!r}; numbers are operators already.")
        values = checked_symbol(symbol, _GRID)
        if not (values > 0).any():
            raise ValueError("symbol must be positive somewhere: this one is zero at all frequencies from 1e-6 to 1e6.")
        self._zero = power_at(symbol, _ENDS[0], "zero") if zero is None else float(zero)
        self._growth = power_at(symbol, _ENDS[1], "growth") if growth is None else float(growth)

    @property
    def zero(self) -> float:
        """The power of |omega| that the symbol follows at 0."""
        return self._zero

    @property
    def growth(self) -> float:
        """The power of |omega| that the symbol follows far out."""
        return self._growth

    def __repr__(self) -> str:
        return in_words(self)

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        """1 / symbol: the spectrum of the kernel."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / self.symbol(np.asarray(omega, dtype=float))

    def as_monomial(self) -> tuple[float, float] | None:
        """(c, p) if the symbol is known to be c |omega|^p."""
        return None

    def closed_form(self, dimension: int) -> Kernel | None:
        """The kernel in R^d, if a formula is known."""
        return None

    def kernel(self, dimension: int | None = None, *, period: float | None = None, accuracy: float = 1e-10) -> Kernel:
        """The kernel whose semi-norm this is: the Green's function of the operator [Smola et al. 1998, proposition 1].

        Parameters
        ----------
        dimension : int, optional
            Of the inputs; left out, it follows the data.
        period : float, optional
            For functions on a circle of this length (the inputs then have one column). Frequencies on which the symbol
            vanishes have no part in the kernel; the constant is then left free.
        accuracy : float
            Of kernels that have no closed form and are tabulated, relative to their largest value nearby.

        Returns
        -------
        Kernel
        """
        if period is not None:
            if dimension not in (None, 1):
                raise ValueError(f"period makes a kernel on the circle, whose dimension is 1, got {dimension!r}.")
            return on_circle(self, period, accuracy)
        if dimension is None:
            return GreensFunction(self, None, accuracy)
        dimension = check_dimension(dimension)
        check_existence(self, dimension)
        closed = self.closed_form(dimension)
        return GreensFunction(self, dimension, accuracy) if closed is None else closed

    def exp(self) -> Operator:
        """The operator whose symbol is the exponential of this one's."""
        return Exponential(self)

    def __add__(self, other: Operator | float) -> Operator:
        added = as_operator(other)
        if isinstance(self, Multiplier) and isinstance(added, Multiplier):
            mine, theirs = self.as_polynomial(), added.as_polynomial()
            if mine is not None and theirs is not None:
                return Multiplier(tuple(polynomial.polyadd(mine, theirs).tolist()))
        return added if added is NotImplemented else OperatorSum(self, added)

    def __mul__(self, other: Operator | float) -> Operator:
        factor = as_operator(other)
        if factor is NotImplemented:
            return factor
        if isinstance(self, Multiplier) and isinstance(factor, Multiplier):
            return self.times(factor)
        (mine, first), (theirs, second) = _base_and_power(self), _base_and_power(factor)
        return mine ** (first + second) if mine == theirs else OperatorProduct(self, factor)

    def __sub__(self, other: object) -> Operator:
        raise ValueError(
            f"operators cannot be subtracted, got {self!r} - {other!r}: symbols are sums with positive factors."
        )

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Operator | float) -> Operator:
        divisor = as_operator(other)
        return divisor if divisor is NotImplemented else self * divisor**-1

    def __rtruediv__(self, other: float) -> Operator:
        return as_operator(other) * self**-1

    def __pow__(self, exponent: float) -> Operator:
        base, power = _base_and_power(self)
        product = power * _finite(exponent)
        return base if product == 1 else OperatorPower(base, product)


class Multiplier(Operator):
    """Products of powers of polynomials in |omega|^2, times the exponential of one.

    ``coefficients`` and ``exponential`` are those of 1, |omega|^2, |omega|^4, ...; ``others`` are further factors,
    pairs (coefficients, exponent).
    """

    def __init__(
        self,
        coefficients: Sequence[float] = (1.0,),
        exponent: float = 1.0,
        exponential: Sequence[float] = (0.0,),
        others: Sequence[tuple[Sequence[float], float]] = (),
    ):
        self.coefficients, self.exponent, self.exponential, self.others = coefficients, exponent, exponential, others
        for factor, power in self.factors():
            check_polynomial(factor, power)

    def factors(self) -> list[tuple[np.ndarray, float]]:
        """The polynomials with their powers."""
        pairs = [(self.coefficients, self.exponent), *self.others]
        return [(polynomial.polytrim(np.asarray(c, dtype=float)), float(p)) for c, p in pairs if p != 0]

    @property
    def zero(self) -> float:
        return math.fsum(2.0 * np.flatnonzero(c)[0] * p for c, p in self.factors())

    @property
    def growth(self) -> float:
        leading = polynomial.polytrim(self.exponential)
        if len(leading) > 1:
            return math.copysign(math.inf, leading[-1])
        return math.fsum(2.0 * (len(c) - 1) * p for c, p in self.factors())

    def symbol(self, omega: ArrayLike) -> np.ndarray:
        return self._evaluated(omega, 1.0)

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        return self._evaluated(omega, -1.0)

    def _evaluated(self, omega: ArrayLike, sign: float) -> np.ndarray:
        t = np.asarray(omega, dtype=float) ** 2
        exponent = sign * polynomial.polyval(t, np.asarray(self.exponential, dtype=float))
        with np.errstate(divide="ignore", over="ignore"):
            if len(polynomial.polytrim(self.exponential)) > 1:  # by logarithms: one factor may vanish, another overflow
                logarithms = [sign * p * log_polynomial(t, c) for c, p in self.factors()]
                return np.exp(sum(logarithms, exponent))
            values = np.exp(exponent)
            for coefficients, power in self.factors():
                values = values * polynomial.polyval(t, coefficients) ** (sign * power)
        return values

    def as_polynomial(self) -> np.ndarray | None:
        """Coefficients of 1, |omega|^2, ... if the symbol is a polynomial."""
        if len(polynomial.polytrim(self.exponential)) > 1:
            return None
        product = np.array([math.exp(self.exponential[0])])
        for coefficients, power in self.factors():
            if power < 0 or power != int(power):
                return None
            product = polynomial.polymul(product, polynomial.polypow(coefficients, int(power)))
        return product

    def as_monomial(self) -> tuple[float, float] | None:
        """(c, p) if the symbol is c |omega|^p."""
        if len(polynomial.polytrim(self.exponential)) > 1 or any(np.count_nonzero(c) > 1 for c, _ in self.factors()):
            return None
        factor = math.exp(self.exponential[0]) * math.prod(
            float(c[np.flatnonzero(c)[0]]) ** p for c, p in self.factors()
        )
        return factor, self.growth

    def closed_form(self, dimension: int) -> Kernel | None:
        monomial = self.as_monomial()
        if monomial is not None:
            return of_monomial(*monomial, dimension)
        exponential = np.trim_zeros(np.asarray(self.exponential, dtype=float), "b")
        factors = self.factors()
        at_zero = float(self.spectrum(0.0))
        if len(exponential) == 2 and all(len(c) == 1 for c, _ in factors):
            return of_exponential(float(exponential[1]), at_zero, dimension)
        if len(exponential) <= 1 and len(factors) == 1 and len(factors[0][0]) == 2:
            (low, high), power = factors[0]
            return of_binomial(float(low), float(high), power, at_zero, dimension)
        symbol = self.as_polynomial()
        if symbol is not None and len(symbol) == 3 and symbol[0] == 0.0 and (symbol[1:] > 0.0).all():
            return of_tension(float(symbol[1]), float(symbol[2]), dimension)
        return None

    def times(self, other: Multiplier) -> Multiplier:
        """The product, with equal factors merged."""
        merged: dict[tuple[float, ...], float] = {}
        constant = 0.0
        for coefficients, power in self.factors() + other.factors():
            leading = abs(coefficients[-1])
            constant += power * math.log(leading)
            key = tuple((coefficients / leading).tolist())
            merged[key] = merged.get(key, 0.0) + power
        exponential = np.asarray(polynomial.polyadd(self.exponential, other.exponential), dtype=float)
        exponential[0] += constant
        pairs = [(c, p) for c, p in merged.items() if p != 0 and c != (1.0,)]
        (first, power), *rest = pairs or [((1.0,), 1.0)]
        return Multiplier(first, power, tuple(exponential.tolist()), tuple(rest))

    def exp(self) -> Operator:
        inner = self.as_polynomial()
        return Exponential(self) if inner is None else Multiplier(exponential=tuple(inner.tolist()))

    def __pow__(self, exponent: float) -> Operator:
        exponent = _finite(exponent)
        exponential = tuple((exponent * np.asarray(self.exponential, dtype=float)).tolist())
        others = tuple((c, p * exponent) for c, p in self.others)
        return Multiplier(self.coefficients, self.exponent * exponent, exponential, others)

    def __repr__(self) -> str:
        return f"Operator<{self.formula()}>"

    def formula(self) -> str:
        """The symbol in letters, w for |omega|."""
        monomial = self.as_monomial()
        if monomial is not None:
            return term(*monomial)
        return product_text(self.factors(), np.asarray(self.exponential, dtype=float))


class OperatorPair(Operator):
    """Base of the operators made of two others."""

    def __init__(self, first: Operator, second: Operator):
        self.first, self.second = first, second


class OperatorSum(OperatorPair):
    """first + second: both penalties together."""

    @property
    def zero(self) -> float:
        return min(self.first.zero, self.second.zero)

    @property
    def growth(self) -> float:
        return max(self.first.growth, self.second.growth)

    def symbol(self, omega: ArrayLike) -> np.ndarray:
        return self.first.symbol(omega) + self.second.symbol(omega)


class OperatorProduct(OperatorPair):
    """first times second: one penalty after the other."""

    @property
    def zero(self) -> float:
        return self.first.zero + self.second.zero

    @property
    def growth(self) -> float:
        powers = self.first.growth, self.second.growth
        if math.inf in powers and -math.inf in powers:
            raise ValueError(
                "the product of an operator that grows and one that decays faster than any power has no known growth: "
                "write it as one Operator(symbol, zero=..., growth=...)."
            )
        return sum(powers)

    def symbol(self, omega: ArrayLike) -> np.ndarray:
        return self.first.symbol(omega) * self.second.symbol(omega)

    def spectrum(self, omega: ArrayLike) -> np.ndarray:
        return self.first.spectrum(omega) * self.second.spectrum(omega)


class OperatorPower(Operator):
    """A power of an operator; negative ones are the inverse and only of use within products."""

    def __init__(self, base: Operator, exponent: float):
        self.base, self.exponent = base, exponent

    @property
    def zero(self) -> float:
        return self.exponent * self.base.zero

    @property
    def growth(self) -> float:
        return self.exponent * self.base.growth

    def symbol(self, omega: ArrayLike) -> np.ndarray:
        return self.spectrum(omega, -1.0)

    def spectrum(self, omega: ArrayLike, sign: float = 1.0) -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore"):
            return self.base.spectrum(omega) ** (sign * self.exponent)


class Exponential(Operator):
    """The exponential of an operator that is not a polynomial."""

    zero = 0.0

    def __init__(self, base: Operator):
        self.base = base

    @property
    def growth(self) -> float:
        return math.inf if self.base.growth > 0 else 0.0

    def symbol(self, omega: ArrayLike) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(self.base.symbol(omega))


def _base_and_power(operator: Operator) -> tuple[Operator, float]:
    return (operator.base, operator.exponent) if isinstance(operator, OperatorPower) else (operator, 1.0)


def derivatives(order: int) -> Multiplier:
    """The sum of all squared derivatives of the given order, integrated: the symbol |omega|^(2 order).

    Order 0 is the integral of f^2, and numbers stand for multiples of it: ``1 + derivatives(1)``.

    Parameters
    ----------
    order : int
        From 0 on.

    Returns
    -------
    Operator

    See Also
    --------
    Operator, operator_of

    Examples
    --------
    >>> from seminorm.operators import derivatives
    >>> 1 + 2 * derivatives(1) + derivatives(2)
    Operator<1 + 2 w^2 + w^4>
    """
    if not (isinstance(order, (int, np.integer)) and order >= 0):
        raise ValueError(f"order must be an integer from 0 on, got {order!r}; powers of operators may be fractions.")
    return Multiplier((0.0,) * int(order) + (1.0,))


def as_operator(other: Any) -> Any:
    """Operators as they are, positive numbers as multiples of the identity, NotImplemented for anything else."""
    if isinstance(other, Operator):
        return other
    if isinstance(other, Real):
        if not 0.0 < float(other) < math.inf:
            raise ValueError(f"an operator can be combined with positive numbers, got {other!r}.")
        return Multiplier((float(other),))
    return NotImplemented


def _finite(exponent: float) -> float:
    if not (isinstance(exponent, Real) and math.isfinite(exponent)):
        raise TypeError(f"exponent must be a finite number, got {exponent!r}.")
    return float(exponent)
