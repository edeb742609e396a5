"""What the parameters of FieldSmoother may be."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..fields.anisotropy import ANISOTROPIES, Anisotropy
from ..fields.families import FAMILIES
from ..fields.robust import NEEDS
from ..fields.roughness import THIN_PLATE, Roughness
from ..losses import loss_named
from ..operators import Operator
from .settling import with_column_numbers

if TYPE_CHECKING:
    from .field_smoother import FieldSmoother

_CRITERIA = ("auto", "reml", "robust_gcv", "gcv", "holdout")


def energy_of(smoother: FieldSmoother) -> tuple[Roughness, str | None]:
    """What alpha multiplies, or the family among which the observations choose."""
    if smoother.order is not None or smoother.operator is None:
        return Roughness.of(2 if smoother.order is None else smoother.order), None
    if not isinstance(smoother.operator, str):
        return Roughness.of(smoother.operator), None
    return THIN_PLATE, smoother.operator if smoother.alpha == "auto" else None


def anisotropy_of(smoother: FieldSmoother) -> Anisotropy | str | None:
    """What is to be chosen, or the map that is given."""
    given = smoother.anisotropy
    return given if given is None or isinstance(given, str) else Anisotropy(np.asarray(given, dtype=float))


def _check_anisotropy(smoother: FieldSmoother) -> None:
    given = smoother.anisotropy
    if given is None:
        return
    if smoother.period is not None:
        raise ValueError("give period or anisotropy, not both: axes that close up are not mapped.")
    if isinstance(given, str):
        if given not in ANISOTROPIES:
            names = ", ".join(map(repr, ANISOTROPIES))
            raise ValueError(f"anisotropy must be None, {names} or an array (d, d), got {given!r}.")
        if smoother.alpha != "auto":
            raise ValueError(
                f"anisotropy={given!r} is chosen together with alpha: leave alpha out, or give an array (d, d) as "
                f"anisotropy beside alpha={smoother.alpha!r}."
            )
        return
    axes = np.asarray(given, dtype=float)
    if axes.ndim != 2 or axes.shape[0] != axes.shape[1] or not np.isfinite(axes).all() or not np.linalg.det(axes):
        raise ValueError(f"anisotropy must be an invertible array (d, d), got {given!r}.")


def check_parameters(smoother: FieldSmoother) -> None:
    alpha, depth = smoother.alpha, smoother.depth
    if isinstance(alpha, str) and alpha != "auto" and alpha in _CRITERIA:
        raise ValueError(f'alpha must be "auto" or a positive number: use alpha="auto", criterion={alpha!r}.')
    if not (alpha == "auto" if isinstance(alpha, str) else _is_number(alpha, 0.0) and alpha > 0):
        raise ValueError(f'alpha must be "auto" or a positive number, got {alpha!r}.')
    if smoother.criterion not in _CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(map(repr, _CRITERIA))}, got {smoother.criterion!r}.")
    if smoother.order not in (None, 1, 2, 3):
        raise ValueError(f"order must be 1, 2, 3 or None, got {smoother.order!r}.")
    loss_named(smoother.loss, needs=NEEDS)
    if not (smoother.null_space is None or callable(smoother.null_space)):
        raise TypeError(f"null_space must be a function of points or None, got {smoother.null_space!r}.")
    _check_operator(smoother)
    if smoother.degree not in (None, 2, 3):
        raise ValueError(f"degree must be 2 or 3, got {smoother.degree!r}.")
    if depth != "auto" and not (isinstance(depth, Integral) and 0 <= int(depth) <= 30):
        raise ValueError(f'depth must be "auto" or an integer from 0 to 30, got {depth!r}.')
    if isinstance(smoother.scale, str):
        if smoother.scale != "auto":
            raise ValueError(f'scale must be "auto" or positive, got {smoother.scale!r}.')
    elif not _is_positive(smoother.scale):
        raise ValueError(f"scale must be positive, got {smoother.scale!r}.")
    _check_anisotropy(smoother)
    for name, low in (("margin", 0), ("tol", 0), ("max_iter", 1), ("std_samples", 1)):
        value = getattr(smoother, name)
        if not (_is_number(value, low) or (name == "margin" and value is None)):
            raise ValueError(f"{name} must be a number not below {low}, got {value!r}.")
    if smoother.memory_limit is not None and not smoother.memory_limit > 0:
        raise ValueError(f"memory_limit must be a positive number of bytes or None, got {smoother.memory_limit!r}.")


def periods_of(period: Any, names: Any, dimension: int | None = None) -> dict[int, float] | None:
    """The lengths of the axes that close up, by the numbers of their columns."""
    if period is None:
        return None
    if not isinstance(period, Mapping) and np.ndim(period) == 0 and dimension is not None and dimension > 1:
        raise ValueError(
            f"period={period!r} does not say which of {dimension} axes closes up: name it, as in {{0: {period!r}}} or "
            f"[{period!r}{', None' * (dimension - 1)}]."
        )
    if isinstance(period, Mapping):
        numbers = with_column_numbers(list(period), names)
        pairs = list(zip(numbers, period.values(), strict=True))
    else:
        pairs = list(enumerate([period] if np.ndim(period) == 0 else period))
    found = {column: value for column, value in pairs if value is not None}
    if not (found and all(isinstance(column, Integral) and int(column) >= 0 for column in found)):
        raise ValueError(f"period must name at least one column, as in {{0: 360.0}} or [360.0, None], got {period!r}.")
    if not all(_is_number(value, 0.0) and value > 0 for value in found.values()):
        raise ValueError(f"period must be positive numbers (None for an axis that does not close up), got {period!r}.")
    return {int(column): float(value) for column, value in found.items()}


def _check_operator(smoother: FieldSmoother) -> None:
    operator, order = smoother.operator, smoother.order
    if isinstance(operator, str) and operator not in FAMILIES:
        raise ValueError(f"operator must be one of {', '.join(map(repr, FAMILIES))} or an operator, got {operator!r}.")
    if not isinstance(operator, (str, Operator, NoneType)):
        raise TypeError(
            f"operator must be one of {', '.join(map(repr, FAMILIES))}, None or an operator such as 4 * derivatives(1) "
            f"+ derivatives(2), got {operator!r}."
        )
    if order is not None and operator not in ("auto", None):
        raise ValueError(
            f"give order or operator, not both: order={order} is operator=derivatives({order}), got order={order} and "
            f"operator={operator!r}."
        )
    if smoother.alpha != "auto" and isinstance(operator, str) and operator != "auto":
        raise ValueError(
            f"operator={operator!r} is chosen together with alpha: leave alpha out, or give an operator such as "
            f"4 * derivatives(1) + derivatives(2) beside alpha={smoother.alpha!r}."
        )


def _is_positive(scale: object) -> bool:
    """Whether it is one positive number, or several."""
    try:
        numbers = np.asarray(scale, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(numbers.size and np.isfinite(numbers).all() and numbers.min() > 0.0)


def _is_number(value: object, low: float) -> bool:
    return isinstance(value, Real) and np.isfinite(float(value)) and float(value) >= low
