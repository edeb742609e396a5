"""The null space that an estimator's ``null_space`` names."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lstsq
from sklearn.base import clone

from ..kernels.base import Kernel
from ..kernels.elastic import VectorKernel
from .components import PerComponent, RigidMotions
from .spaces import Columns, Features, NullSpace, Polynomials


def null_space_for(specification: Any, kernel: Kernel, X: np.ndarray, y: Any = None) -> NullSpace:
    """The fitted null space that an estimator's ``null_space`` names, checked to be large enough for the kernel.

    Parameters
    ----------
    specification : "auto", None, int, sequence of int, callable, transformer or NullSpace
        "auto" means the polynomials of the kernel's ``null_degree``, None nothing, an integer the polynomials of that
        degree, a sequence the constant and these columns of X, a callable or transformer the user's features.
    kernel, X : Kernel, array (n, d)
    y : array (n,), optional
        Targets, for features that learn from them.

    Returns
    -------
    NullSpace

    See Also
    --------
    Polynomials

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import ThinPlate
    >>> from seminorm.nullspace import null_space_for
    >>> null_space_for("auto", ThinPlate(), np.eye(2))
    Polynomials()
    """
    space = _interpret(specification, kernel)
    if isinstance(kernel, VectorKernel) and not isinstance(space, (PerComponent, RigidMotions)):
        space = PerComponent(space, kernel.components)
    space = space.fit(X, y)
    own = kernel.own_null_space()
    if own is not None:
        if not (isinstance(specification, str) or _contains(space, own.fit(X), X)):
            raise ValueError(
                f"null_space must contain {own!r}, beside which {kernel!r} is positive, and {specification!r} does "
                "not: use null_space='auto', or join them with |."
            )
        return space
    needed = kernel.cpd_order - 1
    if space.degree < needed and not _contains(space, _smallest(kernel, needed).fit(X), X):
        raise ValueError(
            f"null_space must contain the polynomials of degree {needed}, because {kernel!r} is conditionally "
            f"positive definite of order {kernel.cpd_order}, and {specification!r} does not: use null_space='auto', "
            f"or join it: Polynomials({needed}) | Features(...)."
        )
    return space


def _interpret(specification: Any, kernel: Kernel) -> NullSpace:
    if isinstance(specification, str) and specification == "auto":
        return free_functions(kernel)
    if specification is None:
        return Polynomials(-1)
    if isinstance(specification, NullSpace):
        joined = getattr(specification, "joins_polynomials", False)
        return free_functions(kernel, 0) | clone(specification) if joined else clone(specification)
    if isinstance(specification, (int, np.integer)) and not isinstance(specification, bool):
        return Polynomials(int(specification))
    if callable(specification) or hasattr(specification, "transform"):
        return Features(specification)
    if isinstance(specification, (list, tuple, np.ndarray)):
        return Polynomials(0) | Columns(specification)
    raise ValueError(
        "null_space must be 'auto', None, a degree, a list of columns, a callable or transformer, or a NullSpace "
        f"such as Polynomials(1) | Features(f), got {specification!r}."
    )


def free_functions(kernel: Kernel, least: int = -1) -> NullSpace:
    """What a kernel leaves free by default, not fitted: polynomials of its ``null_degree``, or of degree ``least`` if
    that is larger; or functions of its own, such as averages of polynomials."""
    own = kernel.own_null_space()
    return Polynomials(max(kernel.null_degree, least)) if own is None else own


def _smallest(kernel: Kernel, degree: int) -> NullSpace:
    """The polynomials of a degree."""
    smaller = _interpret(degree, kernel)
    return PerComponent(smaller, kernel.components) if isinstance(kernel, VectorKernel) else smaller


def _contains(space: NullSpace, smaller: NullSpace, X: np.ndarray) -> bool:
    """Whether, on the points X, all functions of a smaller space are in the space."""
    target, basis = smaller(X), space(X)
    if basis.shape[1] == 0:
        return False
    residual = target - basis @ lstsq(basis, target)[0]
    return bool(np.abs(residual).max() < 1e-8 * max(np.abs(target).max(), 1e-300))
