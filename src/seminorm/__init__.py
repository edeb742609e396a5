"""Kernel methods whose regulariser is a semi-norm: it measures roughness, leaves simple functions free, and knows its
symmetries.
"""

from ._lazy import lazy_names

_MODULES = (
    "estimators",
    "fields",
    "functions",
    "invariance",
    "kernels",
    "nullspace",
    "operators",
    "plotting",
    "solvers",
    "surfaces",
)
_HOMES = {
    "EnclosingHypersphere": "estimators",
    "Expansion": "functions",
    "Field": "fields",
    "FieldSmoother": "estimators",
    "Functional": "functions",
    "ImplicitSVM": "estimators",
    "KernelNeighbors": "estimators",
    "KernelPCA": "estimators",
    "KernelPerceptron": "estimators",
    "SVC": "estimators",
    "SVR": "estimators",
    "SlabMachine": "estimators",
    "Smoother": "estimators",
    "Surface": "surfaces",
    "VirtualSVC": "estimators",
    "reconstruct": "surfaces",
    "__version__": "_version",
    **dict(zip(_MODULES, _MODULES, strict=True)),
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
