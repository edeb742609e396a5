"""Kernel methods whose regulariser is a semi-norm: it measures roughness, leaves simple functions free, and knows its
symmetries.
"""

from ._lazy import lazy_names

_HOMES = {
    "EnclosingHypersphere": "estimators",
    "Expansion": "functions",
    "Field": "fields",
    "FieldSmoother": "estimators",
    "Functional": "functions",
    "KernelNeighbors": "estimators",
    "KernelPCA": "estimators",
    "KernelPerceptron": "estimators",
    "SVC": "estimators",
    "SVR": "estimators",
    "Smoother": "estimators",
    "Surface": "surfaces",
    "VirtualSVC": "estimators",
    "reconstruct": "surfaces",
    "__version__": "_version",
    **{name: name for name in ("estimators", "fields", "functions", "kernels", "nullspace", "plotting", "solvers")},
    "surfaces": "surfaces",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
