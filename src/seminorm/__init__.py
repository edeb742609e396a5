"""Kernel methods whose regulariser is a semi-norm: it measures roughness, leaves simple functions free, and knows its
symmetries.
"""

from ._base.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
