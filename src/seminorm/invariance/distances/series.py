"""Time series of any length, of one or more channels, as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

CHANNELS = ("last", "first")


class Series(NamedTuple):
    """All samples (samples, channels) one after another: series i is ``values[starts[i]:starts[i + 1]]``."""

    values: np.ndarray
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Number of samples per series."""
        return np.diff(self.starts)

    @property
    def channels(self) -> int:
        """Number of numbers per sample."""
        return self.values.shape[1]

    @property
    def parts(self) -> list[np.ndarray]:
        """The series one by one, each (samples, channels)."""
        return np.split(self.values, self.starts[1:-1])

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> Series:
        """The series that a function (samples, channels) -> (samples, channels) makes of each of these."""
        parts = [function(part) for part in self.parts]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return Series(np.ascontiguousarray(np.concatenate(parts)), starts.astype(np.int64))

    @classmethod
    def of(cls, X: Any, name: str = "X", channels: str = "last") -> Series:
        """Rows (n, length), an array (n, length, channels), or a list of arrays (length,) or (length, channels).

        With ``channels="first"`` arrays are (n, channels, length) and (channels, length).
        """
        if channels not in CHANNELS:
            raise ValueError(f"channels must be 'last' or 'first', got {channels!r}.")
        if isinstance(X, cls):
            return X
        if not (isinstance(X, Sequence) or (isinstance(X, np.ndarray) and X.dtype.kind == "O")):
            X = _numbers(X, name)
            if X.ndim not in (2, 3):
                raise ValueError(
                    f"{name} must be rows (n, length), an array (n, length, channels) or a list of series, got an "
                    f"array of shape {X.shape}. A single series is the list [{name}]."
                )
            if X.ndim == 3 and channels == "last" and X.shape[1] == 1 < X.shape[2]:
                raise ValueError(
                    f"{name} has the shape {X.shape}: series of a single sample with {X.shape[2]} channels. If these "
                    "are samples, say channels='first', or give the rows of an array (n, length)."
                )
        parts = [_samples(x, f"{name}[{i}]", channels) for i, x in enumerate(X)]
        if not parts:
            raise ValueError(f"{name} has no series: give at least one.")
        if channels == "last" and len(parts) > 1 and all(part.shape[0] == 1 < part.shape[1] for part in parts):
            raise ValueError(
                f"{name} has series of a single sample, the first with {parts[0].shape[1]} channels. If these are "
                "samples, say channels='first', or give them as (length,)."
            )
        for i, part in enumerate(parts):
            if part.shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"{name}[{i}] has {part.shape[1]} channels and {name}[0] has {parts[0].shape[1]}: all series must "
                    "have the same number."
                )
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return cls(np.ascontiguousarray(np.concatenate(parts)), starts.astype(np.int64))


def _samples(x: Any, name: str, channels: str) -> np.ndarray:
    x = _numbers(x, name)
    if x.ndim not in (1, 2):
        raise ValueError(
            f"{name} must be a series of shape (length,) or (length, channels), got shape {x.shape}. A single series "
            "is given as a list of one."
        )
    if x.size == 0:
        raise ValueError(f"{name} is an empty series, of shape {x.shape}: leave it out.")
    x = x.T if channels == "first" and x.ndim == 2 else x.reshape(len(x), -1)
    if not np.isfinite(x).all():
        at = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0])
        raise ValueError(
            f"{name} has NaN or infinity, first at sample {at}: fill the gap, for instance with numpy.interp, or leave "
            "the series out."
        )
    return x


def _numbers(x: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(x)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be real numbers; channels of one series must have the same length.") from None
