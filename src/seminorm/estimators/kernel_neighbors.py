"""Nearest neighbours by the distance that a kernel, or an invariant distance, defines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._base import blas as threads
from ..invariance.distances.base import Distance, distances_of, patterns_of
from ..kernels import Kernel
from ..solvers.neighbors import enough, nearest, shares_of, vote
from .base import PRECOMPUTED, KernelMachine, Samples
from .samples import weighted_rows

PRECOMPUTED_DISTANCES = "precomputed_distances"
_BLOCK_ENTRIES = 2**22
_ROUNDING = 1e-12


class KernelNeighbors(ClassifierMixin, KernelMachine):
    """The class of the nearest training points, with d(x, y)^2 = k(x, x) - 2 k(x, y) + k(y, y).

    See [Haasdonk and Burkhardt 2007, 4].

    With a Gaussian or negative-distance kernel this is the ordinary nearest neighbour; with an invariant kernel, or
    an invariant distance in its place, it is the nearest up to the transformations. The distance of a conditionally
    positive definite kernel of order 1 is well defined, because adding a(x) + a(y) to the kernel leaves it unchanged;
    kernels of higher order are refused. For an indefinite kernel the square may be negative: such points rank before
    all others, and have distance zero.

    Nothing is left to chance: among training points at equal distance those of the smaller class come first, and when
    classes have equally many votes the one with the nearest point wins, then the smaller one.

    Parameters
    ----------
    kernel : Kernel, Distance, "precomputed" or "precomputed_distances", optional
        ``NegativeDistance()`` if left out. A distance of :mod:`seminorm.invariance` is used as it is. "precomputed":
        X is a matrix of kernel values, "precomputed_distances": of distances; one row per point, one column per
        training point.
    n_neighbors : int
        How many neighbours vote; with sample weights, the nearest of this total weight.
    weights : {"uniform", "distance"}
        Equal votes, or votes of weight 1 / distance. Training points at distance zero then outvote all others.
    metric : None, "standardize", "auto", "diagonal", "full" or LearnedMetric
        Units of the columns of X: as they are, their standard deviations, or ("auto") whichever classifies more of the
        training points correctly when these are left out. "diagonal", "full" and objects are learned metrics, as in
        :class:`SVC`.

    Attributes
    ----------
    classes_, labels_ : arrays
        The classes, and for each training point the index of its class.
    X_fit_ : array
        The training points (of positive weight), or their given matrix.

    See Also
    --------
    KernelPerceptron, SVC

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import KernelNeighbors
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> KernelNeighbors().fit(X, ["low", "low", "high", "high"]).predict([[2.0], [4.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _matrices = (PRECOMPUTED, PRECOMPUTED_DISTANCES)

    def __init__(
        self,
        kernel: Kernel | Distance | str | None = None,
        n_neighbors: int = 1,
        weights: str = "uniform",
        metric: object = None,
    ):
        self.kernel, self.n_neighbors, self.weights, self.metric = kernel, n_neighbors, weights, metric

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelNeighbors:
        """Keep the training points X (n, d), or the matrix (n, n) of kernel values or distances, and their classes.

        A weight counts as repetition: the nearest points of total weight ``n_neighbors`` vote, each with its weight,
        the last with what is left of it.
        """
        self._check_parameters()
        points, labels = self._check_input(X, y)
        check_classification_targets(labels)
        weights = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
        rows = weighted_rows(weights)
        if self.n_neighbors > weights.sum() * (1.0 + _ROUNDING):
            what = "of points" if sample_weight is None else "and weight of points"
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be at most the number {what}, n_samples={weights.sum():g}."
            )
        self.classes_, indices = np.unique(labels, return_inverse=True)
        self.rows_, self.labels_, self.weights_ = rows, indices[rows], weights[rows]
        self.X_fit_ = points[np.ix_(rows, rows)] if self._is_given() else points[rows]
        self._settle(Samples(self.X_fit_, self.labels_, self.weights_, rows))
        self._measure()
        return self

    def _measure(self) -> None:
        """What the kernel gives at the training points."""
        if not self._is_distance():
            self._refuse_higher_order()
        self.diag_fit_ = np.zeros(len(self.labels_)) if self._is_distance() else self._training_diag(self.X_fit_)

    def _loss_of(self, kernel: Kernel, samples: Samples) -> float:
        """Share of training points that the others classify wrongly."""
        self.kernel_ = kernel
        self._measure()
        return 1.0 - self.leave_one_out_score()

    def predict(self, X: ArrayLike, diag: ArrayLike | None = None) -> np.ndarray:
        """The class of each row of X, or of a matrix (m, n) of values to the training points.

        With ``kernel="precomputed"``, ``diag`` (m,) is k(x, x) of the rows of X. Only ``weights="distance"`` needs it,
        and not where k(x, x) is the same for all training points.
        """
        points = self._points(X)
        weighted = self.weights == "distance"
        offsets = self._offsets(points, diag, needed=weighted)
        chosen = np.empty(points.shape[0], dtype=np.intp)
        for rows, ranks, neighbors in self._nearest(points):
            lengths = self._lengths(ranks, offsets[rows]) if weighted else None
            chosen[rows] = self._vote(neighbors, lengths)
        return self.classes_[chosen]

    def kneighbors(self, X: ArrayLike, diag: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Distances (m, n_neighbors) to the nearest training points, nearest first, and the indices of these.

        With sample weights below 1 as many neighbours are given as may be needed for a total weight of ``n_neighbors``.
        """
        points = self._points(X)
        offsets = self._offsets(points, diag, needed=True)
        distances = np.empty((points.shape[0], self._count()))
        indices = np.empty(distances.shape, dtype=int)
        for rows, ranks, neighbors in self._nearest(points):
            distances[rows] = self._lengths(ranks, offsets[rows])
            indices[rows] = self.rows_[neighbors]
        return distances, indices

    def leave_one_out_score(self) -> float:
        """Share of the training points that the others classify correctly."""
        check_is_fitted(self)
        if self.n_neighbors > (self.weights_.sum() - self.weights_.max()) * (1.0 + _ROUNDING):
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be less than the {self.weights_.sum():g} training points, of "
                "which one is left out."
            )
        correct = np.empty(len(self.labels_), dtype=bool)
        for rows, ranks, neighbors in self._nearest(self.X_fit_, leave_out=True):
            lengths = self._lengths(ranks, self.diag_fit_[rows]) if self.weights == "distance" else None
            correct[rows] = self._vote(neighbors, lengths) == self.labels_[rows]
        return float(np.average(correct, weights=self.weights_))

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, diag: ArrayLike | None = None
    ) -> float:
        """Share of rows that are classified correctly."""
        return accuracy_score(y, self.predict(X, diag), sample_weight=sample_weight)

    def _patterns(self) -> Callable[[Any, str], Any] | None:
        return partial(patterns_of, self.kernel) if isinstance(self.kernel, Distance) else super()._patterns()

    def _points(self, X):
        """Checked points, or rows of a given matrix with a column for each training point that counts."""
        points = self._check_points(X)
        return points[:, self.rows_] if self._is_given() else points

    def _vote(self, neighbors: np.ndarray, lengths: np.ndarray | None) -> np.ndarray:
        shares = None if self._is_uniform() else shares_of(self.weights_[neighbors], self.n_neighbors)
        return vote(self.labels_[neighbors], lengths, len(self.classes_), shares)

    def _is_uniform(self) -> bool:
        return bool((self.weights_ == 1.0).all())

    def _count(self) -> int:
        """How many neighbours have the total weight n_neighbors."""
        return int(self.n_neighbors) if self._is_uniform() else enough(self.weights_, self.n_neighbors)

    def _check_parameters(self):
        if not (isinstance(self.n_neighbors, Integral) and self.n_neighbors > 0):
            raise ValueError(f"n_neighbors must be a positive integer, got {self.n_neighbors!r}.")
        if self.weights not in ("uniform", "distance"):
            raise ValueError(f"weights must be 'uniform' or 'distance', got {self.weights!r}.")

    def _is_distance(self) -> bool:
        return isinstance(self.kernel, Distance) or (self._is_given() and self.kernel == PRECOMPUTED_DISTANCES)

    def _refuse_bad_matrix(self, X):
        super()._refuse_bad_matrix(X)
        self._refuse_negative(X)

    def _refuse_asymmetric(self, X):
        """Neighbours need no symmetry."""

    def _refuse_negative(self, X):
        if self._is_distance() and X.min() < 0:
            raise ValueError(
                f"X must hold distances for kernel={PRECOMPUTED_DISTANCES!r}, and its least entry is {X.min():g}: for "
                f"kernel values use kernel={PRECOMPUTED!r}."
            )

    def _settle_kernel(self, X):
        if isinstance(self.kernel, Distance) and self.metric is not None:
            raise ValueError(f"metric={self.metric!r} goes with kernels, and kernel is the distance {self.kernel!r}.")
        return clone(self.kernel) if isinstance(self.kernel, Distance) else super()._settle_kernel(X)

    def _nearest(self, X, leave_out: bool = False) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Blocks of rows, the values by which their nearest training points rank, and the indices of these."""
        by_class = np.argsort(self.labels_, kind="stable")
        sorted_points = None if self._is_given() else self.X_fit_[by_class]
        step = max(1, _BLOCK_ENTRIES // len(self.labels_))
        for start in range(0, X.shape[0], step):
            rows = slice(start, min(start + step, X.shape[0]))
            with threads.suited_to(len(self.labels_)):
                ranks = self._ranks(X[rows], sorted_points, by_class)
            if leave_out:
                place = np.empty(len(by_class), dtype=int)
                place[by_class] = np.arange(len(by_class))
                ranks[np.arange(rows.stop - start), place[start : rows.stop]] = np.inf
            values, columns = nearest(ranks, self._count())
            yield rows, values, by_class[columns]

    def _ranks(self, X, sorted_points, by_class: np.ndarray) -> np.ndarray:
        """Distances, or squared ones without what all training points share, to which far Gaussians lose digits; a
        column per training point, in the order of their classes."""
        if self._is_distance() and self._is_given():
            self._refuse_negative(X)
            return X[:, by_class]
        if self._is_distance():
            return distances_of(self.kernel_, X, sorted_points)
        values = X[:, by_class] if self._is_given() else self.kernel_(X, sorted_points)
        values *= -2.0
        diag = self.diag_fit_ - self.diag_fit_.min()
        return values + diag[by_class] if diag.any() else values

    def _offsets(self, X, diag, needed: bool) -> np.ndarray:
        """What the ranks lack of squared distances: k(x, x), or zeros where it is not needed."""
        if self._is_distance():
            self._refuse_diag(diag)
        if self._is_distance() or (diag is None and not needed):
            return np.zeros(X.shape[0])
        return self._diag(X, diag)

    def _lengths(self, ranks: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """The distances of points with these ranks."""
        if self._is_distance():
            return ranks
        return np.sqrt(np.maximum(ranks + (self.diag_fit_.min() + offsets)[:, None], 0.0))
