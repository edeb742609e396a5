"""Invariances: sets of transformations, kernels that average over them, distances that minimise over them."""

from .._base.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
