"""Normals of few points: those of the smoothest function."""

from ...._base.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
