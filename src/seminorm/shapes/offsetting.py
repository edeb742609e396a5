"""Shapes grown or shrunk by a distance, that of the nearest point of the surface, whatever the function does there."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from .._base.threads import thread_count
from ..clouds.cloud import unit_rows
from .implicit import Implicit

_SLIDES = 3  # along the surface, from the nearest known point of it to the nearest one
_NEAR = 3.0  # distances of known points: farther from its zeros the function is that to the nearest known point
_CHUNK = 2**16
_GRID = 96  # points along the longest side, from which a curve in the plane is found


class TrueOffset(Implicit):
    """The signed distance to the surface of a shape, minus an amount; see :meth:`Implicit.offset`.

    The nearest of many points on the surface is found first, the vertices of a fine mesh, and slides along the surface.
    """

    def __init__(self, shape: Implicit, distance: float, bounds):
        if shape.bounds is None:
            raise ValueError("a shape without bounds cannot be moved by a distance: give it bounds, see as_implicit.")
        self.shape, self.amount, self.bounds = shape, float(distance), bounds
        self.dimension, self.resolution, self.lipschitz = shape.dimension, shape.resolution, 1.0
        self.thread_safe = False  # the tree is made when it is first needed

    def __repr__(self) -> str:
        return f"{self.shape!r}.offset({self.amount:g})"

    @cached_property
    def _feet(self) -> tuple[np.ndarray, cKDTree, float]:
        """Many points on the surface, a tree of them, and how far they are apart."""
        points = self.shape.surface_points()
        if not len(points):
            raise ValueError(
                f"{self.shape!r} has no surface within its bounds, from which distances could be measured."
            )
        tree = cKDTree(points, balanced_tree=False, compact_nodes=False)
        apart = tree.query(points[:: max(len(points) // 1000, 1)], k=[min(7, len(points))])[0]
        return points, tree, float(np.median(apart))

    def seeds(self) -> np.ndarray:
        """Points near its own surface: those of the shape, moved, unless another part of the shape is nearer."""
        points, _, apart = self._feet
        moved = points + self.amount * unit_rows(self.shape.gradient(points))
        return moved[np.abs(self(moved)) < apart]

    def _jet(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        parts = [self._part(X[begin : begin + _CHUNK], order) for begin in range(0, max(len(X), 1), _CHUNK)]
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def _part(self, X: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
        points, tree, apart = self._feet
        known = points[tree.query(X, workers=thread_count())[1]]
        away = np.linalg.norm(X - known, axis=1)
        # a known point is farther than the nearest one by apart^2 / (8 away) or so, which matters near the zeros only
        near = (np.abs(away - abs(self.amount)) < _NEAR * apart) | (away < _NEAR * apart) | (order > 0)
        foot = known
        slides, tol = (_SLIDES, 1e-3 * apart) if order == 0 else (3 * _SLIDES, 1e-6 * apart)
        foot[near] = self.shape._slid(X[near], known[near], slides, tol)
        gap = X - foot
        slope = self.shape._jet(foot, 1)[1]
        normal = unit_rows(slope)
        length = np.linalg.norm(gap, axis=1)
        signed = np.where((gap * normal).sum(axis=1) < 0, -length, length)
        if order == 0:
            return (signed - self.amount,)
        off = length > 1e-9 * self.extent()  # on the surface the direction is that of the shape itself
        direction = np.where(off[:, None], gap / np.where(off, signed, 1.0)[:, None], normal)
        if order == 1:
            return signed - self.amount, direction
        return signed - self.amount, direction, self._bend(foot, normal, slope, signed)

    def _bend(self, foot: np.ndarray, normal: np.ndarray, slope: np.ndarray, signed: np.ndarray) -> np.ndarray:
        """Hessians: those of the surface at the feet, S, seen from a distance s, are S / (1 + s S)."""
        across = np.eye(self.dimension) - normal[:, :, None] * normal[:, None, :]
        steep = np.maximum(np.linalg.norm(slope, axis=1), np.finfo(float).tiny)
        of_foot = across @ self.shape._jet(foot, 2)[2] @ across / steep[:, None, None]
        curvature, axes = np.linalg.eigh((of_foot + of_foot.transpose(0, 2, 1)) / 2)
        spread = 1 + signed[:, None] * curvature
        curvature = np.divide(curvature, spread, out=np.zeros_like(curvature), where=np.abs(spread) > 1e-6)
        return (axes * curvature[:, None, :]) @ axes.transpose(0, 2, 1)


def points_of_curve(shape: Implicit) -> np.ndarray:
    """Points on the curve of a shape in the plane: those of a grid near it, projected."""
    assert shape.bounds is not None
    low, high = shape.bounds
    step = float((high - low).max()) / _GRID or 1.0
    axes = [np.arange(a - step, b + 1.5 * step, step) for a, b in zip(low, high, strict=True)]
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    feet = shape.project(places)
    near = np.linalg.norm(feet - places, axis=1) <= 2 * step
    return feet[near]
