"""The energy of a function as a quadratic form of its gradients at points where it is zero.

Among the functions with |f(x_i)| small and grad f(x_i) = n_i, the smoothest has the energy

    E(n) = min over f with grad f(x_i) = n_i of |f|^2 + sum_i f(x_i)^2 / alpha = n' C^-1 n,

C the covariance of the gradients at the points, given that the values there are zero up to noise of variance alpha.
With kernel matrices K of values, B of gradients and values, D of gradients, and a trend P (values) and T (gradients)
that is left free, all reduced to what annihilates the trend,

    C = D - B (K + alpha I)^-1 B'.

No saddle system is solved, and C is well conditioned: 10 to 1000.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, blas, cholesky, lapack, solve_triangular

from ....functions import Expansion, Functional, cross, design, gram
from ....kernels import Polyharmonic
from ....nullspace import NullSpace, Polynomials
from ....solvers.linear.householder import Reflectors, lower_symmetric

_ORDER = 3  # of the derivatives whose squares are the energy, the least for gradients at points
_MATRICES = 6.5  # of the size of C, at the same time (measured: 5.9 to 6.3)
_KEPT = 3  # forms
_RANK = 1e-6  # of the trend at the points, below which it does not see them all


class DegenerateTrendError(ValueError):
    """The points do not determine a trend: they lie on one of its zero sets, such as a plane.

    See Also
    --------
    GradientCovariance
    """


class GradientCovariance:
    """What E(n) needs of the points X (n, d), whatever alpha is.

    The trend is made of the polynomials up to ``degree``, by default the least that the kernel allows: affine in space.

    See Also
    --------
    GradientEnergy
    """

    def __init__(self, X: np.ndarray, degree: int | None = None):
        n, d = self.shape = X.shape
        self.kernel = Polyharmonic(_ORDER).for_dimension(d)
        self.functionals = [Functional(X), Functional.gradients(X)]
        self.space: NullSpace = Polynomials(self.kernel.cpd_order - 1 if degree is None else degree).fit(X)
        G, P = gram(self.kernel, self.functionals), design(self.space, self.functionals)
        self.reflectors, R = Reflectors.triangularize(P[:n])
        self.rank = P.shape[1]
        extents = np.abs(np.diag(R))
        if self.rank > n or extents.min() <= _RANK * extents.max():
            raise DegenerateTrendError(
                f"{n} points do not determine the {self.rank} polynomials of the trend: they are too few, or they lie "
                "in a plane, where method='propagation' works."
            )
        self.R = R
        self.trend = solve_triangular(R, P[n:].T, trans="T").T  # gradients of what is orthonormal at the points
        values = np.asfortranarray(G[:n, :n])
        self.reflectors.sandwich(values)
        self.values = lower_symmetric(values)  # K in the basis of the trend and of what annihilates it
        self.mixed = self.reflectors.apply_transposed(G[:n, n:])
        self.gradients = G[n:, n:].copy(order="F")  # a view would keep all of G
        self._recent: list[GradientEnergy] = []

    @staticmethod
    def bytes_needed(n: int, d: int) -> int:
        """About how much memory the energy of n points takes."""
        return int(_MATRICES * 8 * (n * d) ** 2)

    def energy(self, alpha: float) -> GradientEnergy:
        """The quadratic form for one alpha; the last few are kept."""
        kept = [form for form in self._recent if form.alpha == alpha]
        form = kept[0] if kept else GradientEnergy(self, alpha)
        self._recent = [form, *(other for other in self._recent if other is not form)][:_KEPT]
        return form


class GradientEnergy:
    """E(n) = n' C^-1 n for one alpha; ``Q = C^-1`` is a matrix (n d, n d)."""

    def __init__(self, covariance: GradientCovariance, alpha: float):
        self.of, self.alpha, r = covariance, alpha, covariance.rank
        K, W = covariance.values, covariance.trend
        A = K[r:, r:].copy()
        A[np.diag_indices_from(A)] += alpha
        self._B = covariance.mixed[r:] - K[r:, :r] @ W.T
        of_trend = 0.5 * W @ (K[:r, :r] + alpha * np.eye(r)) - covariance.mixed[:r].T
        try:
            self._LA = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
            half = solve_triangular(self._LA, self._B, lower=True, check_finite=False)
            C = covariance.gradients.copy(order="F")
            C = blas.dsyr2k(1.0, W, of_trend, beta=1.0, c=C, lower=1, overwrite_c=1)
            C = blas.dsyrk(-1.0, half, beta=1.0, c=C, trans=1, lower=1, overwrite_c=1)
            L = cholesky(C, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError as error:
            raise DegenerateTrendError(
                "the gradients at the points are not independent of the values: points nearly coincide."
            ) from error
        self.Q = lapack.dpotri(L, lower=1, overwrite_c=1)[0]
        self.Q += self.Q.T.copy()
        self.Q[np.diag_indices_from(self.Q)] *= 0.5

    @property
    def C(self) -> np.ndarray:
        """The covariance of the gradients, given the values."""
        return lower_symmetric(lapack.dpotri(cholesky(self.Q, lower=True, check_finite=False), lower=1)[0])

    def variance(self, X: np.ndarray) -> np.ndarray:
        """Variance (m,) of the function at places X (m, d), given values and gradients at the points; that of the noise
        is alpha."""
        of, r = self.of, self.of.rank
        given, gradients = (cross(of.kernel, [functional], X) for functional in of.functionals)
        w = solve_triangular(of.R, of.space(X).T, trans="T")  # the trend at X, from that at the points
        values = of.reflectors.apply_transposed(given)
        K, W = of.values, of.trend
        known = values[r:] - K[r:, :r] @ w
        seen = gradients - of.mixed[:r].T @ w - W @ (values[:r] - K[:r, :r] @ w - self.alpha * w)
        half = solve_triangular(self._LA, known, lower=True, check_finite=False)
        seen -= self._B.T @ solve_triangular(self._LA, half, lower=True, trans="T", check_finite=False)
        own = of.kernel.diag(X) - 2.0 * (w * values[:r]).sum(axis=0)
        own += (w * (K[:r, :r] @ w)).sum(axis=0) + self.alpha * (w**2).sum(axis=0)
        return np.maximum(own - (half**2).sum(axis=0) - (seen * (self.Q @ seen)).sum(axis=0), 0.0)

    def function(self, gradients: np.ndarray) -> Expansion:
        """The smoothest function with these gradients (n, d) at the points."""
        of, r = self.of, self.of.rank
        b = self.Q @ gradients.ravel()
        y = -lapack.dpotrs(self._LA, self._B @ b, lower=1)[0]
        a = np.concatenate([-of.trend.T @ b, y])
        right = -(of.values[:r] @ a + of.mixed[:r] @ b + self.alpha * a[:r])
        null = solve_triangular(of.R, right)
        dual = np.concatenate([of.reflectors.apply(a), b])
        return Expansion(of.kernel, of.functionals, dual, of.space, null)
