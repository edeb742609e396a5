"""scikit-learn estimators that assemble kernels, null spaces, solvers and functions."""

from .smoother import Smoother

__all__ = ["Smoother"]
