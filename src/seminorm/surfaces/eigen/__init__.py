"""Research code: surfaces and orientations of points without normals, as eigenvectors [Walder 2008, 4.4].

Nothing else in the package depends on this room. :func:`seminorm.reconstruct` estimates and orients normals instead,
which is faster and at least as good (``docs/points_alone.md``). The room stays because it reproduces the source, and
for experiments.
"""

from ..._base.lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
