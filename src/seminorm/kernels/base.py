"""The kernel contract: what every kernel answers, and the algebra that keeps kernels closed under composition."""

from __future__ import annotations

import math
from inspect import signature
from numbers import Integral, Real

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel as _GaussianProcessKernel
from sklearn.utils import check_array

from .._equality import EqualByParameters

TRANSLATION, ROTATION, DILATION = "translation", "rotation", "dilation"


class Kernel(EqualByParameters, BaseEstimator, _GaussianProcessKernel):
    """A symmetric function phi(x, y) that is positive definite, or positive on the complement of the polynomials of
    degree < order.

    Kernels are scikit-learn estimators in their parameters (``get_params``, ``clone``, ``repr``) and scikit-learn
    Gaussian-process kernels without free hyperparameters in their calls, so a positive definite one can be handed to
    ``SVC``, ``KernelRidge``, ``KernelPCA`` or ``GaussianProcessRegressor`` as it is.

    A new kernel supplies ``_matrix(X, Y)`` (``Y`` is None for a symmetric matrix), ``diag`` if there is a shortcut,
    and ``_derivative`` if it has derivatives. Combine kernels with ``+``, ``*``, a positive factor, ``on_columns``
    and ``axis_scale``.
    """

    accepts_sparse = False

    @property
    def order(self) -> int:
        """The minimal order of conditional positive definiteness; 0 for a positive (semi-)definite kernel."""
        return 0

    @property
    def null_degree(self) -> int:
        """Degree of the polynomials left free by default; -1 when nothing is."""
        return self.order - 1

    @property
    def is_indefinite(self) -> bool:
        """Whether the kernel may fail to be positive on the complement of the polynomials of degree < order."""
        return False

    @property
    def invariances(self) -> frozenset[str]:
        """Which of "translation", "rotation" (orthogonal maps) and "dilation" leave the semi-norm unchanged, up to a
        factor.
        """
        return frozenset()

    @property
    def dilation_degree(self) -> float | None:
        """k such that phi(s x, s y) = s^k phi(x, y) up to polynomials of degree < order in each argument; None if
        there is none.
        """
        return None

    @property
    def smoothness(self) -> float:
        """How often phi may be differentiated where its arguments coincide (both arguments together)."""
        return math.inf

    @property
    def max_dimension(self) -> float:
        """The largest dimension of the inputs in which the kernel is (conditionally) positive definite."""
        return math.inf

    def for_dimension(self, dimension: int) -> Kernel:
        """The kernel with everything that depends on the dimension of the inputs settled."""
        return self

    def __call__(self, X, Y=None, eval_gradient: bool = False):
        """The matrix phi(X_i, Y_j); ``Y=None`` means ``Y=X`` and gives an exactly symmetric matrix.

        ``eval_gradient`` is there for scikit-learn's Gaussian processes, for which these kernels have no free
        hyperparameters.
        """
        X, Y = self._check_points(X, Y)
        matrix = self.for_dimension(X.shape[1])._matrix(X, Y)
        return (matrix, np.empty(matrix.shape + (0,))) if eval_gradient else matrix

    def diag(self, X) -> np.ndarray:
        """The diagonal phi(X_i, X_i)."""
        X, _ = self._check_points(X, None)
        return self.for_dimension(X.shape[1])._diag(X)

    def gradient(self, X, Y=None) -> np.ndarray:
        """Derivatives in the first argument, shape (n, m, d)."""
        return self.derivative(X, Y, x=1)

    def hessian(self, X, Y=None) -> np.ndarray:
        """Second derivatives in the first argument, shape (n, m, d, d)."""
        return self.derivative(X, Y, x=2)

    def mixed_hessian(self, X, Y=None) -> np.ndarray:
        """d^2 phi / dx_i dy_j, once in each argument, shape (n, m, d, d): what gradient data need."""
        return self.derivative(X, Y, x=1, y=1)

    def derivative(self, X, Y=None, *, x: int = 0, y: int = 0) -> np.ndarray:
        """All partial derivatives taken ``x`` times in the first and ``y`` times in the second argument.

        Returns an array of shape (n, m) + (d,) * (x + y). At coincident points the analytic limit is returned; where it
        does not exist (``x + y > smoothness``) a ValueError says so.
        """
        X, Y = self._check_points(X, Y)
        if x == y == 0:
            return self(X, Y)
        Y = X if Y is None else Y
        settled = self.for_dimension(X.shape[1])
        settled._refuse_singular(X, Y, x + y)
        return settled._derivative(X, Y, x, y)

    def on_columns(self, columns) -> Kernel:
        """This kernel, looking only at the given columns of X."""
        from .algebra import OnColumns

        return OnColumns(self, columns)

    def axis_scale(self, scale) -> Kernel:
        """This kernel after dividing each column of X by its entry of ``scale`` (one number: all columns alike)."""
        from .algebra import AxisScale

        return AxisScale(self, scale)

    def __add__(self, other):
        from .algebra import Sum

        if not isinstance(other, Kernel):
            raise TypeError(
                f"kernels of seminorm add to each other, not to {other!r}; a constant is PowerSeries((c,))."
            )
        return Sum(self, other)

    def __radd__(self, other):
        return self if isinstance(other, Real) and other == 0 else self + other  # 0 is where sum() starts

    def __mul__(self, other):
        from .algebra import Product, Scaled

        if not isinstance(other, (Kernel, Real)):
            raise TypeError(
                f"kernels of seminorm multiply with each other and with positive numbers, not with {other!r}."
            )
        product = Product(self, other) if isinstance(other, Kernel) else Scaled(self, float(other))
        product.check_composition()
        return product

    def __rmul__(self, other):
        return self * other

    def __truediv__(self, divisor):
        if not isinstance(divisor, Real) or divisor == 0:
            raise TypeError(f"a kernel can be divided by a positive number, not by {divisor!r}.")
        return self * (1.0 / divisor)

    def __pow__(self, exponent):
        from .dot_product import PowerSeries

        if not (isinstance(exponent, Integral) and exponent >= 1):
            raise ValueError(
                f"exponent must be a positive integer for the power of a kernel to stay a kernel, got {exponent!r}."
            )
        return PowerSeries((0.0,) * int(exponent) + (1.0,), kernel=self)

    def __repr__(self):
        """All parameters but those left at None; a kernel without its parameters tells nothing."""
        named = {name: getattr(self, name) for name in signature(type(self)).parameters}
        shown = (f"{name}={_brief(value)}" for name, value in named.items() if value is not None)
        return f"{type(self).__name__}({', '.join(shown)})"

    def is_stationary(self) -> bool:
        return TRANSLATION in self.invariances

    @property
    def hyperparameters(self) -> list:
        """None are free for scikit-learn's Gaussian processes to optimise."""
        return []

    @classmethod
    def examples(cls) -> list[Kernel]:
        """Instances that stand for the class in :func:`seminorm.kernels.all_kernels`."""
        return [cls()]

    def _matrix(self, X, Y) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its matrix: subclasses of Kernel supply _matrix(X, Y).")

    def _diag(self, X) -> np.ndarray:
        return np.array([self._matrix(X[i : i + 1], None)[0, 0] for i in range(X.shape[0])])

    def _derivative(self, X, Y, x: int, y: int) -> np.ndarray:
        raise ValueError(f"{self!r} has no derivatives: fit values only, or use a kernel that has them.")

    def _jet(self, X, Y):
        """The kernel as a jet for chain and product rule (arguments already checked)."""
        return lambda x, y: self._matrix(X, Y) if x == y == 0 else self._derivative(X, Y, x, y)

    def _check_points(self, X, Y):
        sparse = "csr" if self.accepts_sparse else False
        X = check_array(X, dtype=np.float64, accept_sparse=sparse, input_name="X")
        if Y is None:
            return X, None
        Y = check_array(Y, dtype=np.float64, accept_sparse=sparse, input_name="Y")
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"X and Y must have the same number of columns, got {X.shape[1]} and {Y.shape[1]}.")
        return X, Y

    def _refuse_singular(self, X, Y, times: int):
        """Raise if so many derivatives do not exist at some pair of points; composed kernels ask their parts."""
        if times > self.smoothness and _any_coincident(X, Y):
            raise ValueError(
                f"{self!r} can be differentiated {self.smoothness:g} times where its arguments coincide, and "
                f"{times} derivatives "
                "were asked for at coincident points. Use a smoother kernel (Polyharmonic of a higher order m, "
                "Matern of a "
                "higher nu, Gaussian, Multiquadric), or points that differ."
            )


def _brief(value) -> str:
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"<array {'x'.join(map(str, value.shape))}>"
    return " ".join(repr(value).split())


def _any_coincident(X: np.ndarray, Y: np.ndarray) -> bool:
    """Whether some row of X equals some row of Y, in blocks of bounded memory."""
    step = max(1, 2**22 // max(1, len(Y)))
    return any((cdist(X[i : i + step], Y, "sqeuclidean") == 0).any() for i in range(0, len(X), step))
