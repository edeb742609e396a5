"""Lists of series of unequal length and several channels, as two arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Series(NamedTuple):
    """All samples one after another.

    Attributes
    ----------
    values : array (samples, channels)
        Series i is ``values[starts[i]:starts[i + 1]]``.
    starts : array (n + 1,)
    """

    values: np.ndarray
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    @property
    def channels(self) -> int:
        return self.values.shape[1]

    @classmethod
    def of(cls, X, name: str = "X") -> Series:
        """Rows (n, length), an array (n, length, channels), or a list of arrays (length,) or (length, channels)."""
        if isinstance(X, cls):
            return X
        if isinstance(X, Sequence) or (isinstance(X, np.ndarray) and X.dtype.kind == "O"):
            parts = [_samples(x, f"{name}[{i}]") for i, x in enumerate(X)]
        else:
            array = _numbers(X, name)
            if array.ndim not in (2, 3):
                raise ValueError(
                    f"{name} must be rows (n, length), an array (n, length, channels) or a list of series, got an "
                    f"array of shape {array.shape}. A single series is the list [{name}]."
                )
            parts = [_samples(x, f"{name}[{i}]") for i, x in enumerate(array)]
        if not parts:
            raise ValueError(f"{name} has no series: give at least one.")
        for i, part in enumerate(parts):
            if part.shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"{name}[{i}] has {part.shape[1]} channels and {name}[0] has {parts[0].shape[1]}: all series must "
                    "have the same number."
                )
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return cls(np.ascontiguousarray(np.concatenate(parts)), starts.astype(np.int64))


def _samples(x, name: str) -> np.ndarray:
    x = _numbers(x, name)
    if x.ndim not in (1, 2):
        raise ValueError(
            f"{name} must be a series of shape (length,) or (length, channels), got shape {x.shape}. A single series "
            "is given as a list of one."
        )
    if x.size == 0:
        raise ValueError(f"{name} is an empty series, of shape {x.shape}: leave it out.")
    x = x.reshape(len(x), -1)
    if not np.isfinite(x).all():
        at = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0])
        raise ValueError(
            f"{name} has NaN or infinity, first at sample {at}: fill the gap, for instance with numpy.interp, or leave "
            "the series out."
        )
    return x


def _numbers(x, name: str) -> np.ndarray:
    try:
        array = np.asarray(x)
        if array.dtype.kind not in "iufb":
            array = np.asarray(x, dtype=np.float64) if array.dtype.kind != "c" else None
    except (TypeError, ValueError):
        array = None
    if array is None:
        raise ValueError(f"{name} must be real numbers; channels of one series must have the same length.")
    return array.astype(np.float64, copy=False)
