"""The kernel of plane vector fields whose components an elastic plate couples, such as velocities of the ground."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from .base import DILATION, ROTATION, TRANSLATION, Kernel
from .calculus import Jet, chain_rule, falling_power, product_rule, squared_distance_jet
from .conditional_radial import log_times_power
from .radial import safe_power


class VectorKernel(Kernel):
    """Base of the kernels of vector fields: the matrix phi_cd(x, y) for components c and d.

    As a kernel it takes points whose last column is the number of a component, so that ``kernel(X)`` is the covariance
    of single components; :meth:`tensor` takes points alone. A subclass names the number of ``components`` and supplies
    ``_entry``.

    See Also
    --------
    Elastic

    Examples
    --------
    >>> from seminorm.kernels import Elastic, VectorKernel
    >>> isinstance(Elastic(), VectorKernel), Elastic().components
    (True, 2)
    """

    components: int

    def tensor(self, X: ArrayLike, Y: ArrayLike | None = None) -> np.ndarray:
        """phi_cd(X_i, Y_j) for points without components, shape (n, m, components, components)."""
        k, left = self.components, check_array(X, dtype=np.float64, input_name="X")
        right = left if Y is None else check_array(Y, dtype=np.float64, input_name="Y")
        matrix = self(with_components(left, k), with_components(right, k))
        return np.moveaxis(matrix.reshape(len(left), k, len(right), k), 2, 1)

    def alternatives(self) -> list[VectorKernel]:
        """The kernels to choose from, if a parameter is left open; the kernel itself otherwise."""
        return [self]

    def _entry(self, X: np.ndarray, Y: np.ndarray, c: int, d: int, x: int, y: int) -> np.ndarray:
        """Derivatives of phi_cd in the coordinates, shape (n, m) + (columns of X,) * (x + y)."""
        raise TypeError(f"{type(self).__name__} does not define _entry(X, Y, c, d, x, y).")

    def _matrix(self, X, Y) -> np.ndarray:
        return self._blocks(X, X if Y is None else Y, 0, 0)

    def _derivative(self, X, Y, x: int, y: int) -> np.ndarray:
        return self._blocks(X, Y, x, y)

    def _blocks(self, X, Y, x: int, y: int) -> np.ndarray:
        """The entries of all pairs of components; nothing varies along the last column."""
        plane = X.shape[1] - 1
        result = np.zeros((len(X), len(Y)) + (plane + 1,) * (x + y))
        rows, columns = self._by_component(X), self._by_component(Y)
        for c, i in enumerate(rows):
            for d, j in enumerate(columns):
                if len(i) and len(j):
                    where = np.ix_(i, j, *[np.arange(plane)] * (x + y))
                    result[where] = self._entry(X[i, :-1], Y[j, :-1], c, d, x, y)
        return result

    def _by_component(self, X: np.ndarray) -> list[np.ndarray]:
        numbers = X[:, -1]
        if not np.isin(numbers, np.arange(self.components)).all():
            raise ValueError(
                f"the last column of X must be the number of a component, 0 to {self.components - 1}: use "
                "kernel.tensor(X) for points without it."
            )
        return [np.flatnonzero(numbers == c) for c in range(self.components)]


def with_components(X: np.ndarray, components: int) -> np.ndarray:
    """Every point once per component, the number of the component in a last column: (n, d) to (n * components, d + 1).

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels.elastic import with_components
    >>> with_components(np.array([[5.0], [7.0]]), 2).tolist()
    [[5.0, 0.0], [5.0, 1.0], [7.0, 0.0], [7.0, 1.0]]
    """
    return np.column_stack([np.repeat(X, components, axis=0), np.tile(np.arange(float(components)), len(X))])


class Elastic(VectorKernel):
    """Two velocities in the plane, coupled as an elastic plate couples them; finite everywhere, without a length.

    The kernel's Fourier transform is |w|^(-2 m) (I - (1 + nu) / 2 w w' / |w|^2), m the order and nu Poisson's ratio:
    the response of a thin elastic plate to a force is m = 1 [Sandwell and Wessel 2016], which is infinite at the force.
    The semi-norm is the energy of the plate for the derivatives of order m - 1 of the field; for m = 2 it is the
    integral of |grad curl u|^2 + 2 / (1 - nu) |grad div u|^2. With r = |x|, e = x / r and phi the kernel of the scalar
    semi-norm of order m, it is ::

        phi(r) ((1 - (1 + nu) / (4 m)) I - (1 + nu) (m - 1) / (2 m) e e')

    phi is r^2 log r / (8 pi) for m = 2 and -r / (2 pi) for m = 3/2. Dilations change it by a factor, and rotations turn
    the field. Polynomials of degree below m are free in each component: translations for m = 3/2, translations,
    rotations and uniform strain for m = 2.

    Rows of X are points in the plane and the number of a component; :class:`seminorm.Smoother` takes plain points and
    y (n, 2).

    Parameters
    ----------
    poisson : float or "auto"
        Poisson's ratio, from -1, where the components know nothing of each other, to 1, for fields without divergence
        (beside the free polynomials). "auto" leaves it to the data.
    order : float
        m > 1; the field is the rougher the smaller it is.

    See Also
    --------
    Polyharmonic : The kernel of each component for ``poisson=-1``.

    Examples
    --------
    >>> from seminorm.kernels import Elastic
    >>> kernel = Elastic(poisson=0.5, order=1.5)
    >>> kernel.tensor([[0.0, 0.0]], [[1.0, 0.0]])[0, 0].round(4)
    array([[-0.0796, -0.    ],
           [-0.    , -0.1194]])
    """

    components = 2
    invariances = frozenset({TRANSLATION, ROTATION, DILATION})
    max_dimension = 3  # the plane, and the number of the component

    def __init__(self, poisson: float | str = "auto", order: float = 2):
        self.poisson, self.order = poisson, order

    @property
    def cpd_order(self) -> int:
        return math.floor(self.order)

    @property
    def dilation_degree(self) -> float | None:
        return 2 * self.order - 2

    @property
    def differentiability(self) -> float:
        return math.ceil(2 * self.order - 2) - 1

    def for_dimension(self, dimension: int) -> Kernel:
        if dimension != 3:
            raise ValueError(
                f"Elastic takes points in the plane, with the number of a component as third column, and X has "
                f"{dimension} columns: use seminorm.Smoother for X (n, 2) and y (n, 2), or kernel.tensor(X)."
            )
        if not (isinstance(self.order, Real) and 1 < float(self.order) < math.inf):
            raise ValueError(f"order must be a number above 1, got {self.order!r}: a point force bends a plate.")
        if self._is_open():
            raise ValueError("poisson='auto' is for seminorm.Smoother, which chooses it: give a number from -1 to 1.")
        if not (isinstance(self.poisson, Real) and -1 <= float(self.poisson) <= 1):
            raise ValueError(f"poisson must lie between -1 and 1, or be 'auto', got {self.poisson!r}.")
        return self

    def alternatives(self) -> list[VectorKernel]:
        return [Elastic(nu, self.order) for nu in _RATIOS] if self._is_open() else [self]

    def _is_open(self) -> bool:
        return isinstance(self.poisson, str) and self.poisson == "auto"

    def _diag(self, X) -> np.ndarray:
        self._by_component(X)
        return np.zeros(len(X))

    def _entry(self, X, Y, c, d, x, y):
        coupling, m = 0.5 * (1.0 + float(self.poisson)), float(self.order)
        plain, mixed = (c == d) * (1.0 - 0.5 * coupling / m), -coupling * (m - 1.0) / m
        if x == y == 0:
            s = cdist(X, Y, "sqeuclidean")
            product = (X[:, None, c] - Y[None, :, c]) * (X[:, None, d] - Y[None, :, d])
            product *= mixed * self._profile(s, 0, 1)
            return product + plain * self._profile(s, 0) if plain else product
        s, distance = squared_distance_jet(X, Y)

        def over_square(x: int, y: int) -> np.ndarray:  # phi(r) / r^2
            return chain_rule(lambda k: self._profile(s, k, 1), distance, x, y)

        result = mixed * product_rule(over_square, _product_jet(X, Y, c, d), x, y)
        return result + plain * chain_rule(lambda k: self._profile(s, k), distance, x, y) if plain else result

    def _profile(self, s: np.ndarray, k: int, lowered: int = 0) -> np.ndarray:
        """The k-th derivative in s = r^2 of phi(r) / r^(2 lowered); 0 at s = 0 where it is infinite."""
        m = float(self.order)
        if m == int(m):
            factor = (-1.0) ** m / (2.0 ** (2 * m) * math.pi * math.factorial(int(m) - 1) ** 2)
            return log_times_power(s, int(m) - 1 - lowered, factor, k)
        factor, exponent = math.gamma(1.0 - m) / (4.0**m * math.pi * math.gamma(m)), m - 1.0 - lowered
        return factor * falling_power(exponent, k) * safe_power(s, exponent - k)


_RATIOS = (0.5, -1.0, -0.5, 0.0, 0.8, 0.95, 1.0)  # to choose from, the first preferred


def _product_jet(X: np.ndarray, Y: np.ndarray, c: int, d: int) -> Jet:
    """The jet of z_c z_d with z = x - y."""
    z = X[:, None, :] - Y[None, :, :]
    unit = np.eye(X.shape[1])
    slope = z[..., c, None] * unit[d] + z[..., d, None] * unit[c]
    second = np.outer(unit[c], unit[d]) + np.outer(unit[d], unit[c])
    tensors = {(0, 0): z[..., c] * z[..., d], (1, 0): slope, (0, 1): -slope}
    tensors |= {(2, 0): second, (1, 1): -second, (0, 2): second}
    return lambda x, y: tensors.get((x, y))
