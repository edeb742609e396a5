"""Sets of transformations: of points, images and signals, and compositions of them."""

from ..._base.lazy import lazy_exports
from . import composition as composition  # says what A * B is, whichever module of the package is imported

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
