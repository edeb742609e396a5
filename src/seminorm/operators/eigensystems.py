"""Kernels from the discrete eigensystem of a regularisation operator (seed 003, proposition 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ..kernels import FeatureMap
from ..nullspace import Features


@dataclass(frozen=True)
class SelectedColumns:
    """Some of the functions of a basis: a callable that can be pickled, copied and compared.

    ``functions`` maps X to an array whose second axis numbers ``size`` functions; ``columns`` are the ones kept.
    """

    functions: Callable[[np.ndarray], np.ndarray]
    columns: tuple[int, ...]
    size: int

    def __call__(self, X) -> np.ndarray:
        values = np.asarray(self.functions(X), dtype=float)
        if values.ndim < 2 or values.shape[:2] != (np.shape(X)[0], self.size):
            raise ValueError(
                f"functions must map X (n, d) to an array ({np.shape(X)[0]}, {self.size}, ...), one column for each "
                f"eigenvalue, got shape {values.shape}."
            )
        return values[:, list(self.columns)]


@dataclass(frozen=True, eq=False)
class Eigensystem:
    """The eigenvalues and orthonormal eigenfunctions of P*P for a regularisation operator P.

    With k(x, y) = sum_l delta_l / Lambda_l Psi_l(x) Psi_l(y), delta_l being 0 or 1, the functions Pk(x, .) have the
    inner products <Pk(x, .), Pk(y, .)> = k(x, y): minimising with the kernel k penalises |Pf|^2 (seed 003, (13) and
    (18)). Eigenfunctions with Lambda_l = 0 are not penalised: they form the null space.

    Parameters
    ----------
    eigenvalues : array (L,)
        Lambda_l >= 0.
    functions : callable
        Maps X (n, d) to the values of the eigenfunctions (n, L).
    jacobian : callable, optional
        Maps X to their derivatives (n, L, d); needed for gradients only.

    Examples
    --------
    The second derivative on the circle: 1 is free, cos(l x) and sin(l x) cost l^4.

    >>> import numpy as np
    >>> from seminorm.operators.eigensystems import Eigensystem
    >>> def waves(X):
    ...     angles = X * np.arange(1, 4)
    ...     return np.hstack([np.ones_like(X) / np.sqrt(2), np.cos(angles), np.sin(angles)]) / np.sqrt(np.pi)
    >>> circle = Eigensystem([0, 1, 16, 81, 1, 16, 81], waves)
    >>> circle.kernel()([[0.0]]).round(4)  # (1 + 1/16 + 1/81) / pi
    array([[0.3421]])
    >>> circle.seminorm([5.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    2.0
    """

    eigenvalues: np.ndarray
    functions: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray] | None = None

    def __post_init__(self):
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

        Excluded functions are not in the space of the kernel; those with Lambda_l = 0 belong into the null space.
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

    def seminorm(self, coefficients) -> float | np.ndarray:
        """|Pf| = sqrt(sum_l Lambda_l c_l^2) of f = sum_l c_l Psi_l; one value for each row of coefficients (..., L)."""
        coefficients = np.asarray(coefficients, dtype=float)
        if coefficients.ndim == 0 or coefficients.shape[-1] != len(self.eigenvalues):
            raise ValueError(
                f"coefficients must have {len(self.eigenvalues)} entries along the last axis, got shape "
                f"{coefficients.shape}."
            )
        norms = np.sqrt((self.eigenvalues * coefficients**2).sum(axis=-1))
        return float(norms) if norms.ndim == 0 else norms

    def _chosen(self, functions, mask: np.ndarray) -> SelectedColumns | None:
        if functions is None:
            return None
        return SelectedColumns(functions, tuple(np.flatnonzero(mask).tolist()), len(mask))
