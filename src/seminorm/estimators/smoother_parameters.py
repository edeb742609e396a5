"""What the parameters of Smoother may be."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from ..solvers.ridge.selection import CRITERIA
from .base import alphas_of
from .large_fits import SOLVERS
from .settling import check_metric

if TYPE_CHECKING:
    from .smoother import Smoother


def check_parameters(smoother: Smoother) -> None:
    check_metric(smoother.metric)
    if smoother.solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {smoother.solver!r}.")
    for name, low in (("tol", 0.0), ("max_iter", 1)):
        value = getattr(smoother, name)
        if not (isinstance(value, Real) and low <= float(value) < np.inf and float(value) > 0.0):
            raise ValueError(f"{name} must be a positive number, got {value!r}.")
    if smoother.criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(map(repr, CRITERIA))}, got {smoother.criterion!r}.")
    if isinstance(smoother.alpha, str) and smoother.alpha != "auto":
        raise ValueError(f"alpha must be 'auto', a number >= 0 or an array of candidates, got {smoother.alpha!r}.")
    if not isinstance(smoother.alpha, str):
        alphas = alphas_of(smoother.alpha)
        allowed = alphas > 0 if alphas.ndim else alphas >= 0
        if alphas.ndim > 1 or alphas.size == 0 or not (allowed & np.isfinite(alphas)).all():
            raise ValueError(
                f"alpha must be >= 0 (0 interpolates), and candidates positive, got {smoother.alpha!r}: use "
                "alpha='auto' to have it chosen."
            )
    variance = smoother.prior_variance
    if variance != "auto" and not (isinstance(variance, Real) and 0 < float(variance) < np.inf):
        raise ValueError(f"prior_variance must be 'auto' or a positive number, got {variance!r}.")
