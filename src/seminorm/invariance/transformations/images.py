"""Transformations of images: shift, rotation, scaling, shear, line thickness, brightness.

An image is a row of height * width pixels or an array (height, width); outside it is zero. Coordinates run down and to
the right, from the middle. Between pixels an image is a spline, so transformations are smooth in their parameters.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from .box import Box
from .grids import GridShift, GridTransformation, checked_images, checked_shape
from .interpolation import gradients
from .rules import on_circle
from .vectors import is_full_turn


class ImageTransformation(GridTransformation):
    """Images that are moved over their plane: everything but the map itself."""

    def _grid(self, dimension):
        height, width = checked_shape(self.shape)
        if dimension != height * width:
            raise ValueError(
                f"shape {(height, width)} has {height * width} pixels, and the images have {dimension}; images that "
                "were padded before have the larger shape."
            )
        return height, width

    def patterns(self, X):
        return checked_images(X, self.shape)


class ImageShift(GridShift, ImageTransformation):
    """Shifts down and to the right, in pixels.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    extent : float or pair of float
        The largest shift along both axes, or (down, right).
    n_nodes : int or pair of int, optional
        Nodes of the average along each axis, in equal steps; left out, steps of a pixel (or less, for an extent that is
        not whole).
    padding : int
        Pixels of zeros around the transformed images, so that nothing is lost at the edges. With as much padding as
        the extent and whole pixels as nodes, shifts are isometric, and integration kernels need the single sum over
        differences of shifts instead of the double sum.
    interpolation : {"cubic", "linear"}
        Of shifts by parts of a pixel; whole pixels are exact. A shift by half a pixel along both axes takes 0.7 % of
        the length of a handwritten digit of 16 x 16 pixels (linear: 3 %).
    smoothing : float
        Width of the Gaussian before tangents are taken, in pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import ImageShift
    >>> shift = ImageShift((2, 3), extent=1)
    >>> shift.apply([[1.0, 2, 3, 4, 5, 6]], [[0, 1]]).reshape(2, 3)
    array([[0., 1., 2.],
           [0., 4., 5.]])
    >>> len(ImageShift((16, 16), extent=4, padding=4).differences().weights)
    289
    """

    n_parameters = 2

    def __init__(self, shape, extent=1.0, n_nodes=None, padding=0, interpolation="cubic", smoothing=0.9):
        self.shape = shape
        self.extent = extent
        self.n_nodes = n_nodes
        self.padding = padding
        self.interpolation = interpolation
        self.smoothing = smoothing


class _LinearImageMap(ImageTransformation):
    """The middle stays where it is; a subclass supplies ``_matrix(row)``, the map of the plane."""

    is_affine = property(lambda self: True)  # of the pixels: interpolation is linear in them
    #: matrices (p, 2, 2) whose exponentials the maps are, acting on (down, right)
    generators: np.ndarray

    def __init__(self, shape, extent=0.2, n_nodes=5, padding=0, interpolation="cubic", smoothing=0.9):
        self.shape = shape
        self.extent = extent
        self.n_nodes = n_nodes
        self.padding = padding
        self.interpolation = interpolation
        self.smoothing = smoothing

    def _matrix(self, row: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its map: subclasses supply _matrix(row).")

    def _sources(self, places, row):
        return places @ self._matrix(-row).T  # these maps are exponentials: minus the parameters is the inverse

    def tangents(self, X):
        derivatives, places = self._gradients(X)
        pixels = np.stack([place.ravel() for place in places])
        velocities = self.generators @ pixels
        slopes = np.stack([derivative.reshape(len(derivative), -1) for derivative in derivatives], axis=1)
        return -np.einsum("paq,naq->npq", velocities, slopes)


class ImageRotation(_LinearImageMap):
    """Rotations about the middle, counter-clockwise on the screen, in radians.

    Rotations of pixel images are a group up to the error of interpolation only. With 32 rotations around the circle,
    for handwritten digits of 16 x 16 pixels on a canvas of 24 x 24, the integration kernel of a Gaussian changes by up
    to 2 % of its largest value when a digit is rotated (8 % with linear interpolation; the Gaussian itself: 83 %), and
    by 0.06 % if the digits were smoothed by a Gaussian of one pixel before.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    extent : float
        The largest angle; pi is the full circle, with equal steps as nodes.
    n_nodes : int
        Nodes of the average: Gauss-Legendre, or equal steps on the full circle.
    padding : int
        Pixels of zeros around the transformed images, so that corners are not lost.
    interpolation : {"cubic", "linear"}
        Between pixels.
    smoothing : float
        Width of the Gaussian before tangents are taken, in pixels.
    """

    generators = np.array([[[0.0, -1.0], [1.0, 0.0]]])

    def _rule(self, extent, n_nodes):
        return on_circle(n_nodes) if is_full_turn(extent) else super()._rule(extent, n_nodes)

    def _matrix(self, row):
        cosine, sine = np.cos(row[0]), np.sin(row[0])
        return np.array([[cosine, -sine], [sine, cosine]])


class ImageScaling(_LinearImageMap):
    """Magnifications by exp(t) about the middle.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    extent : float
        The logarithm of the largest factor.
    n_nodes : int
        Gauss-Legendre nodes of the average.
    padding : int
        Pixels of zeros around the transformed images.
    interpolation : {"cubic", "linear"}
        Between pixels.
    smoothing : float
        Width of the Gaussian before tangents are taken, in pixels.
    """

    generators = np.eye(2)[None]

    def _matrix(self, row):
        return np.exp(row[0]) * np.eye(2)


class ImageShear(_LinearImageMap):
    """Hyperbolic shears, which keep areas: wider and lower, and the same along the diagonals.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    extent : float or pair of float
        The logarithm of the largest stretch along the axes, and along the diagonals.
    n_nodes : int or pair of int
        Gauss-Legendre nodes of the average along both parameters.
    padding : int
        Pixels of zeros around the transformed images.
    interpolation : {"cubic", "linear"}
        Between pixels.
    smoothing : float
        Width of the Gaussian before tangents are taken, in pixels.
    """

    n_parameters = 2
    generators = np.array([[[-1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])

    def _matrix(self, row):
        length = np.hypot(*row)  # the generator S has S S = length^2
        ratio = np.sinh(length) / length if length > 0 else 1.0
        return np.cosh(length) * np.eye(2) + ratio * np.tensordot(row, self.generators, axes=1)


class LineThickness(ImageTransformation):
    """Thicker and thinner strokes: image + t |gradient|^2, the seventh tangent of tangent distance.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    extent : float
        The largest t, for images whose strokes are bright; its unit is that of 1 / grey value.
    n_nodes : int
        Gauss-Legendre nodes of the average.
    smoothing : float
        Width of the Gaussian before the gradient is taken, in pixels.
    """

    def __init__(self, shape, extent=1.0, n_nodes=3, smoothing=0.9):
        self.shape = shape
        self.extent = extent
        self.n_nodes = n_nodes
        self.smoothing = smoothing

    def _apply(self, X, parameters):
        return X + parameters[:, :, None] * self.tangents(X)[:, 0]

    def tangents(self, X):
        X = self.patterns(X)
        slopes = gradients(self._canvas(X), self.smoothing)
        return sum(slope**2 for slope in slopes).reshape(len(X), 1, -1)


class Brightness(Box):
    """x -> x + t: all pixels brighter by the same amount; a factor is :class:`Amplitude`.

    Parameters
    ----------
    extent : float
        The largest t, in grey values.
    n_nodes : int
        Gauss-Legendre nodes of the average.
    """

    def __init__(self, extent=0.1, n_nodes=5):
        self.extent = extent
        self.n_nodes = n_nodes

    is_affine = property(lambda self: True)

    def patterns(self, X):
        X = np.asarray(X)
        return super().patterns(X.reshape(len(X), -1) if X.ndim == 3 else X)

    def _apply(self, X, parameters):
        return X + parameters[:, :, None]

    def tangents(self, X):
        X = self.patterns(X)
        return np.ones((len(X), 1, X.shape[1]))


def seven_deformations(shape, smoothing: float = 0.9):
    """The seven small deformations of tangent distance: shifts, rotation, scaling, two shears, line thickness."""
    kinds = (ImageShift, ImageRotation, ImageScaling, ImageShear, LineThickness)
    return reduce(lambda outer, inner: outer * inner, (kind(shape, smoothing=smoothing) for kind in kinds))
