"""The sections of the page, in order. Each is a function that writes its pictures to a folder and returns a Section,
or None if what it needs is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..page import Section
from . import (
    additive,
    classification,
    features,
    fields,
    gallery,
    gradients,
    invariance,
    no_length_scale,
    operators,
    points_alone,
    scans,
    sharp_edges,
    smoothing,
    surfaces,
    uncertainty,
)

SECTIONS: list[Callable[[Path], Section | None]] = [
    smoothing.section,
    uncertainty.section,
    additive.section,
    fields.section,
    surfaces.section,
    sharp_edges.section,
    points_alone.section,
    scans.section,
    gradients.section,
    no_length_scale.section,
    features.section,
    classification.section,
    invariance.section,
    gallery.section,
    operators.section,
]
