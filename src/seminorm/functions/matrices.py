"""The matrices that functionals make with kernels and null spaces."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..kernels.base import Kernel
from ..nullspace.spaces import NullSpace
from .functionals import Functional, Term


def gram(kernel: Kernel, functionals: Sequence[Functional]) -> np.ndarray:
    """The matrix of L_i L_j phi for a kernel and N functionals in all [Walder 2008, lemma 4.3.1]: the first
    functional acts on the first argument of the kernel, the second on the second.

    Parameters
    ----------
    kernel, functionals : Kernel
        Sequence of Functional.

    Returns
    -------
    array (N, N)

    See Also
    --------
    cross, design

    Examples
    --------
    >>> from seminorm.functions import Functional, gram
    >>> from seminorm.kernels import Gaussian
    >>> gram(Gaussian(), [Functional.values([[0.0]]), Functional.gradients([[0.0]])])
    array([[1., 0.],
           [0., 1.]])
    """
    if len(functionals) == 1 and _is_plain(functionals[0]):
        return kernel(functionals[0].points)
    ends = np.cumsum([functional.size for functional in functionals])
    matrix = np.empty((ends[-1], ends[-1]))
    for i, first in enumerate(functionals):
        for j, second in enumerate(functionals[i:], start=i):
            rows, columns = slice(ends[i] - first.size, ends[i]), slice(ends[j] - second.size, ends[j])
            block = _block(kernel, first, second)
            matrix[rows, columns] = block
            matrix[columns, rows] = block.T
    return matrix


def cross(kernel: Kernel, functionals: Sequence[Functional], X: ArrayLike | Functional) -> np.ndarray:
    """The matrix of L_i phi(., X_j) for N functionals in all and points X, or L_i M_j phi for other functionals M.

    Parameters
    ----------
    kernel, functionals, X : Kernel
        Sequence of Functional, array (n, d) or Functional of size n.

    Returns
    -------
    array (N, n)

    See Also
    --------
    gram, design

    Examples
    --------
    >>> from seminorm.functions import Functional, cross
    >>> from seminorm.kernels import Gaussian
    >>> cross(Gaussian(), [Functional.values([[0.0], [1.0]])], [[0.0]]).shape
    (2, 1)
    """
    points = X if isinstance(X, Functional) else Functional(X)
    return np.concatenate([_block(kernel, functional, points) for functional in functionals])


def design(space: NullSpace, functionals: Sequence[Functional]) -> np.ndarray:
    """The matrix of L_i p_j for the basis functions p_j of a fitted null space and N functionals in all.

    Parameters
    ----------
    space, functionals : NullSpace
        Sequence of Functional.

    Returns
    -------
    array (N, p)

    See Also
    --------
    gram, cross

    Examples
    --------
    >>> from seminorm.functions import Functional, design
    >>> from seminorm.nullspace import Polynomials
    >>> design(Polynomials(0).fit([[0.0], [1.0]]), [Functional.average([[0.0], [1.0]])])
    array([[1.]])
    """
    return np.concatenate([sum(_design(space, term) for term in functional.terms) for functional in functionals])


def _design(space: NullSpace, term: Term) -> np.ndarray:
    tensor = np.moveaxis(space.derivative(term.points, term.derivative), 1, -1)
    return term.combine(tensor.reshape(math.prod(tensor.shape[:-1]), tensor.shape[-1]))


def _is_plain(functional: Functional) -> bool:
    return len(functional.terms) == 1 and functional.derivative == 0 and functional.terms[0].matrix is None


def _block(kernel: Kernel, first: Functional, second: Functional) -> np.ndarray:
    blocks = (_term_block(kernel, one, other) for one in first.terms for other in second.terms)
    total = next(blocks)
    for block in blocks:
        total = total + block
    return total


def _term_block(kernel: Kernel, first: Term, second: Term) -> np.ndarray:
    tensor = kernel.derivative(first.points, second.points, x=first.derivative, y=second.derivative)
    # (points, derivatives of the first, points, derivatives of the second)
    tensor = np.moveaxis(tensor, 1, 1 + first.derivative)
    block = first.combine(tensor.reshape(first.width, -1))
    return second.combine(block.T).T
