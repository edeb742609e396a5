"""The perceptron with a kernel, which counts its corrections."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from .._base import blas as threads
from .._base.warnings import warn_user
from ..kernels import Kernel
from ..solvers.margin.machines import ProjectedKernel
from ..solvers.perceptron import Corrections, perceptron
from .base import KernelMachine, Samples


class KernelPerceptron(ClassifierMixin, KernelMachine):
    """Pass over the points and add y_i k(., x_i) to f whenever f(x_i) has not the sign of y_i, until it always has.

    The fewer corrections (``n_updates_``) it takes, the better the kernel suits the problem: with a margin rho it
    takes at most max k(x, x) / rho^2 of them. Several classes: one perceptron per class against the rest.

    A positive definite kernel is used as it is, and so is a given matrix. For a conditionally positive definite one
    the perceptron works with its definite part beside the polynomials of the null space, and treats these, on the
    training points, as features of the same size: K = Pi Phi Pi + c Q Q', c the mean eigenvalue of the first part.
    That is blind to units of length where the kernel is. With an indefinite kernel nothing ensures convergence.

    Rows that agree are one point, and their weights add up. The points are visited in an order of their own, the same
    in each pass, so that nothing depends on the order of the rows (for a given matrix the order is that of its rows).

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        ``NegativeDistance()`` if left out. For "precomputed" X is the matrix of kernel values to the training points.
    max_iter : int
        Passes over the training points after which to stop with a ConvergenceWarning.
    shuffle, random_state : bool, int or RandomState
        Visit the points in a new random order in each pass instead of one order.
    metric : {None, "auto", "standardize"}
        Units of the columns of X: as they are, their standard deviations, or whichever takes fewer corrections.

    Attributes
    ----------
    classes_ : array
    n_updates_, n_iter_ : int
        Corrections of all perceptrons together, and passes of the one that took most.
    converged_ : bool
        Whether every perceptron has all training points on their side.
    support_, dual_coef_ : arrays of int (n_support,) and (n_problems, n_support)
        Rows of X that were corrected, and how often, times their weight, with the sign of the class.
    function_ : Expansion
        The decision functions.

    See Also
    --------
    SVC : A margin instead of any separation.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import KernelPerceptron
    >>> from seminorm.kernels import Polynomial
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> KernelPerceptron(Polynomial(2)).fit(X, [1, 0, 0, 1]).predict([[-3.0], [0.0]])
    array([1, 0])
    """

    classes_: np.ndarray

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        max_iter: int = 1000,
        shuffle: bool = False,
        random_state: int | np.random.RandomState | None = None,
        metric: str | None = None,
    ):
        self.kernel, self.max_iter, self.shuffle, self.random_state = kernel, max_iter, shuffle, random_state
        self.metric = metric

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelPerceptron:
        """Train on the rows of X, or on the kernel matrix X of the training points.

        A row of weight w adds w y_i k(., x_i) when it is corrected.
        """
        if not (isinstance(self.max_iter, Integral) and self.max_iter > 0):
            raise ValueError(f"max_iter must be a positive integer, got {self.max_iter!r}.")
        X, y = self._check_input(X, y)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, got one class: {self.classes_}.")
        samples = self._samples(X, labels, sample_weight)
        if len(np.unique(samples.labels)) < 2:
            raise ValueError("y must hold at least two classes with positive weight, got one class.")
        self._settle(samples)
        with threads.suited_to(len(samples.rows)):
            self._train(samples)
        return self

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Decision values: (m,) for two classes, otherwise (m, n_classes)."""
        values = self._values(self._check_points(X))
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of each row of X."""
        decision = self.decision_function(X)
        chosen = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[chosen]

    def _train(self, samples: Samples) -> None:
        machine, signs, runs = self._runs(samples)
        dual = np.array([samples.weights * run.counts * y for run, y in zip(runs, signs, strict=True)])
        used = np.flatnonzero(dual.any(axis=0))
        self.support_, self.dual_coef_ = samples.rows[used], dual[:, used]
        self.n_updates_ = _updates(runs)
        self.n_iter_ = max(run.iterations for run in runs)
        self.converged_ = all(run.converged for run in runs)
        if not self.converged_:
            warn_user(
                f"the perceptron made {self.n_updates_} corrections in {self.max_iter} passes, and some points are "
                "still on the wrong side: the classes may not be separable by this kernel; take another, or a larger "
                "max_iter.",
                ConvergenceWarning,
            )
        self._keep(samples, *machine.functions(dual.T, filled=True))

    def _runs(self, samples: Samples) -> tuple[ProjectedKernel, list[np.ndarray], list[Corrections]]:
        """The kernel, the signs of each problem, and what the perceptrons did."""
        machine = self._beside_polynomials(samples.X, -1 if self._is_given() else self.kernel_.null_degree)
        problems = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(samples.labels == k, 1, -1) for k in problems]
        order = self._order(len(samples.labels))
        return machine, signs, [perceptron(machine.K, y, self.max_iter, order, samples.weights) for y in signs]

    def _loss_of(self, kernel: Kernel, samples: Samples) -> float:
        """Corrections: the fewer, the better the kernel suits the problem."""
        self.kernel_ = kernel
        with threads.suited_to(len(samples.rows)):
            return _updates(self._runs(samples)[2])

    def _order(self, n: int):
        if not self.shuffle:
            order = np.arange(n) if self._is_given() else np.random.default_rng(0).permutation(n)
            return lambda: order
        rng = check_random_state(self.random_state)
        return lambda: rng.permutation(n)


def _updates(runs: list[Corrections]) -> int:
    return int(sum(run.counts.sum() for run in runs))
