"""Fields: functions of one to four coordinates in a multilevel basis, for up to millions of observations.

The semi-norm is that of ``Polyharmonic(m)``, the sum of squared derivatives of order m, integrated over a box larger
than the data. :class:`seminorm.FieldSmoother` fits fields to scattered data.
"""

from .._base.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
