"""The slab support vector machine: a surface through points without normals [Walder 2008, 4.4.1]."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin

from .._base import blas as threads
from ..kernels import Gaussian, Kernel
from ..nullspace import Polynomials
from ..solvers.margin.one_class import slab
from .base import KernelMachine
from .settling import with_scale

_SCALE = 0.5  # of the default kernel, in root mean square distances from the mean


class SlabMachine(OutlierMixin, KernelMachine):
    """The points between two parallel hyperplanes of feature space, as far from the origin as possible.

    Minimises 1/2 |g|^2 - rho + 1 / (nu n) sum_i max(0, |g(x_i) - rho| - delta). The surface is the zero set of g - rho.
    It needs no normals, and no labelled points; in return the sign of g - rho tells inside from outside only near the
    points, and is negative far away on both sides [Walder 2008, figure 4.11].

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Positive definite. Left out, a Gaussian whose scale is half of the root mean square distance of the points from
        their mean.
    nu : float
        0 < nu <= 1. The smaller it is, the more a point outside the slab costs.
    delta : float
        Half of the width of the slab, in units of g. With 0 and a small nu, the surface goes through all points.
    metric : {None, "standardize"}
        Units of the columns of X: as they are, or their standard deviations.

    Attributes
    ----------
    support_ : array
        Rows of X with a kernel term: on the faces of the slab or outside.
    dual_coef_, rho_ : array (1, n_support), float
        The coefficients of g, which add up to 1, and rho.
    offset_ : float
        Minus delta (with the tolerance of the solver, so that points on the faces are inliers).
    function_ : Expansion
        g - rho.
    n_iter_ : int

    See Also
    --------
    EnclosingHypersphere, ImplicitSVM

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SlabMachine
    >>> from seminorm.kernels import Gaussian
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> SlabMachine(Gaussian(0.5), delta=0.001).fit(circle).predict([[0.6, 0.8], [0.0, 0.0], [2.0, 0.0]])
    array([ 1, -1, -1])
    """

    offset_: float
    _single_output = True

    def __init__(
        self, kernel: Kernel | str | None = None, nu: float = 0.1, delta: float = 0.01, metric: str | None = None
    ):
        self.kernel, self.nu, self.delta, self.metric = kernel, nu, delta, metric

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> SlabMachine:
        """Find the slab around the rows of X, or around the training points with the kernel matrix X.

        A weight counts as repetition of a row.
        """
        if not (isinstance(self.nu, Real) and 0 < self.nu <= 1):
            raise ValueError(f"nu must be a number with 0 < nu <= 1, got {self.nu!r}.")
        if not (isinstance(self.delta, Real) and np.isfinite(self.delta) and self.delta >= 0):
            raise ValueError(f"delta must be a number >= 0, got {self.delta!r}.")
        samples = self._samples(self._check_input(X), sample_weight=sample_weight)
        self._settle(samples)
        with threads.suited_to(len(samples.rows)):
            found = slab(self._gram(samples.X), float(self.nu), float(self.delta), samples.weights)
        self.rho_, self.n_iter_ = found.rho, found.iterations
        used = np.flatnonzero(found.weights)
        self.support_, self.dual_coef_ = samples.rows[used], found.weights[None, used]
        self.offset_ = -found.reach
        self.null_space_ = None if self._is_given() else Polynomials(0).fit(samples.X)
        self._keep(samples, found.weights[:, None], np.full((1, 1), -self.rho_))
        return self

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Minus the distance |g - rho| from the middle of the slab."""
        return -np.abs(self._values(self._check_points(X)).reshape(-1))

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """delta - |g - rho|: negative outside the slab."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """+1 in the slab, -1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _settle_kernel(self, X):
        kernel = super()._settle_kernel(X)
        if kernel.cpd_order > 0:
            raise ValueError(
                f"kernel must be positive definite, got {kernel!r} of order {kernel.cpd_order}: the slab is as far "
                "from the origin of feature space as possible, and there is none. Use Gaussian(), or "
                "seminorm.nullspace.Twin.from_data(kernel, X)."
            )
        return kernel

    def _default_or_given(self) -> Kernel:
        return super()._default_or_given() if self.kernel is not None else Gaussian("auto")

    def _with_scale(self, kernel: Kernel, X) -> Kernel:
        """The default kernel has half of the root mean square distance of the points from their mean as its scale."""
        if self.kernel is not None:
            return super()._with_scale(kernel, X)
        Z = kernel._coordinates(X) if hasattr(kernel, "_coordinates") else X
        spread = float(np.sqrt(((Z - Z.mean(axis=0)) ** 2).sum(axis=1).mean()))
        return with_scale(kernel, _SCALE * spread if spread > 0 else 1.0).for_dimension(X.shape[1])
