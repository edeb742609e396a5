"""Parameters for the eigenvector method, by what its zero set looks like (seed 004, 4.4.3).

With R a sample of the zero set and S the points, m_RS, the largest distance from R to S, is large if the zero set has
parts where there are no points, and m_SR if it misses points. Neither notices a function with the same sign on both
sides of the surface, or one whose zero set follows the points with signs that change on the way; so the signs next to
the points are tested too.

With weights (lambda_e, lambda_grad) far above those at which the least value of (4.14) becomes negative, the function
retreats to a few points: the gradient term is then worth more than all others. The critical factor of the weights is
that at which the difference and the ratio of the terms have the same minimiser; trials of the difference are made at
multiples of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from ..fields.field import Field
from .eigen import (
    Forms,
    as_surface,
    cells_for,
    check_points,
    eigen_coefficients,
    eigen_surface,
    equalised,
    plane_normals,
    sign_share,
)

SMOOTHNESS = (0.003, 0.01)
GRADIENT_WEIGHTS = (1e-4, 1e-3)
ENERGY_RATIOS = (0.0, 10.0, 100.0)  # of energy to gradient weight
_SEARCH_CELLS = {2: 32, 3: 14}
_PER_CELL = {2: 4, 3: 3}
_STEP = 0.5  # of a cell, to both sides of the points
_CLEAR = 0.9  # share of points with a change of sign, above which distances decide


@dataclass(frozen=True)
class Trial:
    """Parameters of :func:`eigen_surface` and what came out; distances in longest sides of the data.

    Attributes
    ----------
    smoothness, energy_weight, gradient_weight, generalised, equalise
        See :func:`eigen_surface`.
    zeros_to_points, points_to_zeros : float
        m_RS and m_SR.
    signs : float
        Share of the points with different signs on both sides.
    """

    smoothness: float
    energy_weight: float
    gradient_weight: float
    generalised: bool
    equalise: int
    zeros_to_points: float
    points_to_zeros: float
    signs: float

    @property
    def rank(self) -> tuple[bool, float]:
        """Smaller is better: first a change of sign at nearly all points, then the larger of the distances; points
        without a change of sign make it larger.
        """
        worst = max(self.zeros_to_points, self.points_to_zeros)
        return self.signs < _CLEAR, worst / max(self.signs, 1e-3)

    def parameters(self) -> dict:
        """What :func:`eigen_surface` takes."""
        names = ("smoothness", "energy_weight", "gradient_weight", "generalised", "equalise")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Search:
    """The best function, its parameters, and all trials, the best first."""

    field: Field
    parameters: dict
    trials: list[Trial]

    def table(self) -> list[dict]:
        """The trials as rows."""
        return [asdict(trial) for trial in self.trials]


def search_eigen_surface(
    points,
    *,
    cells: int | None = None,
    search_cells: int | None = None,
    smoothness: Iterable[float] = SMOOTHNESS,
    gradient_weights: Iterable[float] = GRADIENT_WEIGHTS,
    energy_ratios: Iterable[float] = ENERGY_RATIOS,
    excesses: Iterable[float] = (),
    equalise: int = 8,
    order: int = 2,
) -> Search:
    """Try parameters of :func:`eigen_surface` on a coarse grid, and fit with the best ones on a finer.

    Parameters
    ----------
    points : array (n, 2) or (n, 3)
    cells, search_cells : int, optional
        Of the final and of the coarse grid, along the longest side of the data.
    smoothness, gradient_weights, energy_ratios : sequences of float
        What is tried: all combinations. The ratios are energy_weight / gradient_weight. The size of the weights counts
        only for the rounds of ``equalise``; without these, the first gradient weight is taken.
    excesses : sequence of float
        By default the ratio of the terms is minimised. Give factors above 1 to minimise their difference, (4.14), with
        weights so many times the critical ones.
    equalise : int
        Rounds of fits after each eigenvector, 0 for the method of the source.
    order : 2 or 3

    Returns
    -------
    Search

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.eigen_search import search_eigen_surface
    >>> angle = np.linspace(0.0, 2 * np.pi, 60, endpoint=False)
    >>> found = search_eigen_surface(np.column_stack([2 * np.cos(angle), np.sin(angle)]), search_cells=20)
    >>> len(found.trials), found.trials[0].signs, found.trials[0].zeros_to_points < 0.05
    (12, 1.0, True)
    """
    points = check_points(points)
    d = points.shape[1]
    forms = Forms.of(points, cells_for(points, search_cells or _SEARCH_CELLS[d]), degree=order)
    normals = plane_normals(points)
    trials = []
    weights = tuple(gradient_weights) if equalise else tuple(gradient_weights)[:1]
    for length, weight, ratio in product(smoothness, weights, energy_ratios):
        coef = eigen_coefficients(forms, length, ratio * weight, weight, order=order, generalised=True)
        settings = [(True, 1.0, coef)]
        if tuple(excesses):
            critical = critical_factor(forms, coef, length, ratio * weight, weight, order)
            factors = [excess * critical for excess in excesses]
            settings = [(False, f, _difference(forms, length, ratio, f * weight, order)) for f in factors]
        for generalised, factor, found in settings:
            if equalise:
                found = equalised(forms, found, length, factor * weight, order, equalise)
            field = as_surface(forms, found, order)
            measures = measure(field, points, normals)
            trials.append(Trial(length, ratio * factor * weight, factor * weight, generalised, equalise, *measures))
    trials.sort(key=lambda trial: trial.rank)
    parameters = trials[0].parameters()
    return Search(eigen_surface(points, cells=cells, order=order, **parameters), parameters, trials)


def measure(field: Field, points: np.ndarray, normals: np.ndarray | None = None) -> tuple[float, float, float]:
    """m_RS and m_SR in longest sides of the data, and the share of points with a change of sign.

    Distances are infinite if there is no zero set.
    """
    box = field.tree.box
    size = float(np.ptp(points, axis=0).max())
    signs = sign_share(field, points, _STEP * box.spacing * float(box.scale[0]), normals)
    zeros = zero_set(field, _PER_CELL[field.dimension])
    if len(zeros) == 0:
        return float("inf"), float("inf"), signs
    to_points, to_zeros = cKDTree(points).query(zeros)[0].max(), cKDTree(zeros).query(points)[0].max()
    return float(to_points) / size, float(to_zeros) / size, signs


def zero_set(field: Field, per_cell: int) -> np.ndarray:
    """Points of the zero set in the whole box: where it crosses the edges of a grid with so many steps in a cell of
    level 0.
    """
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


def critical_factor(forms: Forms, coef, smoothness, energy_weight, gradient_weight, order: int) -> float:
    """The first two terms of (4.14) over the last two."""
    basis = forms.basis
    rough = forms.data + smoothness ** (2 * order - 1) * basis.energy(order)
    wanted = sparse.csr_array(energy_weight * basis.products() + gradient_weight * forms.slopes)
    return float(coef @ (rough @ coef)) / float(coef @ (wanted @ coef))


def _difference(forms: Forms, smoothness, ratio, gradient_weight, order: int) -> np.ndarray:
    return eigen_coefficients(forms, smoothness, ratio * gradient_weight, gradient_weight, order=order)
