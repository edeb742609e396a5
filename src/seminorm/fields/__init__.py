"""Fields: functions of one to four coordinates in a multilevel basis, for up to millions of observations.

The semi-norm is that of ``Polyharmonic(m)``, the sum of squared derivatives of order m, integrated over a box larger
than the data. :class:`seminorm.FieldSmoother` fits fields to scattered data.
"""

from .basis import BasisField, fit_basis
from .field import Field
from .fit import Fit, Settings, fit_field, fit_levels
from .gaussian import GaussianBasis
from .posterior import Posterior
from .radial import RadialSplineBasis, curvature_centres
from .sources import Observations, Source

__all__ = [
    "BasisField",
    "Field",
    "Fit",
    "GaussianBasis",
    "Observations",
    "Posterior",
    "RadialSplineBasis",
    "Settings",
    "Source",
    "curvature_centres",
    "fit_basis",
    "fit_field",
    "fit_levels",
]
