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
from .chamfer import Chamfer
from .distortion import ImageDistortion
from .edits import EDR, ERP, LCSS, MSM, TWE
from .minimum import MinimumDistance
from .point_sets import PointSetDistance
from .soft import SoftDTW
from .subspace import SubspaceDistance
from .symbols import Levenshtein
from .tangent import TangentDistance
from .user import UserDistance
from .warping import ADTW, DTW, DerivativeDTW, Frechet, ShapeDTW, WeightedDTW


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
_register(Frechet, lambda: [Frechet(), Frechet(window=0.2)])
_register(DerivativeDTW, lambda: [DerivativeDTW(), DerivativeDTW(window=0.2)])
_register(WeightedDTW, lambda: [WeightedDTW(), WeightedDTW(0.5, window=0.5)])
_register(ADTW, lambda: [ADTW(), ADTW(0.1, window=4)])
_register(ShapeDTW, lambda: [ShapeDTW(2), ShapeDTW(window=0.3)])
_register(ERP, lambda: [ERP(), ERP(1.0, window=3)])
_register(LCSS, lambda: [LCSS(), LCSS(0.2, window=0.25)])
_register(EDR, lambda: [EDR(), EDR(0.3, window=0.25)])
_register(TWE, lambda: [TWE(), TWE(0.1, 0.3, window=3)])
_register(MSM, lambda: [MSM(), MSM(0.1, window=3)])
_register(SoftDTW, lambda: [SoftDTW(), SoftDTW(0.1, window=0.3)])
_register(SubspaceDistance, lambda: [SubspaceDistance(), SubspaceDistance(baseline_degree=1, scale=True)])
_register(
    PointSetDistance,
    lambda: [
        PointSetDistance(n_points=6),
        PointSetDistance(n_points=4, dimension=3, reflections=True),
        PointSetDistance(n_points=6, matching=True),
    ],
)
_register(Chamfer, lambda: [Chamfer(), Chamfer("largest")])
_register(Levenshtein, lambda: [Levenshtein(), Levenshtein(0.5, normalized=True)])
_register(UserDistance, lambda: [UserDistance(_city_block)])
