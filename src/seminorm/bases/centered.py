"""What bases of functions around centres have in common."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array


class CenteredBasis(ABC):
    """Functions that belong to centres (p, d) and have widths; the attribute with the widths is named ``_widths``."""

    _widths: str

    def __init__(self, centers: ArrayLike):
        self.centers: np.ndarray = check_array(centers, dtype=np.float64, input_name="centers")

    def __repr__(self) -> str:
        widths = getattr(self, self._widths)
        return (
            f"<{type(self).__name__}: {self.size} functions in R^{self.dimension}, {self._widths} {widths.min():.3g} "
            f"to {widths.max():.3g}>"
        )

    @property
    def size(self) -> int:
        """The number of functions."""
        return len(self.centers)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.centers.shape[1]

    def parameters(self) -> dict[str, np.ndarray]:
        """What the constructor needs to build the basis again."""
        return {"centers": self.centers, self._widths: getattr(self, self._widths)}

    @abstractmethod
    def design(self, X: ArrayLike, derivative: int = 0) -> Any:
        """Values of all functions at X, or derivatives (n * d**derivative, p); see :meth:`GaussianBasis.design`."""

    def _points(self, X: ArrayLike, derivative: int) -> np.ndarray:
        """Points at which derivatives of order 0, 1 or 2 are wanted, checked."""
        points: np.ndarray = check_array(X, dtype=np.float64, input_name="X")
        if points.shape[1] != self.dimension:
            raise ValueError(f"X must have {self.dimension} columns as the centres have, got {points.shape[1]}.")
        if derivative not in (0, 1, 2):
            raise ValueError(f"derivative must be 0, 1 or 2, got {derivative!r}.")
        return points
