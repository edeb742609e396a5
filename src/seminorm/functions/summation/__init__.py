"""Fast summation of kernels: near field, far field, and the tolerance that holds."""

from ..._base.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
