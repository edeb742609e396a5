"""The registries of operators, of the kernels that operators make, and of the functions that these are made of."""

import numpy as np

from .._base.registry import Registry
from ..kernels import (
    BSpline,
    FeatureMap,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    PeriodicGaussian,
    RationalQuadratic,
    SpectralMixture,
    Wendland,
)
from . import kernel_operators as spectral
from .expansions import mercer
from .features import FeatureFunctions, HermiteFunctions, ProductFunctions, Sections, SelectedColumns, Waves
from .greens import GreensFunction
from .networks import network_kernel
from .operator import Exponential, Multiplier, Operator, OperatorPower, OperatorProduct, OperatorSum, derivatives
from .spectra import operator_of

_POINTS = np.linspace(0.0, 2.0, 7)[:, None]


def _sines(X: np.ndarray) -> np.ndarray:
    return np.sin(X * np.arange(1, 4))


def _cubic(omega: np.ndarray) -> np.ndarray:
    return 1.0 + np.abs(omega) ** 3


#: Regularisation operators by name; ``all_operators()`` gives one or more instances of each, for functions on the line.
all_operators: Registry[Operator] = Registry("operator")

all_operators.register(Operator, lambda: [Operator(_cubic)])
all_operators.register(
    Multiplier, lambda: [Multiplier((0.0, 1.0)), Multiplier((1.0, 2.0), 2.5, (0.3, 0.1), (((0.0, 1.0), 0.5),))]
)
all_operators.register(OperatorSum, lambda: [OperatorSum(derivatives(1), Multiplier((0.0, 1.0), 1.5))])
all_operators.register(OperatorProduct, lambda: [OperatorProduct(operator_of(Wendland()), derivatives(1))])
all_operators.register(OperatorPower, lambda: [OperatorPower(operator_of(Wendland()), 1.5)])
all_operators.register(Exponential, lambda: [Exponential(Multiplier((0.0, 1.0), 0.5))])
all_operators.register(spectral.KernelOperator, lambda: [spectral.KernelOperator(Wendland(4, 2.0), 1)])
all_operators.register(
    spectral.BesselOperator, lambda: [operator_of(InverseMultiquadric(0.7)), operator_of(RationalQuadratic(2.0))]
)
all_operators.register(spectral.SplineOperator, lambda: [spectral.SplineOperator(BSpline(3, 0.8), 1)])
all_operators.register(spectral.MixtureOperator, lambda: [operator_of(SpectralMixture())])
all_operators.register(spectral.SpectrumSum, lambda: [operator_of(Gaussian() + Laplacian())])
all_operators.register(spectral.StretchedOperator, lambda: [operator_of(Wendland().axis_scale(2.0))])

#: Kernels made by operators, by name; the examples are kernels on the line, those of GreensFunction in all dimensions.
all_operator_kernels: Registry[Kernel] = Registry("kernel of an operator")

all_operator_kernels.register(
    GreensFunction,
    lambda: [
        GreensFunction((1 + derivatives(1)) ** 3),
        GreensFunction((1 + derivatives(1)) * derivatives(1) ** 2),
        GreensFunction(OperatorSum(1 + derivatives(1), Multiplier((0.0, 1.0), 2.5))),
    ],
)
all_operator_kernels.register(
    FeatureMap,
    lambda: [
        network_kernel(Gaussian(0.5), derivatives(2), _POINTS),
        mercer(Gaussian(), 5, spread=1.0).eigensystem().kernel(exclude=[1]),
        mercer(PeriodicGaussian(period=3.0), 5).eigensystem().kernel(),
        mercer(Laplacian(), 4, measure=(_POINTS, None)).eigensystem().kernel(),
    ],
)

#: Systems of functions by name: the features of the kernels above. The examples take points on the line.
all_features: Registry[FeatureFunctions] = Registry("system of functions")

all_features.register(SelectedColumns, lambda: [SelectedColumns(_sines, (1, 2), 3)])
all_features.register(
    Sections, lambda: [Sections(Gaussian(), _POINTS, np.eye(7)[:, :2], derivative) for derivative in (0, 1)]
)
all_features.register(HermiteFunctions, lambda: [HermiteFunctions(4, 1.0, 0.5, 1.0)])
all_features.register(Waves, lambda: [Waves(2.0, (0, 2, 1))])
all_features.register(ProductFunctions, lambda: [ProductFunctions((Waves(2.0, (0, 1)),), np.array([[1], [0]]))])
