"""The registry of the kernels: the tests run over its examples, and saved files refer to kernels by its names."""

import numpy as np

from .._base.registry import Registry
from .algebra import AxisScale, OnColumns, Product, Scaled, Sum
from .base import Kernel
from .conditional_radial import Multiquadric, NegativeDistance, Polyharmonic, ThinPlate
from .dot_product import FeatureMap, Linear, Polynomial, PowerSeries
from .elastic import Elastic, VectorKernel
from .line import BSpline, Dirichlet, FourierSeries, PeriodicGaussian
from .linear_map import LinearMap
from .log_polar import LogPolar
from .positive_radial import Gaussian, InverseMultiquadric, Laplacian, Matern, RationalQuadratic, Wendland
from .spectral import SpectralMixture
from .tension import Tension


def _features(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), X[:, 0], np.sin(X).sum(axis=1)])


def _jacobian(X: np.ndarray) -> np.ndarray:
    first = np.zeros_like(X)
    first[:, 0] = 1.0
    return np.stack([np.zeros_like(X), first, np.cos(X)], axis=1)


#: Kernels by name; ``all_kernels()`` gives one or more instances of each, ``all_kernels.register(cls)`` adds one.
all_kernels: Registry[Kernel] = Registry("kernel")
_register = all_kernels.register
_register(Gaussian)
_register(Laplacian)
_register(Matern, lambda: [Matern(1.5, 0.8), Matern(2.5, 1.2)])
_register(InverseMultiquadric)
_register(RationalQuadratic)
_register(Wendland, lambda: [Wendland(2, 1.7), Wendland(4, 1.7)])
_register(
    SpectralMixture,
    lambda: [
        SpectralMixture((3.0,), 0.7, (1.0,)),
        SpectralMixture((0.0, 2.0, 5.0), (1.0, 0.4, 1.2), (1.0, 0.5, 0.25), dimension=3),
    ],
)
_register(ThinPlate)
_register(Polyharmonic, lambda: [Polyharmonic(order) for order in (1, 2, 3, 4)])
_register(Tension, lambda: [Tension(), Tension(0.3)])
_register(Multiquadric)
_register(NegativeDistance, lambda: [NegativeDistance(beta) for beta in (0.5, 1.0, 1.5)])
_register(Linear)
_register(Polynomial, lambda: [Polynomial(2, 0.0), Polynomial(3, 1.0, 0.5)])
_register(
    PowerSeries,
    lambda: [
        *(PowerSeries(series) for series in ("exp", "cosh", "sinh", (0.5, 1.0, 0.0, 0.25))),
        PowerSeries("sinh", kernel=Gaussian(0.7)),
    ],
)
_register(FeatureMap, lambda: [FeatureMap(_features, np.array([1.0, 0.5, 2.0]), _jacobian)])
_register(BSpline, lambda: [BSpline(1, 1.3), BSpline(3, 0.9), BSpline(5, 0.7)])
_register(Dirichlet, lambda: [Dirichlet(3), Dirichlet(10, period=3.0)])
_register(PeriodicGaussian, lambda: [PeriodicGaussian(0.3), PeriodicGaussian(1.4, period=2.0)])
_register(FourierSeries, lambda: [FourierSeries((0.5, 1.0, 0.0, 0.25)), FourierSeries((0.0, 1.0, 0.5), period=3.0)])
_register(LogPolar, lambda: [LogPolar(), LogPolar(Gaussian(0.5), Gaussian(0.8))])
_register(Sum, lambda: [Sum(Gaussian(), Linear()), Sum(ThinPlate(), 0.5 * Multiquadric())])
_register(Product, lambda: [Product(Gaussian(1.5), Matern(2.5)), Product(Gaussian(), Polynomial(2, 0.5))])
_register(Scaled, lambda: [Scaled(ThinPlate(), 2.5)])
_register(OnColumns, lambda: [OnColumns(Matern(2.5), [0]), OnColumns(NegativeDistance(1.5), [0])])
_register(LinearMap, list)  # its matrix fits one dimension only
_register(AxisScale, lambda: [AxisScale(Gaussian(), 0.6), AxisScale(ThinPlate(), 3.0)])

#: Kernels of vector fields by name; their points have the number of a component as last column.
all_vector_kernels: Registry[VectorKernel] = Registry("vector kernel")
all_vector_kernels.register(
    Elastic, lambda: [Elastic(nu, order) for nu, order in ((-1.0, 2), (0.25, 1.25), (0.5, 1.5), (1.0, 2), (0.5, 3))]
)
