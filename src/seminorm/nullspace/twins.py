"""From conditionally positive definite to positive definite kernels [Walder 2008, theorem 5.4.2], [Li et al. 2007]."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..kernels.base import Kernel, as_in
from ..kernels.conditional_radial import ThinPlate
from .linear_algebra import independent_columns, unisolvent_subset
from .spaces import Frozen, NullSpace
from .specification import null_space_for


@as_in("space", "degree")
class LagrangeBasis(NullSpace):
    """The basis of a null space that is 1 at one of the given points and 0 at the others [Walder 2008, (5.18)].

    Parameters
    ----------
    space : NullSpace
        The space; it is fitted on the points unless it is :class:`Frozen`.
    points : array (r, d)
        One point per dimension of the space, in general position (unisolvent).

    See Also
    --------
    unisolvent_subset, Twin

    Examples
    --------
    >>> from seminorm.nullspace import LagrangeBasis, Polynomials
    >>> LagrangeBasis(Polynomials(1), [[0.0], [4.0]]).fit()([[1.0]])
    array([[0.75, 0.25]])
    """

    def __init__(self, space: NullSpace, points: ArrayLike):
        self.space = space
        self.points: Any = points

    def fit(self, X: Any = None, y: object = None) -> Self:
        """Fit the space on the points; ``X`` and ``y`` are ignored."""
        points = np.asarray(self.points, dtype=float)
        self.space_ = clone(self.space).fit(points)
        values = self.space_(points)
        if values.shape[0] != values.shape[1] or independent_columns(values, self.space_.resolution) is not None:
            raise ValueError(
                f"points must be {values.shape[1]} points that determine the {values.shape[1]} functions of the "
                f"null space, got {len(points)} that do not: seminorm.nullspace.unisolvent_subset chooses some from "
                "the data."
            )
        self.coef_ = np.linalg.inv(values)
        return self

    def derivative(self, X: Any, times: int) -> np.ndarray:
        return np.moveaxis(np.tensordot(self.space_.derivative(X, times), self.coef_, axes=(1, 0)), -1, 1)


def semidefinite_matrix(kernel: Kernel, X: np.ndarray, points: np.ndarray, lagrange: np.ndarray) -> np.ndarray:
    """The matrix of the semi-definite twin H on X.

    Parameters
    ----------
    kernel, X : Kernel, array (n, d)
    points : array (r, d)
        Unisolvent points.
    lagrange : array (n, r)
        The Lagrange functions of the points at X.

    Returns
    -------
    array (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import NegativeDistance
    >>> from seminorm.nullspace import semidefinite_matrix
    >>> X = np.array([[0.0], [1.0]])
    >>> semidefinite_matrix(NegativeDistance(), X, X[:1], np.ones((2, 1)))
    array([[0., 0.],
           [0., 2.]])

    See Also
    --------
    Twin : the kernel itself.
    """
    if not len(points):
        return kernel(X)
    correction = lagrange @ (0.5 * lagrange @ kernel(points) - kernel(X, points)).T
    return kernel(X) + (correction + correction.T)


@as_in("kernel", "differentiability", "max_dimension")
class Corrected(Kernel):
    """Base of the kernels phi(x, y) + l(x) b(y)' + b(x) l(y)'.

    A subclass supplies ``_sides(X, times)``: the derivatives of l (n, r) and of b (n, r).
    """

    kernel: Kernel

    def _refuse_singular(self, X, Y, times):
        self.kernel._refuse_singular(X, Y, times)

    def _sides(self, X, times: int) -> tuple[np.ndarray, np.ndarray]:
        raise TypeError(f"{type(self).__name__} does not define its correction: supply _sides(X, times).")

    def _matrix(self, X, Y):
        matrix = self.kernel._matrix(X, Y)
        left, right = self._sides(X, 0)
        if Y is None:
            correction = left @ right.T
            matrix += correction + correction.T
            return matrix
        left_y, right_y = self._sides(Y, 0)
        matrix += left @ right_y.T
        matrix += right @ left_y.T
        return matrix

    def _diag(self, X):
        left, right = self._sides(X, 0)
        return self.kernel._diag(X) + 2.0 * np.einsum("ij,ij->i", left, right)

    def _derivative(self, X, Y, x, y):
        (left_l, left_r), (right_l, right_r) = self._sides(X, x), self._sides(Y, y)
        first, second = "abcd"[:x], "efgh"[:y]
        rule = f"nq{first},mq{second}->nm{first}{second}"
        return self.kernel._derivative(X, Y, x, y) + np.einsum(rule, left_l, right_r) + np.einsum(rule, left_r, right_l)


class Twin(Corrected):
    """The positive (semi-)definite twin of a conditionally positive definite kernel.

    With the Lagrange basis l_1 .. l_r of the null space on unisolvent points z_1 .. z_r,

        H(x, y) = phi(x, y) - sum_i l_i(x) phi(z_i, y) - sum_i phi(x, z_i) l_i(y) + sum_ij l_i(x) phi(z_i, z_j) l_j(y)

    is positive semi-definite and vanishes at the points; K = H + sum_i l_i(x) l_i(y) is positive definite. Either can
    be used in any scikit-learn estimator that takes a kernel.

    Parameters
    ----------
    kernel : Kernel
        The conditionally positive definite kernel.
    points : array (r, d)
        Unisolvent points; :meth:`from_data` chooses them.
    null_space : NullSpace
        Degree or "auto"; as in the estimators.
    definite : bool
        K if true, H if false.

    See Also
    --------
    LagrangeBasis, ThinPlateTwin

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import ThinPlate
    >>> from seminorm.nullspace import Twin
    >>> from sklearn.svm import SVR
    >>> X = np.random.default_rng(0).random((30, 2))
    >>> SVR(kernel=Twin.from_data(ThinPlate(), X)).fit(X, X[:, 0]).predict(X).shape
    (30,)
    """

    def __init__(self, kernel: Kernel, points: ArrayLike, null_space: Any = "auto", definite: bool = True):
        self.kernel = kernel
        self.points: Any = points
        self.null_space, self.definite = null_space, definite

    @classmethod
    def from_data(cls, kernel: Kernel, X: ArrayLike, null_space: Any = "auto", definite: bool = True) -> Twin:
        """The twin on a well-conditioned unisolvent subset of the rows of X."""
        X = np.asarray(X, dtype=float)
        space = null_space_for(null_space, kernel.for_dimension(X.shape[1]), X)
        values = space(X)
        if not values.shape[1]:
            raise ValueError(f"{kernel!r} with null_space={null_space!r} leaves nothing free: it is its own twin.")
        return cls(kernel, X[unisolvent_subset(values)], Frozen(space), definite)

    def for_dimension(self, dimension: int) -> Kernel:
        return Twin(self.kernel.for_dimension(dimension), self.points, self.null_space, self.definite)

    def _sides(self, X, times: int):
        """Derivatives of L (Lagrange functions) and of B such that the twin is phi + L B' + B L'."""
        points = np.asarray(self.points, dtype=float)
        if points.ndim != 2 or points.shape[1] != X.shape[1]:
            raise ValueError(f"points must have the {X.shape[1]} columns of X, got shape {points.shape}.")
        space = null_space_for(self.null_space, self.kernel, points)
        lagrange = LagrangeBasis(space, points).fit().derivative(X, times)
        core = 0.5 * (self.kernel(points) + (np.eye(len(points)) if self.definite else 0.0))
        half = np.moveaxis(np.tensordot(lagrange, core, axes=(1, 0)), -1, 1)
        return lagrange, half - self.kernel.derivative(X, points, x=times)


class SoftTwin(Corrected):
    """The twin whose null space is penalised a little: a kernel with only the constant left free.

    With Q an orthonormal basis of the null space on the points, q(x) = p(x) R^-1 its functions (P = Q R) and Q1 the
    functions beside the constant, the kernel is phi projected beside them on the points, plus weight times
    sum_j q_j(x) q_j(y) over Q1. It is positive semi-definite, and leaves the constant free by default. Translations,
    rotations and dilations of the points change nothing but a factor, because the weight is a multiple of the mean
    eigenvalue of the projected matrix.

    Parameters
    ----------
    kernel : Kernel
        The conditionally positive definite kernel.
    points : array (n, d)
        The data that the null space is orthonormal on.
    factor : float
        The weight of the null space, in mean eigenvalues of the projected kernel matrix. A large one leaves it free.

    See Also
    --------
    Twin

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import ThinPlate
    >>> from seminorm.nullspace import SoftTwin
    >>> X = np.random.default_rng(0).random((30, 2))
    >>> kernel = SoftTwin(ThinPlate(), X)
    >>> kernel.null_degree, bool(np.linalg.eigvalsh(kernel(X))[0] > -1e-12)
    (0, True)
    """

    def __init__(self, kernel: Kernel, points: ArrayLike, factor: float = 10.0):
        self.kernel = kernel
        self.points: Any = points
        self.factor = factor

    null_degree = 0

    def for_dimension(self, dimension: int) -> Kernel:
        settled = SoftTwin(self.kernel.for_dimension(dimension), self.points, self.factor)
        settled._settle()
        return settled

    def _settle(self) -> None:
        """What depends on the points: the space, R, Q'Phi Q with the weights, and Q."""
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise ValueError(f"factor must be a positive number, got {self.factor!r}.")
        points = np.asarray(self.points, dtype=float)
        self._space = null_space_for("auto", self.kernel, points)
        P = self._space(points)
        combinations = independent_columns(P, self._space.resolution)
        P = P if combinations is None else P @ combinations
        Q, R = np.linalg.qr(P)
        self._to_q = np.linalg.inv(R) if combinations is None else combinations @ np.linalg.inv(R)
        constant = Q.sum(axis=0) / np.sqrt(len(Q))  # in the basis: the rest is orthogonal to it
        Phi = self.kernel._matrix(points, None)
        PhiQ = Phi @ Q
        corner = Q.T @ PhiQ
        mean = (np.trace(Phi) - np.trace(corner)) / max(len(Phi) - Q.shape[1], 1)
        self._Q, self._points = Q, points
        self._core = 0.5 * (corner + self.factor * mean * (np.eye(len(corner)) - np.outer(constant, constant)))

    def _sides(self, X, times: int) -> tuple[np.ndarray, np.ndarray]:
        q = np.moveaxis(np.tensordot(self._space.derivative(X, times), self._to_q, axes=(1, 0)), -1, 1)
        phi = self.kernel._matrix(X, self._points) if times == 0 else self.kernel.derivative(X, self._points, x=times)
        along = np.moveaxis(np.tensordot(phi, self._Q, axes=(1, 0)), -1, 1)
        return q, np.moveaxis(np.tensordot(q, self._core, axes=(1, 0)), -1, 1) - along


class ThinPlateTwin(Kernel):
    """The semi-definite twin of the thin plate on 0, e_1 / sqrt 2, ..., e_d / sqrt 2 in closed form
    [Walder 2008, (5.19)].

    The kernel vanishes at these points and behaves better away from them.

    Parameters
    ----------
    shift : float
        Added to every coordinate of the inputs.

    Examples
    --------
    >>> from seminorm.nullspace import ThinPlateTwin
    >>> ThinPlateTwin()([[0.0, 0.0], [0.5, 0.5]]).round(4)
    array([[0.    , 0.    ],
           [0.    , 0.5681]])

    See Also
    --------
    Twin : of any kernel, on any points.
    """

    def __init__(self, shift: float = 0.0):
        self.shift = shift

    differentiability = 0  # the closed form comes without derivatives; Twin has them

    def _sides(self, X):
        X = X + self.shift
        corners = np.vstack([np.zeros(X.shape[1]), np.eye(X.shape[1]) / np.sqrt(2.0)])
        plate = ThinPlate()._matrix(X, corners)
        total = X.sum(axis=1)
        return X, total, total - np.sqrt(0.5), plate[:, 0], plate[:, 1:]

    @staticmethod
    def _one_way(left, right):
        """S(x, y) of (5.19), which is phi(x, y) + S(x, y) + S(y, x)."""
        (_, _, check, _, corners), (Y, total, _, origin, _) = left, right
        return (
            np.sqrt(2.0) * np.outer(check, origin)
            + 0.5 * np.log(2.0) * np.outer(check, total)
            - np.sqrt(2.0) * corners @ Y.T
        )

    def _matrix(self, X, Y):
        left = self._sides(X)
        right = left if Y is None else self._sides(Y)
        plate, forward = ThinPlate()._matrix(left[0], None if Y is None else right[0]), self._one_way(left, right)
        if Y is None:
            return plate + (forward + forward.T)
        return plate + forward + self._one_way(right, left).T

    def _diag(self, X):
        X, total, check, origin, corners = self._sides(X)
        return 2.0 * (
            np.sqrt(2.0) * check * origin
            + 0.5 * np.log(2.0) * check * total
            - np.sqrt(2.0) * np.einsum("ij,ij->i", corners, X)
        )
