"""The sets of the sources as arrays; where the data are is the concern of benchmarks/_datasets.py.

What the tables of Walder and Chapelle 2007 and Walder 2008 leave unsaid can be read off their numbers of points:
points are distinct as pairs of features and label (breast cancer 263, flare 144, image 2086), and of each class at most
1500 are kept (splice 2844 = 1500 + 1344, USPS 2 2429 = 929 + 1500), 3000 in all. We do the same, and choose the 1500
at random with a fixed seed.
"""

from __future__ import annotations

import _paths  # noqa: F401
import numpy as np
from _datasets import arrays, exists, folder, missing, require

__all__ = ["arrays", "exists", "folder", "missing", "require"]  # the rest is defined here

PER_CLASS = 1500
_SEED = 0


def ida(name: str, per_class: int = PER_CLASS) -> tuple[np.ndarray, np.ndarray]:
    """A set of the IDA collection such as "banana": distinct points, labels -1 and 1."""
    return _two_classes(f"ida/{name}.npz", per_class)


def ssl(name: str, per_class: int = PER_CLASS) -> tuple[np.ndarray, np.ndarray]:
    """A set of the semi-supervised learning benchmark such as "BCI", with all its labels, -1 and 1."""
    return _two_classes(f"ssl/{name}.npz", per_class)


def usps() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The digits and their labels: 7291 to train, 2007 to test."""
    content = arrays("usps/usps.npz")
    return tuple(
        content[key].astype(kind)
        for key, kind in (("X_train", float), ("y_train", int), ("X_test", float), ("y_test", int))
    )


def usps_digit(digit: int, per_class: int = PER_CLASS) -> tuple[np.ndarray, np.ndarray]:
    """One digit (label 1) against all others (-1), out of all 9298."""
    X_train, y_train, X_test, y_test = usps()
    labels = np.where(np.concatenate([y_train, y_test]) == digit, 1, -1)
    return limited(*distinct(np.concatenate([X_train, X_test]), labels), per_class)


def distinct(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Without repetitions of point and label, in the order given; a point with two labels stays, once with each."""
    rows = np.sort(np.unique(np.column_stack([X, y]), axis=0, return_index=True)[1])
    return X[rows], y[rows]


def limited(X: np.ndarray, y: np.ndarray, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    """At most ``per_class`` points of each class, chosen at random with a fixed seed."""
    rng = np.random.default_rng(_SEED)
    chosen = [rng.permutation(np.flatnonzero(y == label))[:per_class] for label in np.unique(y)]
    rows = np.sort(np.concatenate(chosen))
    return X[rows], y[rows]


def _two_classes(file: str, per_class: int) -> tuple[np.ndarray, np.ndarray]:
    content = arrays(file)
    labels = content["y"]
    return limited(*distinct(content["X"].astype(float), np.where(labels == labels.max(), 1, -1)), per_class)
