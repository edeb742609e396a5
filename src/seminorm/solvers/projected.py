"""A kernel matrix beside its null space, and the functions of its combinations."""

from __future__ import annotations

import numpy as np

from .machines import FreeMachine


class ProjectedKernel(FreeMachine):
    """K = Pi Phi Pi + c Q Q' with Q an orthonormal basis of the null space on the data, c the mean eigenvalue of the
    first part.
    """

    def definite_part(self) -> np.ndarray:
        """Pi Phi Pi."""
        projected = self.K - (self._filling() * self.Q) @ self.Q.T
        return 0.5 * (projected + projected.T)

    @property
    def rounding(self) -> float:
        """How large rounding errors of eigenvalues may be: relative to what was projected out, too."""
        size = max(float(np.abs(self.PhiQ).max(initial=0.0)), abs(self._filling()))
        return len(self.K) * np.finfo(float).eps * size

    def functions(self, combinations: np.ndarray, filled: bool) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n, k) of the kernel and (p, k) of the null space of the functions with values K a, or
        Pi Phi Pi a where it is not to be filled, for the columns a of ``combinations``.
        """
        along = self.Q.T @ combinations
        dual = combinations - self.Q @ along
        null = self._filling() * along if filled else np.zeros_like(along)
        return dual, self.expand(np.arange(len(dual)), dual, null, None).null

    def _filling(self) -> float:
        return float(self.Q[:, 0] @ self.K @ self.Q[:, 0]) if self.Q.shape[1] else 0.0
