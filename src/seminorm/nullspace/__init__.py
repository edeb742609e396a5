"""Null spaces: what the regulariser leaves free, and the positive definite twins that follow from it."""

from .linear_algebra import independent_columns, project_kernel_matrix, unisolvent_subset
from .spaces import Columns, Features, NullSpace, Polynomials, Union, identifiable, null_space_for
from .twins import LagrangeBasis, ThinPlateTwin, Twin

__all__ = [
    *("NullSpace", "Polynomials", "Features", "Columns", "Union", "null_space_for", "identifiable"),
    *("independent_columns", "unisolvent_subset", "project_kernel_matrix", "LagrangeBasis", "Twin", "ThinPlateTwin"),
]
