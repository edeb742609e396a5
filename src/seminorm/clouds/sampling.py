"""Oriented points made ready for a fit: scaled, with the area each one stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..bases.box import GridBox
from ..fields.deepening import deepened
from ..fields.limits import DEEPEST
from ..fields.pointwise import PointEquations
from ..fields.tree import Tree

_DENSITY_DEGREE = 2
_DENSITY_POINTS = 8.0  # points in an occupied cell of the level that shows the density
_PLANE_SUM = {2: 0.55}  # B-spline of degree 2 q + 1 at 0: the sum over a plane of unit density, in cells
_CROSSED = {2: 4 / np.pi, 3: 1.5, 4: 16 / (3 * np.pi)}  # cells that a plane meets per unit of area, on average
_AREA_RANGE = 30.0  # the most that an area may differ from the median


@dataclass(frozen=True)
class OrientedPoints:
    """Points in a box whose cell of level 0 is as wide as the longest side of the data."""

    box: GridBox
    X: np.ndarray  # (n, d), in cells of level 0
    normals: np.ndarray  # (n, d) float32
    area: np.ndarray  # what each point stands for, in cells of level 0, times its confidence
    spacing: np.ndarray  # local distance of points: their area is its power d - 1
    size: float  # side of a cell of level 0 in the user's units
    axes: np.ndarray  # (d,): 1 for components of the normals that are known, 0 for others (the last one, if it is time)
    confidence: np.ndarray | None = None  # that the area contains
    values: np.ndarray | None = None  # of the function, in cells of level 0, zero by default; beside them
    # normals of length zero are unknown

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows) -> OrientedPoints:
        columns = {name: getattr(self, name) for name in ("X", "normals", "area", "spacing", "confidence", "values")}
        return replace(self, **{name: column[rows] for name, column in columns.items() if column is not None})

    def points_per_cell(self, level: int) -> float:
        """Average number of points in a cell of a level that the surface meets."""
        d = self.X.shape[1]
        return float(len(self) / (_CROSSED[d] * (self.spacing ** (d - 1)).sum()) / 2.0 ** (level * (d - 1)))

    @classmethod
    def prepare(
        cls,
        points: np.ndarray,
        normals: np.ndarray,
        confidence: np.ndarray | None = None,
        *,
        time_scale: float | None = None,
        margin: float | None = None,
        around: np.ndarray | None = None,
    ) -> OrientedPoints:
        """Scale the points and estimate areas from their density; a ``time_scale`` makes the last coordinate time.

        The box is that of the points, or of all that is in the corners ``around`` (2, d).
        """
        d = points.shape[1]
        units, axes = np.ones(d), np.ones(d)
        if time_scale is not None:
            units[-1], axes[-1] = 1.0 / time_scale, 0.0
            normals = np.column_stack([normals, np.zeros(len(normals))])
        low, high = (points.min(axis=0), points.max(axis=0)) if around is None else around
        size = float(((high - low) / units).max()) or 1.0
        box = GridBox.around(low, high, scale=size * units, margin=margin)
        X = box.coordinates(points)
        areas = _areas(box, X)
        weighted = areas if confidence is None else areas * confidence
        normals = np.ascontiguousarray(normals, dtype=np.float32)
        return cls(box, X, normals, weighted, areas ** (1.0 / (d - 1)), size, axes, confidence)


def _areas(box: GridBox, X: np.ndarray) -> np.ndarray:
    """One over the density of the points, by a B-spline estimate at a level with several points in a cell."""
    n, d = X.shape
    tree = deepened(Tree.root(box, _DENSITY_DEGREE), X, _DENSITY_POINTS, DEEPEST[d])
    weights = np.zeros((n, 2))
    weights[:, 0] = 1.0
    observed = np.zeros((n, 1 + d))
    observed[:, 0] = 1.0
    equations = PointEquations(tree, 1, X, weights, observed)
    density = np.empty(n)
    density[equations.point_order] = equations.smoothed_data()[:, 0]
    width = tree.spacing(tree.depth)
    areas = _PLANE_SUM[_DENSITY_DEGREE] * width ** (d - 1) / np.maximum(density, 1e-12)
    middle = np.median(areas)
    return np.clip(areas, middle / _AREA_RANGE, middle * _AREA_RANGE)
