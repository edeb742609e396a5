"""Distances of spectra and signals up to baselines and intensity."""

from numbers import Integral

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import ArrayLike

from ...kernels.radial import radial_matrix
from .base import Distance, require_equal_patterns

_NOTHING = 64 * np.finfo(float).eps


class SubspaceDistance(Distance):
    r"""Distance of spectra up to polynomial baselines, and up to intensity.

    Any polynomial may be added to a pattern at no cost, which leaves its projection on their orthogonal complement,

    .. math:: \min_{p, q} |(x - p) - (y - q)| = |P x - P y|.

    With ``scale=True`` each pattern may also be multiplied by a positive number. The smallest :math:`|P x - a P y|`
    over a is not symmetric, and over two factors it is 0; here both patterns are brought to unit length,

    .. math:: d(x, y) = | P x / |P x| - P y / |P y| | = 2 \sin(\theta / 2),

    with the angle :math:`\theta` of the projections. This is symmetric, invariant, and the norm of a difference, so
    that kernels of it stay definite. A pattern that is only a baseline is represented by 0, at distance 1 from others.

    Parameters
    ----------
    baseline_degree : int or None, default 2
        Degree of the polynomials, 0 for a constant offset, None for no baselines.
    scale : bool, default False
        Whether to ignore the intensity.
    positions : array (d,) or None
        Where the samples were taken (wavelengths), if they are not evenly spaced.
    directions : array (k, d) or None
        Further patterns of which any multiples are free, such as a known background.

    See Also
    --------
    Baseline : The polynomials as a set of transformations, for integration kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance.distances import SubspaceDistance
    >>> t = np.linspace(0.0, 1.0, 50)
    >>> peak = np.exp(-100 * (t - 0.4) ** 2)
    >>> d = SubspaceDistance(baseline_degree=2, scale=True)
    >>> d.distance(peak, 3.0 * peak + 1.0 - 2.0 * t**2) < 1e-12
    True
    """

    is_euclidean = True

    def __init__(
        self,
        baseline_degree: int | None = 2,
        scale: bool = False,
        positions: ArrayLike | None = None,
        directions: ArrayLike | None = None,
    ):
        self.baseline_degree, self.scale, self.positions, self.directions = (
            baseline_degree,
            scale,
            positions,
            directions,
        )

    def features(self, X: ArrayLike) -> np.ndarray:
        """The patterns (n, d) without baselines, with ``scale=True`` of unit length: their distances are Euclidean."""
        return self._features(self.patterns(X, "X"))

    def _features(self, X: np.ndarray) -> np.ndarray:
        basis = self._basis(X.shape[1])
        projected = X - (X @ basis) @ basis.T
        projected -= (projected @ basis) @ basis.T  # a large baseline leaves rounding errors that are baselines
        if self.scale:
            lengths = np.linalg.norm(projected, axis=1)
            nothing = lengths <= _NOTHING * np.linalg.norm(X, axis=1)
            projected[nothing] = 0.0
            projected /= np.where(nothing, 1.0, lengths)[:, None]
        return projected

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        require_equal_patterns(X, Y)
        return radial_matrix(np.sqrt, self._features(X), None if Y is None else self._features(Y))

    def _basis(self, d: int) -> np.ndarray:
        """Orthonormal basis (d, r) of what may be added."""
        lists = [self._baselines(d)]
        if self.directions is not None:
            directions = np.atleast_2d(np.asarray(self.directions, dtype=float))
            if directions.shape[1] != d or not np.isfinite(directions).all():
                raise ValueError(f"directions must be finite patterns of {d} numbers, got shape {directions.shape}.")
            lists.append(directions.T / np.maximum(np.linalg.norm(directions, axis=1), np.finfo(float).tiny))
        columns = np.column_stack(lists)
        if columns.shape[1] == 0:
            return columns
        left, singular, _ = np.linalg.svd(columns, full_matrices=False)
        basis = left[:, singular > d * np.finfo(float).eps * singular[0]]
        if basis.shape[1] >= d:
            raise ValueError(
                f"baseline_degree={self.baseline_degree!r} and directions leave nothing of patterns of {d} numbers: "
                "use fewer."
            )
        return basis

    def _baselines(self, d: int) -> np.ndarray:
        degree = self.baseline_degree
        if degree is None:
            return np.empty((d, 0))
        if not isinstance(degree, Integral) or isinstance(degree, bool) or degree < 0:
            raise ValueError(f"baseline_degree must be None or a whole number, at least 0, got {degree!r}.")
        at = np.arange(d, dtype=float) if self.positions is None else np.asarray(self.positions, dtype=float)
        if at.shape != (d,) or not np.isfinite(at).all():
            raise ValueError(f"positions must be {d} finite numbers, one per entry of a pattern, got shape {at.shape}.")
        if len(np.unique(at)) <= degree + 1:
            raise ValueError(
                f"baseline_degree={degree} needs patterns of more than {degree + 1} numbers at different positions, "
                f"got {len(np.unique(at))}: every pattern would be a baseline."
            )
        span = float(np.ptp(at))
        return legvander(2.0 * (at - at.min()) / (span if span > 0 else 1.0) - 1.0, int(degree))
