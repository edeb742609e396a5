"""Transformations of signals and spectra: shift, amplitude, polynomial baseline."""

from __future__ import annotations

import numpy as np

from .box import Box
from .grids import GridShift
from .vectors import Scaling


class SignalShift(GridShift):
    """Shifts of a signal, in samples; zeros come in.

    Parameters
    ----------
    extent : float
        The largest shift, to later samples for positive t.
    n_nodes : int, optional
        Nodes of the average in equal steps; left out, steps of a sample (or less, for an extent that is not whole).
    padding : int
        Zeros on both ends of the transformed signals, so that nothing is lost; with as many as the extent, shifts by
        whole samples are isometric (see :class:`ImageShift`).
    interpolation : {"cubic", "linear"}
        Of shifts by parts of a sample; whole samples are exact.
    smoothing : float
        Width of the Gaussian before tangents are taken, in samples.

    Examples
    --------
    >>> from seminorm.invariance import SignalShift
    >>> SignalShift(2).apply([[1.0, 2.0, 3.0, 4.0]], [[1], [-2]])[:, 0]
    array([[0., 1., 2., 3.],
           [3., 4., 0., 0.]])
    """

    def __init__(self, extent=1.0, n_nodes=None, padding=0, interpolation="cubic", smoothing=0.9):
        self.extent = extent
        self.n_nodes = n_nodes
        self.padding = padding
        self.interpolation = interpolation
        self.smoothing = smoothing

    def _grid(self, dimension):
        return (dimension,)


class Amplitude(Scaling):
    """x -> exp(t) x with |t| <= extent: a louder or a fainter signal.

    Parameters
    ----------
    extent : float
        The logarithm of the largest factor.
    n_nodes : int
        Gauss-Legendre nodes of the average.
    """


class Baseline(Box):
    """A polynomial is added to the signal.

    The parameters are the coefficients of the Legendre polynomials up to a degree, on the samples scaled to [-1, 1].

    Parameters
    ----------
    degree : int
        The largest degree.
    extent : float or array (degree + 1,)
        The largest coefficients.
    n_nodes : int or sequence of int
        Gauss-Legendre nodes of the average for each coefficient.

    Examples
    --------
    >>> from seminorm.invariance import Baseline
    >>> Baseline(degree=1).apply([[0.0, 0.0, 0.0]], [[1.0, 0.5]])[0]
    array([[0.5, 1. , 1.5]])
    """

    def __init__(self, degree: int = 1, extent=1.0, n_nodes=3):
        self.degree = degree
        self.extent = extent
        self.n_nodes = n_nodes

    is_affine = property(lambda self: True)

    @property
    def n_parameters(self) -> int:
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= 0):
            raise ValueError(f"degree must be an integer >= 0, got {self.degree!r}.")
        return int(self.degree) + 1

    def _apply(self, X, parameters):
        return X + (parameters @ self._polynomials(X.shape[1]))[:, None, :]

    def tangents(self, X):
        X = self.patterns(X)
        return np.repeat(self._polynomials(X.shape[1])[None], len(X), axis=0)

    def _polynomials(self, length: int) -> np.ndarray:
        if self.extent.shape != (self.n_parameters,):
            raise ValueError(f"extent has {self.extent.size} entries, and degree {self.degree} has {self.degree + 1}.")
        return np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, length), self.degree).T
