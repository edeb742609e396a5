"""Kernel methods whose regulariser is a semi-norm: it measures roughness, leaves simple functions free, and knows its
symmetries.
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

try:
    __version__ = _version("seminorm")
except PackageNotFoundError:  # running from a source tree that was not installed
    __version__ = "0+unknown"

# public name -> where it lives; nothing is imported before it is asked for (PEP 562)
_LAZY = {
    "FieldSmoother": "estimators",
    "SVC": "estimators",
    "SVR": "estimators",
    "Smoother": "estimators",
    "Expansion": "functions",
    "Field": "fields",
    "Functional": "functions",
}
_MODULES = ("estimators", "fields", "functions", "kernels", "nullspace", "plotting", "solvers")

__all__ = [*_LAZY, *_MODULES, "__version__"]


def __getattr__(name: str):
    if name in _LAZY:
        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
