"""Invariances: sets of transformations, kernels that average over them, distances that minimise over them."""

from .._lazy import lazy_names

_TRANSFORMATIONS = {
    "finite": ("CallableTransformation", "Identity", "Permutations", "Reflection"),
    "composition": ("Composition",),
    "vectors": ("CurveShift", "ParallelCurve", "Rotation", "Scaling", "Shift", "SineWave"),
    "images": (
        *("Brightness", "ImageRotation", "ImageScaling", "ImageShear", "ImageShift", "LineThickness"),
        "seven_deformations",
    ),
    "signals": ("Amplitude", "Baseline", "SignalShift"),
    "base": ("Quadrature", "Transformation"),
}
_HOMES = {name: f"transformations.{home}" for home, names in _TRANSFORMATIONS.items() for name in names} | {
    "CompiledDistance": "distances.compiled",
    "DTW": "distances.warping",
    "DefiniteRepair": "definiteness",
    "Definiteness": "definiteness",
    "Distance": "distances.base",
    "DistanceKernel": "substitution",
    "Euclidean": "distances.euclidean",
    "Frechet": "distances.warping",
    "HaarFeatures": "haar",
    "ImageDistortion": "distances.distortion",
    "IntegrationKernel": "integration",
    "JitteringKernel": "substitution",
    "MinimumDistance": "distances.minimum",
    "PointSetDistance": "distances.point_sets",
    "Repair": "definiteness",
    "SubspaceDistance": "distances.subspace",
    "TangentDistance": "distances.tangent",
    "all_distances": "distances.registry",
    "distance": "distances.registry",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
