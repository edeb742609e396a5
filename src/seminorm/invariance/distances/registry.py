"""All distances by name."""

from __future__ import annotations

from importlib import import_module

from .base import Distance

#: name of each distance, its module and its class
HOMES = {
    "euclidean": ("euclidean", "Euclidean"),
    "minimum": ("minimum", "MinimumDistance"),
    "tangent": ("tangent", "TangentDistance"),
    "distortion": ("distortion", "ImageDistortion"),
    "dtw": ("warping", "DTW"),
    "frechet": ("warping", "Frechet"),
    "subspace": ("subspace", "SubspaceDistance"),
    "point_sets": ("point_sets", "PointSetDistance"),
    "compiled": ("compiled", "CompiledDistance"),
}


def all_distances() -> dict[str, type[Distance]]:
    """Every distance class under its name.

    Examples
    --------
    >>> from seminorm.invariance.distances import all_distances
    >>> all_distances()["dtw"]
    <class 'seminorm.invariance.distances.warping.DTW'>
    """
    return {name: _class(name) for name in HOMES}


def distance(name: str, **options) -> Distance:
    """A distance by its name, with the parameters of its class.

    Examples
    --------
    >>> from seminorm.invariance.distances import distance
    >>> distance("dtw", window=5)
    DTW(window=5)
    """
    if name not in HOMES:
        raise ValueError(f"there is no distance {name!r}: choose one of {', '.join(HOMES)}.")
    return _class(name)(**options)


def _class(name: str) -> type[Distance]:
    module, kind = HOMES[name]
    return getattr(import_module(f".{module}", __package__), kind)
