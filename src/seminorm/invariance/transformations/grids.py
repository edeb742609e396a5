"""What transformations of images and signals have in common: patterns are values on a grid of pixels."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_array

from .base import Quadrature
from .box import Box
from .interpolation import Interpolant, checked_degree, gradients, with_margin
from .rules import checked_counts, equispaced, product_rule, refuse_infinite


class GridTransformation(Box):
    """Continuous transformations of values on a grid that is surrounded by zeros.

    A subclass supplies ``_grid(d)``, the shape of the grid, and ``_apply`` or ``_sources``.
    """

    padding = 0

    def _grid(self, dimension: int) -> tuple[int, ...]:
        raise TypeError(f"{type(self).__name__} does not define its grid: subclasses supply _grid(dimension).")

    def _margin(self) -> int:
        if not (isinstance(self.padding, (int, np.integer)) and self.padding >= 0):
            raise ValueError(f"padding must be a number of pixels >= 0, got {self.padding!r}.")
        return int(self.padding)

    def transformed_size(self, dimension):
        return int(np.prod([size + 2 * self._margin() for size in self._grid(dimension)]))

    def _canvas(self, X: np.ndarray) -> np.ndarray:
        """The patterns as grids, with the padding."""
        return with_margin(X.reshape(len(X), *self._grid(X.shape[1])), self._margin())

    def _apply(self, X, parameters):
        grids = self._canvas(X)
        result = np.empty((len(parameters), len(X), grids[0].size))
        degree, interpolant = checked_degree(self.interpolation), None
        places = np.stack(np.meshgrid(*map(np.arange, grids.shape[1:]), indexing="ij"), axis=-1).reshape(
            grids[0].size, -1
        )
        middle = (np.array(grids.shape[1:]) - 1) / 2
        for out, row in zip(result, parameters, strict=True):
            if (row == 0).all():
                out[:] = grids.reshape(len(X), -1)
                continue
            interpolant = Interpolant(grids, degree) if interpolant is None else interpolant
            out[:] = interpolant(self._sources(places - middle, row) + middle)
        return result

    def _sources(self, places: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Where the values that end at ``places`` (measured from the middle) come from."""
        raise TypeError(f"{type(self).__name__} does not define its maps: subclasses supply _sources(places, row).")

    def _gradients(self, X) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Derivatives of the smoothed patterns along the axes, and the coordinates from the middle."""
        grids = self._canvas(self.patterns(X))
        places = np.meshgrid(*[np.arange(size) - (size - 1) / 2 for size in grids.shape[1:]], indexing="ij")
        return gradients(grids, self.smoothing), places


class GridShift(GridTransformation):
    """Shifts along the axes of the grid, in pixels."""

    is_affine = property(lambda self: True)

    def quadrature(self) -> Quadrature:
        """Equal steps between the ends, all alike."""
        return product_rule(self._axis_rules())

    def _axis_rules(self) -> list[Quadrature]:
        refuse_infinite(self.extent)
        if self.n_nodes is None:
            counts = (2 * np.ceil(self.extent) + 1).astype(int).tolist()
        else:
            counts = checked_counts(self.n_nodes, self.n_parameters)
        return [equispaced(extent, count) for extent, count in zip(self.extent, counts, strict=True)]

    @property
    def is_isometric(self):
        """Whether all nodes of the average are whole pixels and the padding keeps everything that is shifted: then
        distances and inner products stay the same.
        """
        if not np.isfinite(self.extent).all() or self._margin() < self.extent.max():
            return False
        return all((rule.nodes == np.round(rule.nodes)).all() for rule in self._axis_rules())

    def differences(self) -> Quadrature | None:
        """All shifts between two nodes, each once, with the weight of all its pairs (a convolution); None where shifts
        are not isometric.
        """
        if not self.is_isometric:
            return None
        rules = []
        for rule in self._axis_rules():
            apart = (rule.nodes - rule.nodes.T).ravel()
            nodes, where = np.unique(apart, return_inverse=True)
            weights = np.bincount(where.ravel(), np.outer(rule.weights, rule.weights).ravel())
            rules.append(Quadrature(nodes[:, None], weights))
        return product_rule(rules)

    def overlap(self, X: np.ndarray, Y: np.ndarray, difference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pixels in which X and the shifted Y meet, if nothing is lost: inner products of these parts are inner
        products of X and the shifted Y.
        """
        here, there = [slice(None)], [slice(None)]
        grid = self._grid(X.shape[1])
        for step, size in zip(np.round(difference).astype(int), grid, strict=True):
            here.append(slice(max(step, 0), size + min(step, 0)))
            there.append(slice(max(-step, 0), size - max(step, 0)))
        return tuple(
            np.ascontiguousarray(Z.reshape(len(Z), *grid)[tuple(window)]).reshape(len(Z), -1)
            if all(abs(step) < size for step, size in zip(difference, grid, strict=True))
            else np.zeros((len(Z), 0))
            for Z, window in ((X, here), (Y, there))
        )

    def _apply(self, X, parameters):
        whole = (parameters == np.round(parameters)).all(axis=1)
        grids = self._canvas(X)
        result = np.empty((len(parameters), len(X), grids[0].size))
        for i in np.flatnonzero(whole):
            result[i] = _shifted(grids, parameters[i].astype(int)).reshape(len(X), -1)
        if not whole.all():
            result[~whole] = super()._apply(X, parameters[~whole])
        return result

    def _sources(self, places, row):
        return places - row

    def tangents(self, X):
        derivatives, _ = self._gradients(X)
        return np.stack([-derivative.reshape(len(derivative), -1) for derivative in derivatives], axis=1)


def _shifted(grids: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """By whole pixels; zeros come in."""
    result = np.zeros_like(grids)
    if (np.abs(steps) < grids.shape[1:]).all():
        ends, starts = [slice(None)], [slice(None)]
        for step, size in zip(steps, grids.shape[1:], strict=True):
            ends.append(slice(max(step, 0), size + min(step, 0)))
            starts.append(slice(max(-step, 0), size - max(step, 0)))
        result[tuple(ends)] = grids[tuple(starts)]
    return result


def checked_images(X, shape) -> np.ndarray:
    """Images (n, h, w), or flat of the given shape, as rows of float64."""
    height, width = checked_shape(shape)
    X = check_array(X, dtype=np.float64, allow_nd=True, input_name="X")
    if X.ndim == 3 and X.shape[1:] == (height, width):
        return X.reshape(len(X), -1)
    if X.ndim != 2 or X.shape[1] != height * width:
        raise ValueError(
            f"X has shape {X.shape}, which are no images of shape {(height, width)}: give (n, {height}, {width}), or "
            f"rows of {height * width} pixels, or the right shape=(height, width)."
        )
    return X


def checked_shape(shape) -> tuple[int, int]:
    sizes = np.atleast_1d(np.asarray(shape if shape is not None else 0))
    if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(
            f"shape must be (height, width) of the images in pixels, which flat patterns do not tell; got {shape!r}."
        )
    return int(sizes[0]), int(sizes[1])
