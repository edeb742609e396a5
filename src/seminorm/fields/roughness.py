"""What a field is smooth in: sums of semi-norms, the energies of operators whose symbol is a polynomial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ..operators.symbols import polynomial_text

HIGHEST = 3


@dataclass(frozen=True)
class Roughness:
    """sum_m factors[m] |f|_m^2, with |f|_m^2 the sum of squared derivatives of order m = 0, ..., 3, integrated.

    Its symbol is sum_m factors[m] |omega|^(2 m). Polynomials of a degree below the lowest order with a positive factor
    are free.

    Parameters
    ----------
    factors : sequence of at most four numbers
        Not negative, not all zero.

    See Also
    --------
    seminorm.operators.derivatives : Operators to start from.

    Examples
    --------
    >>> from seminorm.fields import Roughness
    >>> from seminorm.operators import derivatives
    >>> tension = Roughness.of(4 * derivatives(1) + derivatives(2))
    >>> tension.factors, tension.lowest, tension.order
    ((0.0, 4.0, 1.0), 1, 2)
    """

    factors: tuple[float, ...]

    def __init__(self, factors: Sequence[float] | np.ndarray):
        kept = tuple(float(factor) for factor in np.trim_zeros(np.asarray(factors, dtype=float), "b"))
        if not (0 < len(kept) <= HIGHEST + 1 and np.isfinite(kept).all() and min(kept) >= 0.0):
            raise ValueError(
                f"factors must be at most {HIGHEST + 1} finite numbers, those of the squared semi-norms of order 0 to "
                f"{HIGHEST}, not negative and not all zero, got {tuple(factors)}."
            )
        object.__setattr__(self, "factors", kept)

    @classmethod
    def of(cls, given: Any) -> Roughness:
        """Of an operator, or of the order of a single semi-norm."""
        if isinstance(given, Roughness):
            return given
        return cls(np.eye(HIGHEST + 1)[given] if isinstance(given, Integral) else _coefficients(given))

    @property
    def lowest(self) -> int:
        """The lowest order that counts: polynomials of a smaller degree are free."""
        return next(order for order, factor in enumerate(self.factors) if factor > 0.0)

    @property
    def order(self) -> int:
        """The highest order."""
        return len(self.factors) - 1

    @property
    def is_single(self) -> bool:
        """Whether it is one semi-norm."""
        return self.lowest == self.order

    @property
    def parts(self) -> list[tuple[int, float]]:
        """The orders that count, with their factors."""
        return [(order, factor) for order, factor in enumerate(self.factors) if factor > 0.0]

    def __str__(self) -> str:
        """In words: the order of a single semi-norm, or the symbol, w for |omega|."""
        return (
            f"order {self.order}"
            if self == Roughness.of(self.order)
            else f"symbol {polynomial_text(np.array(self.factors))}"
        )

    def on_cells(self, dimension: int, spacings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The energy on cells of these sides from those on the unit cell: a common factor (n,), that of the highest
        order, and what the orders are multiplied by beside it (n, order + 1).
        """
        top = self.factors[-1]
        shares = [(factor / top) * spacings ** (2 * (self.order - m)) for m, factor in enumerate(self.factors)]
        return top * spacings ** (dimension - 2 * self.order), np.stack(shares, axis=1)


def _coefficients(operator: Any) -> np.ndarray:
    """Those of the symbol of an operator, as a polynomial in |omega|^2."""
    coefficients = operator.as_polynomial() if hasattr(operator, "as_polynomial") else None
    if coefficients is None:
        raise ValueError(
            f"operator must have a symbol that is a polynomial in |omega|^2, such as 4 * derivatives(1) + "
            f"derivatives(2), got {operator!r}: use seminorm.Smoother with operator.kernel() for any other."
        )
    coefficients = np.trim_zeros(coefficients, "b")
    if len(coefficients) > HIGHEST + 1 or (coefficients < 0.0).any():
        raise ValueError(
            f"operator must be a sum of semi-norms of order 0 to {HIGHEST} with factors that are not negative, got "
            f"{operator!r}: use seminorm.Smoother with operator.kernel() for any other."
        )
    return coefficients


THIN_PLATE = Roughness.of(2)
