"""Experiments: objectives for surfaces from points without normals that are not convex (seed 004, 4.4.2).

    sum_i a_i |f(x_i)| / tolerance + sum_i a_i (|grad f(x_i)| - 1)^2 + lambda |f|^2           "unit gradient"
    sum_i a_i |f(x_i)| / tolerance + sum_i a_i |grad f(x_i)|^-2 + lambda |f|^2                "inverse gradient"

Neither can be minimised for certain: the result depends on the start, which is the eigenvector. Both make gradients
alike along the surface, which the eigenvector does not; neither turns a part of the surface over whose signs are wrong
there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..fields.field import Field
from .eigen import Forms, as_surface, cells_for, check_points, eigen_coefficients, unit_gradient_system

VARIANTS = ("unit gradient", "inverse gradient")
_ROUNDED = 0.01  # tolerances below which |f| is rounded off
_SHORTEST = 1e-2  # gradient below which its inverse is rounded off
_MEMORY = 10
_DECREASE, _SHRINK, _HALVINGS = 1e-4, 0.5, 30


def unoriented_variant(
    points,
    variant: str = "unit gradient",
    *,
    smoothness: float = 0.005,
    energy_weight: float = 0.0,
    gradient_weight: float = 3e-4,
    cells: int | None = None,
    order: int = 2,
    steps: int = 60,
) -> Field:
    """A local minimum of one of the objectives, from the eigenvector on.

    Parameters
    ----------
    points : array (n, 2) or (n, 3)
    variant : "unit gradient" or "inverse gradient"
    smoothness, energy_weight, gradient_weight, cells, order
        As for :func:`eigen_surface`, in whose ratio form the start is found. The tolerance is the root of
        ``gradient_weight``, and lambda = smoothness**(2 order - 1) / gradient_weight.
    steps : int
        Of the quasi-Newton method, at most.
    """
    points = check_points(points)
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(map(repr, VARIANTS))}, got {variant!r}.")
    if not gradient_weight > 0:
        raise ValueError(f"gradient_weight must be positive, got {gradient_weight!r}.")
    forms = Forms.of(points, cells_for(points, cells), degree=order)
    coef = eigen_coefficients(forms, smoothness, energy_weight, gradient_weight, order=order, generalised=True)
    coef = coef * np.sqrt(forms.area.sum() / (coef @ (forms.slopes @ coef)))
    objective = variant_objective(forms, variant, smoothness, gradient_weight, order)
    inverse = unit_gradient_system(forms, smoothness, gradient_weight, order)[1]
    return as_surface(forms, quasi_newton(objective, coef, inverse, steps), order)


def variant_objective(
    forms: Forms, variant: str, smoothness: float, gradient_weight: float, order: int
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """The objective and its gradient as a function of the coefficients."""
    energy = smoothness ** (2 * order - 1) / gradient_weight * forms.basis.energy(order)
    tolerance = np.sqrt(gradient_weight)
    rounding = _ROUNDED * tolerance

    def objective(coef: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = forms.values @ coef, forms.gradient(coef)
        rounded = np.sqrt(values**2 + rounding**2)
        squares = (slopes**2).sum(axis=1)
        if variant == "unit gradient":
            length = np.sqrt(squares + rounding**2)
            terms, factor = (length - 1.0) ** 2, 2.0 * (1.0 - 1.0 / length)
        else:
            terms = 1.0 / (squares + _SHORTEST**2)
            factor = -2.0 * terms**2
        image = energy @ coef
        value = forms.area @ (rounded / tolerance + terms) + coef @ image
        gradient = forms.values.T @ (forms.area * values / rounded) / tolerance + 2.0 * image
        return float(value), gradient + forms.gradient_functional(factor[:, None] * slopes)

    return objective


def quasi_newton(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    inverse: Callable[[np.ndarray], np.ndarray],
    steps: int,
) -> np.ndarray:
    """Limited-memory BFGS whose first guess of the inverse Hessian is given; the objective never rises."""
    value, gradient = objective(x)
    pairs = []
    for _ in range(steps):
        direction = -_two_loops(gradient, pairs, inverse)
        slope = float(gradient @ direction)
        length = 1.0
        for _ in range(_HALVINGS):
            after, new_gradient = objective(x + length * direction)
            if after <= value + _DECREASE * length * slope:
                break
            length *= _SHRINK
        else:
            break
        move, change = length * direction, new_gradient - gradient
        if move @ change > 1e-12 * np.linalg.norm(move) * np.linalg.norm(change):
            pairs = [*pairs, (move, change)][-_MEMORY:]
        x, gradient, gained = x + move, new_gradient, value - after
        value = after
        if gained <= 1e-8 * abs(value):
            break
    return x


def _two_loops(gradient: np.ndarray, pairs: list, inverse) -> np.ndarray:
    q, shares = gradient.copy(), []
    for move, change in reversed(pairs):
        share = (move @ q) / (move @ change)
        q -= share * change
        shares.append(share)
    q = inverse(q)
    for (move, change), share in zip(pairs, reversed(shares), strict=True):
        q += (share - (change @ q) / (move @ change)) * move
    return q
