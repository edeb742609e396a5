"""scikit-learn estimators that assemble kernels, null spaces, solvers and functions."""

from .field_smoother import FieldSmoother
from .smoother import Smoother
from .svc import SVC
from .svr import SVR

__all__ = ["FieldSmoother", "SVC", "SVR", "Smoother"]
