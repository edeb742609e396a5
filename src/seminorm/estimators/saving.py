"""Trained machines in one npz file without pickle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..serialization import load_npz, save_npz


class Saved:
    """``save`` and ``load`` of an estimator: its parameters, and what training left in names with a trailing
    underscore.
    """

    _state: tuple[str, ...] = ()  # further names of what training leaves

    def save(self, path) -> Path:
        """Write the trained machine to one npz file without pickle; :meth:`load` reads it."""
        check_is_fitted(self)
        fitted = {
            name: _plain(value) for name, value in vars(self).items() if name.endswith("_") or name in self._state
        }
        content = {"type": type(self).__name__, "parameters": self.get_params(deep=False), "fitted": fitted}
        return save_npz(path, content)

    @classmethod
    def load(cls, path):
        """Read a machine written by :meth:`save`; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != cls.__name__:
            raise ValueError(f"{path} does not hold a {cls.__name__}.")
        machine = cls(**content["parameters"])
        vars(machine).update(content["fitted"])
        return machine


def _plain(value):
    """Names that pandas gave as objects, as strings."""
    if isinstance(value, np.ndarray) and value.dtype == object and all(isinstance(item, str) for item in value.flat):
        return value.astype(str)
    return value
