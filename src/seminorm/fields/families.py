"""The choice of a roughness and of alpha by the restricted likelihood of windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base.blas import suited_to
from .likelihood import Fitted, Likelihood, minimize, minimize_alpha
from .roughness import THIN_PLATE, Roughness
from .windows import windows_of

FAMILIES = ("auto", "tension", "matern")
FEW, MOST_DIMENSIONS = 30, 3  # values, fewer of which say too little; and coordinates
AUTO_DIMENSIONS = 2  # beyond which the choice takes too long to be made unasked: factors of windows are nearly dense
_FIRST, _THEN = (0.7, 16), (0.35, 14)  # step and evaluations: for one window, for all
_STIFF, _LONG = 4.0, 0.3  # of a cell and of a window: what is order 1, and what is order 2
_START = (
    0.5,
    0.01,
    5.0,
)  # of a cell: one over the length of the family, and energy against data; of a window: the former


@dataclass(frozen=True)
class Choice:
    """What was chosen, in the coordinates of the points: a roughness, alpha, the ``deviance`` (minus twice the log
    likelihood) along alpha, and ``details`` of how it came about.
    """

    roughness: Roughness
    alpha: float
    deviance: dict[float, float]
    details: dict[str, Any] = field(default_factory=dict)
    centered: bool = False
    spacing: float = 0.0


def tension(k: float) -> Roughness:
    """k^2 |f|_1^2 + |f|_2^2: bending beyond the length 1 / k is as free as that of a membrane."""
    return Roughness((0.0, k**2, 1.0))


def matern(kappa: float) -> Roughness:
    """The symbol (kappa^2 + |omega|^2)^2: a random field with the range 1 / kappa."""
    return Roughness((kappa**4, 2.0 * kappa**2, 1.0))


def choose(X: np.ndarray, y: np.ndarray, w: np.ndarray, family: str | Roughness, least: float = 0.0) -> Choice:
    """The roughness of a family, and alpha, by the values y with weights w at points X (n, d); a single roughness
    leaves alpha to choose. Cells are not smaller than ``least``.
    """
    low, size = X.min(axis=0), float(np.ptp(X, axis=0).max())
    unit = float(w.mean())
    with suited_to(0):  # the same bits for any number of threads
        spacing = least / size
        while True:
            likelihood = Likelihood(windows_of((X - low) / size, y, w / unit, spacing), centered=family == "matern")
            points = [len(window.y) for window in likelihood.windows]
            if sum(points) == len(X) or not _smooth_within_cells(likelihood.alone()):
                break
            spacing = 2.0 * likelihood.spacing  # wider windows see more
        found = _best(likelihood, family, size)
        path = likelihood.along_alpha(found)
    details: dict[str, Any] = {"windows": points, "spacing": size * likelihood.spacing}
    # the energy of order m of a function of x / size is size^(2 m - d) times that of the function of x
    factor = unit * size ** (2 * found.roughness.order - X.shape[1])
    deviance = {factor * alpha: score for alpha, score in path.items()}
    roughness = family if isinstance(family, Roughness) else _in_units(found.roughness, size)
    if isinstance(family, Roughness):
        deviance = {alpha / family.factors[-1]: score for alpha, score in deviance.items()}
        factor /= family.factors[-1]
    details["roughness"] = str(roughness)
    if family in ("auto", "tension") and roughness.lowest == 1 < roughness.order:
        details["length"] = roughness.factors[1] ** -0.5
    return Choice(roughness, factor * found.alpha, deviance, details, likelihood.centered, details["spacing"])


def _smooth_within_cells(likelihood: Likelihood) -> bool:
    """Whether bending weighs more than the data of a cell."""
    balance = likelihood.balance(THIN_PLATE)
    return minimize_alpha(likelihood, THIN_PLATE, _START[1] * balance).alpha > balance


def _best(likelihood: Likelihood, family: str | Roughness, size: float) -> Fitted:
    """Of a family, or of a single roughness in coordinates ``size`` times as large."""
    if isinstance(family, Roughness):
        single = _in_units(family, 1.0 / size)
        return minimize_alpha(likelihood, single, _START[1] * likelihood.balance(single))
    if family == "matern":
        return _of_two_parameters(likelihood, matern)
    return _tension(likelihood)


def _in_units(roughness: Roughness, size: float) -> Roughness:
    """The roughness with a leading factor 1 in coordinates ``size`` times as large."""
    top = roughness.factors[-1]
    return Roughness([c / top * size ** (2 * (m - roughness.order)) for m, c in enumerate(roughness.factors)])


def _of_two_parameters(likelihood: Likelihood, family: Callable[[float], Roughness]) -> Fitted:
    """First by the densest window alone, from two sides: smooth functions with noise look stiff from the other."""
    limits = 0.1 / likelihood.size, 2.0 * _STIFF / likelihood.spacing
    ends = []
    for parameter in (_START[0] / likelihood.spacing, _START[2] / likelihood.size):
        x = np.log([parameter, _START[1] * likelihood.balance(family(parameter))])
        ends.append(minimize(likelihood.alone(), family, limits, x, *_FIRST))
    x, found = min(ends, key=lambda end: end[1].deviance)
    return found if len(likelihood.windows) == 1 else minimize(likelihood, family, limits, x, *_THEN)[1]


def _tension(likelihood: Likelihood) -> Fitted:
    """Tension, or one of its limits: order 1 if it is stiff within a cell, order 2 if it bends within a window."""
    found = _of_two_parameters(likelihood, tension)
    k = found.roughness.factors[1] ** 0.5
    if k * likelihood.spacing > _STIFF:
        return minimize_alpha(likelihood, Roughness.of(1), found.alpha * k**2)
    if k * likelihood.size < 1.0 / _LONG:
        return minimize_alpha(likelihood, Roughness.of(2), found.alpha)
    return found
