"""The sections of the page, in order. Each is a function that writes its pictures to a folder and returns a Section."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..page import Section
from . import classification, features, fields, gallery, gradients, no_length_scale, smoothing, surfaces, uncertainty

SECTIONS: list[Callable[[Path], Section]] = [
    smoothing.section,
    uncertainty.section,
    fields.section,
    surfaces.section,
    gradients.section,
    no_length_scale.section,
    features.section,
    classification.section,
    gallery.section,
]
