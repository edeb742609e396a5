"""One function of space and time made of functions of frames, carried along the motion between them.

Between two frames, at a share s of the time, a place x = p + (s - 1/2) u(p) comes from p - u(p) / 2 and goes to
p + u(p) / 2, u the displacement. There the functions of the frames are read:

    f(x, s) = (1 - s) f_0(p - u(p) / 2) + s f_1(p + u(p) / 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..clouds.displacement import Displacement
from ..fields.field import Field

_DIFFERENCE = 0.05  # of a cell, for second derivatives


class CarriedFrames:
    """A function of space and time, read as a :class:`~seminorm.fields.Field` of four coordinates is.

    Parameters
    ----------
    moments : array (k,)
        Times of the frames, ascending.
    fields : sequence of k Field
        Functions of the frames, in space.
    moves : sequence of k - 1 Displacement
        From each frame to the next one.

    See Also
    --------
    seminorm.surfaces.reconstruct_moving
    """

    def __init__(self, moments: np.ndarray, fields: Sequence[Field], moves: Sequence[Displacement]):
        self.moments, self.fields, self.moves = np.asarray(moments, dtype=float), list(fields), list(moves)

    @property
    def depth(self) -> int:
        """Number of the finest level of all frames."""
        return max(field.depth for field in self.fields)

    @property
    def n_coef(self) -> int:
        """Number of basis functions of all frames."""
        return sum(field.n_coef for field in self.fields)

    @property
    def resolution(self) -> float:
        """Width of the finest cells in space."""
        return float(min(field.tree.spacing(field.depth) * field.tree.box.scale[0] for field in self.fields))

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper corner (2, 4); the last coordinate is time."""
        corners = np.array([field.bounds for field in self.fields])
        space = np.stack([corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)])
        return np.column_stack([space, self.moments[[0, -1]]])

    def __call__(self, X: Any) -> np.ndarray:
        """Values at places and times X (n, 4)."""
        return self._read(X, self._values, ())

    def jet(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Values (n,) and gradients (n, 4) at X."""
        both = self._read(X, self._jets, (5,))
        return both[:, 0], both[:, 1:]

    def hessian(self, X: Any) -> np.ndarray:
        """Second derivatives (n, 4, 4); those of space alone, by central differences of the gradient, the others 0."""
        X = np.asarray(X, dtype=float)
        width = _DIFFERENCE * self.resolution
        result = np.zeros((len(X), 4, 4))
        for axis in range(3):
            step = width * np.eye(4)[axis]
            result[:, axis, :3] = (self.jet(X + step)[1] - self.jet(X - step)[1])[:, :3] / (2.0 * width)
        return (result + result.transpose(0, 2, 1)) / 2.0

    def content(self) -> dict[str, Any]:
        """For a file."""
        parts = {"fields": [field.content() for field in self.fields], "moves": [move.content() for move in self.moves]}
        return {"moments": self.moments, **parts}

    @classmethod
    def from_content(cls, content: dict[str, Any], path: Any = "the file") -> Self:
        """From a file."""
        fields = [Field.from_content(part, path) for part in content["fields"]]
        moves = [Displacement.from_content(part) for part in content["moves"]]
        if not len(fields) == len(content["moments"]) == len(moves) + 1:
            raise ValueError(f"{path} is damaged: {len(fields)} frames and {len(moves)} displacements.")
        return cls(content["moments"], fields, moves)

    def _read(self, X: Any, read, shape: tuple[int, ...]) -> np.ndarray:
        """What is read at all places of one time, for each time."""
        X = np.asarray(X, dtype=float)
        result = np.empty((len(X), *shape))
        moments, rows = np.unique(X[:, 3], return_inverse=True)
        for number, moment in enumerate(moments):
            here = rows == number if len(moments) > 1 else slice(None)
            after = int(np.clip(np.searchsorted(self.moments, moment), 1, len(self.moments) - 1))
            first, last = self.moments[after - 1 : after + 1]
            share = float(np.clip((moment - first) / (last - first), 0.0, 1.0))
            result[here] = read(X[here, :3], after - 1, share, last - first)
        return result

    def _values(self, X: np.ndarray, k: int, share: float, _: float) -> np.ndarray:
        if share in (0.0, 1.0):
            return self.fields[k + int(share)](X)
        move = self.moves[k]
        middle = move.halfway(X, share)
        half = move.function(middle) / 2.0
        return (1.0 - share) * self.fields[k](middle - half) + share * self.fields[k + 1](middle + half)

    def _jets(self, X: np.ndarray, k: int, share: float, gap: float) -> np.ndarray:
        """Values, gradients in space, and derivatives by time: f_1 - f_0 - u . grad f per gap."""
        move = self.moves[k]
        middle = move.halfway(X, share)
        u, slopes = move.function(middle), move.function.gradient(middle)
        one, grad_one = self.fields[k].jet(middle - u / 2.0)
        other, grad_other = self.fields[k + 1].jet(middle + u / 2.0)
        seen = (1.0 - share) * (grad_one - np.einsum("ijk,ij->ik", slopes, grad_one) / 2.0)
        seen += share * (grad_other + np.einsum("ijk,ij->ik", slopes, grad_other) / 2.0)
        stretched = np.eye(3) + (share - 0.5) * slopes.transpose(0, 2, 1)
        gradients = np.linalg.solve(stretched, seen[:, :, None])[:, :, 0]
        rate = (other - one - (gradients * u).sum(axis=1)) / gap
        return np.column_stack([(1.0 - share) * one + share * other, gradients, rate])
