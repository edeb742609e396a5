"""Saving of trained estimators: one npz file without pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.saving import load_npz, save_npz


class SavedEstimator:
    """Mixin: ``save`` and ``load``. What is saved are the parameters, and what training left in names with a trailing
    underscore; a class names further attributes in ``_state``."""

    _state: tuple[str, ...] = ()  # what training leaves beside names with a trailing underscore

    def save(self, path: str | Path) -> Path:
        """Write the trained estimator to one npz file without pickle; :meth:`load` reads it."""
        check_is_fitted(self)
        return save_npz(path, {"type": type(self).__name__, "parameters": self._parameters(), "fitted": self._fitted()})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an estimator written by :meth:`save`; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != cls.__name__:
            raise ValueError(f"{path} does not hold a {cls.__name__}.")
        estimator = cls(**content["parameters"])
        estimator._restore(content["fitted"])
        return estimator

    def _parameters(self) -> dict[str, Any]:
        return self.get_params(deep=False)  # type: ignore[attr-defined]

    def _fitted(self) -> dict[str, Any]:
        """What is saved of the training."""
        names = [name for name in vars(self) if name.endswith("_") or name in self._state]
        return {name: _plain(getattr(self, name)) for name in names}

    def _restore(self, fitted: dict[str, Any]) -> None:
        """Take over what :meth:`_fitted` gave."""
        self.__dict__.update(fitted)


def _plain(value: Any) -> Any:
    """Names that pandas gave as objects, as strings."""
    if isinstance(value, np.ndarray) and value.dtype == object and all(isinstance(item, str) for item in value.flat):
        return value.astype(str)
    return value
