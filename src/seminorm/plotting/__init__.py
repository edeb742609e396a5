"""Pictures: how alpha was chosen, functions of the line and of the plane, cells of a field, decision boundaries,
kernels and their spectra.

They need matplotlib: ``pip install 'seminorm[plot]'``. Every function draws into the ``ax`` it is given, or into a new
figure, and returns the axes.
"""

from .._base.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
