"""The restricted likelihood of a Gaussian process with a trend: that of the contrasts which the trend does not touch.

The contrasts z have the covariance v M, where v is a variance and M is known: -2 log L = degrees log(2 pi v) + log|M|
+ z'M^-1 z / v. With a trend T and a covariance matrix V of the data, log|M| is log|V| + log|T'V^-1 T| up to a constant,
and M^-1 becomes P = V^-1 - V^-1 T (T'V^-1 T)^-1 T'V^-1.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, lapack


def deviance(
    energy: np.ndarray | float, logdet: np.ndarray | float, degrees: int, variance: np.ndarray | float | None = None
) -> np.ndarray:
    """-2 log of the restricted likelihood, without the constant degrees log(2 pi), for z'M^-1 z and log|M|.

    The variance v is the most likely one, energy / degrees, if it is left out.
    """
    if variance is None:
        return degrees * (np.log(energy / degrees) + 1.0) + logdet
    return degrees * np.log(variance) + logdet + energy / variance


class Contrasts(NamedTuple):
    """What a covariance matrix and a trend make of data y."""

    projection: np.ndarray  #: P (n, n)
    dual: np.ndarray  #: P y
    deviance: float  #: -2 log of the restricted likelihood, up to a constant


def contrasts(covariance: np.ndarray, trend: np.ndarray, y: np.ndarray) -> Contrasts:
    """P, P y and the deviance for V (n, n), which is overwritten, and a trend T (n, p) with orthonormal columns."""
    factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
    logdet = 2.0 * np.log(np.diag(factor)).sum()
    inverse = lapack.dpotri(factor, lower=True)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    if trend.shape[1]:
        inner = inverse @ trend
        schur = trend.T @ inner
        inverse -= inner @ np.linalg.solve(schur, inner.T)
        logdet += np.linalg.slogdet(schur)[1]
    dual = inverse @ y
    return Contrasts(inverse, dual, float(deviance(y @ dual, logdet, len(y) - trend.shape[1], variance=1.0)))
