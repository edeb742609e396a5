"""What kernels look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..kernels import Kernel
from ._style import CYCLE, DASHES, axes_or_new, by_label, line_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_kernels(kernels: Kernel | Iterable[Kernel] | Mapping[str, Kernel], r=None, ax: Axes | None = None) -> Axes:
    """Profiles phi(0, r) of kernels on the line against the distance r.

    A conditionally positive definite kernel is known up to polynomials of degree < order only, so of such a profile
    the shape means something and the level does not.

    Parameters
    ----------
    kernels : Kernel, iterable of Kernel, or mapping from labels to kernels
        Without labels, the ``repr`` of each kernel is its label.
    r : array (n,), optional
        Distances; from 0 to 3 if left out.
    ax : Axes, optional
        Left out, a new figure is made.

    Examples
    --------
    >>> from seminorm.kernels import Gaussian, Matern
    >>> from seminorm.plotting import plot_kernels
    >>> ax = plot_kernels([Gaussian(), Matern(1.5)])
    """
    kernels = by_label(kernels)
    r = np.linspace(0.0, 3.0, 301) if r is None else line_points(r, "r")
    ax = axes_or_new(ax)
    for i, (label, kernel) in enumerate(kernels.items()):
        ax.plot(
            r,
            kernel([[0.0]], r[:, None])[0],
            color=CYCLE[i % len(CYCLE)],
            linestyle=DASHES[i % len(DASHES)],
            label=label,
        )
    ax.set(xlabel="distance r", ylabel="φ(0, r)")
    ax.legend()
    return ax
