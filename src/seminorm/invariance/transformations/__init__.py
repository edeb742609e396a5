"""Sets of transformations: of points, images and signals, and compositions of them."""

from ..._lazy import lazy_names

_HOMES = {
    "Amplitude": "signals",
    "Baseline": "signals",
    "Brightness": "images",
    "CallableTransformation": "finite",
    "Composition": "composition",
    "CurveShift": "vectors",
    "Identity": "finite",
    "ImageRotation": "images",
    "ImageScaling": "images",
    "ImageShear": "images",
    "ImageShift": "images",
    "LineThickness": "images",
    "ParallelCurve": "vectors",
    "Permutations": "finite",
    "Quadrature": "base",
    "Reflection": "finite",
    "Rotation": "vectors",
    "Scaling": "vectors",
    "Shift": "vectors",
    "SignalShift": "signals",
    "SineWave": "vectors",
    "Transformation": "base",
    "seven_deformations": "images",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
