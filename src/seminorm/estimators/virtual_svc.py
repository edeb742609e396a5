"""The virtual support vector method: a machine trained again on its transformed support vectors."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..invariance.transformations.base import Transformation
from .margin import PRECOMPUTED
from .svc import SVC


def _has_probabilities(machine) -> bool:
    return hasattr(getattr(machine, "estimator_", machine.svc), "predict_proba")


class VirtualSVC(ClassifierMixin, BaseEstimator):
    """Train, transform the support vectors by the nodes of a set of transformations, and train again on them alone.

    The usual baseline for invariant kernels: it needs no kernel of its own, but the second training set is as many
    times larger than the number of support vectors as there are transformations.

    Parameters
    ----------
    svc : estimator, optional
        seminorm's or scikit-learn's SVC, or another classifier with ``support_`` and ``decision_function``; seminorm's
        with its defaults if left out.
    transformation : Transformation
        Its quadrature nodes are the transformations; the identity always belongs to them.

    Attributes
    ----------
    estimator_ : estimator
        The machine of the second training.
    first_ : estimator
        The machine of the first.
    support_ : array of int
        Rows of X that were transformed: the support vectors of the first machine, and the points of classes that have
        none.
    n_virtual_ : int
        Number of points that the transformations added.
    classes_ : array

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.estimators.virtual_svc import VirtualSVC
    >>> from seminorm.invariance.transformations import Shift
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> machine = VirtualSVC(transformation=Shift([1.0, 0.0], extent=2.0)).fit(X, X[:, 1] > 0)
    >>> machine.n_virtual_ > 0
    True
    """

    def __init__(self, svc=None, transformation: Transformation | None = None):
        self.svc = svc
        self.transformation = transformation

    def fit(self, X, y, sample_weight=None) -> VirtualSVC:
        """Train twice; virtual points have the weights of the points that they come from."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, labels = np.unique(y, return_inverse=True)
        rows, weights = _distinct(X, labels, weights)
        if len(np.unique(labels[rows])) < 2:
            raise ValueError("y must hold at least two classes (with positive weight), got one class.")
        machine = SVC() if self.svc is None else self.svc
        self.first_ = clone(machine).fit(X[rows], y[rows], sample_weight=weights)
        chosen = _with_every_class(np.asarray(self.first_.support_), labels[rows])
        self.support_ = rows[chosen]
        points, origins = self._transformed(X[self.support_], labels[self.support_])
        self.n_virtual_ = len(points) - len(chosen)
        self.estimator_ = clone(machine).fit(points, y[self.support_[origins]], sample_weight=weights[chosen[origins]])
        return self

    def _check_parameters(self):
        if not isinstance(self.transformation, Transformation):
            raise ValueError(
                "transformation must be a Transformation, for example Shift or ImageShift, got "
                f"{self.transformation!r}."
            )
        kernel = getattr(self.svc, "kernel", None)
        if isinstance(kernel, str) and kernel == PRECOMPUTED:
            raise ValueError("svc must not have kernel='precomputed': transformed points need the kernel itself.")

    def _transformed(self, X, labels) -> tuple[np.ndarray, np.ndarray]:
        """The points, then what the transformations make of them, each point once; and where each comes from."""
        images = self.transformation.apply(X, self.transformation.quadrature().nodes)
        if images.shape[2] != X.shape[1]:
            raise ValueError(
                f"{self.transformation!r} turns patterns of {X.shape[1]} numbers into patterns of {images.shape[2]}: "
                "the virtual support vector method needs transformations that keep the size."
            )
        points = np.concatenate([X[None], images]).reshape(-1, X.shape[1])
        origins = np.tile(np.arange(len(X)), len(images) + 1)
        first = np.unique(np.column_stack([points, labels[origins]]), axis=0, return_index=True)[1]
        kept = np.union1d(first, np.arange(len(X)))
        return points[kept], origins[kept]

    def decision_function(self, X) -> np.ndarray:
        """Decision values of the second machine."""
        X = self._checked(X)
        return self.estimator_.decision_function(X)

    def predict(self, X) -> np.ndarray:
        """The class of each row of X."""
        X = self._checked(X)
        return self.estimator_.predict(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of the classes, if the second machine has them."""
        X = self._checked(X)
        return self.estimator_.predict_proba(X)

    def _checked(self, X) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        return validate_data(self, X, dtype=np.float64, reset=False)


def _distinct(X, labels, weights) -> tuple[np.ndarray, np.ndarray]:
    """Rows that differ in point or class, and the sum of their weights: repeating a point is the same as its weight."""
    rows = np.flatnonzero(weights > 0)
    if not len(rows):
        raise ValueError("sample_weight must have a positive entry: all weights are zero.")
    keyed = np.column_stack([X[rows], labels[rows]])
    _, first, inverse = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    return rows[first], np.bincount(inverse.ravel(), weights[rows])


def _with_every_class(support: np.ndarray, labels: np.ndarray) -> np.ndarray:
    missing = np.flatnonzero(~np.isin(labels, labels[support]))
    return np.union1d(support, missing)
