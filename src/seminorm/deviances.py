"""Deviances of exponential families as losses: one class per family, and the registry ``all_deviances``.

The loss is the unit deviance of y as a function of the linear predictor f, -2 phi times the log likelihood up to a
constant, where the dispersion phi is 1 for counts and proportions. It is convex in f, and for normal noise it would be
(y - f)^2, so alpha has one meaning for all. What is added to the contract of :class:`seminorm.losses.Loss` is the link
between f and the mean, the likelihood at the data themselves, the distribution of an observation, and a check of y.

To add a family, write a class with a ``name`` and register it: ``Smoother(family="my_name")`` finds it.

Examples
--------
>>> import numpy as np
>>> from seminorm.deviances import Poisson
>>> counts = Poisson(np.array([0.0, 3.0]))
>>> counts.mean(np.log([2.0, 3.0])), counts.value(np.log([2.0, 3.0])).round(6)
(array([2., 3.]), array([4., 0.]))
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import expit, gammaln, gdtr, pdtr, xlogy

from ._base.registry import Registry
from .losses import Loss

__all__ = ["Binomial", "Deviance", "Gamma", "Poisson", "all_deviances"]
_SHARP = 1e5
_FLAT = 1e-12  # of the curvature: enough for a working response to exist


class Deviance(Loss):
    """Base of the families.

    Parameters
    ----------
    y : array (n,)
        Observations.

    See Also
    --------
    seminorm.losses.Loss

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.deviances import Binomial
    >>> Binomial(np.array([1.0])).mean(np.array([0.0]))
    array([0.5])
    """

    task = "family"
    #: phi in the variance phi V(mean) of an observation of weight 1; None if it is to be estimated
    dispersion: ClassVar[float | None] = 1.0
    #: whether an observation of weight 1 is a whole number
    is_discrete: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def check(cls, y: np.ndarray) -> None:
        """Refuse observations that the family does not have."""

    @abstractmethod
    def gradient(self, f: np.ndarray) -> np.ndarray:
        """Derivative of the loss of each point in its value."""

    @abstractmethod
    def _half_curvature(self, f: np.ndarray) -> np.ndarray:
        """Half of the second derivative."""

    def curvature(self, f: np.ndarray) -> np.ndarray:
        """Half of the second derivative, where it is not lost to rounding."""
        return np.maximum(self._half_curvature(f), _FLAT)

    def active(self, f: np.ndarray) -> np.ndarray:
        """All points."""
        return np.ones(len(f), dtype=bool)

    def targets(self, f: np.ndarray) -> np.ndarray:
        """The working response: the minimum of the quadratic with the same slope and curvature."""
        return f - 0.5 * self.gradient(f) / self.curvature(f)

    def directions(self) -> np.ndarray:
        """Signs (n,): where the loss never grows if f does (1), or if it falls (-1); 0 where it has a minimum."""
        return np.zeros(len(self.y))

    @abstractmethod
    def saturated(self, weights: np.ndarray, dispersion: float) -> float:
        """The log likelihood where the means are y; weights are numbers of repetitions."""

    @staticmethod
    @abstractmethod
    def mean(f: np.ndarray) -> np.ndarray:
        """Of an observation, for a linear predictor f."""

    @staticmethod
    @abstractmethod
    def slope(f: np.ndarray) -> np.ndarray:
        """Derivative of the mean."""

    @staticmethod
    @abstractmethod
    def link(mean: np.ndarray) -> np.ndarray:
        """The linear predictor that has a mean."""

    @abstractmethod
    def start(self, weights: np.ndarray) -> np.ndarray:
        """Means near the data, inside the range of the link."""

    @staticmethod
    @abstractmethod
    def variance(mean: np.ndarray) -> np.ndarray:
        """Of an observation of weight 1, in units of the dispersion."""

    @staticmethod
    @abstractmethod
    def cdf(t: np.ndarray, mean: np.ndarray, dispersion: float) -> np.ndarray:
        """Probability that an observation of weight 1 is at most t."""


class Binomial(Deviance):
    """Labels 0 and 1, or shares of successes with the numbers of trials as weights; logit link.

    Parameters
    ----------
    y : array (n,)
        In [0, 1].

    See Also
    --------
    seminorm.losses.Logistic : The same for labels -1 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.deviances import Binomial
    >>> Binomial(np.array([1.0, 0.5])).value(np.zeros(2)).round(4)
    array([1.3863, 0.    ])
    """

    name = "binomial"

    @classmethod
    def check(cls, y: np.ndarray) -> None:
        wrong = (y < 0.0) | (y > 1.0)
        if wrong.any():
            raise ValueError(
                "y must be 0 or 1, or shares between them, for family='binomial', and "
                f"{_some(y, wrong)}: give numbers of successes as shares, with the numbers of trials as sample_weight."
            )

    def value(self, f: np.ndarray) -> np.ndarray:
        entropy = xlogy(self.y, self.y) + xlogy(1.0 - self.y, 1.0 - self.y)
        return 2.0 * (entropy + self.y * np.logaddexp(0.0, -f) + (1.0 - self.y) * np.logaddexp(0.0, f))

    def gradient(self, f: np.ndarray) -> np.ndarray:
        return 2.0 * ((1.0 - self.y) * expit(f) - self.y * expit(-f))

    def _half_curvature(self, f: np.ndarray) -> np.ndarray:
        return expit(f) * expit(-f)

    def directions(self) -> np.ndarray:
        return np.where(self.y == 1.0, 1.0, np.where(self.y == 0.0, -1.0, 0.0))

    def saturated(self, weights: np.ndarray, dispersion: float) -> float:
        return float(weights @ (xlogy(self.y, self.y) + xlogy(1.0 - self.y, 1.0 - self.y)))

    @staticmethod
    def mean(f: np.ndarray) -> np.ndarray:
        return expit(f)

    @staticmethod
    def slope(f: np.ndarray) -> np.ndarray:
        return expit(f) * expit(-f)

    @staticmethod
    def link(mean: np.ndarray) -> np.ndarray:
        return np.log(mean) - np.log1p(-mean)

    def start(self, weights: np.ndarray) -> np.ndarray:
        return (weights * self.y + 0.5) / (weights + 1.0)

    @staticmethod
    def variance(mean: np.ndarray) -> np.ndarray:
        return mean * (1.0 - mean)

    @staticmethod
    def cdf(t: np.ndarray, mean: np.ndarray, dispersion: float) -> np.ndarray:
        return np.where(t < 0.0, 0.0, np.where(t < 1.0, 1.0 - mean, 1.0))


class _LogLink(Deviance):
    """The mean is exp(f)."""

    @staticmethod
    def mean(f: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(f)

    @staticmethod
    def slope(f: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(f)

    @staticmethod
    def link(mean: np.ndarray) -> np.ndarray:
        return np.log(mean)


class Poisson(_LogLink):
    """Counts, or rates with the exposures as weights; log link.

    Parameters
    ----------
    y : array (n,)
        Not negative.

    See Also
    --------
    Gamma

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.deviances import Poisson
    >>> Poisson(np.array([0.0, 1.0])).gradient(np.zeros(2))
    array([2., 0.])
    """

    name = "poisson"

    @classmethod
    def check(cls, y: np.ndarray) -> None:
        if (y < 0.0).any():
            raise ValueError(f"y must not be negative for family='poisson', and {_some(y, y < 0.0)}: give counts.")

    def value(self, f: np.ndarray) -> np.ndarray:
        return 2.0 * (xlogy(self.y, self.y) - self.y - self.y * f + self.mean(f))

    def gradient(self, f: np.ndarray) -> np.ndarray:
        return 2.0 * (self.mean(f) - self.y)

    def _half_curvature(self, f: np.ndarray) -> np.ndarray:
        return self.mean(f)

    def directions(self) -> np.ndarray:
        return np.where(self.y == 0.0, -1.0, 0.0)

    def saturated(self, weights: np.ndarray, dispersion: float) -> float:
        return float(weights @ (xlogy(self.y, self.y) - self.y - gammaln(self.y + 1.0)))

    def start(self, weights: np.ndarray) -> np.ndarray:
        return self.y + 0.1 * (np.average(self.y, weights=weights) or 1.0)

    @staticmethod
    def variance(mean: np.ndarray) -> np.ndarray:
        return mean

    @staticmethod
    def cdf(t: np.ndarray, mean: np.ndarray, dispersion: float) -> np.ndarray:
        return np.where(t < 0.0, 0.0, pdtr(np.floor(np.maximum(t, 0.0)), mean))


class Gamma(_LogLink):
    """Positive numbers whose deviation is a share of their mean; log link.

    Parameters
    ----------
    y : array (n,)
        Positive.

    See Also
    --------
    Poisson

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.deviances import Gamma
    >>> Gamma(np.array([1.0, 2.0])).gradient(np.zeros(2))
    array([ 0., -2.])
    """

    name = "gamma"
    dispersion, is_discrete = None, False

    @classmethod
    def check(cls, y: np.ndarray) -> None:
        if (y <= 0.0).any():
            raise ValueError(f"y must be positive for family='gamma', and {_some(y, y <= 0.0)}.")

    def _ratio(self, f: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.y * np.exp(-f)

    def value(self, f: np.ndarray) -> np.ndarray:
        return 2.0 * (f - np.log(self.y) + self._ratio(f) - 1.0)

    def gradient(self, f: np.ndarray) -> np.ndarray:
        return 2.0 * (1.0 - self._ratio(f))

    def _half_curvature(self, f: np.ndarray) -> np.ndarray:
        return self._ratio(f)

    def saturated(self, weights: np.ndarray, dispersion: float) -> float:
        shape = 1.0 / dispersion
        sharpness = shape * np.log(shape) - shape - gammaln(shape)
        if shape > _SHARP:  # Stirling's series, as the terms cancel
            sharpness = 0.5 * np.log(shape / (2.0 * np.pi)) - 1.0 / (12.0 * shape)
        return float(weights.sum() * sharpness - weights @ np.log(self.y))

    def start(self, weights: np.ndarray) -> np.ndarray:
        return self.y

    @staticmethod
    def variance(mean: np.ndarray) -> np.ndarray:
        return mean**2

    @staticmethod
    def cdf(t: np.ndarray, mean: np.ndarray, dispersion: float) -> np.ndarray:
        return gdtr(1.0 / (mean * dispersion), 1.0 / dispersion, np.maximum(t, 0.0))


def _some(y: np.ndarray, wrong: np.ndarray) -> str:
    return f"{int(wrong.sum())} of {len(y)} are not, such as {y[wrong][0]:g}"


_COUNTS = np.array([0.0, 3.0, 1.0, 7.0])

#: the families that ``Smoother(family=...)`` may name, beside the normal one
all_deviances: Registry[Deviance] = Registry("deviance")
all_deviances.register(Binomial, lambda: [Binomial(np.array([0.0, 1.0, 0.3, 1.0]))])
all_deviances.register(Poisson, lambda: [Poisson(_COUNTS)])
all_deviances.register(Gamma, lambda: [Gamma(_COUNTS + 0.1)])
