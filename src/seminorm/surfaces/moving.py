"""Surfaces that move: one function of space and time for points with times, cut at any moment."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..fields.field import Field
from ..serialization import load_npz, save_npz
from .implicit import Implicit

_BORDER = 0.1  # of the longest side


class MovingSurface:
    """The zero set of a field in space and time.

    Parameters
    ----------
    field : Field
        Of four coordinates, the last of which is time.
    points : array (n, 3)
    times : array (n,)
    details : dict, optional
        What was given or chosen.
    """

    def __init__(self, field: Field, points: np.ndarray, times: np.ndarray, details: dict | None = None):
        self.field, self.points, self.times, self.details = field, points, times, dict(details or {})

    def __repr__(self):
        return (
            f"<MovingSurface of {len(self.points)} points at times {self.times.min():.4g} to {self.times.max():.4g}: "
            f"depth {self.field.depth}, {self.field.n_coef} coefficients>"
        )

    def at(self, time: float) -> Implicit:
        """The surface at a time: a shape in space, to be meshed, ray traced or combined with others."""
        low, high = self.field.bounds
        if not (np.isfinite(time) and low[-1] <= time <= high[-1]):
            raise ValueError(
                f"time={time!r} is beyond the times the field covers, {low[-1]:.6g} to {high[-1]:.6g}; the data range "
                f"from {self.times.min():.6g} to {self.times.max():.6g}."
            )
        return Moment(self, float(time))

    def save(self, path) -> Path:
        """Write the function to one npz file without pickle; :meth:`load` reads it."""
        content = {"points": self.points, "times": self.times, "details": self.details}
        return save_npz(path, {"type": "MovingSurface", **self.field.content(), **content})

    @classmethod
    def load(cls, path) -> MovingSurface:
        """Read a moving surface written by :meth:`save`; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != "MovingSurface":
            raise ValueError(f"{path} does not hold a MovingSurface.")
        field = Field.from_content(content, path)
        return cls(field, content["points"], content["times"], content["details"])


class Moment(Implicit):
    """A moving surface at one time."""

    thread_safe = False

    def __init__(self, moving: MovingSurface, time: float):
        self.moving, self.time = moving, time
        low, high = moving.points.min(axis=0), moving.points.max(axis=0)
        border = _BORDER * (high - low).max()
        self.bounds = low - border, high + border
        box, depth = moving.field.tree.box, moving.field.depth
        self.resolution = float(moving.field.tree.spacing(depth) * box.scale[0])

    def __repr__(self):
        return f"<{self.moving!r} at time {self.time:.6g}>"

    def _jet(self, X, order):
        X = np.column_stack([X, np.full(len(X), self.time)])
        if order == 0:
            return (self.moving.field(X),)
        values, gradients = self.moving.field.jet(X)
        result = values, np.ascontiguousarray(gradients[:, :3])
        return result if order == 1 else (*result, self.moving.field.hessian(X)[:, :3, :3])
