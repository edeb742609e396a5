"""What transformations of images and signals have in common: patterns are values on a grid of pixels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from .base import Quadrature
from .box import ParameterBox, checked_counts, equispaced, product_rule, refuse_infinite
from .interpolation import Interpolant, checked_degree, gradients, with_margin


class GridTransformation(ParameterBox):
    """Of values on a grid amid zeros. A subclass supplies its shape ``_grid(d)``, and ``_apply`` or ``_sources``."""

    padding = 0

    def __init__(
        self,
        extent: ArrayLike = 1.0,
        n_nodes: int | tuple[int, ...] | None = None,
        padding: int = 0,
        interpolation: str = "cubic",
        smoothing: float = 0.9,
    ):
        self.extent, self.n_nodes, self.padding = extent, n_nodes, padding
        self.interpolation, self.smoothing = interpolation, smoothing

    def _grid(self, dimension: int) -> tuple[int, ...]:
        raise TypeError(f"{type(self).__name__} does not define its grid: subclasses supply _grid(dimension).")

    def _margin(self) -> int:
        if not (isinstance(self.padding, (int, np.integer)) and self.padding >= 0):
            raise ValueError(f"padding must be a number of pixels >= 0, got {self.padding!r}.")
        return int(self.padding)

    def transformed_size(self, dimension: int) -> int:
        return int(np.prod([size + 2 * self._margin() for size in self._grid(dimension)]))

    def _canvas(self, X: np.ndarray) -> np.ndarray:
        """The patterns as grids, with the padding."""
        return with_margin(X.reshape(len(X), *self._grid(X.shape[1])), self._margin())

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        grids = self._canvas(X)
        result = np.empty((len(parameters), len(X), grids[0].size))
        degree, interpolant = checked_degree(self.interpolation), None
        places = np.indices(grids.shape[1:]).reshape(grids.ndim - 1, -1).T
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

    def _slopes(self, X: ArrayLike) -> np.ndarray:
        """Derivatives (n, axes, d) of the smoothed patterns along the axes."""
        derivatives = gradients(self._canvas(self.patterns(X)), self.smoothing)
        return np.stack([derivative.reshape(len(derivative), -1) for derivative in derivatives], axis=1)


class GridShift(GridTransformation):
    """Shifts along the axes of the grid, in pixels."""

    is_affine = True

    def quadrature(self) -> Quadrature:
        return product_rule(self._axis_rules())

    def _axis_rules(self) -> list[Quadrature]:
        refuse_infinite(self.extent)
        if self.n_nodes is None:
            counts = (2 * np.ceil(self.extent) + 1).astype(int).tolist()
        else:
            counts = checked_counts(self.n_nodes, self.n_parameters)
        return [equispaced(extent, count) for extent, count in zip(self.extent, counts, strict=True)]

    @property
    def is_isometric(self) -> bool:
        """Whether all nodes of the average are whole pixels and the padding keeps everything that is shifted."""
        if not np.isfinite(self.extent).all() or self._margin() < self.extent.max():
            return False
        return all(bool((rule.nodes == np.round(rule.nodes)).all()) for rule in self._axis_rules())

    def differences(self) -> Quadrature | None:
        """All shifts between two nodes, with the summed weights of their pairs; None if shifts are not isometric."""
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
        """The pixels in which X and the shifted Y overlap: their inner products are those of X and the shifted Y."""
        grid = self._grid(X.shape[1])
        if not (np.abs(difference) < grid).all():
            return np.zeros((len(X), 0)), np.zeros((len(Y), 0))
        here, there = _overlapping(np.round(difference).astype(int), grid)
        first, second = X.reshape(len(X), *grid)[here], Y.reshape(len(Y), *grid)[there]
        return first.reshape(len(X), -1), second.reshape(len(Y), -1)

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        whole = (parameters == np.round(parameters)).all(axis=1)
        grids = self._canvas(X)
        result = np.empty((len(parameters), len(X), grids[0].size))
        for i in np.flatnonzero(whole):
            result[i] = _shifted(grids, parameters[i].astype(int)).reshape(len(X), -1)
        if not whole.all():
            result[~whole] = super()._apply(X, parameters[~whole])
        return result

    def _sources(self, places: np.ndarray, row: np.ndarray) -> np.ndarray:
        return places - row

    def tangents(self, X: ArrayLike) -> np.ndarray:
        return -self._slopes(X)


def _shifted(grids: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """By whole pixels; zeros come in."""
    result = np.zeros_like(grids)
    if (np.abs(steps) < grids.shape[1:]).all():
        ends, starts = _overlapping(steps, grids.shape[1:])
        result[ends] = grids[starts]
    return result


def _overlapping(steps: np.ndarray, sizes: Sequence[int]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where grids (n, ...) and grids shifted by whole pixels overlap: the same pixels in the former and the latter."""
    pairs = list(zip(steps.tolist(), sizes, strict=True))
    here = (slice(max(step, 0), size + min(step, 0)) for step, size in pairs)
    there = (slice(max(-step, 0), size - max(step, 0)) for step, size in pairs)
    return (slice(None), *here), (slice(None), *there)


def checked_images(X: ArrayLike, shape: tuple[int, int] | None, name: str = "X") -> np.ndarray:
    """Images (n, h, w), or flat of the given shape, as rows of float64."""
    height, width = checked_shape(shape)
    require_one_shape(X, name)
    images = check_array(X, dtype=np.float64, allow_nd=True, input_name=name)
    if images.ndim == 3 and images.shape[1:] == (height, width):
        return images.reshape(len(images), -1)
    if images.ndim != 2 or images.shape[1] != height * width:
        raise ValueError(
            f"{name} has shape {images.shape}, which are no images of shape {(height, width)}: give (n, {height}, "
            f"{width}), or rows of {height * width} pixels, or the right shape=(height, width)."
        )
    return images


def require_one_shape(X: Any, name: str = "X") -> None:
    """Raise an error that says which pattern of a list differs in shape from the first."""
    shapes = [np.shape(x) for x in X] if isinstance(X, (list, tuple)) and all(map(_is_regular, X)) else []
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(
                f"{name}[{i}] has shape {shape} and {name}[0] {shapes[0]}: these patterns must have the same size. "
                "Bring them to one, or use a distance of series of any length (DTW, ERP), or UserDistance(function, "
                "compiled=False)."
            )


def _is_regular(x: Any) -> bool:
    try:
        np.shape(x)
    except ValueError:
        return False
    return True


def checked_shape(shape: tuple[int, int] | None) -> tuple[int, int]:
    """Height and width in pixels."""
    sizes = np.atleast_1d(np.asarray(shape if shape is not None else 0))
    if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(f"shape must be (height, width) in pixels, which flat patterns do not show; got {shape!r}.")
    return int(sizes[0]), int(sizes[1])
