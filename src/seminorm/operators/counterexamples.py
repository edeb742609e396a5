"""Points and coefficients that show that a function is not conditionally positive definite."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg import null_space as orthogonal_complement
from scipy.spatial.distance import cdist

from ..nullspace.spaces import Polynomials

_TOLERANCE = 1e-11


@dataclass(frozen=True)
class Counterexample:
    """sum_ij c_i c_j phi(x_i, x_j) = value < 0, although the c_i annihilate polynomials of degree < cpd_order."""

    points: np.ndarray
    coefficients: np.ndarray
    value: float
    cpd_order: int

    def __str__(self) -> str:
        constraint = f", coefficients orthogonal to polynomials of degree < {self.cpd_order}" if self.cpd_order else ""
        return f"{len(self.points)} points with the quadratic form {self.value:.2e} (unit coefficients{constraint})"


def of_matrix(matrix: np.ndarray, points: np.ndarray, order: int) -> Counterexample | None:
    """The most negative direction of a kernel matrix on the complement of the polynomials, if it is beyond rounding."""
    if not np.isfinite(matrix).all():
        return None
    basis = _complement(points, order)
    if basis.shape[1] == 0:
        return None
    projected = basis.T @ matrix @ basis
    value, vector = eigh(0.5 * (projected + projected.T), subset_by_index=[0, 0])
    rounding = _TOLERANCE * np.abs(projected).sum(axis=0).max() + 1e-14 * len(points) * np.abs(matrix).max()
    if value[0] >= -rounding:
        return None
    return Counterexample(points, basis @ vector[:, 0], float(value[0]), order)


def search(matrix_of: Callable, point_sets: Iterable[np.ndarray], order: int) -> Counterexample | None:
    """The first counterexample among sets of points."""
    for points in point_sets:
        found = of_matrix(matrix_of(points), points, order)
        if found is not None:
            return found
    return None


def radial_matrix_of(profile: Callable) -> Callable:
    """The kernel matrix of a radial function."""
    return lambda points: profile(cdist(points, points))


def point_sets(dimension: int, lengths: Iterable[float], random_state: int) -> list[np.ndarray]:
    """Small random clouds and lines, and one larger cloud, of each of the given sizes."""
    rng = np.random.default_rng(random_state)
    few = 2 * dimension + 20
    sets = []
    for length in lengths:
        line = np.full((9, dimension), 0.3)  # not through the origin, which some kernels refuse
        line[:, 0] += np.linspace(0.0, 1.0, 9)
        sets += [length * line, length * rng.standard_normal((few, dimension))]
        sets.append(length * rng.uniform(-1.0, 1.0, (few + 40, dimension)))
    return sets


def waves(dimension: int, omega: float, size: int = 1500) -> list[np.ndarray]:
    """Grids of about ``size`` points that carry waves of the frequency omega."""
    side = max(2, round(size ** (1.0 / dimension)))
    axis = np.arange(side) - 0.5 * (side - 1)
    grid = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    return [share * np.pi / omega * grid for share in (0.5, 0.8)]


def _complement(points: np.ndarray, order: int) -> np.ndarray:
    if order == 0:
        return np.eye(len(points))
    return orthogonal_complement(Polynomials(order - 1).fit(points)(points).T)
