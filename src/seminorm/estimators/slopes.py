"""Posterior variances of gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..functions import Functional, cross, design, gram
from ..kernels import Kernel
from ..nullspace import NullSpace


def gradient_variances(
    kernel: Kernel,
    observed: list[Functional],
    null_space: NullSpace,
    restrict: Callable[[np.ndarray], np.ndarray],
    posterior: Callable[[np.ndarray, np.ndarray, np.ndarray, bool], np.ndarray],
    rows: np.ndarray,
    axes: int,
    step: int,
) -> np.ndarray:
    """Variances (n, axes), in units of the prior variance, of the first partial derivatives at rows (n, d), ``step`` of
    them at a time; ``posterior`` is Factor.posterior_covariance."""
    if kernel.differentiability < 2:
        raise ValueError(
            f"gradients of a random function have deviations if its kernel is twice differentiable where its arguments "
            f"coincide, and {kernel!r} is not: use a smoother kernel (Polyharmonic or Elastic of a higher order, "
            "Matern(2.5), Gaussian)."
        )
    parts = []
    for begin in range(0, len(rows), step):
        chunk = rows[begin : begin + step]
        seen = np.broadcast_to(np.arange(chunk.shape[1]) < axes, chunk.shape)
        slopes = Functional.gradients(chunk, seen)
        prior = np.diag(gram(kernel, [slopes]))
        null = restrict(design(null_space, [slopes]))
        parts.append(posterior(cross(kernel, observed, slopes), null, prior, True).reshape(-1, axes))
    return np.maximum(np.concatenate(parts), 0.0)
