"""What every way to estimate normals returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """Unit normals (n, 3) with confidence (n,) in [0, 1], what decided their signs, from how many neighbours they come,
    and what else there is to tell."""

    normals: np.ndarray
    confidence: np.ndarray
    oriented: str
    n_neighbors: int
    details: dict[str, Any]
