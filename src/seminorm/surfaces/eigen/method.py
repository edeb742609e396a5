"""Surfaces from points without normals, as eigenvectors [Walder 2008, 4.4].

A function f whose zero set is the surface has small values and large gradients at the points, large values elsewhere,
and is smooth. All four wishes are quadratic forms of its coefficients,

    sum_i a_i f(x_i)^2 + lambda_Omega |f|^2 - lambda_e int f^2 - lambda_grad sum_i a_i |grad f(x_i)|^2        (4.14)

with a_i the area that point i stands for, so the best function of unit norm is an eigenvector. Its weakness is *energy
focusing*: it all but vanishes where the data are not simple. One remedy are patches (``orientation``); the other, here,
are fits to its own normalised gradients, each of which lowers, from the eigenvector to the minimum near it,

    sum_i a_i (|grad f(x_i)| - 1)^2 + sum_i a_i f(x_i)^2 / lambda_grad + lambda_Omega / lambda_grad |f|^2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg
from scipy.spatial import cKDTree
from sklearn.exceptions import ConvergenceWarning

from ..._base.warnings import warn_user
from ...bases.grid import GridBasis
from ...clouds.sampling import OrientedPoints
from ...fields.field import Field
from ...solvers.linear.conjugate_gradients import conjugate_gradients
from ...solvers.linear.multigrid import Multigrid
from ...solvers.linear.sparse import factorize

_CELLS = {2: 40, 3: 24}
_MARGIN = {2: 0.3, 3: 0.17}  # of the box, in longest sides of the data
_LEAST_POINTS = 6
_FLAT = 1e-9  # extent along the last axis over the first, of points on a line or plane
_BLOCK = 4  # vectors iterated at once, for the first of them
_EIGEN_STEPS, _EIGEN_TOL, _ACCEPTED = 80, 1e-5, 10.0
_EIGEN_TOL_BELOW = 1e-6  # of the bound
_FIT_TOL, _FIT_STEPS = 1e-4, 100
_FACTORIZED = {2: 40_000, 3: 5000}  # functions: the fill grows fast with the dimension
_MOST_POINTS = 100_000  # more are of no use to a coarse grid: a part of them is taken
_ITERATED = 5000  # functions, in space, from which on nothing is factorised


@dataclass(frozen=True)
class Forms:
    """The functions of a grid, seen by points; lengths in longest sides of the data."""

    basis: GridBasis
    area: np.ndarray  # (n,): what each point stands for
    values: sparse.csr_array  # (n, p)
    gradients: list[sparse.csr_array]  # d of shape (n, p)

    @classmethod
    def of(cls, points: np.ndarray, cells: int, *, degree: int = 2, margin: float | None = None) -> Forms:
        """For a grid with ``cells`` cells along the longest side of the points."""
        d = points.shape[1]
        basis = GridBasis.around(points, cells, margin=_MARGIN[d] if margin is None else margin, degree=degree)
        area = OrientedPoints.prepare(points, np.zeros_like(points)).area
        return cls(basis, area, basis.values(points), basis.gradients(points))

    @cached_property
    def data(self) -> sparse.csr_array:
        """sum_i a_i f(x_i)^2."""
        return self.weighted(self.values)

    @cached_property
    def slopes(self) -> sparse.csr_array:
        """sum_i a_i |grad f(x_i)|^2."""
        return sparse.csr_array(sum(self.weighted(gradient) for gradient in self.gradients))

    def weighted(self, rows: sparse.csr_array) -> sparse.csr_array:
        """The sum of squares of functionals, one per point, weighted by areas."""
        return sparse.csr_array(rows.T @ (sparse.diags_array(self.area) @ rows))

    def gradient(self, coef: np.ndarray) -> np.ndarray:
        """Gradients at the points, (n, d)."""
        return np.stack([gradient @ coef for gradient in self.gradients], axis=1)

    def gradient_functional(self, targets: np.ndarray) -> np.ndarray:
        """The coefficients of f -> sum_i a_i targets_i . grad f(x_i)."""
        weighted = self.area[:, None] * targets
        return sum(gradient.T @ column for gradient, column in zip(self.gradients, weighted.T, strict=True))


def eigen_surface(
    points: ArrayLike,
    *,
    smoothness: float = 0.005,
    energy_weight: float = 0.0,
    gradient_weight: float = 3e-4,
    cells: int | None = None,
    order: int = 2,
    generalized: bool = True,
    unit: str = "coefficients",
    equalize: int = 0,
    margin: float | None = None,
) -> Field:
    """A function whose zero set goes through points without normals: negative inside, positive outside.

    It is the eigenvector of [Walder 2008, (4.14)]. Lengths in all parameters are in longest sides of the data.

    Parameters
    ----------
    points : array (n, 2) or (n, 3)
    smoothness : float, a length: smoothness**(2 order - 1) is the factor of the squared semi-norm
    energy_weight : float
        Factor of the integral of f^2 over the box around the data, an inverse length, not negative. In space none is
        best: the function otherwise grows in some part of the empty box. In the plane a little holds parts together.
    gradient_weight : float
        Factor of the squared gradients at the points, a squared length, not negative.
    cells : int, optional
        Of the grid, along the longest side of the data: 40 in the plane, 24 in space by default.
    order : 2 or 3, of the semi-norm
    generalized : bool
        Minimise the ratio of the first two sums of (4.14) to the last two, instead of their difference. The difference
        is sensitive: with weights that are too large, the function focuses on a few points.
    unit : "coefficients" or "integral"
        Whether the coefficients, as in the source, or the function in the mean square, has norm 1; not for a ratio.
    equalize : int
        Rounds of fits that make the length of the gradient the same along the surface, for a positive
        ``gradient_weight``.
    margin : float, optional
        Width of the border of the box around the data.

    Returns
    -------
    Field, in the units of the data: the root mean square of its gradient's length at the points is 1

    See Also
    --------
    search_eigen_surface : Finds the parameters by trials.
    orient_by_eigenvector : Outward signs for normals.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.surfaces.eigen import eigen_surface
    >>> angle = np.linspace(0.0, 2 * np.pi, 60, endpoint=False)
    >>> f = eigen_surface(np.column_stack([np.cos(angle), np.sin(angle)]))
    >>> np.sign(f([[0.0, 0.0], [0.9, 0.0], [1.1, 0.0], [1.3, 1.3]]))
    array([-1., -1.,  1.,  1.])
    """
    given = check_points(points)
    given = given[some_rows(len(given))]
    _check_weights(smoothness, energy_weight, gradient_weight, order, unit)
    if equalize and not gradient_weight > 0:
        raise ValueError(f"equalize={equalize} needs a positive gradient_weight, got {gradient_weight!r}.")
    forms = Forms.of(given, cells_for(given, cells), degree=order, margin=margin)
    weights = smoothness, energy_weight, gradient_weight
    coef = eigen_coefficients(forms, *weights, order=order, generalized=generalized, unit=unit)
    if equalize:
        coef = equalized(forms, coef, smoothness, gradient_weight, order, equalize)
    return as_surface(forms, coef, order)


def eigen_coefficients(
    forms: Forms,
    smoothness: float,
    energy_weight: float,
    gradient_weight: float,
    *,
    order: int = 2,
    generalized: bool = False,
    unit: str = "coefficients",
) -> np.ndarray:
    """The eigenvector that minimises (4.14) for given forms, or the ratio of its terms."""
    basis = forms.basis
    rough, wanted = both_sums(forms, smoothness, energy_weight, gradient_weight, order)
    if generalized:
        return _least_ratio(basis, sparse.csr_array(rough), wanted)
    norm = sparse.eye_array(basis.size, format="csr") if unit == "coefficients" else basis.products()
    bound = _spectral_bound(wanted, basis, unit)
    return _lowest(basis, sparse.csr_array(rough), wanted, norm, bound)


def both_sums(
    forms: Forms, smoothness: float, energy_weight: float, gradient_weight: float, order: int
) -> tuple[sparse.sparray, sparse.csr_array]:
    """The first two terms of (4.14), and the last two."""
    rough = forms.data + smoothness ** (2 * order - 1) * forms.basis.energy(order)
    return rough, sparse.csr_array(energy_weight * forms.basis.products() + gradient_weight * forms.slopes)


def equalized(
    forms: Forms, coef: np.ndarray, smoothness: float, gradient_weight: float, order: int, rounds: int
) -> np.ndarray:
    """Fits to the normalised gradients of the fit before, from given coefficients on.

    (|g| - 1)^2 <= |g - t|^2 for every unit vector t, with equality for t = g / |g|: no fit raises the sum of these.
    """
    matrix, inverse = unit_gradient_system(forms, smoothness, gradient_weight, order)
    coef = coef / _mean_slope(forms, coef)
    for _ in range(rounds):
        gradient = forms.gradient(coef)
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        targets = gradient / np.maximum(length, np.finfo(float).tiny)
        right = forms.gradient_functional(targets)
        conjugate_gradients(lambda v: matrix @ v, inverse, right, coef, tol=_FIT_TOL, max_iter=_FIT_STEPS)
    return coef


def unit_gradient_system(
    forms: Forms, smoothness: float, gradient_weight: float, order: int
) -> tuple[sparse.csr_array, Callable[[np.ndarray], np.ndarray]]:
    """The matrix of the oriented fit that goes with the weights of (4.14), and its approximate inverse."""
    rough = forms.data + smoothness ** (2 * order - 1) * forms.basis.energy(order)
    matrix = sparse.csr_array(rough / gradient_weight + forms.slopes)
    return matrix, approximate_inverse(forms.basis, matrix)


def approximate_inverse(basis: GridBasis, matrix: sparse.sparray) -> Callable[[np.ndarray], np.ndarray]:
    """The inverse of a positive definite matrix of a basis: exact for small ones, a V-cycle for others."""
    if basis.size <= _FACTORIZED[basis.dimension]:
        return factorize(matrix)
    return Multigrid(sparse.csr_array(matrix), basis.refinements())


def as_surface(forms: Forms, coef: np.ndarray, order: int) -> Field:
    """The function in the user's units, with a mean slope of 1, positive on the border of the box."""
    edge = edge_mean(forms.basis, coef)
    size = forms.basis.box.scale[0]
    return Field.on_grid(forms.basis, np.where(edge < 0, -1.0, 1.0) * coef * size / _mean_slope(forms, coef), order)


def sign_share(field: Field, points: np.ndarray, step: float, normals: np.ndarray | None = None) -> float:
    """The share of points with different signs of the field ``step`` away to both sides, along the given normals."""
    normals = plane_normals(points) if normals is None else normals
    return float(np.mean(field(points + step * normals) * field(points - step * normals) < 0))


def some_rows(n: int) -> np.ndarray:
    """Rows of as many points as a coarse grid can use, the same ones each time."""
    return np.sort(np.random.default_rng(0).permutation(n)[:_MOST_POINTS])


def plane_normals(points: np.ndarray, k: int | None = None) -> np.ndarray:
    """Unit normals, of arbitrary signs, of the lines or planes through the k nearest points (6 or 12 by default)."""
    k = min(k or 6 * (points.shape[1] - 1), len(points))
    near = points[cKDTree(points).query(points, k=k)[1]]
    near = near - near.mean(axis=1, keepdims=True)
    return np.linalg.eigh(np.einsum("nki,nkj->nij", near, near))[1][:, :, 0]


def _lowest(basis: GridBasis, rough: sparse.csr_array, wanted: sparse.csr_array, norm, bound: float) -> np.ndarray:
    """The eigenvector of (rough - wanted) x = value norm x with the least value, none of which is below -bound."""
    matrix, start = sparse.csr_array(rough - wanted), _start(basis)
    if not _is_large(basis):
        operator = LinearOperator(matrix.shape, matvec=factorize(matrix + bound * norm))
        return eigsh(matrix, k=1, M=norm, sigma=-bound, OPinv=operator, v0=start[:, 0])[1][:, 0]
    inverse = Multigrid(rough, basis.refinements())
    return _iterate(matrix, norm, inverse, inverse(start), largest=False, tol=_EIGEN_TOL_BELOW * bound)


def _least_ratio(basis: GridBasis, rough: sparse.csr_array, wanted: sparse.csr_array) -> np.ndarray:
    """The vector with the least x' rough x / x' wanted x, rough being positive definite, wanted semi-definite."""
    start = _start(basis)
    if not _is_large(basis):
        operator = LinearOperator(rough.shape, matvec=factorize(rough))
        return eigsh(rough, k=1, M=wanted, sigma=0.0, OPinv=operator, v0=start[:, 0])[1][:, 0]
    return _iterate(wanted, rough, Multigrid(rough, basis.refinements()), start, largest=True, tol=_EIGEN_TOL)


def _iterate(matrix, norm, inverse, start: np.ndarray, *, largest: bool, tol: float) -> np.ndarray:
    operator = LinearOperator(matrix.shape, matvec=inverse, matmat=inverse, dtype=float)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Exited", category=UserWarning)
        values, vectors = lobpcg(matrix, start, B=norm, M=operator, largest=largest, tol=tol, maxiter=_EIGEN_STEPS)
    first = vectors[:, 0]
    error = float(np.linalg.norm(matrix @ first - values[0] * (norm @ first)))
    if error > _ACCEPTED * tol:
        message = f"the eigenvector has the residual {error:.2g}, not {tol:.2g}: try other weights."
        warn_user(message, ConvergenceWarning)
    return first


def _start(basis: GridBasis) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((basis.size, _BLOCK))


def _is_large(basis: GridBasis) -> bool:
    return basis.dimension > 2 and basis.size > _ITERATED


def _spectral_bound(matrix: sparse.csr_array, basis: GridBasis, unit: str) -> float:
    """A little more than the largest value of x' matrix x, for x of norm 1."""
    options = {"k": 1, "which": "LA", "v0": _start(basis)[:, 0], "tol": 1e-2, "return_eigenvectors": False}
    if unit == "integral":
        options |= {"M": basis.products(), "Minv": LinearOperator(matrix.shape, matvec=basis.solve_products)}
    return 1.05 * float(eigsh(matrix, **options)[0])


def edge_mean(basis: GridBasis, coef: np.ndarray) -> float:
    """The mean coefficient of the functions at the border of the box."""
    inner = np.zeros(basis.shape, dtype=bool)
    inner[(slice(basis.degree, -basis.degree),) * basis.dimension] = True
    return float(coef[~inner.ravel()].mean())


def _mean_slope(forms: Forms, coef: np.ndarray) -> float:
    return float(np.sqrt(max(coef @ (forms.slopes @ coef), np.finfo(float).tiny) / forms.area.sum()))


def cells_for(points: np.ndarray, cells: int | None) -> int:
    """The number of cells along the data, by default for the dimension of the points."""
    if cells is None:
        return _CELLS[points.shape[1]]
    if isinstance(cells, bool) or not isinstance(cells, (int, np.integer)) or cells < 4:
        raise ValueError(f"cells must be a whole number of 4 or more, got {cells!r}.")
    return int(cells)


def check_points(points: ArrayLike) -> np.ndarray:
    """Points as an array of floats, if they can have a surface."""
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ValueError(f"points must have shape (n, 2) or (n, 3), got {points.shape}.")
    if not np.isfinite(points).all():
        count = int((~np.isfinite(points).all(axis=1)).sum())
        raise ValueError(f"points have NaN or infinity in {count} of {len(points)} rows: remove these.")
    distinct = len(np.unique(points, axis=0))
    if distinct < _LEAST_POINTS:
        raise ValueError(f"points must have {_LEAST_POINTS} distinct rows or more, got {distinct}.")
    extents = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if extents[-1] <= _FLAT * extents[0]:
        kind = "line" if points.shape[1] == 2 or extents[1] <= _FLAT * extents[0] else "plane"
        raise ValueError(f"points all lie on a {kind}: nothing tells an inside from an outside.")
    return points


def _check_weights(smoothness, energy_weight, gradient_weight, order, unit) -> None:
    if not (np.isfinite(smoothness) and smoothness > 0):
        raise ValueError(f"smoothness must be a positive length, got {smoothness!r}.")
    for name, value in (("energy_weight", energy_weight), ("gradient_weight", gradient_weight)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must not be negative, and finite, got {value!r}.")
    if energy_weight == gradient_weight == 0:
        raise ValueError("energy_weight and gradient_weight are both 0: then f = 0 is best, give one of them.")
    if order not in (2, 3):
        raise ValueError(f"order must be 2 or 3, got {order!r}.")
    if unit not in ("coefficients", "integral"):
        raise ValueError(f"unit must be 'coefficients' or 'integral', got {unit!r}.")
