"""scikit-learn estimators that assemble kernels, null spaces, solvers and functions."""

from .smoother import Smoother
from .svc import SVC
from .svr import SVR

__all__ = ["SVC", "SVR", "Smoother"]
