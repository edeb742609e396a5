"""Novelty detection by the smallest sphere in the feature space of a kernel."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin

from .._base import blas as threads
from ..kernels import Kernel
from ..nullspace import Polynomials
from ..solvers.margin.one_class import enclosing_sphere
from .base import KernelMachine


class EnclosingHypersphere(OutlierMixin, KernelMachine):
    """The smallest sphere in feature space that holds all but a share ``nu`` of the points: what lies outside is novel.

    Its centre is a combination sum_i a_i phi(x_i) with sum a = 1, found from the dual min a'Ka - a'diag(K), 0 <= a_i <=
    w_i / (nu sum w), w the weights of the points. At most a share nu of the training points lies outside, and at least
    a share nu has a_i > 0. With the linear kernel and a small nu it is the smallest ball around the points; with a
    kernel that has k(x, x) constant it is the one-class support vector machine.

    A conditionally positive definite kernel of order 1 will do, because sum a = 1: adding b(x) + b(y) to the kernel
    changes neither the dual nor any distance k(x, x) - 2 sum_i a_i k(x_i, x) + a'Ka. Kernels of higher order are
    refused. If the kernel is indefinite on the training points, the dual is not convex, and the sphere belongs to a
    stationary point of it, where nothing improves by moving weight from one point to another by a little
    (``convex_`` is False).

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        ``NegativeDistance()`` if left out. For "precomputed" X is the matrix of kernel values to the training points.
    nu : float
        Share of the training points that may lie outside, 0 < nu <= 1.
    metric : {None, "standardize"}
        Units of the columns of X: as they are, or their standard deviations.

    Attributes
    ----------
    support_, dual_coef_ : arrays (n_support,) and (1, n_support)
        Rows of X with a weight in the centre, on the sphere or outside, and their weights a, which add up to 1.
    radius_ : float
        In feature space; NaN if an indefinite kernel makes its square negative.
    offset_ : float
        Minus the squared radius (with the tolerance of the solver, so that points on the sphere are inliers).
    convex_ : bool
        Whether the sphere is known to be the smallest.
    function_ : Expansion
        The inner product with the centre, sum_i a_i k(x_i, .).

    See Also
    --------
    SlabMachine : A slab instead of a sphere.

    Examples
    --------
    >>> from seminorm import EnclosingHypersphere
    >>> from seminorm.kernels import Linear
    >>> model = EnclosingHypersphere(Linear(), nu=0.01).fit([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> model.predict([[1.0, 0.9], [1.0, 1.1]])
    array([ 1, -1])
    """

    offset_: float
    _center_square_: float

    def __init__(self, kernel: Kernel | str | None = None, nu: float = 0.1, metric: str | None = None):
        self.kernel, self.nu, self.metric = kernel, nu, metric

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> EnclosingHypersphere:
        """Find the sphere around the rows of X, or around the training points with the kernel matrix X.

        A weight counts as repetition of a row.
        """
        if not (isinstance(self.nu, Real) and 0 < self.nu <= 1):
            raise ValueError(f"nu must be a share with 0 < nu <= 1, got {self.nu!r}.")
        X = self._check_input(X)
        samples = self._samples(X, sample_weight=sample_weight)
        self._settle(samples)
        self._refuse_higher_order()
        with threads.suited_to(len(samples.rows)):
            K = self._gram(samples.X)
            definite = self.kernel_ is not None and not self.kernel_.is_indefinite
            sphere = enclosing_sphere(K, float(self.nu), samples.weights, definite=definite)
            self._center_square_ = float(sphere.weights @ K @ sphere.weights)
        used = np.flatnonzero(sphere.weights)
        self.support_, self.dual_coef_ = samples.rows[used], sphere.weights[None, used]
        self.radius_ = float(np.sqrt(sphere.squared_radius)) if sphere.squared_radius >= 0 else float("nan")
        self.offset_, self.convex_ = -float(sphere.reach), sphere.convex
        self.diag_fit_ = self._training_diag(X)
        self.null_space_ = None if self._is_given() else Polynomials(-1).fit(samples.X)
        self._keep(samples, sphere.weights[:, None], np.zeros((0, 1)))
        return self

    def score_samples(self, X: ArrayLike, diag: ArrayLike | None = None) -> np.ndarray:
        """Minus the squared distance to the centre: the lower, the more novel.

        With ``kernel="precomputed"`` X is the kernel matrix (m, n) to the training points, and ``diag`` (m,) is k(x, x)
        of its rows. It may be left out where k(x, x) is the same for all training points.
        """
        X = self._check_points(X)
        return 2.0 * self._values(X)[:, 0] - self._diag(X, diag) - self._center_square_

    def decision_function(self, X: ArrayLike, diag: ArrayLike | None = None) -> np.ndarray:
        """The squared radius less the squared distance to the centre: negative outside."""
        return self.score_samples(X, diag) - self.offset_

    def predict(self, X: ArrayLike, diag: ArrayLike | None = None) -> np.ndarray:
        """+1 inside and on the sphere, -1 outside."""
        return np.where(self.decision_function(X, diag) >= 0, 1, -1)

    def fit_predict(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> np.ndarray:
        """Find the sphere and tell which training points are inside, +1, and outside, -1."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X, self.diag_fit_ if self._is_given() else None)
