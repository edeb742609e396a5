"""Regularisation operators, given by their symbol: what the squared semi-norm multiplies |f-hat(omega)|^2 by.

|f|^2 = (2 pi)^-d integral symbol(|omega|) |f-hat(omega)|^2 d omega. The sum of squared m-th derivatives has the symbol
|omega|^(2m); sums, products, powers and exponentials of operators are operators again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real

import numpy as np
from numpy.polynomial import polynomial
from sklearn.base import BaseEstimator

from .._equality import EqualByParameters

_GRID = np.logspace(-6, 6, 1201)
_ENDS = (np.logspace(-9, -6, 13), np.logspace(6, 9, 13))
_SLOPE_TOLERANCE = 1e-3


class Operator(EqualByParameters, BaseEstimator):
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

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.operators import Operator, derivatives
    >>> sobolev = 1 + derivatives(1)  # |f|^2 + |f'|^2
    >>> sobolev.kernel(dimension=1)
    Scaled(kernel=Laplacian(scale=1.0), factor=0.5)
    >>> derivatives(2).kernel(dimension=2)
    Polyharmonic(m=2, dimension=2)
    >>> Operator(lambda omega: 1 + np.abs(omega) ** 3).growth
    3.0
    """

    def __init__(self, symbol: Callable, zero: float | None = None, growth: float | None = None):
        self.symbol = symbol
        self.zero = zero
        self.growth = growth
        if not callable(symbol):
            raise TypeError(f"symbol must be a callable of |omega|, got {symbol!r}; numbers are operators already.")
        values = self._checked(_GRID)
        if not (values > 0).any():
            raise ValueError("symbol must be positive somewhere: this one is zero at all frequencies from 1e-6 to 1e6.")
        self.zero = self._power_at(_ENDS[0], "zero") if zero is None else float(zero)
        self.growth = self._power_at(_ENDS[1], "growth") if growth is None else float(growth)

    def spectrum(self, omega) -> np.ndarray:
        """1 / symbol: the spectrum of the kernel."""
        with np.errstate(divide="ignore", over="ignore"):
            return 1.0 / self.symbol(np.asarray(omega, dtype=float))

    def kernel(self, dimension: int | None = None, *, period: float | None = None, accuracy: float = 1e-10):
        """The kernel whose semi-norm this is: the Green's function of the operator (seed 003, proposition 1).

        Parameters
        ----------
        dimension : int, optional
            Of the inputs; left out, it follows the data.
        period : float, optional
            For functions on a circle of this length (the inputs then have one column). Frequencies on which the symbol
            vanishes have no part in the kernel; the constant is then left free.
        accuracy : float
            Of kernels that have no closed form and are tabulated, relative to their largest value nearby.
        """
        from .greens import greens_function, on_circle

        if period is not None:
            if dimension not in (None, 1):
                raise ValueError(f"period makes a kernel on the circle, whose dimension is 1, got {dimension!r}.")
            return on_circle(self, period, accuracy)
        return greens_function(self, dimension, accuracy)

    def exp(self) -> Operator:
        """The operator whose symbol is the exponential of this one's."""
        return Exponential(self)

    def __add__(self, other):
        other = as_operator(other)
        if other is NotImplemented:
            return other
        if isinstance(self, Multiplier) and isinstance(other, Multiplier):
            mine, theirs = self.as_polynomial(), other.as_polynomial()
            if mine is not None and theirs is not None:
                return Multiplier(polynomial.polyadd(mine, theirs))
        return OperatorSum(self, other)

    def __mul__(self, other):
        other = as_operator(other)
        if other is NotImplemented:
            return other
        if isinstance(self, Multiplier) and isinstance(other, Multiplier):
            return self.times(other)
        (mine, first), (theirs, second) = _base_and_power(self), _base_and_power(other)
        return mine ** (first + second) if mine == theirs else OperatorProduct(self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other):
        other = as_operator(other)
        return other if other is NotImplemented else self * other**-1

    def __rtruediv__(self, other):
        return as_operator(other) * self**-1

    def __pow__(self, exponent):
        if not (isinstance(exponent, Real) and math.isfinite(exponent)):
            raise TypeError(f"exponent must be a finite number, got {exponent!r}.")
        base, power = _base_and_power(self)
        return base if power * exponent == 1 else OperatorPower(base, float(power * exponent))

    def _checked(self, omega: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", divide="ignore"):
            values = np.asarray(self.symbol(omega), dtype=float)
        if values.shape != omega.shape:
            raise ValueError(
                f"symbol must return one value a frequency, shape {omega.shape}, got shape {values.shape}: write it "
                "with NumPy functions."
            )
        if np.isnan(values).any():
            raise ValueError(f"symbol is not a number at |omega| = {omega[np.isnan(values)][0]:.3g}.")
        if (values < 0).any():
            worst = int(np.argmin(values))
            raise ValueError(
                f"symbol must not be negative, and it is {values[worst]:.3g} at |omega| = {omega[worst]:.3g}: a "
                "semi-norm adds up what it penalises."
            )
        return values

    def _power_at(self, omega: np.ndarray, name: str) -> float:
        """The slope of log symbol against log omega."""
        values = self._checked(omega)
        if name == "growth" and np.isinf(values).any():
            return math.inf
        if name == "zero" and (values == 0).any():
            raise ValueError(
                "symbol vanishes on an interval around 0, or faster than any power: give zero=, the power of |omega| "
                "that it follows there."
            )
        slopes = np.diff(np.log(values)) / np.diff(np.log(omega))
        if np.ptp(slopes) > _SLOPE_TOLERANCE * max(1.0, np.abs(slopes).max()):
            where = "at 0" if name == "zero" else "far out"
            raise ValueError(
                f"symbol follows no power of |omega| {where} (slopes from {slopes.min():.3g} to {slopes.max():.3g}): "
                f"give {name}=, the power that bounds it."
            )
        return round(float(slopes.mean()), 2)


class Multiplier(Operator):
    """Products of powers of polynomials in |omega|^2, times the exponential of one.

    Parameters
    ----------
    coefficients : sequence of float
        Of 1, |omega|^2, |omega|^4, ...
    exponent : float
        Power of that polynomial.
    exponential : sequence of float
        Coefficients of the polynomial in the exponential, in the same way.
    others : sequence of pairs (coefficients, exponent)
        Further factors.
    """

    def __init__(
        self,
        coefficients: Sequence[float] = (1.0,),
        exponent: float = 1.0,
        exponential: Sequence[float] = (0.0,),
        others: Sequence[tuple[Sequence[float], float]] = (),
    ):
        self.coefficients = coefficients
        self.exponent = exponent
        self.exponential = exponential
        self.others = others
        for factor, power in self.factors():
            _check_polynomial(factor, power)

    def factors(self) -> list[tuple[np.ndarray, float]]:
        """The polynomials with their powers."""
        pairs = [(self.coefficients, self.exponent), *self.others]
        return [(polynomial.polytrim(np.asarray(c, dtype=float)), float(p)) for c, p in pairs if p != 0]

    @property
    def zero(self) -> float:
        return sum(2.0 * np.flatnonzero(c)[0] * p for c, p in self.factors())

    @property
    def growth(self) -> float:
        leading = polynomial.polytrim(self.exponential)
        if len(leading) > 1:
            return math.copysign(math.inf, leading[-1])
        return sum(2.0 * (len(c) - 1) * p for c, p in self.factors())

    def symbol(self, omega) -> np.ndarray:
        """The symbol at frequencies |omega|."""
        return self._evaluated(omega, 1.0)

    def spectrum(self, omega) -> np.ndarray:
        return self._evaluated(omega, -1.0)

    def _evaluated(self, omega, sign: float) -> np.ndarray:
        t = np.asarray(omega, dtype=float) ** 2
        exponent = sign * polynomial.polyval(t, np.asarray(self.exponential, dtype=float))
        with np.errstate(divide="ignore", over="ignore"):
            if len(polynomial.polytrim(self.exponential)) > 1:  # by logarithms: one factor may vanish, another overflow
                logarithms = [sign * p * _log_polynomial(t, c) for c, p in self.factors()]
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

    def times(self, other: Multiplier) -> Multiplier:
        """The product, with equal factors merged."""
        merged: dict[tuple[float, ...], float] = {}
        constant = 0.0
        for coefficients, power in self.factors() + other.factors():
            leading = abs(coefficients[-1])
            constant += power * math.log(leading)
            key = tuple((coefficients / leading).tolist())
            merged[key] = merged.get(key, 0.0) + power
        exponential = polynomial.polyadd(self.exponential, other.exponential)
        exponential[0] += constant
        pairs = [(c, p) for c, p in merged.items() if p != 0 and c != (1.0,)]
        (first, power), *rest = pairs or [((1.0,), 1.0)]
        return Multiplier(first, power, tuple(exponential.tolist()), tuple(rest))

    def exp(self) -> Operator:
        inner = self.as_polynomial()
        return Exponential(self) if inner is None else Multiplier(exponential=tuple(inner.tolist()))

    def __pow__(self, exponent):
        if not (isinstance(exponent, Real) and math.isfinite(exponent)):
            raise TypeError(f"exponent must be a finite number, got {exponent!r}.")
        exponential = tuple((exponent * np.asarray(self.exponential, dtype=float)).tolist())
        others = tuple((c, p * exponent) for c, p in self.others)
        return Multiplier(self.coefficients, self.exponent * exponent, exponential, others)

    def __repr__(self):
        return f"Operator<{self.formula()}>"

    def formula(self) -> str:
        """The symbol in letters, w for |omega|."""
        monomial = self.as_monomial()
        if monomial is not None:
            factor, power = monomial
            return _term(factor, power)
        pieces = []
        factor = math.exp(self.exponential[0])
        if not math.isclose(factor, 1.0):
            pieces.append(f"{factor:.6g}")
        for coefficients, power in self.factors():
            text = _polynomial_text(coefficients)
            pieces.append(text if power == 1 and np.count_nonzero(coefficients) == 1 else f"({text})")
            pieces[-1] += "" if power == 1 else f"^{power:.6g}"
        if len(polynomial.polytrim(self.exponential)) > 1:
            pieces.append(f"exp({_polynomial_text(np.r_[0.0, self.exponential[1:]])})")
        pieces = [piece for piece in pieces if piece not in ("1", "(1)")] or ["1"]
        if len(pieces) == 1 and pieces[0].startswith("(") and pieces[0].endswith(")"):
            return pieces[0][1:-1]
        return " ".join(pieces)


class OperatorSum(Operator):
    """first + second: both penalties together."""

    def __init__(self, first: Operator, second: Operator):
        self.first = first
        self.second = second

    zero = property(lambda self: min(self.first.zero, self.second.zero))
    growth = property(lambda self: max(self.first.growth, self.second.growth))

    def symbol(self, omega):
        return self.first.symbol(omega) + self.second.symbol(omega)


class OperatorProduct(Operator):
    """first times second: one penalty after the other."""

    def __init__(self, first: Operator, second: Operator):
        self.first = first
        self.second = second

    zero = property(lambda self: self.first.zero + self.second.zero)

    @property
    def growth(self):
        powers = self.first.growth, self.second.growth
        if math.inf in powers and -math.inf in powers:
            raise ValueError(
                "the product of an operator that grows and one that decays faster than any power has no known growth: "
                "write it as one Operator(symbol, zero=..., growth=...)."
            )
        return sum(powers)

    def symbol(self, omega):
        return self.first.symbol(omega) * self.second.symbol(omega)

    def spectrum(self, omega):
        return self.first.spectrum(omega) * self.second.spectrum(omega)


class OperatorPower(Operator):
    """A power of an operator; negative ones are the inverse and only of use within products."""

    def __init__(self, base: Operator, exponent: float):
        self.base = base
        self.exponent = exponent

    zero = property(lambda self: self.exponent * self.base.zero)
    growth = property(lambda self: self.exponent * self.base.growth)

    def symbol(self, omega):
        return self.spectrum(omega, -1.0)

    def spectrum(self, omega, sign: float = 1.0):
        with np.errstate(divide="ignore", over="ignore"):
            return self.base.spectrum(omega) ** (sign * self.exponent)


class Exponential(Operator):
    """The exponential of an operator that is not a polynomial."""

    def __init__(self, base: Operator):
        self.base = base

    zero = property(lambda self: 0.0)
    growth = property(lambda self: math.inf if self.base.growth > 0 else 0.0)

    def symbol(self, omega):
        with np.errstate(over="ignore"):
            return np.exp(self.base.symbol(omega))


def _log_polynomial(t: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """The logarithm of a polynomial at t >= 0, also where the polynomial overflows."""
    large = t > 1.0
    inverse = 1.0 / np.where(large, t, 1.0)
    far = (len(coefficients) - 1) * -np.log(inverse) + np.log(polynomial.polyval(inverse, coefficients[::-1]))
    return np.where(large, far, np.log(polynomial.polyval(np.where(large, 1.0, t), coefficients)))


def _base_and_power(operator: Operator) -> tuple[Operator, float]:
    return (operator.base, operator.exponent) if isinstance(operator, OperatorPower) else (operator, 1.0)


def derivatives(order: int) -> Multiplier:
    """The sum of all squared derivatives of the given order, integrated: the symbol |omega|^(2 order).

    Order 0 is the integral of f^2, and numbers stand for multiples of it: ``1 + derivatives(1)``.
    """
    if not (isinstance(order, (int, np.integer)) and order >= 0):
        raise ValueError(f"order must be an integer from 0 on, got {order!r}; powers of operators may be fractions.")
    return Multiplier((0.0,) * int(order) + (1.0,))


def as_operator(other):
    """Operators as they are, positive numbers as multiples of the identity."""
    if isinstance(other, Operator):
        return other
    if isinstance(other, Real):
        if not (math.isfinite(other) and other > 0):
            raise ValueError(f"an operator can be combined with positive numbers, got {other!r}.")
        return Multiplier((float(other),))
    return NotImplemented


def _check_polynomial(coefficients: np.ndarray, exponent: float) -> None:
    if not np.isfinite(coefficients).all() or not coefficients.any():
        raise ValueError(f"coefficients must be finite and not all zero, got {coefficients!r}.")
    if exponent == int(exponent) and exponent % 2 == 0:
        return
    roots = polynomial.polyroots(coefficients)
    cuts = np.sort(roots.real[(np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0)])
    between = np.concatenate([[0.0], 0.5 * (cuts[1:] + cuts[:-1]), [2.0 * cuts[-1] if len(cuts) else 1.0]])
    between = np.append(between, 0.5 * cuts[0]) if len(cuts) else between
    values = polynomial.polyval(between, coefficients)
    if (values < 0).any():
        worst = int(np.argmin(values))
        raise ValueError(
            f"symbol must not be negative, and {_polynomial_text(coefficients)} is {values[worst]:.3g} at |omega| = "
            f"{math.sqrt(between[worst]):.3g}: a semi-norm adds up what it penalises."
        )


def _polynomial_text(coefficients: np.ndarray) -> str:
    terms = [_term(c, 2 * j) for j, c in enumerate(coefficients) if c != 0]
    return " + ".join(terms).replace("+ -", "- ")


def _term(factor: float, power: float) -> str:
    if power == 0:
        return f"{factor:.6g}"
    letter = "w" if power == 1 else f"w^{power:.6g}"
    return letter if math.isclose(factor, 1.0) else f"{factor:.6g} {letter}"
