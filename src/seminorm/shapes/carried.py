"""Colours and other numbers given at the data points, carried to any place by smooth fields of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..bases.box import GridBox
from ..clouds.cloud import as_attributes, as_colors
from ..clouds.frames import frames_of
from ..fields.deepening import deepened
from ..fields.field import Field
from ..fields.limits import DEEPEST_SURFACE
from ..fields.pointwise import PointEquations
from ..fields.system import collapse
from ..fields.tree import Tree
from .attributes import Neighborhood

_ORDER = 2  # order 1 falls back to the mean right beside the data: in space it does not feel single points
_POINTS_PER_CELL = 4.0  # of the finest level
_MOST_COEFFICIENTS = 2**22
_MOST_POINTS = 2**21
_MARGIN = 0.25  # of the longest side of the data
_SMOOTH = 0.1  # energy against data of a function of the finest level
_TOL = 1e-2
_MAX_ITER = 100


@dataclass(frozen=True)
class Carried:
    """A smooth continuation of numbers given at points, within the range of the numbers."""

    tree: Tree
    coef: np.ndarray  # (k, blocks, functions)
    offsets: np.ndarray  # (k,), the mean of each channel
    low: np.ndarray  # (k,), its range
    high: np.ndarray
    flat: bool  # whether there is one number at a point, rather than a row of k

    def __call__(self, X) -> np.ndarray:
        """Values at X, shape (n,) or (n, k)."""
        columns = [
            np.clip(Field(self.tree, coef, _ORDER, offset)(X), low, high)
            for coef, offset, low, high in zip(self.coef, self.offsets, self.low, self.high, strict=True)
        ]
        return columns[0] if self.flat else np.stack(columns, axis=1)


class Attachments:
    """Attributes of data points in any number of dimensions, by name, and what they are between the points.

    Numbers with a fraction become smooth fields when they are first needed; others are those of the nearest point.
    """

    def __init__(self, points: np.ndarray, attributes: Mapping[str, Any] | None = None):
        self._points = points
        self._values: dict[str, np.ndarray | Carried] = {}
        for name, values in (attributes or {}).items():
            self.add(name, values)

    @cached_property
    def data(self) -> Neighborhood:
        """The points, to ask for neighbours."""
        return Neighborhood(self._points)

    @property
    def names(self) -> tuple[str, ...]:
        """What there is."""
        return tuple(self._values)

    def add(self, name: str, values: Any) -> None:
        """Numbers (n,) or (n, k), one row per point."""
        n = len(self._points)
        values = as_attributes({name: values}, n)[str(name)]
        if name == "colors":
            values = as_colors(values, n)
        if values.dtype.kind not in "biuf":
            raise ValueError(f"attribute {name!r} must be numbers or truth values, got {values.dtype}.")
        self._values[str(name)] = values

    def given(self) -> dict[str, np.ndarray]:
        """The numbers of the points, of attributes that are not fields yet."""
        return {name: values for name, values in self._values.items() if isinstance(values, np.ndarray)}

    def is_smooth(self, name: str) -> bool:
        """Whether an attribute is a smooth field, or that of the nearest point."""
        values = self._values[name]
        return isinstance(values, Carried) or values.dtype.kind == "f"

    def check(self, name: str) -> None:
        """Refuse names that are not there."""
        if name not in self._values:
            raise ValueError(f"no attribute {name!r} is attached; there are: {', '.join(self._values) or 'none'}.")

    def at(self, name: str, X: np.ndarray) -> np.ndarray:
        """An attribute (m,) or (m, k) at places X (m, d)."""
        self.check(name)
        carried = self._carried(name)
        if isinstance(carried, Carried):
            return carried(X)
        return carried[self.data.nearest(X)[1]]

    def _carried(self, name: str) -> np.ndarray | Carried:
        values = self._values[name]
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            values = self._values[name] = carry(self._points, values, f"attribute {name!r}")
        return values

    def content(self) -> dict[str, Any]:
        """For a file."""
        return {name: _content(self._carried(name)) for name in self._values}

    @classmethod
    def from_content(cls, points: np.ndarray, content: Mapping[str, Any]) -> Attachments:
        """From a file."""
        attached = cls(points)
        attached._values = {name: _from_content(part) for name, part in content.items()}
        return attached


class FrameAttachments:
    """Attributes of points with times: those of the frames before and after, in the proportion of the time between."""

    def __init__(self, points: np.ndarray, times: np.ndarray, attributes: Mapping[str, Any] | None = None):
        whole = Attachments(points, attributes)  # checks them
        rows = frames_of(times)
        self._moments = np.array([times[frame].mean() for frame in rows])
        values = whole.given()
        self._frames = [
            Attachments(points[frame], {name: column[frame] for name, column in values.items()}) for frame in rows
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """What there is."""
        return self._frames[0].names

    def at(self, name: str, X: np.ndarray, time: float) -> np.ndarray:
        """An attribute (m,) or (m, k) at places X (m, d) at a time; whole numbers are those of the nearer frame."""
        after = int(np.clip(np.searchsorted(self._moments, time), 1, len(self._moments) - 1))
        first, last = self._moments[after - 1 : after + 1]
        share = float(np.clip((time - first) / (last - first), 0.0, 1.0))
        if share in (0.0, 1.0) or not self._frames[after].is_smooth(name):
            return self._frames[after - (share < 0.5)].at(name, X)
        return (1.0 - share) * self._frames[after - 1].at(name, X) + share * self._frames[after].at(name, X)

    def content(self) -> list[dict[str, Any]]:
        """For a file."""
        return [frame.content() for frame in self._frames]

    @classmethod
    def from_content(cls, points: np.ndarray, times: np.ndarray, content: list[dict[str, Any]]) -> FrameAttachments:
        """From a file."""
        attached = cls(points, times)
        attached._frames = [
            Attachments.from_content(points[rows], part) for rows, part in zip(frames_of(times), content, strict=True)
        ]
        return attached


def _content(carried: np.ndarray | Carried) -> dict | np.ndarray:
    if isinstance(carried, np.ndarray):
        return carried
    parts = ("coef", "offsets", "low", "high", "flat")
    return {"tree": carried.tree.content(), **{name: getattr(carried, name) for name in parts}}


def _from_content(content: dict | np.ndarray) -> np.ndarray | Carried:
    if isinstance(content, np.ndarray):
        return content
    return Carried(**{**content, "tree": Tree.from_content(content["tree"])})


def carry(points: np.ndarray, values: np.ndarray, name: str = "values") -> Carried:
    """Fit fields to numbers (n,) or (n, k) at points; they minimise squared second derivatives and squared residuals.
    Errors call the numbers ``name``.

    The cells of the basis hold some four points, or more if there are more than a few million; details below their
    width are averaged. Rows with NaN or infinity are left out.
    """
    columns = np.asarray(values, dtype=float).reshape(len(points), -1)
    known = np.isfinite(columns).all(axis=1)
    if not known.any() or not columns.shape[1]:
        raise ValueError(f"{name} is nowhere finite: there is nothing to carry to the surface.")
    points, columns = points[known], columns[known]
    low, high, offsets = columns.min(axis=0), columns.max(axis=0), columns.mean(axis=0)
    if len(points) > _MOST_POINTS:
        rows = np.sort(np.random.default_rng(0).permutation(len(points))[:_MOST_POINTS])
        points, columns = points[rows], columns[rows]
    tree, X = _tree(points)
    # a unit range for every channel: fields are fitted in single precision
    scale = np.where(high > low, high - low, 1.0)
    coef = _fit(tree, X, (columns - offsets) / scale)
    coef *= scale[:, None, None]
    return Carried(tree, coef, offsets, low, high, np.ndim(values) == 1)


def _tree(points: np.ndarray) -> tuple[Tree, np.ndarray]:
    """A basis whose finest cells hold a few points, and the points in its coordinates."""
    low, high = points.min(axis=0), points.max(axis=0)
    box = GridBox.around(low, high, scale=float((high - low).max()) or 1.0, margin=_MARGIN)
    X = box.coordinates(points)
    tree = deepened(Tree.root(box, _ORDER), X, _POINTS_PER_CELL, DEEPEST_SURFACE, _MOST_COEFFICIENTS)
    return tree, X


def _fit(tree: Tree, X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Coefficients for each column, (k, blocks, functions)."""
    weights = np.zeros((len(X), 2), dtype=np.float32)
    weights[:, 0] = 1.0
    nothing = np.zeros((len(X), 1 + X.shape[1]), dtype=np.float32)
    equations = PointEquations(tree, _ORDER, X, weights, nothing, np.float32)
    own = equations.value_weight[tree.blocks(tree.depth)]
    mean = float(own.sum()) / max(int(np.count_nonzero(own)), 1)
    alpha = _SMOOTH * mean / float(equations.energy.factors[-1] * np.trace(equations.energy.cell))
    result = np.empty((columns.shape[1], *tree.active.shape), dtype=np.float32)
    for coef, column in zip(result, columns.T, strict=True):
        x = np.zeros(tree.active.shape, dtype=np.float32)
        equations.solve_for(alpha, equations.right_for(column), x, tol=_TOL, max_iter=_MAX_ITER)
        coef[:] = collapse(tree, x)
    return result
