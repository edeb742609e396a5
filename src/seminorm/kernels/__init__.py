"""Kernels: what a function looks like, its order, its symmetries, its derivatives."""

from .algebra import AxisScale, OnColumns, Product, Scaled, Sum
from .base import Kernel
from .conditional_radial import Multiquadric, NegativeDistance, Polyharmonic, ThinPlate
from .dot_product import FeatureMap, Linear, Polynomial, PowerSeries
from .elastic import Elastic, VectorKernel
from .line import BSpline, Dirichlet, FourierSeries, PeriodicGaussian
from .linear_map import LinearMap
from .log_polar import LogPolar
from .positive_radial import Gaussian, InverseMultiquadric, Laplacian, Matern, RationalQuadratic, Wendland
from .radial import Radial
from .registry import all_kernels, all_vector_kernels
from .spectral import SpectralMixture
from .tension import Tension

__all__ = [
    "AxisScale",
    "BSpline",
    "Dirichlet",
    "Elastic",
    "FeatureMap",
    "FourierSeries",
    "Gaussian",
    "InverseMultiquadric",
]
__all__ += ["Kernel", "Laplacian", "Linear", "LinearMap", "LogPolar", "Matern", "Multiquadric", "NegativeDistance"]
__all__ += ["OnColumns", "PeriodicGaussian", "Polyharmonic", "Polynomial", "PowerSeries", "Product", "Radial"]
__all__ += ["RationalQuadratic", "Scaled", "SpectralMixture", "Sum", "Tension", "ThinPlate", "VectorKernel", "Wendland"]
__all__ += ["all_kernels", "all_vector_kernels"]
