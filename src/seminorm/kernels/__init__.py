"""Kernels: what a function looks like, its order, its symmetries, its derivatives."""

from .algebra import AxisScale, OnColumns, Product, Scaled, Sum
from .base import Kernel
from .conditional_radial import Multiquadric, NegativeDistance, Polyharmonic, ThinPlate
from .dot_product import FeatureMap, Linear, Polynomial, PowerSeries
from .line import BSpline, Dirichlet, FourierSeries, PeriodicGaussian
from .log_polar import LogPolar
from .positive_radial import Gaussian, InverseMultiquadric, Laplacian, Matern, RationalQuadratic, Wendland
from .radial import Radial
from .spectral import SpectralMixture

_CLASSES = (
    *(Gaussian, Laplacian, Matern, InverseMultiquadric, RationalQuadratic, Wendland, SpectralMixture),
    *(ThinPlate, Polyharmonic, Multiquadric, NegativeDistance),
    *(Linear, Polynomial, PowerSeries, FeatureMap),
    *(BSpline, Dirichlet, PeriodicGaussian, FourierSeries, LogPolar),
    *(Sum, Product, Scaled, OnColumns, AxisScale),
)


def all_kernels() -> list[Kernel]:
    """One or more instances of every kernel class: the registry that the tests run over."""
    return [kernel for kind in _CLASSES for kernel in kind.examples()]


__all__ = [kind.__name__ for kind in _CLASSES] + ["Kernel", "Radial", "all_kernels"]
