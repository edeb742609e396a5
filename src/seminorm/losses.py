"""Losses: one class per loss, and the registry ``all_losses`` in which SVC and SVR look them up.

A loss is made of the targets y (labels -1 and 1, or numbers) and the number ``epsilon``, and describes loss_i(f_i) for
all points at once. A solver declares what it needs of a loss, and takes every loss that provides it:

- Newton's method (:mod:`seminorm.solvers.margin.newton`) needs ``gradient``, ``active``, ``targets`` and ``curvature``:
  near f the loss is curvature (f - target)^2 plus a constant at active points, with a positive curvature, and constant
  at the others, unless the loss has a method ``linear`` that says where it is linear;
- reweighting (:mod:`seminorm.fields.robust`) needs ``weights``: the quadratic weight (y - f)^2 plus a constant touches
  the loss at f from above;
- the box program (:mod:`seminorm.solvers.margin.box_machines`) and the solver for indefinite kernel matrices need
  ``box``: the loss as a maximum of linear functions.

To add a loss, write a class with a ``name`` and register it: ``all_losses.register(MyLoss, lambda: [MyLoss(y)])``. Then
``SVC(loss="my_name")`` or ``SVR(loss="my_name")`` finds it.

Examples
--------
>>> import numpy as np
>>> from seminorm.losses import Logistic, SquaredHinge
>>> y = np.array([1.0, 1.0, -1.0])
>>> SquaredHinge(y).value(np.array([2.0, 0.5, 0.0]))
array([0.  , 0.25, 1.  ])
>>> SquaredHinge(y).active(np.array([2.0, 0.5, 0.0]))
array([False,  True,  True])
>>> Logistic(y).curvature(np.zeros(3))
array([0.125, 0.125, 0.125])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from ._base.registry import Registry

__all__ = ["CLASSIFICATION", "EpsilonInsensitive", "Hinge", "Huber", "Logistic", "Loss", "REGRESSION", "Squared"]
__all__ += ["Pinball", "SmoothTube", "SquaredEpsilonInsensitive", "SquaredHinge", "StudentT", "all_losses"]
CLASSIFICATION, REGRESSION = "classification", "regression"
ROBUST = "robust regression"  # not convex: by reweighting alone
_FLAT = 1e-12
_FAR = 10.0
_ROUNDED = 0.1
_ROUNDING = 1e-10


@dataclass(frozen=True)
class SlopeBox:
    """A loss as a maximum: loss_i(f) = max sum_k s_k (target_k - f) - ridge_i (sum_k s_k)^2 / 4, over the variables s_k
    of point i with lower_k <= s_k <= upper_k.

    Each variable has 0 as one of its bounds, or no bounds at all. The coefficients of the kernel are a_i = w_i sum_k
    s_k / (2 alpha).

    See Also
    --------
    Hinge, EpsilonInsensitive
    """

    points: np.ndarray  #: (m,) the point of each variable
    targets: np.ndarray  #: (m,)
    lower: np.ndarray  #: (m,)
    upper: np.ndarray  #: (m,)
    ridge: np.ndarray  #: (n,)

    @property
    def is_free(self) -> np.ndarray:
        """Which variables have no bounds."""
        return np.isinf(self.lower) & np.isinf(self.upper)

    @classmethod
    def one_sided(cls, y: np.ndarray, limit: float, ridge: float) -> SlopeBox:
        """One variable per point, with the sign of its label."""
        zero, limits = np.zeros(len(y)), np.full(len(y), limit)
        return cls(
            np.arange(len(y)), y, np.where(y > 0, zero, -limits), np.where(y > 0, limits, zero), np.full(len(y), ridge)
        )

    @classmethod
    def two_sided(cls, y: np.ndarray, epsilon: float, limit: float, ridge: float) -> SlopeBox:
        """Two variables per point: one pulls up to y - epsilon, the other down to y + epsilon."""
        n, zero, limits = len(y), np.zeros(len(y)), np.full(len(y), limit)
        return cls(
            np.tile(np.arange(n), 2),
            np.concatenate([y - epsilon, y + epsilon]),
            np.concatenate([zero, -limits]),
            np.concatenate([limits, zero]),
            np.full(n, ridge),
        )


class Loss(ABC):
    """Base of the losses.

    Parameters
    ----------
    y, epsilon : array (n,), float
        Labels -1 and 1, or numbers; width of a tube, or threshold, for the losses that have one.

    See Also
    --------
    loss_named

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import Loss
    >>> class Absolute(Loss):
    ...     name, task = "absolute", "regression"
    ...     def value(self, f):
    ...         return np.abs(self.y - f)
    >>> Absolute(np.zeros(2)).value(np.array([1.0, -2.0]))
    array([1., 2.])
    """

    #: what ``loss=`` calls it
    name: ClassVar[str]
    #: "classification" (y are labels -1 and 1), "regression", or "robust regression" for losses that are not convex
    task: ClassVar[str]
    #: ``epsilon`` in deviations of the noise, where residuals tell it: Huber's is 95 % efficient for normal noise
    width: ClassVar[float] = 1.345

    def __init__(self, y: np.ndarray, epsilon: float = 0.0):
        self.y = np.asarray(y, dtype=float)
        self.epsilon = epsilon

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.y)} points)"

    @abstractmethod
    def value(self, f: np.ndarray) -> np.ndarray:
        """The loss of each point for the values f (n,)."""

    def subset(self, points: np.ndarray) -> Loss:
        """The loss of some of the points."""
        part = copy(self)
        part.y = self.y[points]
        return part

    def provides(self, needs: Sequence[str]) -> bool:
        """Whether the loss has all of the methods that a solver needs."""
        return all(callable(getattr(self, name, None)) for name in needs)

    @property
    def stiffness(self) -> float:
        """A typical curvature, which makes alphas of different losses and units of y comparable: 1 for squares."""
        return 1.0


class _Squared(Loss):
    """(f - target)^2 at active points, 0 elsewhere."""

    @abstractmethod
    def active(self, f: np.ndarray) -> np.ndarray:
        """Which points have a loss, (n,) of bool."""

    @abstractmethod
    def targets(self, f: np.ndarray) -> np.ndarray:
        """The values that active points are drawn to."""

    def value(self, f: np.ndarray) -> np.ndarray:
        return np.where(self.active(f), (f - self.targets(f)) ** 2, 0.0)

    def gradient(self, f: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each point in its value."""
        return np.where(self.active(f), 2.0 * (f - self.targets(f)), 0.0)

    def curvature(self, f: np.ndarray) -> np.ndarray:
        """Half of the second derivative at active points: 1."""
        return np.ones(len(f))


class Squared(_Squared):
    """(y - f)^2, the loss of :class:`seminorm.Smoother`.

    Parameters
    ----------
    y : array (n,)
        Targets.

    See Also
    --------
    Huber

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import Squared
    >>> Squared(np.array([1.0])).value(np.array([0.5]))
    array([0.25])
    """

    name, task = "squared", REGRESSION

    def active(self, f: np.ndarray) -> np.ndarray:
        """All points."""
        return np.ones(len(f), dtype=bool)

    def targets(self, f: np.ndarray) -> np.ndarray:
        return self.y

    def weights(self, f: np.ndarray) -> np.ndarray:
        """Of the quadratic that touches the loss at f: 1."""
        return np.ones(len(f))

    def box(self) -> SlopeBox:
        """Variables without bounds."""
        n = len(self.y)
        return SlopeBox(np.arange(n), self.y, np.full(n, -np.inf), np.full(n, np.inf), np.ones(n))


class SquaredHinge(_Squared):
    """max(0, 1 - y f)^2: points with y f < 1 are active and drawn to y.

    Parameters
    ----------
    y : array (n,)
        Labels, -1 or 1.

    See Also
    --------
    Hinge, Logistic

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import SquaredHinge
    >>> SquaredHinge(np.array([1.0])).value(np.array([0.5]))
    array([0.25])
    """

    name, task = "squared_hinge", CLASSIFICATION

    def active(self, f: np.ndarray) -> np.ndarray:
        """Points within the margin, or on the wrong side."""
        return self.y * f < 1.0

    def targets(self, f: np.ndarray) -> np.ndarray:
        return self.y

    def box(self) -> SlopeBox:
        """Variables with the signs of y, and a ridge."""
        return SlopeBox.one_sided(self.y, np.inf, 1.0)


class SquaredEpsilonInsensitive(_Squared):
    """max(0, |y - f| - epsilon)^2: points outside the tube are active and drawn to its nearer edge.

    Parameters
    ----------
    y, epsilon : array (n,), float
        Targets, and half the width of the tube.

    See Also
    --------
    EpsilonInsensitive

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(np.array([1.0]), 0.25).value(np.array([0.5]))
    array([0.0625])
    """

    name, task = "squared_epsilon_insensitive", REGRESSION

    def active(self, f: np.ndarray) -> np.ndarray:
        """Points outside the tube."""
        return np.abs(self.y - f) > self.epsilon

    def targets(self, f: np.ndarray) -> np.ndarray:
        """The nearer edge of the tube."""
        return self.y - self.epsilon * np.sign(self.y - f)

    def box(self) -> SlopeBox:
        """Two variables per point, and a ridge."""
        return SlopeBox.two_sided(self.y, self.epsilon, np.inf, 1.0)


class SmoothTube(Loss):
    """A tube with sides of slope ``up`` and ``down``, whose corners are rounded over a length ``width``.

    Zero for low <= f <= high; at a distance t from the tube it is slope t^2 / (2 width) up to t = width, and
    slope (t - width / 2) beyond. Huber's loss is one, and hinge, epsilon-insensitive and pinball losses are limits.

    Parameters
    ----------
    y : array (n,)
        Targets.
    low, high : arrays (n,)
        Edges of the tube, low <= high.
    up, down : float or arrays (n,)
        Slopes below and above the tube; zero for a side that is open.
    width : float

    See Also
    --------
    EpsilonInsensitive, Hinge, Huber

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import SmoothTube
    >>> SmoothTube(np.zeros(3), np.full(3, -1.0), np.full(3, 1.0), 1.0, 1.0, 0.5).value(np.array([0.0, 1.5, 3.0]))
    array([0.  , 0.25, 1.75])
    """

    name, task = "smooth_tube", REGRESSION

    @property
    def stiffness(self) -> float:
        return float(max(self.up.max(initial=0.0), self.down.max(initial=0.0))) / (2.0 * self.epsilon)

    def __init__(self, y: np.ndarray, low: np.ndarray, high: np.ndarray, up, down, width: float):
        super().__init__(y, width)
        self.low, self.high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        self.up, self.down = (np.broadcast_to(np.asarray(slope, dtype=float), self.y.shape) for slope in (up, down))

    def subset(self, points: np.ndarray) -> Loss:
        part = copy(self)
        for key in ("y", "low", "high", "up", "down"):
            setattr(part, key, getattr(self, key)[points])
        return part

    def _side(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distance from the tube, and the slope on that side."""
        below = f < self.low
        distance = np.where(below, self.low - f, np.maximum(f - self.high, 0.0))
        slope = np.where(below, self.up, self.down)
        return np.where(slope > 0, distance, 0.0), slope

    def value(self, f: np.ndarray) -> np.ndarray:
        t, slope = self._side(f)
        return slope * np.where(t <= self.epsilon, t**2 / (2.0 * self.epsilon), t - 0.5 * self.epsilon)

    def gradient(self, f: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each point in its value."""
        t, slope = self._side(f)
        return np.where(f < self.low, -1.0, 1.0) * slope * np.minimum(t / self.epsilon, 1.0)

    def active(self, f: np.ndarray) -> np.ndarray:
        """Points where the loss is quadratic, the edges of the tube included where it has no inside."""
        t = self._side(f)[0]
        return ((t > 0) | (self.low == self.high)) & (t <= self.epsilon)

    def linear(self, f: np.ndarray) -> np.ndarray:
        """Points where the loss is linear."""
        return self._side(f)[0] > self.epsilon

    def targets(self, f: np.ndarray) -> np.ndarray:
        """The nearer edge of the tube."""
        return np.where(f < self.low, self.low, self.high)

    def curvature(self, f: np.ndarray) -> np.ndarray:
        """Half of the second derivative at active points."""
        slope = self._side(f)[1]
        return np.where(slope > 0, slope, 1.0) / (2.0 * self.epsilon)


class Hinge(Loss):
    """max(0, 1 - y f).

    Parameters
    ----------
    y : array (n,)
        Labels, -1 or 1.

    See Also
    --------
    SquaredHinge, HardMargin

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import Hinge
    >>> Hinge(np.array([1.0])).value(np.array([0.5]))
    array([0.5])
    """

    name, task = "hinge", CLASSIFICATION

    def value(self, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - self.y * f)

    def box(self) -> SlopeBox:
        """Variables with the signs of y, of modulus at most 1."""
        return SlopeBox.one_sided(self.y, 1.0, 0.0)

    def smoothed(self, share: float = _ROUNDED) -> SmoothTube:
        """With a corner rounded over a ``share`` of the margin: to find alpha by Newton's method."""
        up, down = (self.y > 0).astype(float), (self.y < 0).astype(float)
        return SmoothTube(self.y, np.where(up > 0, 1.0, -np.inf), np.where(down > 0, -1.0, np.inf), up, down, share)


class HardMargin(Loss):
    """y f >= 1 is demanded. The value is the squared hinge, which says how far it is missed.

    See Also
    --------
    Hinge
    """

    name, task = "hard_margin", CLASSIFICATION

    def value(self, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - self.y * f) ** 2

    def box(self) -> SlopeBox:
        """Variables with the signs of y."""
        return SlopeBox.one_sided(self.y, np.inf, 0.0)


class EpsilonInsensitive(Loss):
    """max(0, |y - f| - epsilon).

    Parameters
    ----------
    y, epsilon : array (n,), float
        Targets, and half the width of the tube.

    See Also
    --------
    SquaredEpsilonInsensitive, Huber

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(np.array([1.0]), 0.25).value(np.array([0.5]))
    array([0.25])
    """

    name, task = "epsilon_insensitive", REGRESSION

    @property
    def stiffness(self) -> float:
        return 0.5 / spread(self.y)

    def value(self, f: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, np.abs(self.y - f) - self.epsilon)

    def box(self) -> SlopeBox:
        """Two variables per point, of modulus at most 1."""
        return SlopeBox.two_sided(self.y, self.epsilon, 1.0, 0.0)

    def smoothed(self, share: float = _ROUNDED) -> SmoothTube:
        """With corners rounded over a ``share`` of the tube or the scatter of y: to find alpha by Newton's method."""
        return SmoothTube(
            self.y, self.y - self.epsilon, self.y + self.epsilon, 1.0, 1.0, _corner(self.y, self.epsilon, share)
        )


class Huber(SmoothTube):
    """(y - f)^2 up to |y - f| = epsilon, and 2 epsilon |y - f| - epsilon^2 beyond: outliers have bounded influence.

    Parameters
    ----------
    y, epsilon : array (n,), float
        Targets, and the residual from which on the loss is linear.

    See Also
    --------
    EpsilonInsensitive, Squared

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import Huber
    >>> Huber(np.array([1.0, 1.0]), 1.0).value(np.array([0.5, 4.0]))
    array([0.25, 5.  ])
    """

    name = "huber"

    def __init__(self, y: np.ndarray, epsilon: float = 1.0):
        if not epsilon > 0:
            raise ValueError(f"epsilon must be positive for the loss 'huber', whose threshold it is, got {epsilon!r}.")
        super().__init__(y, y, y, 2.0 * epsilon, 2.0 * epsilon, epsilon)

    def weights(self, f: np.ndarray) -> np.ndarray:
        """Of the quadratic that touches the loss at f: less than 1 beyond the threshold."""
        return self.epsilon / np.maximum(np.abs(self.y - f), self.epsilon)

    def box(self) -> SlopeBox:
        """Two variables per point that pull to y, of modulus at most 2 epsilon, and a ridge."""
        return SlopeBox.two_sided(self.y, 0.0, 2.0 * self.epsilon, 1.0)


class StudentT(Loss):
    """epsilon^2 log(1 + (y - f)^2 / epsilon^2), up to a factor minus the log likelihood of Student's t distribution:
    (y - f)^2 for small residuals, and nearly nothing for outliers.

    It is not convex, and is minimised by reweighting. The scale of a distribution with nu degrees of freedom is epsilon
    over the root of nu.

    Parameters
    ----------
    y, epsilon : array (n,), float
        Targets, and the residual whose influence is the largest.

    See Also
    --------
    Huber : The convex one.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import StudentT
    >>> StudentT(np.zeros(3), 2.0).weights(np.array([0.0, 2.0, 20.0])).round(3)
    array([1.  , 0.5 , 0.01])
    """

    name, task = "student_t", ROBUST
    width = 2.0  # four degrees of freedom

    def __init__(self, y: np.ndarray, epsilon: float = 1.0):
        if not epsilon > 0:
            raise ValueError(f"epsilon must be positive for the loss 'student_t', whose scale it is, got {epsilon!r}.")
        super().__init__(y, epsilon)

    def value(self, f: np.ndarray) -> np.ndarray:
        return self.epsilon**2 * np.log1p(((self.y - f) / self.epsilon) ** 2)

    def gradient(self, f: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each point in its value."""
        return 2.0 * self.weights(f) * (f - self.y)

    def weights(self, f: np.ndarray) -> np.ndarray:
        """Of the quadratic that touches the loss at f: small for outliers."""
        return 1.0 / (1.0 + ((self.y - f) / self.epsilon) ** 2)


class Pinball(Loss):
    """q (y - f) above f and (1 - q) (f - y) below: minimised by the conditional quantile of the share q.

    Parameters
    ----------
    y, epsilon : array (n,), float
        Targets, and the share q, 0 < q < 1.

    See Also
    --------
    EpsilonInsensitive

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import Pinball
    >>> Pinball(np.array([1.0, 1.0]), 0.9).value(np.array([0.0, 2.0])).round(3)
    array([0.9, 0.1])
    """

    name, task = "pinball", REGRESSION

    def __init__(self, y: np.ndarray, epsilon: float = 0.5):
        if not 0 < epsilon < 1:
            raise ValueError(f"quantile must be a share with 0 < quantile < 1 for the loss 'pinball', got {epsilon!r}.")
        super().__init__(y, epsilon)

    @property
    def stiffness(self) -> float:
        return 0.25 / spread(self.y)

    def value(self, f: np.ndarray) -> np.ndarray:
        return np.maximum(self.epsilon * (self.y - f), (self.epsilon - 1.0) * (self.y - f))

    def box(self) -> SlopeBox:
        """Two variables per point, of modulus at most q and 1 - q."""
        n, zero = len(self.y), np.zeros(len(self.y))
        return SlopeBox(
            np.tile(np.arange(n), 2),
            np.tile(self.y, 2),
            np.concatenate([zero, np.full(n, self.epsilon - 1.0)]),
            np.concatenate([np.full(n, self.epsilon), zero]),
            zero,
        )

    def smoothed(self, share: float = _ROUNDED) -> SmoothTube:
        """With a corner rounded over a ``share`` of the scatter of y: to find alpha by Newton's method."""
        return SmoothTube(self.y, self.y, self.y, self.epsilon, 1.0 - self.epsilon, _corner(self.y, 0.0, share))


class Logistic(Loss):
    """log(1 + exp(-y f)), minus the log likelihood of probabilities 1 / (1 + exp(-f)) of the class 1.

    Parameters
    ----------
    y : array (n,)
        Labels, -1 or 1.

    See Also
    --------
    SquaredHinge, Hinge

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import Logistic
    >>> Logistic(np.array([1.0])).value(np.array([0.0])).round(4)
    array([0.6931])
    """

    name, task = "logistic", CLASSIFICATION

    def value(self, f: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -self.y * f)

    def gradient(self, f: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each point in its value."""
        return -self.y * expit(-self.y * f)

    def curvature(self, f: np.ndarray) -> np.ndarray:
        """Half of the second derivative; far on the wrong side, that of the quadratic that touches from above."""
        distance = np.maximum(np.abs(f), _FAR)
        return np.where(self.y * f < -_FAR, 0.25 * np.tanh(0.5 * distance) / distance, 0.5 * expit(f) * expit(-f))

    def active(self, f: np.ndarray) -> np.ndarray:
        """Points whose slope is not zero in working precision."""
        return expit(-self.y * f) > _FLAT

    def targets(self, f: np.ndarray) -> np.ndarray:
        """The minimum of the quadratic with the same slope and curvature, at active points."""
        return f - 0.5 * self.gradient(f) / np.maximum(self.curvature(f), _FLAT)


class PerPoint(Loss):
    """Different losses at different points.

    Parameters
    ----------
    n, parts : int, sequence of (rows, Loss)
        Number of points, and the rows of each loss; together they are 0 ... n - 1.

    See Also
    --------
    Loss

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.losses import Hinge, PerPoint, Squared
    >>> loss = PerPoint(3, [(np.array([0]), Squared(np.zeros(1))), (np.array([1, 2]), Hinge(np.array([1.0, -1.0])))])
    >>> loss.value(np.array([0.5, 0.5, 0.5]))
    array([0.25, 0.5 , 1.5 ])
    """

    name, task = "per_point", CLASSIFICATION

    def __init__(self, n: int, parts: Sequence[tuple[np.ndarray, Loss]]):
        self.parts = [(rows, loss) for rows, loss in parts if len(rows)]
        super().__init__(self._gather(n, [loss.y for _, loss in self.parts]))

    @classmethod
    def with_boundary(cls, y: np.ndarray, loss: type[Loss]) -> Loss:
        """Squared error to 0 where y is 0, on the boundary; a loss of labels elsewhere [Walder 2008, 4.2]."""
        boundary, labeled = np.flatnonzero(y == 0), np.flatnonzero(y)
        return cls(len(y), [(boundary, Squared(y[boundary])), (labeled, loss(y[labeled]))])

    def _gather(self, n: int, values: Sequence[np.ndarray], dtype: type = float) -> np.ndarray:
        result: np.ndarray = np.zeros(n, dtype=dtype)
        for (rows, _), part in zip(self.parts, values, strict=True):
            result[rows] = part
        return result

    def _of_parts(self, name: str, f: np.ndarray, dtype: type = float) -> np.ndarray:
        return self._gather(len(f), [getattr(loss, name)(f[rows]) for rows, loss in self.parts], dtype)

    def provides(self, needs: Sequence[str]) -> bool:
        """Whether all of the losses have the methods."""
        return all(loss.provides(needs) for _, loss in self.parts)

    def subset(self, points: np.ndarray) -> Loss:
        """The losses of some of the points."""
        parts = []
        for rows, loss in self.parts:
            chosen = np.isin(points, rows)
            parts.append((np.flatnonzero(chosen), loss.subset(np.searchsorted(rows, points[chosen]))))
        return PerPoint(len(points), parts)

    def value(self, f: np.ndarray) -> np.ndarray:
        return self._of_parts("value", f)

    def gradient(self, f: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each point in its value."""
        return self._of_parts("gradient", f)

    def curvature(self, f: np.ndarray) -> np.ndarray:
        """Half of the second derivative at active points."""
        return self._of_parts("curvature", f)

    def active(self, f: np.ndarray) -> np.ndarray:
        """Points whose loss is not constant."""
        return self._of_parts("active", f, bool)

    def targets(self, f: np.ndarray) -> np.ndarray:
        """The values that active points are drawn to."""
        return self._of_parts("targets", f)

    def box(self) -> SlopeBox:
        """The variables of all parts."""
        boxes = [(rows, loss.box()) for rows, loss in self.parts]  # type: ignore[attr-defined]  # by ``provides``
        points = np.concatenate([rows[box.points] for rows, box in boxes])
        targets, lower, upper = (
            np.concatenate([getattr(box, name) for _, box in boxes]) for name in ("targets", "lower", "upper")
        )
        return SlopeBox(points, targets, lower, upper, self._gather(len(self.y), [box.ridge for _, box in boxes]))


def spread(y: np.ndarray) -> float:
    """How far numbers scatter: from the median absolute deviation, which outliers do not move, or, where most numbers
    are equal, the standard deviation; never below their rounding."""
    if not len(y):
        return 1.0
    size = float(np.abs(y).max()) or 1.0
    middle = 1.4826 * float(np.median(np.abs(y - np.median(y))))
    return max(middle if middle > _ROUNDING * size else float(np.std(y)), _ROUNDING * size)


def _corner(y: np.ndarray, epsilon: float, share: float) -> float:
    """A length over which to round the corners of a tube."""
    return share * max(epsilon, 0.5 * spread(y))


_LABELS, _NUMBERS = np.array([-1.0, 1.0, 1.0, -1.0]), np.array([-0.7, 0.2, 1.4, 0.0])

#: the losses that ``loss=`` of SVC and SVR may name
all_losses: Registry[Loss] = Registry("loss")
all_losses.register(Squared, lambda: [Squared(_NUMBERS)])
all_losses.register(SquaredHinge, lambda: [SquaredHinge(_LABELS)])
all_losses.register(Hinge, lambda: [Hinge(_LABELS)])
all_losses.register(Logistic, lambda: [Logistic(_LABELS)])
all_losses.register(EpsilonInsensitive, lambda: [EpsilonInsensitive(_NUMBERS, 0.1), EpsilonInsensitive(_NUMBERS)])
all_losses.register(SquaredEpsilonInsensitive, lambda: [SquaredEpsilonInsensitive(_NUMBERS, 0.1)])
all_losses.register(Huber, lambda: [Huber(_NUMBERS, 0.3)])
all_losses.register(StudentT, lambda: [StudentT(_NUMBERS, 0.3)])
all_losses.register(Pinball, lambda: [Pinball(_NUMBERS, 0.3)])


def loss_named(name: str, task: str | None = None, needs: Sequence[str] = ()) -> type[Loss]:
    """The registered loss with this ``name``, among those for a ``task`` that have the methods a solver ``needs``.

    See Also
    --------
    Loss
    """
    known = {all_losses[key].name: all_losses[key] for key in all_losses}
    valid = [
        key
        for key, loss in known.items()
        if (task is None or loss.task == task) and all(hasattr(loss, method) for method in needs)
    ]
    if name not in valid:
        raise ValueError(f"loss must be one of {', '.join(map(repr, sorted(valid)))}, got {name!r}.")
    return known[name]
