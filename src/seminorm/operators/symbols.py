"""Symbols: their values checked, their powers at both ends, and polynomials in |omega|^2."""

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import polynomial

_SLOPE_TOLERANCE = 1e-3


def checked_symbol(symbol: Callable[..., np.ndarray], omega: np.ndarray) -> np.ndarray:
    """The values of a symbol, refused where they are not those of one."""
    with np.errstate(over="ignore", divide="ignore"):
        values = np.asarray(symbol(omega), dtype=float)
    if values.shape != omega.shape:
        raise ValueError(
            f"symbol must return one value per frequency, shape {omega.shape}, got shape {values.shape}: write it "
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


def power_at(symbol: Callable[..., np.ndarray], omega: np.ndarray, name: str) -> float:
    """The slope of log symbol against log omega: the parameter ``name`` of an operator."""
    values = checked_symbol(symbol, omega)
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


def log_polynomial(t: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """The logarithm of a polynomial at t >= 0, also where the polynomial overflows."""
    large = t > 1.0
    inverse = 1.0 / np.where(large, t, 1.0)
    far = (len(coefficients) - 1) * -np.log(inverse) + np.log(polynomial.polyval(inverse, coefficients[::-1]))
    return np.where(large, far, np.log(polynomial.polyval(np.where(large, 1.0, t), coefficients)))


def check_polynomial(coefficients: np.ndarray, exponent: float) -> None:
    """Refuse polynomials of |omega|^2 whose power is negative somewhere."""
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
            f"symbol must not be negative, and {polynomial_text(coefficients)} is {values[worst]:.3g} at |omega| = "
            f"{math.sqrt(between[worst]):.3g}: a semi-norm adds up what it penalises."
        )


def polynomial_text(coefficients: np.ndarray) -> str:
    """The polynomial in letters, w for |omega|."""
    terms = [term(c, 2 * j) for j, c in enumerate(coefficients) if c != 0]
    return " + ".join(terms).replace("+ -", "- ")


def term(factor: float, power: float) -> str:
    """factor w^power in letters."""
    if power == 0:
        return f"{factor:.6g}"
    letter = "w" if power == 1 else f"w^{power:.6g}"
    return letter if math.isclose(factor, 1.0) else f"{factor:.6g} {letter}"


def product_text(factors: list[tuple[np.ndarray, float]], exponential: np.ndarray) -> str:
    """Powers of polynomials times the exponential of one, in letters."""
    pieces = []
    factor = math.exp(exponential[0])
    if not math.isclose(factor, 1.0):
        pieces.append(f"{factor:.6g}")
    for coefficients, power in factors:
        text = polynomial_text(coefficients)
        pieces.append(text if power == 1 and np.count_nonzero(coefficients) == 1 else f"({text})")
        pieces[-1] += "" if power == 1 else f"^{power:.6g}"
    if len(polynomial.polytrim(exponential)) > 1:
        pieces.append(f"exp({polynomial_text(np.r_[0.0, exponential[1:]])})")
    pieces = [piece for piece in pieces if piece not in ("1", "(1)")] or ["1"]
    if len(pieces) == 1 and pieces[0].startswith("(") and pieces[0].endswith(")"):
        return pieces[0][1:-1]
    return " ".join(pieces)
