"""All sets of transformations by name; their examples take patterns of 12 numbers, or images of 3 x 4 pixels.

>>> from seminorm.invariance import all_transformations
>>> all_transformations["Reflection"](axis=1)
Reflection(axis=1)
"""

from typing import Any

import numpy as np

from ..._base.registry import Registry
from .base import Transformation
from .composition import Composition
from .finite import CallableTransformation, Identity, Permutations, Reflection
from .images import Brightness, ImageRotation, ImageScaling, ImageShear, ImageShift, LineThickness
from .signals import Amplitude, Baseline, SignalShift
from .vectors import CurveShift, ParallelCurve, Rotation, Scaling, Shift, SineWave

_SHAPE = (3, 4)
_SIZE = 12


def _parabola(t: float) -> np.ndarray:
    return np.concatenate([[t, t**2], np.zeros(_SIZE - 2)])


def _rolled(X: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    return np.roll(X, int(parameters[0]), axis=1)


all_transformations: Registry[Transformation] = Registry("transformation")
_register = all_transformations.register
_register(Identity)
_register(Shift, lambda: [Shift(np.eye(_SIZE)[0], 0.7), Shift(np.eye(_SIZE)[:2], [0.5, 0.2], n_nodes=3)])
_register(CurveShift, lambda: [CurveShift(SineWave(2.0, 0.5), 0.8), CurveShift(ParallelCurve(_parabola), 0.8)])
_register(Rotation, lambda: [Rotation(n_nodes=12), Rotation(0.5, plane=(2, 0), center=1.0, n_nodes=5)])
_register(Scaling, lambda: [Scaling(0.4)])
_register(Reflection, lambda: [Reflection(1), Reflection(np.ones(_SIZE))])
_register(Permutations, lambda: [Permutations(np.array([np.arange(_SIZE), np.arange(_SIZE)[::-1]]))])
_register(
    CallableTransformation,
    lambda: [CallableTransformation(_rolled, range(_SIZE), group=True, isometric=True, affine=True)],
)
_register(ImageShift, lambda: [ImageShift(_SHAPE, (1.5, 2.0), n_nodes=(3, 4)), ImageShift(_SHAPE, 1, padding=1)])
_register(ImageRotation, lambda: [ImageRotation(_SHAPE)])
_register(ImageScaling, lambda: [ImageScaling(_SHAPE)])
_register(ImageShear, lambda: [ImageShear(_SHAPE)])
_register(LineThickness, lambda: [LineThickness(_SHAPE)])
_register(Brightness, lambda: [Brightness(0.2)])
_register(SignalShift, lambda: [SignalShift(1.5), SignalShift(2, padding=2)])
_register(Amplitude, lambda: [Amplitude(0.3)])
_register(Baseline, lambda: [Baseline(2, [0.3, 0.2, 0.1])])
_register(Composition, lambda: [Composition(Scaling(0.2, n_nodes=3), Rotation(0.3, n_nodes=3) * Reflection(0))])

#: the curves of `CurveShift`: functions of points (n, d) and a number
all_curves: Registry[Any] = Registry("curve")
all_curves.register(SineWave, lambda: [SineWave(2.0, 0.5)])
all_curves.register(ParallelCurve, lambda: [ParallelCurve(_parabola)])
