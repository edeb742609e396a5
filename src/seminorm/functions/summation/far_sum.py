"""Sums by near and far field whose error is measured: they are made again with more terms until it is small enough."""

from __future__ import annotations

import numpy as np

from ..._base.warnings import warn_user
from .boxes import SortedPoints
from .levels import Request
from .plan import Plan
from .space import Space

_SAMPLES = 96, 64  # targets where the error is measured: any, and such near the corners of boxes
_CANDIDATES = 8192  # for the latter
_CORNERS = 3  # the level of these boxes
_SAFETY = 2.5  # the largest error over all targets in terms of the largest over the samples
_ROUNDS = 6
_MEAN = {1: 0.8, 2: 2.0, 3: 3.0}  # errors of single sources in terms of their effect on a sum, roughly
_DROPPED = 0.1  # values of the kernel that count as zero, in terms of the error of single sources
_DISTANCES = 4000


class FarSum:
    """Sums of a kernel in its space, to a tolerance.

    ``error`` is the largest error that was measured last, relative to the largest magnitude of the sum.
    """

    def __init__(self, space: Space, tolerance: float):
        self.space, self.tolerance, self.error = space, tolerance, 0.0
        d = space.dimension
        self.points = SortedPoints(space.sources[:, :d], space.targets[:, :d])
        sources, targets = self.points.orders
        self._sorted = np.ascontiguousarray(space.sources[sources]), np.ascontiguousarray(space.targets[targets])
        self._samples = self._choose_samples()
        self._scale = float(space.magnitude(np.geomspace(1e-3, 1.0, 200) * space.size).max())
        self._floor = 64.0 * np.finfo(float).eps * self._scale  # rounding of series of the kernel
        self._plan: Plan | None = None

    def __call__(self, coefficients: np.ndarray, background: np.ndarray) -> np.ndarray:
        """background (m, d^x, k) plus the sums for coefficients (n, k, parts)."""
        sizes = np.sqrt(np.square(coefficients).sum(axis=(0, 2)))
        if not sizes.any():
            return background.copy()
        exact = self.space.sum_directly(coefficients, self._samples)
        plan = self._plan or self._first_plan(sizes, np.abs(background[self._samples] + exact).max(axis=(0, 1)))
        for _ in range(_ROUNDS):
            found = self._apply(plan, coefficients)
            error = np.abs(found[self._samples] - exact).max(axis=(0, 1))
            found += background
            largest = np.abs(found).max(axis=(0, 1))
            relative = error / np.where(largest > 0, largest, np.inf)
            self.error = float(relative.max())
            if _SAFETY * self.error <= self.tolerance:
                return found
            failed = _SAFETY * relative > self.tolerance
            if (
                plan.request.tolerance == self._floor
                or (error <= self.space.rounding(coefficients, self._samples[:: _SAMPLES[0] // 8]))[failed].all()
            ):
                break
            plan = self._make_plan(plan.request.tolerance * max(0.3 * self.tolerance / (_SAFETY * self.error), 1e-4))
        warn_user(
            f"tolerance={self.tolerance:g} is not reached: the measured error is {self.error:.1e}. The terms of the "
            "sum cancel, and rounding them leaves no more digits."
        )
        return found

    def _choose_samples(self) -> np.ndarray:
        """Some targets, always the same: errors are largest near the corners of boxes, but not everywhere."""
        order = np.random.default_rng(0).permutation(len(self.space.targets))
        anywhere, candidates = np.split(order[: _SAMPLES[0] + _CANDIDATES], [_SAMPLES[0]])
        places = self.space.targets[candidates, : self.points.dimension]
        apart = (places - self.points.corner) / (self.points.width * 0.5**_CORNERS)
        corners = candidates[np.argsort(np.abs(apart - np.rint(apart)).max(axis=1), kind="stable")[: _SAMPLES[1]]]
        return np.sort(np.concatenate([anywhere, corners]))

    def _first_plan(self, sizes: np.ndarray, largest: np.ndarray) -> Plan:
        """For errors of the sources that add up like random numbers, so that their sum is within the tolerance."""
        typical = [
            magnitude / size for magnitude, size in zip(largest, sizes, strict=True) if magnitude > 0 and size > 0
        ]
        return self._make_plan(_MEAN[self.space.dimension] * self.tolerance * min([self._scale, *typical]))

    def _make_plan(self, tolerance: float) -> Plan:
        space, tolerance = self.space, max(tolerance, self._floor)
        distances = np.geomspace(1e-4, 1.0, _DISTANCES) * space.size
        beyond = np.maximum.accumulate(space.magnitude(distances)[::-1])[::-1]
        last = np.flatnonzero(beyond > _DROPPED * tolerance).max(initial=-1)
        reach = float(distances[last + 1]) if last + 1 < len(distances) else np.inf
        request = Request(
            space.part.profile, space.dimension, tolerance, space.y, space.x, space.part.knots, space.size, reach
        )
        self._plan = Plan(request, self.points, *self._sorted, forms=space.forms)
        return self._plan

    def _apply(self, plan: Plan, coefficients: np.ndarray) -> np.ndarray:
        sources, targets = self.points.orders
        out = self.space.room(len(targets), coefficients.shape[1])
        plan.apply(np.ascontiguousarray(coefficients[sources]), out)
        result = np.empty_like(out)
        result[targets] = out
        return np.array(self.space.derivatives(result))
