"""Transformations of images: shift, rotation, scaling, shear, line thickness, brightness.

An image is a row of height * width pixels or an array (height, width); outside it is zero. Coordinates run down and to
the right, from the middle. Between pixels an image is a spline, so transformations are smooth in their parameters.
"""

from collections.abc import Callable
from functools import reduce
from operator import mul

import numpy as np
from numpy.typing import ArrayLike

from .base import Quadrature, Transformation
from .box import Additive, on_circle
from .grids import GridShift, GridTransformation, checked_images, checked_shape
from .vectors import is_full_turn


class ImageTransformation(GridTransformation):
    """Images that are moved over their plane: everything but the map itself."""

    def __init__(
        self,
        shape: tuple[int, int],
        extent: ArrayLike = 0.2,
        n_nodes: int | tuple[int, int] | None = 5,
        padding: int = 0,
        interpolation: str = "cubic",
        smoothing: float = 0.9,
    ):
        self.shape = shape
        super().__init__(extent, n_nodes, padding, interpolation, smoothing)

    def _grid(self, dimension: int) -> tuple[int, ...]:
        height, width = checked_shape(self.shape)
        if dimension != height * width:
            raise ValueError(
                f"shape {(height, width)} has {height * width} pixels, and the images have {dimension}; images that "
                "were padded before have the larger shape."
            )
        return height, width

    def patterns(self, X: ArrayLike, name: str = "X") -> np.ndarray:
        return checked_images(X, self.shape, name)


class ImageShift(GridShift, ImageTransformation):
    """Shifts down and to the right, in pixels.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    extent : float or pair of float; the largest shift along both axes, or (down, right)
    n_nodes : int or pair of int, optional; equal steps of the average along each axis, by default of one pixel or less
    padding : int
        Width of a margin of zeros, so that nothing is lost. If it is at least the extent, and the nodes whole pixels,
        shifts are isometric, and integration kernels need a single sum over differences of shifts, not a double sum.
    interpolation : {"cubic", "linear"}
        How to shift by fractions of a pixel. A shift by half a pixel along both axes takes 0.7 % of the length of a
        handwritten digit of 16 x 16 pixels (linear: 3 %).
    smoothing : float
        Width, in pixels, of the Gaussian that smooths images before their tangents are computed.

    See Also
    --------
    SignalShift

    Examples
    --------
    >>> from seminorm.invariance import ImageShift
    >>> shift = ImageShift((2, 3), extent=1)
    >>> shift.apply([[1.0, 2, 3, 4, 5, 6]], [[0, 1]]).reshape(2, 3)
    array([[0., 1., 2.],
           [0., 4., 5.]])
    >>> len(ImageShift((16, 16), extent=4, padding=4).differences().weights)
    289
    """

    n_parameters = 2

    def __init__(
        self,
        shape: tuple[int, int],
        extent: ArrayLike = 1.0,
        n_nodes: int | tuple[int, int] | None = None,
        padding: int = 0,
        interpolation: str = "cubic",
        smoothing: float = 0.9,
    ):
        super().__init__(shape, extent, n_nodes, padding, interpolation, smoothing)


class _LinearImageMap(ImageTransformation):
    """The middle stays where it is; a subclass supplies ``_matrix(row)``, the map of the plane."""

    is_affine = True  # in the pixels: interpolation is linear in them
    #: matrices (p, 2, 2) whose exponentials the maps are, acting on (down, right)
    generators: np.ndarray

    def _matrix(self, row: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not define its map: subclasses supply _matrix(row).")

    def _sources(self, places: np.ndarray, row: np.ndarray) -> np.ndarray:
        return places @ self._matrix(-row).T  # these maps are exponentials: minus the parameters is the inverse

    def tangents(self, X: ArrayLike) -> np.ndarray:
        sizes = np.array(checked_shape(self.shape)) + 2 * self._margin()
        pixels = np.indices(sizes.tolist()).reshape(2, -1) - (sizes[:, None] - 1) / 2  # measured from the middle
        return -np.einsum("paq,naq->npq", self.generators @ pixels, self._slopes(X))


class ImageRotation(_LinearImageMap):
    """Rotations about the middle, counter-clockwise on the screen, in radians.

    They are a group up to the error of interpolation only. With 32 rotations around the circle the integration kernel
    of a Gaussian changes by up to 2 % of its largest value when a handwritten digit is rotated (8 % with linear
    interpolation; the Gaussian itself: 83 %), and by 0.06 % if a Gaussian of one pixel smoothed the digits before.

    Parameters
    ----------
    extent : float
        The largest angle; pi is the full circle, with equal steps as nodes.
    n_nodes : int
        Number of nodes of the average: Gauss-Legendre, or equal steps on the full circle.
    shape, padding, interpolation, smoothing : as in :class:`ImageShift`

    See Also
    --------
    ImageScaling, ImageShear

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance import ImageRotation
    >>> image = [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> ImageRotation((3, 3)).apply([image], [[np.pi / 2]]).reshape(3, 3).round(6) + 0.0
    array([[0., 0., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    generators = np.array([[[0.0, -1.0], [1.0, 0.0]]])

    def _rule(self, extent: float, n_nodes: int) -> Quadrature:
        return on_circle(n_nodes) if is_full_turn(extent) else super()._rule(extent, n_nodes)

    def _matrix(self, row: np.ndarray) -> np.ndarray:
        cosine, sine = np.cos(row[0]), np.sin(row[0])
        return np.array([[cosine, -sine], [sine, cosine]])


class ImageScaling(_LinearImageMap):
    """Magnifications by exp(t) about the middle.

    Parameters
    ----------
    extent : float
        The logarithm of the largest factor.
    n_nodes : int
        Number of Gauss-Legendre nodes of the average.
    shape, padding, interpolation, smoothing : as in :class:`ImageShift`

    See Also
    --------
    ImageRotation, Scaling

    Examples
    --------
    >>> from seminorm.invariance import ImageScaling
    >>> bool(ImageScaling((9, 9)).apply([[1.0] * 81], [[-0.7]]).sum() < 0.5 * 81)  # half as wide and high
    True
    """

    generators = np.eye(2)[None]

    def _matrix(self, row: np.ndarray) -> np.ndarray:
        return np.exp(row[0]) * np.eye(2)


class ImageShear(_LinearImageMap):
    """Hyperbolic shears, which keep areas: wider and lower, and the same along the diagonals.

    Parameters
    ----------
    extent : float or pair of float; the logarithm of the largest stretch along the axes, and along the diagonals
    n_nodes : int or pair of int; number of Gauss-Legendre nodes of the average along both parameters
    shape, padding, interpolation, smoothing : as in :class:`ImageShift`

    See Also
    --------
    ImageRotation, ImageScaling

    Examples
    --------
    >>> from seminorm.invariance import ImageShear
    >>> ImageShear((9, 9)).quadrature().nodes.shape
    (25, 2)
    """

    n_parameters = 2
    generators = np.array([[[-1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])

    def _matrix(self, row: np.ndarray) -> np.ndarray:
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
        The largest t, for images with bright strokes, in units of 1 / grey value.
    n_nodes : int
        Number of Gauss-Legendre nodes of the average.
    smoothing : float
        Width, in pixels, of the Gaussian that smooths images before their gradients are computed.

    See Also
    --------
    Brightness

    Examples
    --------
    >>> from seminorm.invariance import LineThickness
    >>> line = [[0.0] * 18 + [1.0] * 9 + [0.0] * 18]
    >>> bool(LineThickness((5, 9)).apply(line, [[1.0]]).sum() > 9.0)
    True
    """

    def __init__(self, shape: tuple[int, int], extent: float = 1.0, n_nodes: int = 3, smoothing: float = 0.9):
        self.shape, self.extent, self.n_nodes, self.smoothing = shape, extent, n_nodes, smoothing

    def _apply(self, X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        return X + parameters[:, :, None] * self.tangents(X)[:, 0]

    def tangents(self, X: ArrayLike) -> np.ndarray:
        return (self._slopes(X) ** 2).sum(axis=1, keepdims=True)


class Brightness(Additive):
    """x -> x + t: all pixels become brighter by the same amount.

    Parameters
    ----------
    extent : float
        The largest t, in grey values.
    n_nodes : int
        Number of Gauss-Legendre nodes of the average.

    See Also
    --------
    Amplitude : A factor instead of a summand.

    Examples
    --------
    >>> from seminorm.invariance import Brightness
    >>> Brightness().apply([[0.0, 1.0]], [[0.5]])[0]
    array([[0.5, 1.5]])
    """

    def __init__(self, extent: float = 0.1, n_nodes: int = 5):
        self.extent, self.n_nodes = extent, n_nodes

    def patterns(self, X: ArrayLike, name: str = "X") -> np.ndarray:
        images = np.asarray(X)
        return super().patterns(images.reshape(len(images), -1) if images.ndim == 3 else images, name)

    def _directions(self, dimension: int) -> np.ndarray:
        return np.ones((1, dimension))


def seven_deformations(shape: tuple[int, int], smoothing: float = 0.9) -> Transformation:
    """The seven small deformations of tangent distance: shifts, rotation, scaling, two shears, line thickness.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the images.
    smoothing : float
        Width, in pixels, of the Gaussian that smooths images before their tangents are computed.

    Returns
    -------
    Transformation
        The composition of the five sets.

    See Also
    --------
    TangentDistance : The distance that uses their tangents.

    Examples
    --------
    >>> from seminorm.invariance import seven_deformations
    >>> seven_deformations((16, 16)).n_parameters
    7
    """
    kinds: list[Callable[..., Transformation]] = [ImageShift, ImageRotation, ImageScaling, ImageShear, LineThickness]
    return reduce(mul, (kind(shape, smoothing=smoothing) for kind in kinds))
