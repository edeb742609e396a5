"""scikit-learn estimators that assemble kernels, null spaces, solvers and functions."""

from .smoother import Smoother
from .svc import SVC

__all__ = ["SVC", "Smoother"]
