"""Kernels from the discrete eigensystem of a regularisation operator [Smola et al. 1998, proposition 2]."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..kernels import FeatureMap
from ..nullspace import Features
from .features import SelectedColumns


@dataclass(frozen=True, eq=False)
class Eigensystem:
    """The eigenvalues and orthonormal eigenfunctions of P*P for a regularisation operator P.

    With k(x, y) = sum_l delta_l / Lambda_l Psi_l(x) Psi_l(y), delta_l being 0 or 1, the functions Pk(x, .) have the
    inner products <Pk(x, .), Pk(y, .)> = k(x, y): minimising with the kernel k penalises |Pf|^2
    [Smola et al. 1998, (13), (18)]. Eigenfunctions with Lambda_l = 0 are not penalised: they form the null space.

    Parameters
    ----------
    eigenvalues : array (L,)
        Lambda_l >= 0.
    functions, jacobian : callables
        Map X (n, d) to the values of the eigenfunctions (n, L), and to their derivatives (n, L, d). The second is
        optional, and needed for gradients only.

    See Also
    --------
    mercer

    Examples
    --------
    The second derivative on the circle: 1 is free, cos(l x) and sin(l x) cost l^4.

    >>> import numpy as np
    >>> from seminorm.operators import Eigensystem
    >>> def waves(X):
    ...     angles = X * np.arange(1, 4)
    ...     return np.hstack([np.ones_like(X) / np.sqrt(2), np.cos(angles), np.sin(angles)]) / np.sqrt(np.pi)
    >>> circle = Eigensystem([0, 1, 16, 81, 1, 16, 81], waves)
    >>> circle.seminorm([5.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    2.0
    """

    eigenvalues: np.ndarray
    functions: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray] | None = None

    def __post_init__(self) -> None:
        eigenvalues = np.array(self.eigenvalues, dtype=float)
        if eigenvalues.ndim != 1 or len(eigenvalues) == 0 or not np.isfinite(eigenvalues).all():
            raise ValueError(
                f"eigenvalues must be a non-empty sequence of finite numbers, got shape {eigenvalues.shape}."
            )
        if (eigenvalues < 0).any():
            raise ValueError(
                f"eigenvalues of P*P must be >= 0, got {eigenvalues.min():g} at {int(eigenvalues.argmin())}."
            )
        if not callable(self.functions):
            raise ValueError(f"functions must be a callable that maps X (n, d) to (n, L), got {self.functions!r}.")
        eigenvalues.flags.writeable = False
        object.__setattr__(self, "eigenvalues", eigenvalues)

    def kernel(self, exclude: Iterable[int] = ()) -> FeatureMap:
        """The kernel sum_l Psi_l(x) Psi_l(y) / Lambda_l over the penalised eigenfunctions that are not excluded.

        Excluded functions are not in the space of the kernel; those with Lambda_l = 0 belong in the null space.
        """
        kept = self.eigenvalues > 0
        excluded = np.asarray(list(exclude), dtype=float)
        if excluded.size and not np.isin(excluded, np.arange(len(kept))).all():
            raise ValueError(f"exclude must hold indices from 0 to {len(kept) - 1}, got {list(exclude)!r}.")
        kept[excluded.astype(int)] = False
        if not kept.any():
            raise ValueError(
                "no penalised eigenfunction is left for the kernel: exclude fewer of them, or add eigenvalues > 0."
            )
        return FeatureMap(
            self._chosen(self.functions, kept), 1.0 / self.eigenvalues[kept], self._chosen(self.jacobian, kept)
        )

    def null_space(self) -> Features | None:
        """The span of the eigenfunctions with Lambda_l = 0, or None if there are none."""
        free = self.eigenvalues == 0
        if not free.any():
            return None
        return Features(self._chosen(self.functions, free), self._chosen(self.jacobian, free))

    def seminorm(self, coefficients: ArrayLike) -> float | np.ndarray:
        """|Pf| = sqrt(sum_l Lambda_l c_l^2) of f = sum_l c_l Psi_l; one value for each row of coefficients (..., L)."""
        coefficients = np.asarray(coefficients, dtype=float)
        if coefficients.ndim == 0 or coefficients.shape[-1] != len(self.eigenvalues):
            raise ValueError(
                f"coefficients must have {len(self.eigenvalues)} entries along the last axis, got shape "
                f"{coefficients.shape}."
            )
        norms = np.sqrt((self.eigenvalues * coefficients**2).sum(axis=-1))
        return float(norms) if norms.ndim == 0 else norms

    def _chosen(self, functions: Callable | None, mask: np.ndarray) -> SelectedColumns | None:
        if functions is None:
            return None
        return SelectedColumns(functions, tuple(np.flatnonzero(mask).tolist()), len(mask))
