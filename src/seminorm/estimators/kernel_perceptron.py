"""The perceptron with a kernel, which counts its corrections."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from .. import _threads as threads
from .._warnings import warn_user
from ..kernels import Kernel
from ..solvers.perceptron import perceptron
from .kernel_input import ExpansionMachine


class KernelPerceptron(ClassifierMixin, ExpansionMachine):
    """Pass over the points and add y_i k(., x_i) to f whenever f(x_i) has not the sign of y_i, until it always has.

    The fewer corrections (``n_updates_``) it takes, the better the kernel suits the problem: with a margin rho it
    takes at most max k(x, x) / rho^2 of them. Several classes: one perceptron a class against the rest.

    A positive definite kernel is used as it is, and so is a given matrix. For a conditionally positive definite one
    the perceptron works with its definite part beside the polynomials of the null space, and treats these, on the
    training points, as features of the same size: K = Pi Phi Pi + c Q Q', c the mean eigenvalue of the first part.
    That is blind to units of length where the kernel is. With an indefinite kernel nothing ensures convergence.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        ``NegativeDistance()`` if left out. For "precomputed" X is a matrix of kernel values, one row a point, one
        column a training point.
    max_epochs : int
        Passes over the training points after which to stop with a ConvergenceWarning.
    shuffle : bool
        Visit the points in a new random order in each pass instead of the given order.
    random_state : int or RandomState, optional
        For ``shuffle``.

    Attributes
    ----------
    classes_ : array
    n_updates_ : int
        Number of corrections, of all perceptrons together.
    n_epochs_ : int
        Passes over the training points, of the perceptron that took most.
    converged_ : bool
        Whether every perceptron has all training points on their side.
    support_ : array
        Rows of X that were corrected.
    dual_coef_ : array of int (n_problems, n_support)
        How often, with the sign of the class.
    function_ : Expansion
        The decision functions.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import KernelPerceptron
    >>> from seminorm.kernels import Polynomial
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = KernelPerceptron(Polynomial(2)).fit(X, [1, 0, 0, 1])
    >>> model.converged_, bool(model.n_updates_ == np.abs(model.dual_coef_).sum())
    (True, True)
    >>> model.predict([[-3.0], [0.0]])
    array([1, 0])
    """

    def __init__(
        self, kernel: Kernel | str | None = None, max_epochs: int = 1000, shuffle: bool = False, random_state=None
    ):
        self.kernel = kernel
        self.max_epochs = max_epochs
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X, y) -> KernelPerceptron:
        """Train on the rows of X, or on the kernel matrix X of the training points."""
        if not (isinstance(self.max_epochs, Integral) and self.max_epochs > 0):
            raise ValueError(f"max_epochs must be a positive integer, got {self.max_epochs!r}.")
        X, y = self._check_training(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, got one class: {self.classes_}.")
        with threads.suited_to(X.shape[0]):
            self._train(X, labels)
        return self

    def decision_function(self, X) -> np.ndarray:
        """Decision values: (m,) for two classes, otherwise (m, n_classes)."""
        values = self._values(self._check_points(X))
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X) -> np.ndarray:
        """The class of each row of X."""
        decision = self.decision_function(X)
        chosen = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[chosen]

    def _train(self, X, labels):
        machine = self._beside_polynomials(X, -1 if self._is_given() else self.kernel_.null_degree)
        problems = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(labels == k, 1, -1) for k in problems]
        order = self._order(len(labels))
        runs = [perceptron(machine.K, y, self.max_epochs, order) for y in signs]
        dual = np.array([run.counts * y for run, y in zip(runs, signs, strict=True)])
        self.support_ = np.flatnonzero(dual.any(axis=0))
        self.dual_coef_ = dual[:, self.support_]
        self.n_updates_ = int(np.abs(dual).sum())
        self.n_epochs_ = max(run.epochs for run in runs)
        self.converged_ = all(run.converged for run in runs)
        if not self.converged_:
            warn_user(
                f"the perceptron made {self.n_updates_} corrections in {self.max_epochs} passes, and some points are "
                "still on the wrong side: the classes may not be separable by this kernel; take another, or a larger "
                "max_epochs.",
                ConvergenceWarning,
            )
        self._keep(X, *machine.functions(dual.T.astype(float), filled=True))

    def _order(self, n: int):
        if not self.shuffle:
            return lambda: np.arange(n)
        rng = check_random_state(self.random_state)
        return lambda: rng.permutation(n)
