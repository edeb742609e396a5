"""Transformations of signals and spectra: shift, amplitude, polynomial baseline."""

import numpy as np
from numpy.typing import ArrayLike

from .box import Additive
from .grids import GridShift
from .vectors import Scaling


class SignalShift(GridShift):
    """Shifts of a signal, in samples; zeros come in.

    Parameters
    ----------
    extent : float
        The largest shift, to later samples for positive t.
    n_nodes : int, optional
        Equal steps of the average, by default of one sample or less.
    padding : int
        Zeros on both ends; with the extent or more, shifts by whole samples are isometric.
    interpolation : {"cubic", "linear"}
        How to shift by fractions of a sample; whole samples are exact.
    smoothing : float
        Width, in samples, of the Gaussian that smooths signals before their tangents are computed.

    See Also
    --------
    ImageShift : Shifts of images.

    Examples
    --------
    >>> from seminorm.invariance import SignalShift
    >>> SignalShift(2).apply([[1.0, 2.0, 3.0, 4.0]], [[1], [-2]])[:, 0]
    array([[0., 1., 2., 3.],
           [3., 4., 0., 0.]])
    """

    def _grid(self, dimension: int) -> tuple[int, ...]:
        return (dimension,)


class Amplitude(Scaling):
    """x -> exp(t) x with |t| <= extent: a louder or a fainter signal.

    Parameters
    ----------
    extent, n_nodes : as in :class:`Scaling`

    See Also
    --------
    Scaling : The same for points.

    Examples
    --------
    >>> from seminorm.invariance import Amplitude
    >>> Amplitude().apply([[1.0, 2.0]], [[0.6931]])[0].round(3)
    array([[2., 4.]])
    """


class Baseline(Additive):
    """Polynomials that are added to the signal.

    The parameters are the coefficients of Legendre polynomials, with the samples spread over [-1, 1].

    Parameters
    ----------
    degree : int
        The largest degree.
    extent : float or array (degree + 1,)
        The largest coefficients.
    n_nodes : int or sequence of int
        Number of Gauss-Legendre nodes of the average, along each coefficient.

    See Also
    --------
    SubspaceDistance : A distance of signals up to polynomials.

    Examples
    --------
    >>> from seminorm.invariance import Baseline
    >>> Baseline(degree=1).apply([[0.0, 0.0, 0.0]], [[1.0, 0.5]])[0]
    array([[0.5, 1. , 1.5]])
    """

    def __init__(self, degree: int = 1, extent: ArrayLike = 1.0, n_nodes: int | tuple[int, ...] = 3):
        self.degree, self.extent, self.n_nodes = degree, extent, n_nodes

    @property
    def n_parameters(self) -> int:
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= 0):
            raise ValueError(f"degree must be an integer >= 0, got {self.degree!r}.")
        return int(self.degree) + 1

    def _directions(self, dimension: int) -> np.ndarray:
        if self.extent.shape != (self.n_parameters,):
            raise ValueError(f"extent has {self.extent.size} entries, and degree {self.degree} has {self.degree + 1}.")
        return np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, dimension), self.degree).T
