"""The scripts of the gallery by topic. Each has a function ``section``, which writes its pictures to a folder and
returns a Section, or None if what it needs is not there. The site shows all of them, ``make demo`` those of ``DEMO``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from ..page import Section
from . import (
    additive,
    averages,
    baselines,
    bending,
    classification,
    digits,
    fast_sums,
    features,
    fields,
    gallery,
    globe,
    gradients,
    holes,
    invariance,
    labelled,
    las_to_mesh,
    leave_one_out,
    moving,
    no_length_scale,
    novelty,
    operators,
    outliers,
    pace,
    point_sets,
    points_alone,
    probabilities,
    rotation,
    scans,
    set_operations,
    sharp_edges,
    smoothing,
    summits,
    surfaces,
    twins,
    uncertainty,
    velocities,
    weights,
    what_alpha_means,
    your_kernel,
    your_own_model,
)

TOPICS: dict[str, list[ModuleType]] = {
    "Smooth": [
        *(smoothing, what_alpha_means, uncertainty, leave_one_out, gradients, weights, outliers, features, averages),
        additive,
        *(summits, globe, velocities, fields, your_own_model),
    ],
    "Classify": [classification, no_length_scale, digits, probabilities, novelty],
    "Declare an invariance": [rotation, invariance, pace, baselines, bending, point_sets],
    "Rebuild a surface": [
        *(surfaces, points_alone, las_to_mesh, holes, sharp_edges, set_operations, moving, labelled, scans),
    ],
    "Look behind it": [gallery, operators, your_kernel, twins, fast_sums],
}
SECTIONS: list[Callable[[Path], Section | None]] = [script.section for scripts in TOPICS.values() for script in scripts]
DEMO: list[Callable[[Path], Section | None]] = [
    script.section
    for script in (
        *(smoothing, what_alpha_means, uncertainty, gradients, features, no_length_scale, classification, rotation),
        *(invariance, pace, surfaces, points_alone, holes, scans, operators),
    )
]
