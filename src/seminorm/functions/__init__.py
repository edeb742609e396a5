"""Functions: the answer of every method here, with value, gradient, Hessian and semi-norm."""

from .._base.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
