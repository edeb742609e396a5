"""What FieldSmoother takes for observations: what can be read, with nothing twice."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from .._base.spacing import repetitions
from ..fields.sources import is_chunk


def without_repetitions(X: np.ndarray, y: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Copies of an observation as one with the sum of their weights, and nothing of weight zero: copies do not tell of
    the noise, and a criterion that takes them for independent would interpolate."""
    if np.ndim(weights) == 1 and not (len(weights) == len(X) and np.isfinite(weights).all()):
        return X, y, weights  # what is wrong with them is said elsewhere
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        return X, y, weights
    if np.ndim(weights) == 1 and (weights == 0.0).any() and weights.any():
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
    found = repetitions(X, y)
    if found is None:
        return X, y, weights
    first, group = found
    each = np.ones(len(X)) if weights is None else np.broadcast_to(weights, len(X))
    return X[first], y[first], np.bincount(group, each)


def check_readable(X: Any) -> None:
    """Refuse what holds nothing, cannot be read twice, or names files that are not there."""
    if isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError(
            f"X is an empty {type(X).__name__}: give points, or chunks or files of points. If it is a list of files, "
            "check the folder and the pattern."
        )
    if hasattr(X, "__next__"):
        raise ValueError(
            f"X is a {type(X).__name__}, which can be read once, and observations are read several times: give a list "
            "of chunks, or a function that returns a fresh iterator each time it is called."
        )
    if isinstance(X, (list, tuple)) and is_chunk(X[0]):
        for number, chunk in enumerate(X):
            existing(chunk, f", item {number} of {len(X)} of X")


def existing(chunk: Any, where: str = "") -> Any:
    """The chunk itself; the path of a file must be that of a file."""
    if (isinstance(chunk, str) or hasattr(chunk, "__fspath__")) and not Path(chunk).is_file():
        state = "is a folder" if Path(chunk).is_dir() else "does not exist"
        raise FileNotFoundError(f"the chunk file {chunk}{where} {state}: give paths of npz files.")
    return chunk


def floats(values: Any) -> np.ndarray | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def without_unused(y: Any, sample_weight: np.ndarray | None) -> Any:
    """Values of weight 0 may be anything, NaN too: 0 stands for them."""
    if y is None or sample_weight is None or not (sample_weight == 0.0).any():
        return y
    y = np.asarray(y, dtype=np.float64)
    return np.where(sample_weight == 0.0, 0.0, y) if y.shape == sample_weight.shape else y


def validated(smoother: BaseEstimator, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Arrays of an ordinary call; a memory-mapped X is checked chunk by chunk later."""
    if isinstance(X, np.memmap):
        smoother.n_features_in_ = X.shape[1]
        return X, y
    if y is None:
        X = validate_data(smoother, X, dtype=np.float64)
    else:
        X, y = validate_data(smoother, X, y, dtype=np.float64, y_numeric=True)
    if X.shape[1] > 4:
        raise ValueError(
            f"X has {X.shape[1]} features, and fields have one to four coordinates: use seminorm.Smoother for more."
        )
    return X, y
