"""Null spaces: what the regulariser leaves free, and the positive definite twins that follow from it."""

from .additive import PolynomialSum
from .components import PerComponent, RigidMotions
from .cross_fitted import CrossFitted
from .linear_algebra import independent_columns, project_kernel_matrix, unisolvent_subset
from .registry import all_null_spaces, all_twins, all_vector_null_spaces
from .spaces import Columns, Features, Frozen, NullSpace, Polynomials, UnionSpace, identifiable
from .specification import null_space_for
from .twins import LagrangeBasis, SoftTwin, ThinPlateTwin, Twin, semidefinite_matrix

__all__ = ["Columns", "CrossFitted", "Features", "Frozen", "LagrangeBasis", "NullSpace", "PerComponent"]
__all__ += ["PolynomialSum", "Polynomials", "RigidMotions", "SoftTwin", "ThinPlateTwin", "Twin"]
__all__ += ["UnionSpace", "all_null_spaces", "all_twins", "all_vector_null_spaces", "identifiable"]
__all__ += ["independent_columns", "null_space_for"]
__all__ += ["project_kernel_matrix", "semidefinite_matrix", "unisolvent_subset"]
