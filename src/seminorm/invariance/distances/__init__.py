"""Distances of patterns that know which differences do not matter."""

from ..._lazy import lazy_names

_HOMES = {
    "Distance": "base",
    "Euclidean": "euclidean",
    "MinimumDistance": "minimum",
    "TangentDistance": "tangent",
    "ImageDistortion": "distortion",
    "DTW": "warping",
    "Frechet": "warping",
    "SubspaceDistance": "subspace",
    "PointSetDistance": "point_sets",
    "CompiledDistance": "compiled",
    "all_distances": "registry",
    "distance": "registry",
}

__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
