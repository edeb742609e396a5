"""The box of a field, and how deep its cells are."""

import numpy as np

from ..bases.box import GridBox
from .layout import layout
from .settings import Settings
from .summary import Summary

_CLOSED_DIMENSIONS = (1, 2, 3)


def box_of(summary: Summary, settings: Settings) -> tuple[GridBox, int | None]:
    """The box of level 0, and the depth asked for, counted from its cells."""
    (low, high), scale, margin = summary.bounds, settings.scale, settings.margin
    if settings.period is None:
        return GridBox.around(low, high, scale=scale, margin=margin, axes=settings.axes), settings.depth
    dimension = summary.bounds.shape[1]
    if dimension not in _CLOSED_DIMENSIONS:
        raise ValueError(f"period is for one to three coordinates, and X has {dimension}: use seminorm.Smoother.")
    if max(settings.period) >= dimension:
        raise ValueError(f"period names column {max(settings.period)}, and those of X are 0 to {dimension - 1}.")
    period = np.full(dimension, np.inf)
    period[list(settings.period)] = list(settings.period.values())
    least = layout(dimension, settings.degree).side  # one block: its cells differ from those of the blocks beside it
    box = GridBox.closed(low, high, period, least, scale=scale, margin=margin)
    if settings.depth is None:
        return box, None
    sides = np.where(box.wraps, period, high - low) / box.scale
    finest = float(sides.max()) / 2.0**settings.depth
    return box, max(int(np.ceil(np.log2(box.spacing / finest) - 1e-9)), 0)
