"""Twelve dissimilarities of time series that see different things: shapes, paces, frequencies and recurrences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from .distances.edits import MSM, TWE
from .distances.elastic import ElasticDistance
from .distances.series import Series
from .distances.warping import ADTW, DTW

_NARROW, _WIDE = 0.1, 0.2  # windows, as shares of the length
_PENALTY = 0.3
_FLOOR = 0.01  # added to amplitudes before the logarithm
_SLOPES_FROM, _SPECTRA_FROM = 3, 4  # samples


def resampled(X: Series, length: int) -> np.ndarray:
    """Series (n, length, channels), by linear interpolation in time."""
    out = np.empty((len(X.lengths), length, X.channels))
    for k, x in enumerate(X.parts):
        if len(x) == length:
            out[k] = x
            continue
        at = np.linspace(0.0, len(x) - 1.0, length)
        for c in range(X.channels):
            out[k, :, c] = np.interp(at, np.arange(len(x)), x[:, c])
    return out


@dataclass
class SeriesViews:
    """What is taken from training series, and the dissimilarities that follow.

    Eight are accumulated costs of elastic distances, in single precision: `DTW`, `ADTW`, `MSM` and `TWE` of the series
    and of their slopes. Four are squared Euclidean distances: of normalised amplitude spectra, of their logarithms, and
    of autocorrelations of the series and of their differences.
    """

    length: int  #: to which series are resampled: the median length
    mean: np.ndarray  #: (channels,) subtracted from series
    scale: np.ndarray  #: (channels,) that series are divided by
    slope_scale: np.ndarray  #: (channels,) likewise, of slopes
    penalties: np.ndarray  #: (2,) of ADTW, of series and slopes

    @classmethod
    def of(cls, X: Series) -> SeriesViews:
        """Length, units and penalties of training series."""
        length = int(np.median(X.lengths))
        Z = resampled(X, length)
        mean, scale = Z.mean(axis=(0, 1)), _deviations(Z)
        Z = (Z - mean) / scale
        slope_scale, penalties = np.ones(X.channels), np.zeros(2)
        penalties[0] = _spread(Z)
        if length >= _SLOPES_FROM:
            slopes = _slopes(Z)
            slope_scale = _deviations(slopes)
            penalties[1] = _spread(slopes / slope_scale)
        return cls(length, mean, scale, slope_scale, _PENALTY * penalties)

    def prepared(self, X: Series) -> np.ndarray:
        """Series (n, length, channels) in the units of the training series."""
        return (resampled(X, self.length) - self.mean) / self.scale

    def matrices(self, Z: np.ndarray, W: np.ndarray | None = None) -> Iterator[tuple[str, np.ndarray]]:
        """Names and matrices of dissimilarities of prepared series Z to W, or to one another."""
        parts = [("", Z, W, float(self.penalties[0]))]
        if self.length >= _SLOPES_FROM:
            other = None if W is None else self._unit_slopes(W)
            parts.append((" of slopes", self._unit_slopes(Z), other, float(self.penalties[1])))
        for suffix, A, B, penalty in parts:
            rows, columns = _series(A), None if B is None else _series(B)
            for distance in elastic_four(penalty):
                yield type(distance).__name__ + suffix, distance.pairwise(rows, columns)
        if self.length >= _SPECTRA_FROM:
            own = features(Z)
            others = own if W is None else features(W)
            for name, vectors in own.items():
                yield name, cdist(vectors, others[name], "sqeuclidean")

    def _unit_slopes(self, Z: np.ndarray) -> np.ndarray:
        return _slopes(Z) / self.slope_scale


def elastic_four(penalty: float) -> list[ElasticDistance]:
    """The elastic distances, with the penalty of ADTW."""
    single = np.float32
    return [
        DTW(_NARROW, squared=True, dtype=single),
        ADTW(penalty, _WIDE, squared=True, dtype=single),
        MSM(0.5, window=_WIDE, dtype=single),
        TWE(0.01, 1.0, _WIDE, dtype=single),
    ]


def features(Z: np.ndarray) -> dict[str, np.ndarray]:
    """Vectors (n, numbers) that do not know when something happens."""
    centered = Z - Z.mean(axis=1, keepdims=True)
    amplitudes = np.abs(np.fft.rfft(centered, axis=1))
    amplitudes /= _norm(amplitudes)
    return {
        "spectrum": _flat(amplitudes),
        "logarithm of the spectrum": _flat(np.log(amplitudes + _FLOOR)),
        "autocorrelation": _flat(_autocorrelation(centered)),
        "autocorrelation of differences": _flat(_autocorrelation(np.diff(Z, axis=1))),
    }


def _autocorrelation(Z: np.ndarray) -> np.ndarray:
    """Lags 1 to half the length of each channel, divided by that of lag 0."""
    n = Z.shape[1]
    Z = Z - Z.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(Z, 2 * n, axis=1)) ** 2
    products = np.fft.irfft(power, 2 * n, axis=1)[:, : n // 2 + 1]
    zero = products[:, :1]
    return products[:, 1:] / np.where(zero > 0, zero, 1.0)


def _norm(Z: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    return np.where(norms > 0, norms, 1.0)


def _flat(Z: np.ndarray) -> np.ndarray:
    return Z.reshape(len(Z), -1)


def _slopes(Z: np.ndarray) -> np.ndarray:
    return ((Z[:, 1:-1] - Z[:, :-2]) + (Z[:, 2:] - Z[:, :-2]) / 2) / 2


def _deviations(Z: np.ndarray) -> np.ndarray:
    deviations = Z.std(axis=(0, 1))
    return np.where(deviations > 0, deviations, 1.0)


def _spread(Z: np.ndarray) -> float:
    """The mean of |x_t - y_t|^2 over pairs of series and samples."""
    return 2.0 * float(Z.var(axis=0, ddof=1).sum(axis=1).mean()) if len(Z) > 1 else 1.0


def _series(Z: np.ndarray) -> Series:
    n, length, channels = Z.shape
    return Series(np.ascontiguousarray(Z.reshape(n * length, channels)), length * np.arange(n + 1, dtype=np.int64))
