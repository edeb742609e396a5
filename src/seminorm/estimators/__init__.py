"""scikit-learn estimators that assemble kernels, null spaces, solvers and functions."""

from .enclosing_hypersphere import EnclosingHypersphere
from .field_smoother import FieldSmoother
from .implicit_svm import ImplicitSVM
from .kernel_neighbors import KernelNeighbors
from .kernel_pca import KernelPCA
from .kernel_perceptron import KernelPerceptron
from .slab import SlabMachine
from .smoother import Smoother
from .svc import SVC
from .svr import SVR
from .virtual_svc import VirtualSVC

__all__ = [
    "EnclosingHypersphere",
    "FieldSmoother",
    "ImplicitSVM",
    "KernelNeighbors",
    "KernelPCA",
    "KernelPerceptron",
    "SVC",
    "SVR",
    "SlabMachine",
    "Smoother",
    "VirtualSVC",
]
