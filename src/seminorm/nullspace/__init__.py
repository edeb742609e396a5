"""Null spaces: what the regulariser leaves free, and the positive definite twins that follow from it."""

from .cross_fitted import CrossFitted
from .linear_algebra import independent_columns, project_kernel_matrix, unisolvent_subset
from .registry import all_null_spaces, all_twins
from .spaces import Columns, Features, Frozen, NullSpace, Polynomials, UnionSpace, identifiable, null_space_for
from .twins import LagrangeBasis, SoftTwin, ThinPlateTwin, Twin, semidefinite_matrix

__all__ = ["Columns", "CrossFitted", "Features", "Frozen", "LagrangeBasis", "NullSpace", "Polynomials", "SoftTwin"]
__all__ += ["ThinPlateTwin", "Twin"]
__all__ += ["UnionSpace", "all_null_spaces", "all_twins", "identifiable", "independent_columns", "null_space_for"]
__all__ += ["project_kernel_matrix", "semidefinite_matrix", "unisolvent_subset"]
