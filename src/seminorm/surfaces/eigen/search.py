"""Parameters for the eigenvector method, by what its zero set looks like [Walder 2008, 4.4.3].

With R a sample of the zero set and S the points, m_RS, the largest distance from R to S, is large if the zero set has
parts where there are no points, and m_SR if it misses points. Neither notices signs that are the same on both sides of
the surface, or change on the way along it; so the signs next to the points are tested too.

With weights (lambda_e, lambda_grad) far above those at which the least value of (4.14) becomes negative, the function
retreats to a few points. Trials of the difference are made at multiples of the critical factor of the weights, at which
the difference and the ratio of the terms have the same minimiser.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from ...fields.field import Field
from . import method

SMOOTHNESS = (0.003, 0.01)
GRADIENT_WEIGHTS = (1e-4, 1e-3)
ENERGY_RATIOS = (0.0, 10.0, 100.0)  # of energy to gradient weight
_SEARCH_CELLS = {2: 32, 3: 14}
_PER_CELL = {2: 4, 3: 3}
_STEP = 0.5  # of a cell, to both sides of the points
_CLEAR = 0.9  # share of points with a change of sign, above which distances decide


@dataclass(frozen=True)
class EigenTrial:
    """Parameters of :func:`eigen_surface` and what came out; distances in longest sides of the data."""

    smoothness: float
    energy_weight: float
    gradient_weight: float
    generalized: bool
    equalize: int
    zeros_to_points: float  # m_RS
    points_to_zeros: float  # m_SR
    signs: float  # share of the points with different signs on both sides

    @property
    def rank(self) -> tuple[bool, float]:
        """Smaller is better: first a change of sign at nearly all points, then the larger of the distances."""
        worst = max(self.zeros_to_points, self.points_to_zeros)
        return self.signs < _CLEAR, worst / max(self.signs, 1e-3)

    def parameters(self) -> dict:
        """What :func:`eigen_surface` takes."""
        names = ("smoothness", "energy_weight", "gradient_weight", "generalized", "equalize")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class EigenSearch:
    """The best function, its parameters, and all trials, the best first."""

    field: Field
    parameters: dict
    trials: list[EigenTrial]


def search_eigen_surface(
    points: ArrayLike,
    *,
    cells: int | None = None,
    search_cells: int | None = None,
    smoothness: Iterable[float] = SMOOTHNESS,
    gradient_weights: Iterable[float] = GRADIENT_WEIGHTS,
    energy_ratios: Iterable[float] = ENERGY_RATIOS,
    excesses: Iterable[float] = (),
    equalize: int = 8,
    order: int = 2,
) -> EigenSearch:
    """Try parameters of :func:`eigen_surface` on a coarse grid, and fit with the best ones on a finer.

    Parameters
    ----------
    points : array (n, 2) or (n, 3)
    cells, search_cells : int, optional
        Cells of the final and of the coarse grid, along the longest side of the data.
    smoothness, gradient_weights, energy_ratios : sequences of float
        What is tried: all combinations. The ratios are energy_weight / gradient_weight. The size of the weights counts
        only for the rounds of ``equalize``; without these, the first gradient weight is taken.
    excesses : sequence of float
        By default the ratio of the terms is minimised. Give factors above 1 to minimise their difference, (4.14), with
        weights that are these multiples of the critical ones.
    equalize, order : int
        Rounds of fits after each eigenvector, 0 for the method of the source; 2 or 3.

    Returns
    -------
    EigenSearch, the field, its parameters and all trials

    See Also
    --------
    eigen_surface

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.eigen import search_eigen_surface
    >>> angle = np.linspace(0.0, 2 * np.pi, 60, endpoint=False)
    >>> found = search_eigen_surface(np.column_stack([2 * np.cos(angle), np.sin(angle)]), search_cells=20)
    >>> len(found.trials), found.trials[0].signs, found.trials[0].zeros_to_points < 0.05
    (12, 1.0, True)
    """
    points = method.check_points(points)
    d = points.shape[1]
    forms = method.Forms.of(points, method.cells_for(points, search_cells or _SEARCH_CELLS[d]), degree=order)
    normals = method.plane_normals(points)
    trials = []
    weights = tuple(gradient_weights) if equalize else tuple(gradient_weights)[:1]
    for length, weight, ratio in product(smoothness, weights, energy_ratios):
        coef = method.eigen_coefficients(forms, length, ratio * weight, weight, order=order, generalized=True)
        settings = [(True, 1.0, coef)]
        if tuple(excesses):
            critical = critical_factor(forms, coef, length, ratio * weight, weight, order)
            settings = []
            for factor in (excess * critical for excess in excesses):
                used = ratio * (factor * weight), factor * weight
                settings.append((False, factor, method.eigen_coefficients(forms, length, *used, order=order)))
        for generalized, factor, found in settings:
            if equalize:
                found = method.equalized(forms, found, length, factor * weight, order, equalize)
            field = method.as_surface(forms, found, order)
            found_with = length, ratio * factor * weight, factor * weight, generalized, equalize
            trials.append(EigenTrial(*found_with, *measure(field, points, normals)))
    trials.sort(key=lambda trial: trial.rank)
    parameters = trials[0].parameters()
    return EigenSearch(method.eigen_surface(points, cells=cells, order=order, **parameters), parameters, trials)


def measure(field: Field, points: np.ndarray, normals: np.ndarray | None = None) -> tuple[float, float, float]:
    """m_RS and m_SR in longest sides of the data, infinite without a zero set, and the share of changes of sign."""
    box = field.tree.box
    size = float(np.ptp(points, axis=0).max())
    signs = method.sign_share(field, points, _STEP * box.spacing * float(box.scale[0]), normals)
    zeros = zero_set(field, _PER_CELL[field.dimension])
    if len(zeros) == 0:
        return float("inf"), float("inf"), signs
    to_points, to_zeros = cKDTree(points).query(zeros)[0].max(), cKDTree(zeros).query(points)[0].max()
    return float(to_points) / size, float(to_zeros) / size, signs


def zero_set(field: Field, per_cell: int) -> np.ndarray:
    """Points where the zero set crosses the edges of a grid with ``per_cell`` steps along a cell of level 0."""
    box = field.tree.box
    axes = [
        low + np.linspace(0.0, n * box.spacing * scale, n * per_cell + 1)
        for low, n, scale in zip(box.low, box.cells, box.scale, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = field(grid.reshape(-1, field.dimension)).reshape(grid.shape[:-1])
    found = []
    for axis in range(field.dimension):
        here = tuple(slice(None, -1) if a == axis else slice(None) for a in range(field.dimension))
        next_ = tuple(slice(1, None) if a == axis else slice(None) for a in range(field.dimension))
        cross = (values[here] < 0) != (values[next_] < 0)
        before, after = values[here][cross], values[next_][cross]
        share = (before / (before - after))[:, None]
        found.append((1 - share) * grid[here][cross] + share * grid[next_][cross])
    return np.concatenate(found)


def critical_factor(
    forms: method.Forms, coef: np.ndarray, smoothness: float, energy_weight: float, gradient_weight: float, order: int
) -> float:
    """The first two terms of (4.14) over the last two."""
    rough, wanted = method.both_sums(forms, smoothness, energy_weight, gradient_weight, order)
    return float(coef @ (rough @ coef)) / float(coef @ (wanted @ coef))
