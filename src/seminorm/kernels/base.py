"""The kernel contract: what every kernel answers, and the algebra that keeps kernels closed under composition."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from .._base.parameters import EqualByParameters, in_words
from .._base.patterns import PatternTable

if TYPE_CHECKING:
    _GaussianProcessKernel = object  # scikit-learn has no types
else:
    from sklearn.gaussian_process.kernels import Kernel as _GaussianProcessKernel

TRANSLATION, ROTATION, DILATION = "translation", "rotation", "dilation"

#: A function (inner products <x, y>, squared distances |x - y|^2) -> kernel values; it overwrites neither.
OfProducts = Callable[[np.ndarray, np.ndarray], np.ndarray]

_COMPOSITIONS: dict[str, Callable[..., Kernel]] = {}
_Composed = TypeVar("_Composed", bound="type[Kernel]")
_Kind = TypeVar("_Kind", bound=type)


def composed_by(operation: str) -> Callable[[_Composed], _Composed]:
    """Class decorator: kernels use this class for an operation such as "+". (Its module imports this one.)"""

    def enter(kind: _Composed) -> _Composed:
        _COMPOSITIONS[operation] = kind
        return kind

    return enter


def as_in(part: str, *names: str) -> Callable[[_Kind], _Kind]:
    """Class decorator: these properties are those of a part."""

    def enter(kind: _Kind) -> _Kind:
        for name in names:
            setattr(kind, name, property(attrgetter(f"{part}.{name}")))
        return kind

    return enter


class Kernel(EqualByParameters, _GaussianProcessKernel):
    """A symmetric function phi(x, y) that is positive definite, or positive on the complement of the polynomials of
    degree < ``cpd_order``.

    Kernels are scikit-learn estimators in their parameters and its Gaussian-process kernels in their calls, so a
    positive definite one can be handed to ``SVC``, ``KernelRidge`` or ``GaussianProcessRegressor`` as it is.

    A new kernel supplies ``_matrix(X, Y)`` (``Y`` is None for a symmetric matrix), ``_diag`` if there is a shortcut,
    and ``_derivative`` if it has derivatives. Combine kernels with ``+``, ``*``, a positive factor, ``on_columns``
    and ``axis_scale``.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, Linear
    >>> kernel = Gaussian(scale=2.0) + 0.5 * Linear()
    >>> kernel([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 3.    ]])
    >>> kernel.cpd_order, sorted(kernel.invariances)
    (0, ['rotation'])

    See Also
    --------
    Radial : base of the kernels of |x - y|.
    all_kernels : the registry of the kernels.
    """

    @property
    def accepts_sparse(self) -> bool:
        """Whether X may be a sparse matrix."""
        return False

    @property
    def accepts_patterns(self) -> bool:
        """Whether X may be patterns other than rows of numbers, such as images or series: see :meth:`patterns`."""
        return False

    def patterns(self, X: Any, name: str = "X") -> Any:
        """X as this kernel takes it, checked: rows of float64, or a table of patterns that are no rows of numbers."""
        return check_array(X, dtype=np.float64, input_name=name)

    @property
    def cpd_order(self) -> int:
        """The minimal order of conditional positive definiteness; 0 for a positive (semi-)definite kernel."""
        return 0

    @property
    def null_degree(self) -> int:
        """Degree of the polynomials left free by default; -1 when nothing is."""
        return self.cpd_order - 1

    def own_null_space(self) -> Any:
        """The functions beside which the kernel is positive if these are not all polynomials of ``null_degree``: a
        null space; None for most kernels.
        """
        return None

    @property
    def is_indefinite(self) -> bool:
        """Whether the kernel may fail to be positive on the complement of the polynomials of degree < order."""
        return False

    @property
    def invariances(self) -> frozenset[str]:
        """Which of "translation", "rotation" (orthogonal maps), "dilation" change the semi-norm by a factor at most."""
        return frozenset()

    @property
    def dilation_degree(self) -> float | None:
        """k such that phi(s x, s y) = s^k phi(x, y) up to polynomials of degree < order in each argument, or None."""
        return None

    @property
    def differentiability(self) -> float:
        """How often phi may be differentiated where its arguments coincide (both arguments together)."""
        return math.inf

    @property
    def max_dimension(self) -> float:
        """The largest dimension of the inputs in which the kernel is (conditionally) positive definite."""
        return math.inf

    @property
    def support_radius(self) -> float:
        """The distance beyond which the kernel is exactly zero; infinite for most."""
        return math.inf

    @property
    def limit(self) -> float:
        """What a kernel that decays tends to far away: 0, or what a power series adds."""
        return 0.0

    @property
    def reach(self) -> float:
        """The distance beyond which the kernel equals its :attr:`limit` up to rounding; infinite for most."""
        return self.support_radius

    @property
    def knots(self) -> np.ndarray:
        """Positive distances at which the kernel is less smooth than elsewhere, increasing."""
        return np.empty(0)

    @property
    def period(self) -> float | None:
        """The length of the circle on which the kernel lives; None for other kernels."""
        return None

    def of_products(self) -> OfProducts | None:
        """The kernel, settled by :meth:`for_dimension`, as a function of <x, y> and |x - y|^2; None if not known."""
        return None

    def for_dimension(self, dimension: int) -> Kernel:
        """The kernel with everything that depends on the dimension of the inputs settled."""
        return self

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False) -> np.ndarray:
        """The matrix phi(X_i, Y_j); ``Y=None`` means ``Y=X`` and gives an exactly symmetric matrix.

        ``eval_gradient`` adds the derivatives in free hyperparameters, of which there are none, for scikit-learn.
        """
        left, right = self._check_points(X, Y)
        matrix = self.for_dimension(left.shape[1])._matrix(left, right)
        return (matrix, np.empty(matrix.shape + (0,))) if eval_gradient else matrix  # type: ignore[return-value]

    def diag(self, X: ArrayLike) -> np.ndarray:
        """The diagonal phi(X_i, X_i)."""
        points, _ = self._check_points(X, None)
        return self.for_dimension(points.shape[1])._diag(points)

    def gradient(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Derivatives in the first argument, shape (n, m, d)."""
        return self.derivative(X, Y, x=1)

    def hessian(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """Second derivatives in the first argument, shape (n, m, d, d)."""
        return self.derivative(X, Y, x=2)

    def mixed_hessian(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """d^2 phi / dx_i dy_j, once in each argument, shape (n, m, d, d): what gradient data need."""
        return self.derivative(X, Y, x=1, y=1)

    def derivative(self, X: ArrayLike, Y: ArrayLike | None = None, *, x: int = 0, y: int = 0) -> np.ndarray:
        """All partial derivatives taken ``x`` times in the first and ``y`` times in the second argument.

        Returns an array of shape (n, m) + (d,) * (x + y). At coincident points the analytic limit is returned; where it
        does not exist (``x + y > differentiability``) a ValueError says so.
        """
        if x == y == 0:
            return self(X, Y)
        left, right = self._check_points(X, Y)
        if isinstance(left, PatternTable):
            raise ValueError(f"{self!r} has no derivatives: patterns that are no rows of numbers have no coordinates.")
        right = left if right is None else right
        settled = self.for_dimension(left.shape[1])
        settled._refuse_singular(left, right, x + y)
        return settled._derivative(left, right, x, y)

    def on_columns(self, columns: ArrayLike) -> Kernel:
        """This kernel, looking only at the given columns of X."""
        return _COMPOSITIONS["columns"](self, columns)

    def axis_scale(self, scale: ArrayLike) -> Kernel:
        """This kernel after dividing each column of X by its entry of ``scale`` (one number: all columns alike)."""
        return _COMPOSITIONS["scale"](self, scale)

    def linear_map(self, matrix: ArrayLike) -> Kernel:
        """This kernel of the points x L, for a matrix L (d, k): distances in the metric L L'."""
        return _COMPOSITIONS["map"](self, matrix)

    def __add__(self, other: Kernel) -> Kernel:
        if not isinstance(other, Kernel):
            raise TypeError(
                f"kernels of seminorm add to each other, not to {other!r}; constants are PowerSeries((c,))."
            )
        return _COMPOSITIONS["+"](self, other)

    def __radd__(self, other: Any) -> Kernel:
        return self if isinstance(other, Real) and other == 0 else self + other  # 0 is where sum() starts

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            product = _COMPOSITIONS["*"](self, other)
        elif isinstance(other, Real):
            product = _COMPOSITIONS["factor"](self, float(other))
        else:
            raise TypeError(f"kernels of seminorm multiply with each other and positive numbers, not with {other!r}.")
        product.check_composition()
        return product

    def __rmul__(self, other: Kernel | float) -> Kernel:
        return self * other

    def __truediv__(self, divisor: float) -> Kernel:
        if not isinstance(divisor, Real) or divisor == 0:
            raise TypeError(f"a kernel can be divided by a positive number, not by {divisor!r}.")
        return self * (1.0 / divisor)

    def __pow__(self, exponent: int) -> Kernel:
        if not (isinstance(exponent, Integral) and exponent >= 1):
            raise ValueError(f"exponent must be a positive integer for the power to stay a kernel, got {exponent!r}.")
        return _COMPOSITIONS["series"]((0.0,) * int(exponent) + (1.0,), self)

    def check_composition(self) -> None:
        """Raise an error if the parts of a composed kernel do not make a kernel."""

    def __repr__(self) -> str:
        return in_words(self)

    def is_stationary(self) -> bool:
        """Whether the kernel is translation-invariant, as scikit-learn asks."""
        return TRANSLATION in self.invariances

    @property
    def hyperparameters(self) -> list:
        """None are free for scikit-learn's Gaussian processes to optimise."""
        return []

    def _matrix(self, X, Y) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its matrix: subclasses of Kernel supply _matrix(X, Y).")

    def _diag(self, X) -> np.ndarray:
        return np.array([self._matrix(X[i : i + 1], None)[0, 0] for i in range(X.shape[0])])

    def _derivative(self, X, Y, x: int, y: int) -> np.ndarray:
        raise ValueError(f"{self!r} has no derivatives: fit values only, or use a kernel that has them.")

    def _jet(self, X, Y):
        """The kernel as a jet for chain and product rule (arguments already checked)."""
        return lambda x, y: self._matrix(X, Y) if x == y == 0 else self._derivative(X, Y, x, y)

    def _check_points(self, X, Y) -> tuple[Any, Any]:
        if self.accepts_patterns:
            X, Y = self.patterns(X, "X"), None if Y is None else self.patterns(Y, "Y")
            if Y is not None and X.shape[1] != Y.shape[1]:
                raise ValueError(f"X has patterns of {X.shape[1]} numbers and Y of {Y.shape[1]}: they must agree.")
            return X, Y
        sparse = "csr" if self.accepts_sparse else False
        X = check_array(X, dtype=np.float64, accept_sparse=sparse, input_name="X")
        if Y is None:
            return X, None
        Y = check_array(Y, dtype=np.float64, accept_sparse=sparse, input_name="Y")
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"X and Y must have the same number of columns, got {X.shape[1]} and {Y.shape[1]}.")
        return X, Y

    def _refuse_singular(self, X, Y, times: int):
        """Raise if ``times`` derivatives do not exist at some pair of points; composed kernels ask their parts."""
        if times > self.differentiability and _any_coincident(X, Y):
            raise ValueError(
                f"{self!r} can be differentiated {self.differentiability:g} times where its arguments coincide, and "
                f"{times} derivatives were asked for at coincident points. Use a smoother kernel (Polyharmonic of a "
                "higher order m, Matern of a higher nu, Gaussian, Multiquadric), or points that differ."
            )


def non_negative(name: str, values: Any) -> np.ndarray:
    """A parameter as an array (n,) of finite numbers >= 0: weights of a kernel that is positive definite with them."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or len(numbers) == 0 or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be a sequence of finite numbers, got {values!r}.")
    if (numbers < 0).any():
        raise ValueError(
            f"{name} must not be negative: with the negative coefficient {numbers.min():g} the kernel would not be "
            "positive definite."
        )
    return numbers


def _any_coincident(X: np.ndarray, Y: np.ndarray) -> bool:
    """Whether some row of X equals some row of Y, in blocks of bounded memory."""
    step = max(1, 2**22 // max(1, len(Y)))
    return any((cdist(X[i : i + step], Y, "sqeuclidean") == 0).any() for i in range(0, len(X), step))
