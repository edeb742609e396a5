"""Rank, unisolvent points and projections of null-space matrices P[i, j] = p_j(x_i)."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, svd


def independent_columns(P: np.ndarray, tolerance: float = 1e-13) -> np.ndarray | None:
    """None if P has full column rank, else an orthonormal basis (p, r) of its row space.

    The rank is that of P with columns of unit length, so that it does not depend on units of measurement.

    Parameters
    ----------
    P : array (n, p)
        Functions of a null space at n points.
    tolerance : float
        Relative size below which a direction counts as missing.

    Returns
    -------
    array (p, r) or None

    See Also
    --------
    unisolvent_subset

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.nullspace import independent_columns
    >>> independent_columns(np.eye(3)) is None, independent_columns(np.ones((5, 2))).shape
    (True, (2, 1))
    """
    if P.shape[1] == 0:
        return None
    lengths = np.linalg.norm(P, axis=0)
    largest = lengths.max()
    lengths[lengths <= tolerance * largest] = np.inf
    diagonal = np.abs(np.diag(qr(P / lengths, mode="r", pivoting=True)[0]))
    rank = int((diagonal > max(tolerance, max(P.shape) * np.finfo(float).eps) * max(diagonal[0], 1e-300)).sum())
    if rank == P.shape[1]:
        return None
    return svd(P, full_matrices=False)[2][:rank].T


def unisolvent_subset(P: np.ndarray) -> np.ndarray:
    """Indices of r rows of P that determine the coefficients well: pivoted QR of an orthonormal basis.

    Parameters
    ----------
    P : array (n, r)
        Functions of a null space at n points, of full column rank.

    Returns
    -------
    array (r,) of int

    See Also
    --------
    independent_columns, LagrangeBasis

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.nullspace import Polynomials, unisolvent_subset
    >>> x = np.linspace(0, 1, 11)[:, None]
    >>> unisolvent_subset(Polynomials(1).fit(x)(x)).tolist()  # the ends determine a straight line best
    [0, 10]
    """
    n, size = P.shape
    if size == 0:
        return np.empty(0, dtype=int)
    if n < size or independent_columns(P) is not None:
        raise ValueError(
            f"no unisolvent subset: {n} points do not determine the {size} functions of the null space. Give more "
            "points in general position."
        )
    orthonormal = qr(P, mode="economic")[0]
    return np.sort(qr(orthonormal.T, mode="r", pivoting=True)[1][:size])


def project_kernel_matrix(K: ArrayLike, P: ArrayLike) -> np.ndarray:
    """(1 - Q Q') K (1 - Q Q') with Q an orthonormal basis of the columns of P [Smola et al. 1998, examples 12 and 13].

    Positive semi-definite if K is conditionally so with respect to the span of P; centring if P is a column of ones.

    Parameters
    ----------
    K : array (n, n); a kernel matrix
    P : array (n, p)
        The functions to project out, at the same points.

    Returns
    -------
    array (n, n)

    See Also
    --------
    semidefinite_matrix

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.kernels import NegativeDistance
    >>> from seminorm.nullspace import project_kernel_matrix
    >>> project_kernel_matrix(NegativeDistance()([[0.0], [1.0]]), np.ones((2, 1))).round(3)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    matrix, basis = np.asarray(K, dtype=float), np.asarray(P, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or basis.ndim != 2 or len(basis) != len(matrix):
        raise ValueError(f"K must be (n, n) and P (n, p), got shapes {matrix.shape} and {basis.shape}.")
    combinations = independent_columns(basis)
    Q = qr(basis if combinations is None else basis @ combinations, mode="economic")[0]
    half = Q @ (Q.T @ matrix)
    projected = matrix - half - half.T + (half @ Q) @ Q.T
    return 0.5 * (projected + projected.T)
