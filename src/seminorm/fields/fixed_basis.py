"""Fitting in the span of a fixed basis with an exact regulariser [Walder 2008, 3.1.1], and the function that comes out.

f = sum_k coef[k] b_k minimises

    alpha coef' F coef + sum_i w_i (f(x_i) - y_i)^2 + sum_i v_i |grad f(x_i) - g_i|^2,

F the energy matrix of the basis: one positive (semi-)definite system of the size of the basis, (3.4). The basis is
chosen for its convenience, the regulariser for its meaning.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import LinAlgError, LinAlgWarning, cho_solve, cholesky, eigh, lapack, qr, svd
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from .._base.memory import NotEnoughMemoryError, require_memory
from .._base.saving import save_npz
from .._base.warnings import warn_user
from ..bases.gaussian import GaussianBasis
from ..bases.radial import RadialSplineBasis
from ..functions.protocol import StoredFunction, output_columns
from ..solvers.linear.conjugate_gradients import conjugate_gradients
from ..solvers.linear.sparse import factorize, reciprocal_condition

_BASES = {kind.__name__: kind for kind in (RadialSplineBasis, GaussianBasis)}
_SOLVERS = ("auto", "dense", "direct", "cg")
_DENSE_SIZE = 1000
_CG_TOLERANCE, _CG_STEPS = 1e-8, 10_000
_CHUNK_ENTRIES = 2**22
_SPARSE_ROW = 512  # a guess of how many functions of a sparse basis meet at a point
_EPS = np.finfo(float).eps
_SINGULAR = 100 * _EPS  # reciprocal condition below which a system is no longer solved as it stands


@runtime_checkable
class Basis(Protocol):
    """What :func:`fit_basis` asks of a basis: sizes, and all derivatives at X as a matrix, dense or sparse."""

    @property
    def size(self) -> int: ...
    @property
    def dimension(self) -> int: ...
    def design(self, X: ArrayLike, derivative: int = 0) -> Any: ...


def fit_basis(
    basis: Basis,
    energy: Any,
    X: ArrayLike,
    y: ArrayLike,
    alpha: float,
    *,
    sample_weight: ArrayLike | None = None,
    gradients: ArrayLike | None = None,
    gradient_weight: ArrayLike | None = None,
    solver: str = "auto",
) -> BasisField:
    """The minimiser of the regularised squared error in the span of a basis [Walder 2008, (3.4)].

    Parameters
    ----------
    basis : RadialSplineBasis
        GaussianBasis or any Basis.
    energy : array or sparse matrix (p, p)
        The regulariser, symmetric and positive semi-definite, such as ``basis.energy(...)``.
    X, y : arrays (n, d)
        And (n,) or (n, k), points and the values there.
    alpha : float
        Factor of the regulariser, positive.
    sample_weight : array (n,), optional
        Weights w of the values, not negative; 1 if left out.
    gradients : array (n, d) or (n, k, d), optional
        Gradients at X.
    gradient_weight : float or array (n,), optional
        Weights v of the gradients, not negative; 1 if left out.
    solver : {"auto", "dense", "direct", "cg"}
        - "dense": Cholesky factorisation. If the system is singular to rounding, least squares on its square root,
          which has half the digits of condition. What neither the data nor the energy determine even then, such as a
          difference of two equal functions, or a function that the energy ignores and no data see, is left out: of all
          minimisers the one with the least coefficients is taken (in units in which all functions are seen alike), with
          a LinAlgWarning. The variance of a function that nothing determines is accordingly huge.
        - "direct": sparse LU factorisation; a system singular to rounding is refused.
        - "cg": conjugate gradients with the diagonal as preconditioner, to a residual of 1e-8 of the right-hand side,
          in units in which the diagonal is 1. It needs no factors, but thousands of steps when functions of several
          supports overlap: the last resort for a basis whose factors do not fit into memory.
        - "auto": "dense" for a dense energy or up to 1000 functions, "direct" beyond.

    Returns
    -------
    BasisField

    See Also
    --------
    curvature_centers : Where to put radial functions.
    seminorm.bases : The bases.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.bases import RadialSplineBasis
    >>> from seminorm.fields import fit_basis
    >>> basis = RadialSplineBasis(np.linspace(-1.0, 2.0, 31)[:, None], 0.4)
    >>> X = np.linspace(0.0, 1.0, 20)[:, None]
    >>> f = fit_basis(basis, basis.energy(order=2), X, np.sin(3 * X[:, 0]), alpha=1e-6)
    >>> f([[0.5]]).round(3), f.gradient([[0.5]]).round(2)
    (array([0.998]), array([[0.21]]))
    """
    data = _check_data(basis, X, y, sample_weight, gradients, gradient_weight)
    energy = _check_energy(energy, basis.size)
    if not (np.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be positive and finite, got {alpha!r}.")
    solver = _choose_solver(solver, energy)
    system, right = _normal_equations(basis, data)
    system = system + alpha * energy
    if solver == "dense":
        system = _dense(system)
        coef, posterior, squared = _solve_dense(system, right, basis, data, alpha, energy)
    else:
        posterior = sparse.csr_array(system)
        coef = (_factorized if solver == "direct" else _iterated)(posterior)(right)
        squared = _quadratic_form(energy, coef)
    if np.ndim(y) == 1:
        coef, squared = coef[:, 0], squared[0]
    return BasisField(basis, coef, squared, posterior)


class BasisField(StoredFunction):
    """f = sum_k coef[k] b_k, with the posterior of its Gaussian process; :func:`fit_basis` makes it.

    Parameters
    ----------
    basis, coef : Basis, array (p,) or (p, k)
    squared_seminorm : float or array (k,)
        Coef' F coef.
    posterior : array or sparse matrix, optional
        For :meth:`variance`: the system matrix S of (3.4) if sparse, else a matrix R with S^-1 = R R'.

    See Also
    --------
    fit_basis
    """

    def __init__(self, basis: Basis, coef, squared_seminorm, posterior=None):
        self.basis = basis
        self.coef = np.asarray(coef, dtype=float)
        self.squared_seminorm = np.asarray(squared_seminorm, dtype=float)
        self.posterior = posterior
        self._factors = None
        if self.coef.ndim not in (1, 2) or len(self.coef) != basis.size:
            raise ValueError(f"coef must have {basis.size} rows, one for each function, got shape {self.coef.shape}.")
        if self.squared_seminorm.shape != self.coef.shape[1:] or (self.squared_seminorm < 0).any():
            raise ValueError("squared_seminorm must be one number for each column of coef, not negative.")

    def __repr__(self):
        outputs = "" if self.coef.ndim == 1 else f", {self.coef.shape[1]} outputs"
        return f"<BasisField in {self.basis!r}{outputs}>"

    def seminorm(self) -> float | np.ndarray:
        """|f|, the root of the energy; one number for each output."""
        norms = np.sqrt(self.squared_seminorm)
        return float(norms) if self.coef.ndim == 1 else norms

    def variance(self, X, noise_variance: float, *, solver: str = "auto") -> np.ndarray:
        """Posterior variance of f at X (n,), of the function itself, without the noise of a new observation.

        The prior of the coefficients is normal with the covariance (noise_variance / alpha) F^-1, the noise of the
        values has the variance noise_variance / w_i: then f is the posterior mean, and the variance is noise_variance
        b(x)' S^-1 b(x) with the system matrix S of the fit [Walder 2008, 3.1.3]; ``noise_variance=alpha`` is the prior
        F^-1 of the source. The variance falls to zero where there are no functions, however far the data are. A sparse
        system is factorised at the first call; ``solver="cg"`` solves it for each point instead.
        """
        if self.posterior is None:
            raise ValueError("this field was saved or built without its posterior: fit again for the variance.")
        if not (np.isfinite(noise_variance) and noise_variance > 0):
            raise ValueError(f"noise_variance must be positive and finite, got {noise_variance!r}.")
        X = _check_points(self.basis, X)
        step = max(1, _CHUNK_ENTRIES // self.basis.size)
        solve = self._solver(solver)
        blocks = (_dense(self.basis.design(X[begin : begin + step])) for begin in range(0, len(X), step))
        return noise_variance * np.concatenate([solve(block) for block in blocks])

    def content(self, *, with_posterior: bool = True) -> dict:
        """What a file holds of the field; :meth:`from_content` reads it."""
        name = type(self.basis).__name__
        if _BASES.get(name) is not type(self.basis):
            raise ValueError(f"a field in {self.basis!r} cannot be saved without pickle, only in {', '.join(_BASES)}.")
        content = {"basis": name, "parameters": self.basis.parameters(), "coef": self.coef}
        posterior = self.posterior if with_posterior else None
        return content | {"squared_seminorm": self.squared_seminorm, "posterior": posterior}

    @classmethod
    def from_content(cls, content: dict, path: Any = "the file") -> Self:
        if content.get("basis") not in _BASES:
            raise ValueError(f"{path} does not hold a BasisField.")
        basis = _BASES[content["basis"]](**content["parameters"])
        return cls(basis, content["coef"], content["squared_seminorm"], content["posterior"])

    def save(self, path: str | Path, *, with_posterior: bool = True) -> Path:
        """Write the field to one npz file without pickle; :meth:`load` reads it. The posterior, which only
        :meth:`variance` needs, is by far the largest part: leave it out for a small file.
        """
        return save_npz(path, {"type": type(self).__name__, **self.content(with_posterior=with_posterior)})

    def _derivative(self, X, times: int) -> np.ndarray:
        X = _check_points(self.basis, X)
        coef = output_columns(self.coef)
        step = _block_size(self.basis, X, times)
        blocks = [self.basis.design(X[begin : begin + step], times) @ coef for begin in range(0, len(X), step)]
        values = np.concatenate(blocks).reshape((len(X),) + (self.basis.dimension,) * times + (coef.shape[1],))
        return values[..., 0] if self.coef.ndim == 1 else np.moveaxis(values, -1, 1)

    def _solver(self, solver: str):
        """A function that takes rows b to b' S^-1 b."""
        if not sparse.issparse(self.posterior):
            return lambda rows: np.sum((rows @ self.posterior) ** 2, axis=1)
        if solver not in ("auto", "direct", "cg"):
            raise ValueError(f"solver must be auto, direct or cg for a sparse system, got {solver!r}.")
        if solver == "cg":
            solve = _iterated(self.posterior)
        else:
            self._factors = solve = self._factors or _factorized(self.posterior)
        return lambda rows: np.einsum("ij,ji->i", rows, solve(rows.T))

    def __getstate__(self):  # the factors cannot be pickled
        return {**vars(self), "_factors": None}


class _Data(NamedTuple):
    """Observations: values (n, k), gradients (n, d, k) or None, and their weights."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    gradients: np.ndarray | None
    gradient_weight: np.ndarray

    def rows(self, basis: Basis) -> Iterator[tuple]:
        """Blocks of rows of the least-squares problem: derivatives of the basis and observations, both weighted."""
        roots = np.sqrt(self.weight), np.sqrt(self.gradient_weight)
        targets = (self.y,) if self.gradients is None else (self.y, self.gradients)
        for order, target in enumerate(targets):
            step = _block_size(basis, self.X, order)
            for begin in range(0, len(self.X), step):
                block = slice(begin, begin + step)
                root = np.repeat(roots[order][block], basis.dimension**order)[:, None]
                design = basis.design(self.X[block], order)
                design = sparse.diags_array(root[:, 0]) @ design if sparse.issparse(design) else root * design
                yield design, root * target[block].reshape(-1, target.shape[-1])


def _check_data(basis, X, y, sample_weight, gradients, gradient_weight) -> _Data:
    X = _check_points(basis, X)
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    if y.ndim > 2 or len(y) != len(X):
        raise ValueError(f"y must have shape ({len(X)},) or ({len(X)}, k), got {y.shape}.")
    if gradients is None and gradient_weight is not None:
        raise ValueError("gradient_weight needs gradients.")
    if gradients is not None:
        gradients, shape = np.asarray(gradients, dtype=float), y.shape + (basis.dimension,)
        if gradients.shape != shape or not np.isfinite(gradients).all():
            raise ValueError(f"gradients must be finite and of shape {shape}, got {gradients.shape}.")
        gradients = gradients[..., None] if y.ndim == 1 else np.moveaxis(gradients, 1, 2)
    weight = _check_weight(sample_weight, len(X), "sample_weight")
    gradient_weight = _check_weight(gradient_weight, len(X), "gradient_weight")
    return _Data(X, y.reshape(len(X), -1), weight, gradients, gradient_weight)


def _check_weight(weight, n: int, name: str) -> np.ndarray:
    weight = np.asarray(1.0 if weight is None else weight, dtype=float)
    if weight.shape not in ((), (n,)) or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError(f"{name} must be one number or one for each of the {n} points, finite and not negative.")
    return np.broadcast_to(weight, (n,))


def _check_points(basis: Basis, X) -> np.ndarray:
    X = check_array(X, dtype=np.float64, input_name="X")
    if X.shape[1] != basis.dimension:
        raise ValueError(f"X must have shape (n, {basis.dimension}), got {X.shape}.")
    return X


def _check_energy(energy, size: int):
    energy = sparse.csr_array(energy) if sparse.issparse(energy) else np.asarray(energy, dtype=float)
    if energy.shape != (size, size):
        raise ValueError(f"energy must have shape ({size}, {size}) for this basis, got {energy.shape}.")
    if not np.isfinite(energy.data if sparse.issparse(energy) else energy).all():
        raise ValueError("energy must hold finite numbers.")
    if abs(energy - energy.T).max() > 1e-10 * abs(energy).max():
        raise ValueError("energy must be symmetric.")
    return energy


def _choose_solver(solver: str, energy) -> str:
    if solver not in _SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(_SOLVERS)}, got {solver!r}.")
    if not sparse.issparse(energy):
        if solver in ("direct", "cg"):
            raise ValueError(f"solver={solver!r} needs a sparse energy; use 'dense'.")
        return "dense"
    if solver != "auto":
        return solver
    return "dense" if energy.shape[0] <= _DENSE_SIZE else "direct"


def _block_size(basis: Basis, X: np.ndarray, order: int) -> int:
    """Points whose rows of the design fit into a block of bounded memory."""
    width = min(basis.size, _SPARSE_ROW) if sparse.issparse(basis.design(X[:1])) else basis.size
    return max(1, _CHUNK_ENTRIES // (width * basis.dimension**order))


def _dense(matrix) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def _normal_equations(basis: Basis, data: _Data):
    """The sums of w b(x) b(x)' and w b(x) y over the data, block by block."""
    system, right = 0, np.zeros((basis.size, data.y.shape[1]))
    for design, target in data.rows(basis):
        system = system + design.T @ design
        right += design.T @ target
    return system, right


def _quadratic_form(energy, coef: np.ndarray) -> np.ndarray:
    """coef' F coef for each column; refuses an energy that shows to be indefinite."""
    squared = np.einsum("ij,ij->j", coef, energy @ coef)
    magnitude = np.einsum("ij,ij->j", np.abs(coef), abs(energy) @ np.abs(coef))
    if (squared < -1e-10 * magnitude).any():
        raise ValueError(f"energy must be positive semi-definite, and that of the fit is {squared.min():.3g}.")
    return np.maximum(squared, 0.0)


def _solve_dense(system: np.ndarray, right: np.ndarray, basis: Basis, data: _Data, alpha: float, energy):
    """Coefficients, a root of the inverse of the system and the energy; the diagonal is scaled to 1 first."""
    p = len(system)
    require_memory(24 * p * p, f"a dense system of {p} functions", "use solver='cg' with a sparse basis.")
    diagonal = np.diag(system)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = scale[:, None] * system * scale
    norm = np.abs(scaled).sum(axis=0).max()
    try:
        factor = cholesky(scaled)
        well_posed = lapack.dpocon(factor, norm)[0] > _SINGULAR
    except LinAlgError:
        well_posed = False
    if not well_posed:
        return _least_squares(basis, data, alpha, energy, scale)
    coef = scale[:, None] * cho_solve((factor, False), scale[:, None] * right)
    return coef, scale[:, None] * lapack.dtrtri(factor)[0], _quadratic_form(energy, coef)


def _least_squares(basis: Basis, data: _Data, alpha: float, energy, scale: np.ndarray):
    """The same from rows w^1/2 b(x) and (alpha F)^1/2, with eigenvalues of F below its rounding raised to it."""
    values, vectors = _eigen_decomposition(scale[:, None] * _dense(energy) * scale)
    floor = len(values) * _EPS * values[-1]
    root_of_energy = np.sqrt(np.maximum(values, floor))[:, None] * vectors.T
    triangle, target = math.sqrt(alpha) * root_of_energy, np.zeros((len(values), data.y.shape[1]))
    for design, observed in data.rows(basis):
        Q, triangle = qr(np.concatenate([triangle, _dense(design) * scale]), mode="economic", overwrite_a=True)
        target = Q.T @ np.concatenate([target, observed])
    U, sizes, Vt = svd(triangle, full_matrices=False)
    hidden = alpha * floor * np.sum((Vt @ vectors[:, values <= floor]) ** 2, axis=1) > 0.5 * sizes**2
    if hidden.any():
        warn_user(
            f"the {basis.size} functions have rank {basis.size - hidden.sum()} to rounding, as the data and the energy "
            "see them: of all minimisers the one with the least coefficients is taken. Functions that coincide or "
            "nearly so can be left out; functions that neither the energy nor the data determine need data.",
            LinAlgWarning,
        )
    root = Vt.T / sizes
    scaled = root[:, ~hidden] @ (U[:, ~hidden].T @ target)
    return scale[:, None] * scaled, scale[:, None] * root, np.sum((root_of_energy @ scaled) ** 2, axis=0)


def _eigen_decomposition(energy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = eigh(energy)
    if values[0] < -10.0 * len(values) * _EPS * abs(values).max():
        raise ValueError(
            f"energy must be positive semi-definite, and it has the eigenvalue {values[0]:.3g} (the largest is "
            f"{values[-1]:.3g}) when the functions are scaled to equal size."
        )
    return values, vectors


def _factorized(system: sparse.csr_array):
    """A function that solves the system for the columns of a matrix, by sparse factors."""
    scale = 1.0 / np.sqrt(np.where(system.diagonal() > 0, system.diagonal(), 1.0))
    scaled = sparse.csc_array(sparse.diags_array(scale) @ system @ sparse.diags_array(scale))
    try:
        solve = factorize(scaled)
        reciprocal = reciprocal_condition(scaled, solve)
    except RuntimeError:  # exactly singular
        reciprocal = 0.0
    except MemoryError as error:
        raise NotEnoughMemoryError(
            f"the factors of a system of {len(scale)} functions do not fit into memory: use solver='cg', or fewer or "
            "narrower functions."
        ) from error
    if reciprocal < _SINGULAR:
        raise LinAlgError(
            f"the system of {len(scale)} functions is singular to rounding: some functions coincide, or neither the "
            "energy nor the data determine them. Leave them out, or use solver='dense', which takes the coefficients "
            "of least norm."
        )
    return lambda right: scale[:, None] * solve(scale[:, None] * right)


def _iterated(system: sparse.csr_array):
    """The same by conjugate gradients."""
    diagonal = np.where(system.diagonal() > 0, system.diagonal(), 1.0)

    def solve(right: np.ndarray) -> np.ndarray:
        solution = np.zeros_like(right)
        for x, column in zip(solution.T, right.T, strict=True):
            outcome = conjugate_gradients(
                lambda v: system @ v, lambda v: v / diagonal, column, x, tol=_CG_TOLERANCE, max_iter=_CG_STEPS
            )
            if not outcome.converged:
                warn_user(
                    f"conjugate gradients stopped after {outcome.n_iter} steps at a relative residual of "
                    f"{outcome.residual:.1e} ({_CG_TOLERANCE:.0e} wanted): a larger alpha or fewer, less overlapping "
                    "functions help.",
                    ConvergenceWarning,
                )
        return solution

    return solve
