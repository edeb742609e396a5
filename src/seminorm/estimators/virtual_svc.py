"""The virtual support vector method: a machine trained again on its transformed support vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._base.patterns import validated
from ..invariance.transformations.base import Transformation
from .base import PRECOMPUTED
from .samples import distinct_samples
from .saving import SavedEstimator
from .svc import SVC


def _has_probabilities(machine) -> bool:
    return hasattr(getattr(machine, "estimator_", machine.svc), "predict_proba")


class VirtualSVC(SavedEstimator, ClassifierMixin, BaseEstimator):
    """Train, transform the support vectors by the nodes of a set of transformations, and train again on them alone.

    The usual baseline for invariant kernels: it needs no kernel of its own, but the second training set has every
    support vector once for each transformation.

    Parameters
    ----------
    svc : estimator, optional
        seminorm's or scikit-learn's SVC, or another classifier with ``support_`` and ``decision_function``; seminorm's
        with its defaults if left out.
    transformation : Transformation
        Its quadrature nodes are the transformations; the identity always belongs to them.

    Attributes
    ----------
    first_, estimator_ : estimators
        The machines of the first training and of the second.
    support_ : array of int
        Rows of X that were transformed: the support vectors of the first machine, and the points of classes that have
        none.
    n_virtual_, classes_ : int, array
        Number of points that the transformations added; the classes.

    See Also
    --------
    SVC, seminorm.invariance.IntegrationKernel

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import VirtualSVC
    >>> from seminorm.invariance.transformations import Shift
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> VirtualSVC(transformation=Shift([1.0, 0.0], extent=2.0)).fit(X, X[:, 1] > 0).n_virtual_ > 0
    True
    """

    def __init__(self, svc: BaseEstimator | None = None, transformation: Transformation | None = None):
        self.svc, self.transformation = svc, transformation

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> VirtualSVC:
        """Train twice; virtual points have the weights of the points that they come from."""
        self._check_parameters()
        points, targets = validated(self, self._set().patterns, X, y, dtype=np.float64)
        check_classification_targets(targets)
        weights = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
        self.classes_, labels = np.unique(targets, return_inverse=True)
        rows, weights = distinct_samples(points, labels, weights)
        if len(np.unique(labels[rows])) < 2:
            raise ValueError("y must hold at least two classes (with positive weight), got one class.")
        machine = SVC() if self.svc is None else self.svc
        self.first_ = clone(machine).fit(points[rows], targets[rows], sample_weight=weights)
        chosen = _with_every_class(np.asarray(self.first_.support_), labels[rows])
        self.support_ = rows[chosen]
        augmented, origins = self._transformed(points[self.support_], labels[self.support_])
        self.n_virtual_ = len(augmented) - len(chosen)
        targets, weights = targets[self.support_[origins]], weights[chosen[origins]]
        self.estimator_ = clone(machine).fit(augmented, targets, sample_weight=weights)
        return self

    def _set(self) -> Transformation:
        if not isinstance(self.transformation, Transformation):
            raise ValueError(
                "transformation must be a Transformation, for example Shift or ImageShift, got "
                f"{self.transformation!r}."
            )
        return self.transformation

    def _check_parameters(self):
        self._set()
        kernel = getattr(self.svc, "kernel", None)
        if isinstance(kernel, str) and kernel == PRECOMPUTED:
            raise ValueError("svc must not have kernel='precomputed': transformed points need the kernel itself.")

    def _transformed(self, X, labels) -> tuple[np.ndarray, np.ndarray]:
        """The points, then what the transformations make of them, each point once; and where each comes from."""
        images = self._set().apply(X, self._set().quadrature().nodes)
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

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Decision values of the second machine."""
        X = self._checked(X)
        return self.estimator_.decision_function(X)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of each row of X."""
        X = self._checked(X)
        return self.estimator_.predict(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of the classes, if the second machine has them."""
        X = self._checked(X)
        return self.estimator_.predict_proba(X)

    def _checked(self, X) -> np.ndarray:
        check_is_fitted(self, "estimator_")
        return validated(self, self._set().patterns, X, dtype=np.float64, reset=False)


def _with_every_class(support: np.ndarray, labels: np.ndarray) -> np.ndarray:
    missing = np.flatnonzero(~np.isin(labels, labels[support]))
    return np.union1d(support, missing)
