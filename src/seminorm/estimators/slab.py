"""The slab support vector machine: a surface through points without normals (seed 004, 4.4.1)."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.base import OutlierMixin

from .. import _threads as threads
from ..functions import Expansion
from ..kernels import Gaussian, Kernel
from ..nullspace import Polynomials
from ..solvers.box_qp import PairedForm, solve_box_qp
from .kernel_input import ExpansionMachine

_NEGLIGIBLE = 1e-7
_SCALE = 0.5  # of the default kernel, in root mean square distances from the mean
_ROUNDING = 1e-6


class SlabMachine(OutlierMixin, ExpansionMachine):
    """The points between two parallel hyperplanes of feature space, as far from the origin as possible.

    Minimises 1/2 |g|^2 - rho + 1 / (nu n) sum_i max(0, |g(x_i) - rho| - delta). The surface is the zero set of g - rho.
    It needs no normals, and no labelled points; in return the sign of g - rho tells inside from outside only near the
    points, and is negative far away on both sides (seed 004, figure 4.11).

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Positive definite. Left out, a Gaussian whose scale is half of the root mean square distance of the points from
        their mean.
    nu : float
        0 < nu <= 1: the smaller, the dearer are points outside the slab.
    delta : float
        Half of the width of the slab, in units of g. With 0 and a small nu, the surface goes through all points.

    Attributes
    ----------
    rho_ : float
    support_ : array
        Rows of X with a kernel term: on the faces of the slab or outside.
    dual_coef_ : array (1, n_support)
        They add up to 1.
    offset_ : float
        Minus delta (with the tolerance of the solver, so that points on the faces are inliers).
    function_ : Expansion
        g - rho.
    n_iter_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.estimators.slab import SlabMachine
    >>> from seminorm.kernels import Gaussian
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> slab = SlabMachine(Gaussian(0.5), nu=0.1, delta=0.001).fit(circle)
    >>> slab.predict([[0.6, 0.8], [0.0, 0.0], [2.0, 0.0]])
    array([ 1, -1, -1])
    """

    def __init__(self, kernel: Kernel | str | None = None, nu: float = 0.1, delta: float = 0.01):
        self.kernel = kernel
        self.nu = nu
        self.delta = delta

    def fit(self, X, y=None) -> SlabMachine:
        """Find the slab around the rows of X, or around the training points with the kernel matrix X."""
        if not (isinstance(self.nu, Real) and 0 < self.nu <= 1):
            raise ValueError(f"nu must be a number with 0 < nu <= 1, got {self.nu!r}.")
        if not (isinstance(self.delta, Real) and np.isfinite(self.delta) and self.delta >= 0):
            raise ValueError(f"delta must be a number >= 0, got {self.delta!r}.")
        X = self._check_training(X)
        n = X.shape[0]
        with threads.suited_to(n):
            K = self._gram(X)
            signs = np.repeat([1.0, -1.0], n)
            bounds = np.full(2 * n, (1.0 + _ROUNDING) / (self.nu * n))
            level = float(K.mean())  # by the equality it changes the multiplier alone, and gives the problem its scale
            solution = solve_box_qp(PairedForm(K), level * signs - self.delta, signs[None], np.ones(1), bounds)
            dual = solution.a[:n] - solution.a[n:]
        dual[np.abs(dual) <= _NEGLIGIBLE * np.abs(dual).max()] = 0.0
        dual /= dual.sum()
        self.rho_, self.n_iter_ = level - float(solution.multipliers[0]), solution.iterations
        self.support_ = np.flatnonzero(dual)
        self.dual_coef_ = dual[None, self.support_]
        self.offset_ = -float(self.delta) - _ROUNDING * abs(self.rho_)
        self.null_space_ = None if self._is_given() else Polynomials(0).fit(X)
        self._keep(X, dual[:, None], np.full((1, 1), -self.rho_))
        return self

    def score_samples(self, X) -> np.ndarray:
        """Minus the distance |g - rho| from the middle of the slab."""
        return -np.abs(self._values(self._check_points(X)).reshape(-1))

    def decision_function(self, X) -> np.ndarray:
        """delta - |g - rho|: negative outside the slab."""
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """+1 in the slab, -1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @property
    def function_(self) -> Expansion:
        """g - rho, as a function of points."""
        several = super().function_
        dual, null = several.dual_coef[:, 0], several.null_coef[:, 0]
        return Expansion(several.kernel, several.functionals, dual, several.null_space, null)

    def _settle_kernel(self, X):
        if self.kernel is None:
            spread = float(np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()))
            return Gaussian(_SCALE * spread if spread > 0 else 1.0)
        kernel = super()._settle_kernel(X)
        if kernel.order > 0:
            raise ValueError(
                f"kernel must be positive definite, got {kernel!r} of order {kernel.order}: the slab is as far from "
                "the origin of feature space as possible, and there is none. Use Gaussian(), or "
                "seminorm.nullspace.Twin.from_data(kernel, X)."
            )
        return kernel
