"""All distances by name; their examples take patterns of 12 numbers.

>>> from seminorm.invariance import all_distances
>>> all_distances["DTW"](window=5)
DTW(window=5)
"""

import numpy as np

from ..._base.registry import Registry
from ..transformations.finite import Reflection
from ..transformations.vectors import Rotation, Shift
from .base import Distance, Euclidean
from .distortion import ImageDistortion
from .minimum import MinimumDistance
from .point_sets import PointSetDistance
from .subspace import SubspaceDistance
from .tangent import TangentDistance
from .user import UserDistance
from .warping import DTW, Frechet


def _city_block(x: np.ndarray, y: np.ndarray) -> float:
    return np.abs(x - y).sum()


all_distances: Registry[Distance] = Registry("distance")
_register = all_distances.register
_register(Euclidean)
_register(
    MinimumDistance,
    lambda: [
        MinimumDistance(Shift(np.eye(12)[0], extent=0.5)),
        MinimumDistance(Rotation(extent=0.5) * Reflection(0), regularization=0.1, two_sided=False),
        MinimumDistance(Reflection(0), regularization=0.1, base=SubspaceDistance()),
    ],
)
_register(
    TangentDistance,
    lambda: [TangentDistance((3, 4)), TangentDistance((3, 4), sides=1), TangentDistance(transformation=Rotation())],
)
_register(ImageDistortion, lambda: [ImageDistortion((3, 4))])
_register(DTW, lambda: [DTW(), DTW(window=0.2), DTW(window=3, squared=True)])
_register(Frechet)
_register(SubspaceDistance, lambda: [SubspaceDistance(), SubspaceDistance(baseline_degree=1, scale=True)])
_register(
    PointSetDistance,
    lambda: [
        PointSetDistance(n_points=6),
        PointSetDistance(n_points=4, dimension=3, reflections=True),
        PointSetDistance(n_points=6, matching=True),
    ],
)
_register(UserDistance, lambda: [UserDistance(_city_block)])
