"""Fields: functions of one to four coordinates in a multilevel basis, for up to millions of observations.

The semi-norm is that of ``Polyharmonic(m)``, the sum of squared derivatives of order m, integrated over a box larger
than the data. :class:`seminorm.FieldSmoother` fits fields to scattered data.
"""

from .._lazy import lazy_names

_HOMES = {
    "BasisField": "basis",
    "Field": "field",
    "Fit": "fit",
    "GaussianBasis": "gaussian",
    "Observations": "sources",
    "Posterior": "posterior",
    "RadialSplineBasis": "radial",
    "Settings": "fit",
    "Source": "sources",
    "curvature_centres": "radial",
    "fit_basis": "basis",
    "fit_field": "fit",
    "fit_levels": "fit",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
