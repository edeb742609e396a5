"""Fields: functions of one to four coordinates in a multilevel basis, for up to millions of observations.

The semi-norm is that of ``Polyharmonic(m)``, the sum of squared derivatives of order m, integrated over a box larger
than the data. :class:`seminorm.FieldSmoother` fits fields to scattered data.
"""

from .field import Field
from .fit import Fit, Settings, fit_field, fit_levels
from .posterior import Posterior
from .sources import Observations, Source

__all__ = ["Field", "Fit", "Observations", "Posterior", "Settings", "Source", "fit_field", "fit_levels"]
