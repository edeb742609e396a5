"""Support vector regression with a semi-norm as regulariser."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold
from sklearn.utils.validation import _check_sample_weight

from .. import _threads as threads
from ..kernels import Kernel
from ..losses import SquaredInsensitive
from ..solvers import hinge, newton
from ..solvers import indefinite_machines as stationary
from ..solvers.indefinite import UnboundedError
from ..solvers.margin_path import default_alphas
from .margin import MarginMachine

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive")
_FOLDS = 5


class SVR(RegressorMixin, MarginMachine):
    """Minimise alpha |f|^2 + sum_i w_i max(0, |y_i - f(x_i)| - epsilon)^p, p = 1 or 2 (seed 003, 6-7 and 52-55).

    Points inside the tube of half-width epsilon have no kernel term; with p = 1 outliers have bounded influence. For an
    indefinite kernel matrix see SVC.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        ``ThinPlate()`` if left out (``NegativeDistance()`` in high dimension with few points, as in SVC).
    alpha : "auto", float or array of float
        Weight of the squared semi-norm. "auto" and an array choose by five-fold cross-validation of the mean absolute
        error.
    epsilon : float
        Half-width of the tube, in units of y.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
    null_space : "auto", "zero", "constant", None, int, sequence of int, callable, transformer or NullSpace
        What is free; by default the polynomials of the kernel's ``null_degree``, at least the constant.
    n_basis : int, optional
        For "zero" and "constant": expand on so many points chosen at random instead of all.
    random_state : int or RandomState, optional
        For ``n_basis``.
    max_iter : int
        Of Newton's method at each alpha.
    indefinite : {"stationary", "clip", "flip"}
        What to do with a kernel matrix that is indefinite beside the null space (kernels of invariant distances,
        "precomputed"): find a stationary point, or drop its negative eigenvalues, or take their moduli.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, null_coef_ : arrays
        Points on or outside the tube, and the coefficients of the function, shapes (1, n_support) and (1, p).
    alpha_ : float
    alpha_path_ : dict of arrays
        ``alpha`` and ``error`` (mean absolute error in cross-validation).
    stationary_ : bool
        Whether the kernel matrix is indefinite and the function a stationary point.
    n_iter_ : int
        Steps of the last training.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import SVR
    >>> x = np.linspace(0, 1, 60)[:, None]
    >>> y = np.sin(6 * x[:, 0])
    >>> bool(SVR(alpha=1e-3, epsilon=0.05).fit(x, y).score(x, y) > 0.99)
    True
    """

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        alpha="auto",
        epsilon: float = 0.1,
        loss: str = "epsilon_insensitive",
        null_space="auto",
        n_basis: int | None = None,
        random_state=None,
        max_iter: int = 100,
        indefinite: str = "stationary",
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.epsilon = epsilon
        self.loss = loss
        self.null_space = null_space
        self.n_basis = n_basis
        self.random_state = random_state
        self.max_iter = max_iter
        self.indefinite = indefinite

    def fit(self, X, y, sample_weight=None, null_columns=None) -> SVR:
        """Train; ``null_columns`` goes with ``kernel="precomputed"`` as in SVC."""
        self._check_parameters()
        X, y = self._check_fit_input(X, y, y_numeric=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        X, y, weights, rows, null_columns = self._merge(X, y.astype(float), weights, null_columns)
        with threads.suited_to(X.shape[0]):
            self._train(X, y, weights, rows, self._prepare(X, null_columns))
        return self

    def predict(self, X, null_columns=None) -> np.ndarray:
        """Values at X."""
        return self._values(X, null_columns)[:, 0]

    def score(self, X, y, sample_weight=None, null_columns=None) -> float:
        """Coefficient of determination."""
        return r2_score(y, self.predict(X, null_columns), sample_weight=sample_weight)

    def _check_parameters(self):
        self._check_alpha("auto")
        self._check_n_basis()
        self._check_indefinite()
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {self.loss!r}.")
        if not (np.isscalar(self.epsilon) and np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise ValueError(f"epsilon must be a number >= 0, got {self.epsilon!r}.")

    def _train(self, X, y, weights, rows, P):
        self._kind = self.null_space if self.null_space in ("zero", "constant") else "free"
        self._refuse_too_few(P)
        Phi = self._gram(X)
        self._inspect(Phi, P)
        basis = None if self._kind == "free" else self._basis(X, self.random_state)
        self.alpha_, self.alpha_path_ = self._choose(Phi, P, y, weights, basis)
        machine = self._machine(Phi, P, basis)
        solution = self._solve(machine, y, self.alpha_, weights)
        coefficients = machine.expand(solution.active, solution.dual, solution.null, solution.values)
        errors = (np.average(np.abs(y - f), weights=weights) for f in (solution.values, np.average(y, weights=weights)))
        self._warn_if_useless(*errors)
        dual = np.zeros((X.shape[0], 1))
        dual[coefficients.points, 0] = coefficients.dual
        self.n_iter_ = solution.iterations
        self._keep(X, dual, coefficients.null[:, None], rows)

    def _solve(self, machine, y, alpha: float, weights, start=None):
        if machine.indefinite:
            bounded = self.loss == "epsilon_insensitive"
            solver = stationary.insensitive if bounded else stationary.squared_insensitive
            return solver(machine.K, machine.Q, y, self.epsilon, alpha, weights, self.max_iter)
        if self.loss == "epsilon_insensitive":
            return hinge.epsilon_insensitive(machine.K, machine.Q, y, self.epsilon, alpha, weights)
        loss = SquaredInsensitive(y, self.epsilon)
        return newton.minimise(machine.K, machine.Q, loss, alpha, weights, start=start, max_iter=self.max_iter)

    def _choose(self, Phi, P, y, weights, basis) -> tuple[float, dict]:
        """A given alpha, or the one with the smallest mean absolute error in cross-validation; ties to the larger."""
        if not isinstance(self.alpha, str) and np.ndim(self.alpha) == 0:
            return float(self.alpha), {}
        if len(y) < 2:
            raise ValueError(f"X has n_samples={len(y)}, too few for choosing alpha by cross-validation: fix alpha.")
        grid = None if isinstance(self.alpha, str) else np.unique(np.asarray(self.alpha, dtype=float))
        errors = 0.0
        for train, test in KFold(min(_FOLDS, len(y)), shuffle=True, random_state=0).split(y):
            inside = None if basis is None else np.flatnonzero(np.isin(train, basis))
            machine = self._machine(Phi[np.ix_(train, train)], P[train], inside)
            grid = default_alphas(machine.scale) if grid is None else grid
            errors = errors + self._fold_errors(machine, Phi, P, y, weights, train, test, grid)
        errors = errors / weights.sum()
        best = np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[-1]
        return float(grid[best]), {"alpha": grid, "error": errors}

    def _fold_errors(self, machine, Phi, P, y, weights, train, test, grid) -> np.ndarray:
        """Weighted sum of absolute errors on the test points for each alpha, each machine started from the one
        before.
        """
        errors, start = np.empty(len(grid)), None
        for i in range(len(grid) - 1, -1, -1):
            try:
                start = self._solve(machine, y[train], float(grid[i]), weights[train], start)
            except UnboundedError:
                errors[i] = np.inf
                continue
            found = machine.expand(start.active, start.dual, start.null, start.values)
            values = Phi[np.ix_(test, train[found.points])] @ found.dual + self._null_part(P[test], found.null)
            errors[i] = (weights[test] * np.abs(values - y[test])).sum()
        return errors
