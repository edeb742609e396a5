"""Shapes as functions and as meshes: primitives, set operations, extraction of triangles."""

from .._base.lazy import lazy_exports
from . import set_operations as set_operations  # gives shapes their operators

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
