"""The restricted likelihood of a roughness and of alpha, on windows of the data.

With noise of variance s2 / w_i, and the prior of precision (alpha / s2) Q that belongs to the energy Q of the functions
of a grid, minus twice the log likelihood of what the free polynomials do not explain is, up to a constant,

    (n - p) log s2 + log|A'WA + alpha Q| - log|alpha Q|,
    (n - p) s2 = min_f alpha |f|^2 + sum_i w_i (y_i - f(x_i))^2,

with the values A of the functions at the points; the last determinant is that on the complement of the p free ones
[Wahba 1990]. Each window, and each of several outputs, has a noise of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

from ..solvers.linear.sparse import BandFactors, BandPattern, Factors
from .roughness import Roughness
from .windows import Window

_LEAST = 1e-5  # energy against data of a function
_AROUND = (0.1, 0.3, 3.0, 10.0)
_KEPT = 4  # energies of windows


class Fitted(NamedTuple):
    """A roughness and alpha, minus twice their log likelihood, and the noise variance of weight one."""

    roughness: Roughness
    alpha: float
    deviance: float
    noise_variance: float


class Likelihood:
    """The restricted likelihood of windows of equal size; ``centered`` ones have a free constant beside the field."""

    def __init__(self, windows: list[Window], centered: bool = False):
        self.windows, self.centered = windows, centered
        self.basis = windows[0].basis
        self._pattern = BandPattern(self.basis.energy(0))  # all functions that overlap
        self._energies: dict[int, np.ndarray] = {}  # entries of the pattern, here and below
        self._complements: dict[int, tuple[np.ndarray, float]] = {}
        self._priors: dict[Roughness, tuple[np.ndarray, float]] = {}
        weighted = (part.design.T @ sparse.diags_array(part.w) @ part.design for part in windows)
        self._data = [self._pattern.entries(matrix) for matrix in weighted]

    @property
    def spacing(self) -> float:
        """Side of a cell."""
        return self.basis.box.spacing

    @property
    def size(self) -> float:
        """The longest side of a window, its margin included."""
        return self.spacing * int(self.basis.box.cells.max())

    def balance(self, roughness: Roughness) -> float:
        """The alpha for which energy and data of a function weigh the same."""
        of_data = np.concatenate([self._pattern.diagonal(data) for data in self._data])
        return float(np.median(of_data[of_data > 0.0]) / np.median(self._pattern.diagonal(self._prior(roughness)[0])))

    def at(self, roughness: Roughness, alpha: float) -> Fitted:
        """The likelihood of one roughness and alpha; far below the balance of energy and data, that of a larger alpha:
        noise that is fitted may be next to nothing, and equations without energy are singular.
        """
        prior, log_prior = self._prior(roughness)
        alpha = max(alpha, _LEAST * self.balance(roughness))
        deviance, squares, number = 0.0, 0.0, 0
        p = free_polynomials(self.basis.dimension, roughness.lowest)
        for window, data in zip(self.windows, self._data, strict=True):
            factors = self._pattern.factorize(data + alpha * prior)
            n = len(window.y) - p - self.centered
            for y in window.y.reshape(len(window.y), -1).T:
                least, log_trend = self._least(window, y, factors)
                deviance += n * np.log(least / n) + factors.log_determinant() + log_trend
                deviance -= (self.basis.size - p) * np.log(alpha) + log_prior
                squares, number = squares + least, number + n
        return Fitted(roughness, alpha, deviance, squares / number)

    def alone(self) -> Likelihood:
        """That of the first window, the densest."""
        if len(self.windows) == 1:
            return self
        first = Likelihood.__new__(Likelihood)
        first.__dict__.update(self.__dict__, windows=self.windows[:1], _data=self._data[:1])
        return first

    def along_alpha(self, fitted: Fitted) -> dict[float, float]:
        """The deviance at some alphas around that of a fit."""
        around = [self.at(fitted.roughness, fitted.alpha * step) for step in _AROUND]
        return dict(sorted((other.alpha, other.deviance) for other in [*around, fitted]))

    def _least(self, window: Window, y: np.ndarray, factors: BandFactors | Factors) -> tuple[float, float]:
        """The minimum for given factors of the system, and what a constant beside the field adds to the deviance, for
        an output y (n,).
        """
        right = window.design.T @ (window.w * y)
        floor = np.finfo(float).eps * float(window.w @ y**2)
        least = float(window.w @ y**2 - right @ factors.solve(right))
        if not self.centered:
            return max(least, floor, np.finfo(float).tiny), 0.0
        ones = window.design.T @ window.w
        image = factors.solve(ones)
        both, own = float(window.w @ y - right @ image), float(window.w.sum() - ones @ image)
        return max(least - both**2 / own, floor, np.finfo(float).tiny), float(np.log(own))

    def _prior(self, roughness: Roughness) -> tuple[np.ndarray, float]:
        """The energy, and the logarithm of its determinant on the complement of the free polynomials.

        A minor without as many rows as there are columns N that span the polynomials has det(N_rows)^2 / det(N'N) times
        that determinant.
        """
        if roughness not in self._priors:
            entries = np.sum([factor * self._energy(order) for order, factor in roughness.parts], axis=0)
            left_out, correction = self._complement(roughness.lowest)
            factors = self._pattern.factorize(self._pattern.minor(entries, left_out))
            if len(self._priors) > _KEPT:
                self._priors.clear()
            self._priors[roughness] = entries, factors.log_determinant() + correction
        return self._priors[roughness]

    def _energy(self, order: int) -> np.ndarray:
        if order not in self._energies:
            self._energies[order] = self._pattern.entries(self.basis.energy(order))
        return self._energies[order]

    def _complement(self, lowest: int) -> tuple[np.ndarray, float]:
        """The rows to leave out, and log(det(N'N) / det(N_rows)^2); the same for as many free polynomials."""
        if lowest not in self._complements:
            self._complements[lowest] = _rows_to_leave_out(self._polynomials(lowest))
        return self._complements[lowest]

    def _polynomials(self, number: int) -> np.ndarray:
        """Coefficients of the constant and of the coordinates: the polynomials below degree 2."""
        places = self.basis.centers()
        return np.column_stack([np.ones(len(places)), places - places.mean(axis=0)])[
            :, : free_polynomials(self.basis.dimension, number)
        ]


def free_polynomials(dimension: int, lowest: int) -> int:
    """How many polynomials are free: below degree 0, 1 or 2."""
    return (0, 1, 1 + dimension)[lowest]


def _rows_to_leave_out(free: np.ndarray) -> tuple[np.ndarray, float]:
    """Independent rows, as many as columns N, and the logarithm of det(N'N) / det(N_rows)^2."""
    rows = _independent_rows(free)
    if free.shape[1] == 0:
        return rows, 0.0
    return rows, np.linalg.slogdet(free.T @ free)[1] - 2.0 * np.linalg.slogdet(free[rows])[1]


def _independent_rows(free: np.ndarray) -> np.ndarray:
    """As many rows as columns, far from dependent."""
    rows, rest = [], free / np.maximum(np.abs(free).max(axis=0), np.finfo(float).tiny)
    for column in range(free.shape[1]):
        row = int(np.argmax(np.abs(rest[:, column])))
        rest = rest - np.outer(rest[:, column] / rest[row, column], rest[row])
        rows.append(row)
    return np.array(rows, dtype=np.int64)


def minimize(
    likelihood: Likelihood,
    family: Callable[[float], Roughness],
    limits: tuple[float, float],
    start: np.ndarray,
    step: float,
    most: int,
) -> tuple[np.ndarray, Fitted]:
    """Downhill in the logarithms of the parameter of a family, within limits, and of alpha, in at most so many
    evaluations: where it ends, and the best fit.
    """  # fmt: skip
    seen: list[tuple[float, np.ndarray, Fitted]] = []

    def deviance(x: np.ndarray) -> float:
        inside = np.array([np.clip(x[0], *np.log(limits)), x[1]])
        fitted = likelihood.at(family(float(np.exp(inside[0]))), float(np.exp(x[1])))
        seen.append((fitted.deviance, inside, fitted))
        return fitted.deviance + float(abs(inside[0] - x[0]))  # a slope leads back

    simplex = np.stack([start, start + [step, 0.0], start + [0.0, 2.0 * step]])
    options = {"initial_simplex": simplex, "maxfev": most, "xatol": 0.15, "fatol": 1.0}
    optimize.minimize(deviance, start, method="Nelder-Mead", options=options)
    _, x, best = min(seen, key=lambda each: each[0])
    return x, best


def minimize_alpha(likelihood: Likelihood, roughness: Roughness, start: float) -> Fitted:
    """The alpha of the largest likelihood, roughly: it is flat."""
    seen: dict[float, Fitted] = {}

    def deviance(x: float) -> float:
        seen[x] = likelihood.at(roughness, float(np.exp(x)))
        return seen[x].deviance

    first = float(np.log(start))
    optimize.minimize_scalar(deviance, bracket=(first, first + 0.7), options={"xtol": 0.02, "maxiter": 4})
    return min(seen.values(), key=lambda fitted: fitted.deviance)
