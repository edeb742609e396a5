"""What every reconstruction begins with: valid points with unit normals, and lengths that are given or chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from tqdm import tqdm

from .._base.warnings import warn_user
from ..clouds.cleaning import Belonging
from ..clouds.cloud import PointCloud, as_cloud, weight_per_point
from ..clouds.normals.estimation import OrientedCloud, estimate_normals
from ..clouds.preparation import drop_invalid
from ..clouds.sampling import OrientedPoints
from ..clouds.scan_normals import estimate_scan_normals
from ..clouds.trust import points_inwards
from ..fields.limits import DEEPEST_SURFACE
from ..shapes.boundaries import check_resolution
from .fitting import Model
from .selection import ModelSelection, Trial

LARGE = 100_000  # points, above which order 2 is the default: it is as accurate there, and twice as fast
_LEAST_POINTS = 10
_POINTS_PER_CELL = 0.5, 1.0  # on the finest level, for few and for many points
_FEW = 10_000  # points, for which one level more costs little
_SPARSEST = 1 / 400  # points per cell, below which a given depth deserves a warning
_ROW = " row"  # attribute that follows the points while invalid ones are dropped


@dataclass(frozen=True)
class ReadyPoints:
    """What is left of the input when it has been checked."""

    points: np.ndarray
    normals: np.ndarray
    columns: dict[str, np.ndarray]  # what was given per point: "confidence", "areas", "times"
    attributes: dict[str, np.ndarray]  # colours and other numbers of the points
    dropped: dict[str, int]  # how many points were left out, by reason
    origin: str  # where the normals come from
    outliers: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # rows of the user's points
    repaired: int = 0  # normals that were replaced
    estimation: dict[str, Any] = field(default_factory=dict)  # how normals were estimated

    @classmethod
    def of(
        cls,
        points,
        normals=None,
        *,
        confidence=None,
        sensor=None,
        columns: Mapping[str, np.ndarray | None] | None = None,
        unit_normals: bool = True,
        outliers: str = "keep",
        verbose: bool = False,
    ) -> ReadyPoints:
        """Check the points, set aside those that do not belong (``outliers="auto"``), estimate missing normals,
        and leave out what is not valid, with a warning."""
        given = as_cloud(points, normals)
        belongs = Belonging.of(given, outliers)
        columns = {name: _rows_of(column, belongs.kept, len(given)) for name, column in (columns or {}).items()}
        sensor = _rows_of(sensor, belongs.kept, len(given))
        cloud, origin = _with_normals(belongs.cloud, sensor, columns.get("scan"), verbose)
        confidence = _rows_of(confidence, belongs.kept, len(given))
        assert cloud.normals is not None
        estimation = cloud.details if isinstance(cloud, OrientedCloud) and origin != "given" else {}
        found = {"confidence": _confidence(cloud.normals, confidence), **columns}
        valid, dropped = drop_invalid(
            PointCloud(cloud.points, cloud.normals, cloud.colors, {**cloud.attributes, _ROW: np.arange(len(cloud))})
        )
        if sum(dropped.values()):
            warn_user(
                f"{sum(dropped.values())} of {len(given)} points were left out: {dropped['coordinates']} with NaN or "
                f"infinity in the coordinates, {dropped['normals']} whose normal is zero or not finite."
            )
        attributes = dict(valid.attributes)
        rows = attributes.pop(_ROW)
        if valid.colors is not None:
            attributes["colors"] = valid.colors
        kept = {name: np.asarray(column)[rows] for name, column in found.items() if column is not None}
        assert valid.normals is not None
        directions = _unit(valid.normals) if unit_normals else valid.normals
        set_aside = belongs.outliers, belongs.repaired
        return cls(valid.points, directions, kept, attributes, dropped, origin, *set_aside, estimation)

    @classmethod
    def of_arrays(
        cls, points, normals, *, confidence, columns: Mapping[str, np.ndarray | None], unit_normals: bool
    ) -> ReadyPoints:
        """Points and normals in any dimension, all of which must be valid."""
        points, normals = _finite_table(points, "points"), _finite_table(normals, "normals")
        if normals.shape != points.shape:
            raise ValueError(f"normals must have the shape of points, {points.shape}, got {normals.shape}.")
        zero = np.flatnonzero(~normals.any(axis=1))
        if len(zero):
            raise ValueError(
                f"normals must not be zero, and {len(zero)} of {len(normals)} are, the first in row {zero[0]}: leave "
                "these points out."
            )
        found = {"confidence": _confidence(normals, confidence), **columns}
        kept = {name: column for name, column in found.items() if column is not None}
        return cls(points, _unit(normals) if unit_normals else normals, kept, {}, {}, "given")

    def require_enough(self) -> None:
        """Refuse too few points to choose anything from."""
        n = len(self.points)
        if n < _LEAST_POINTS:
            raise ValueError(f"a surface needs at least {_LEAST_POINTS} valid points with normals, got {n}.")
        if np.ptp(self.points, axis=0).max() == 0.0:
            raise ValueError("all points are the same: a surface needs points that are apart.")

    def outwards(self, areas: np.ndarray) -> ReadyPoints:
        """With normals of a closed surface turned outwards, if they were given and point inwards, with a warning."""
        if self.origin != "given" or not points_inwards(self.points, self.normals, areas):
            return self
        warn_user(
            "the normals point inwards: the volume they bound is negative. They are turned round; outliers='keep' uses "
            "them as they are."
        )
        return replace(self, normals=-self.normals, origin="given, turned outwards")

    def weights(self) -> np.ndarray:
        """The given areas times the confidence."""
        return self.columns["areas"] * self.columns.get("confidence", 1.0)

    def oriented(self, around: np.ndarray | None = None) -> OrientedPoints:
        """The points scaled, with the area that each stands for, given or estimated; ``around`` as for
        :meth:`OrientedPoints.prepare`."""
        oriented = OrientedPoints.prepare(self.points, self.normals, self.columns.get("confidence"), around=around)
        if "areas" not in self.columns:
            return oriented
        return replace(oriented, area=self.weights() / oriented.size ** (self.points.shape[1] - 1))

    def oriented_in_time(self, time_scale: float) -> OrientedPoints:
        """The points scaled in space and time."""
        points = np.column_stack([self.points, self.columns["times"]])
        return OrientedPoints.prepare(points, self.normals, self.columns.get("confidence"), time_scale=time_scale)

    def details(self) -> dict[str, Any]:
        """For the details of the surface."""
        found: dict[str, Any] = {"outliers": self.outliers.tolist(), "repaired_normals": self.repaired}
        found |= {"normals": self.origin, "estimation": self.estimation}
        return {"points": len(self.points), "dropped": self.dropped, **found}


def _rows_of(values: Any, kept: np.ndarray | None, n: int) -> Any:
    """Rows of what has one for each of n points; other things as they are."""
    if kept is None or values is None or isinstance(values, str) or np.shape(values)[:1] != (n,):
        return values
    return np.asarray(values)[kept]


class StepClock:
    """Seconds of the steps of a reconstruction."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, step: str) -> None:
        """Count the time since the last lap for a step."""
        now = perf_counter()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - self._last
        self._last = now


def choose_model(
    points: OrientedPoints,
    order: int,
    *,
    smoothness: float | str = "auto",
    tolerance: float | str = "auto",
    depth: int | str = "auto",
    resolution: float | None = None,
    fast: bool = False,
    estimated: bool = False,
    coarser: int = 0,
    verbose: bool = False,
    others: Sequence[OrientedPoints] = (),
) -> tuple[Model, list[Trial]]:
    """The model with the lengths and the depth that are given, the others chosen, and the trials that chose them.

    ``estimated`` says that the normals come from the points; a depth that is chosen is at least so many levels
    ``coarser`` than the distance of the points suggests. ``others`` are point sets in the same box that are to have the
    same model.
    """
    given = {"smoothness": smoothness, "tolerance": tolerance}
    lengths = {name: length_or_auto(name, length) for name, length in given.items()}
    deepest = _deepest_level(points, depth, resolution, fast)
    fixed = not _is_auto(depth) or resolution is not None
    deepest = deepest if fixed else max(deepest - coarser, 2)
    with tqdm(desc="choosing the smoothness", disable=not verbose, leave=False) as bar:

        def report(trial: Trial) -> None:
            bar.set_postfix_str(f"depth {trial.model.depth}, smoothness {trial.model.smoothness * points.size:.3g}")
            bar.update()

        options: dict[str, Any] = {"fixed_depth": fixed, "estimated": estimated, "others": others}
        selection = ModelSelection(points, order, order, deepest, report, **options)
        scaled = {name: None if length is None else length / points.size for name, length in lengths.items()}
        return selection.search(**scaled), selection.trials


def chosen(model: Model, points: OrientedPoints, trials: list[Trial]) -> dict[str, Any]:
    """The model and the trials that led to it, in the units of the data."""
    tried = []
    for trial in trials:
        score = {"score": trial.score, "distance": trial.distance * points.size, "angle": trial.angle}
        tried.append({"depth": trial.model.depth, **_lengths(trial.model, points), **score})
    return {"order": model.order, "depth": model.depth, **_lengths(model, points), "trials": tried}


def length_or_auto(name: str, value: float | str) -> float | None:
    """A positive length; None for "auto"."""
    if _is_auto(value):
        return None
    if not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ValueError(f"{name} must be a positive length or 'auto', got {value!r}.")
    return float(value)


def _is_auto(value) -> bool:
    return isinstance(value, str) and value == "auto"


def _lengths(model: Model, points: OrientedPoints) -> dict[str, float]:
    return {"smoothness": model.smoothness * points.size, "tolerance": float(model.tolerance * points.size)}


def _unit(normals: np.ndarray) -> np.ndarray:
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def _with_normals(cloud: PointCloud, sensor, scan: np.ndarray | None, verbose: bool) -> tuple[PointCloud, str]:
    """The cloud with normals, its own or estimated ones, and where they come from."""
    if cloud.normals is not None:
        if sensor is not None:
            raise ValueError("sensor orients normals that are estimated, and normals are given: leave out one of them.")
        return cloud, "given"
    if len(cloud) < _LEAST_POINTS:
        raise ValueError(f"a surface needs at least {_LEAST_POINTS} points, got {len(cloud)}.")
    if scan is None:
        estimated = estimate_normals(cloud, sensor=sensor, verbose=verbose)
    else:
        estimated = estimate_scan_normals(cloud, scan, sensor, verbose)
    if estimated.oriented == "consistent":
        warn_user(
            "the points do not show which side is the inside: the estimated normals agree with each other, "
            "and all of them may be the wrong way round. Give sensor=, or normals; mesh(boundary='open') leaves out "
            "what the points do not cover."
        )
    return estimated, f"estimated from {estimated.source}, signs: {estimated.oriented}"


def _confidence(normals: np.ndarray, confidence) -> np.ndarray | None:
    if confidence is None:
        return None
    if isinstance(confidence, str):
        if confidence != "normals":
            raise ValueError(f"confidence must be one number per point or 'normals', got {confidence!r}.")
        return np.linalg.norm(normals, axis=1)
    return weight_per_point("confidence", confidence, len(normals))


def automatic_depth(points: OrientedPoints) -> int:
    """The level whose cells are about as wide as the points are apart."""
    least = _POINTS_PER_CELL[len(points) > LARGE]
    level = 2
    while level < DEEPEST_SURFACE and points.points_per_cell(level + 1) >= least:
        level += 1
    return level + (len(points) < _FEW)


def _deepest_level(points: OrientedPoints, depth: int | str, resolution: float | None, fast: bool) -> int:
    if resolution is not None:
        if not _is_auto(depth):
            raise ValueError(f"give depth or resolution, not both: got depth={depth!r} and resolution={resolution!r}.")
        check_resolution(resolution)
        depth = max(int(np.ceil(np.log2(points.size / resolution) - 1e-9)), 1)
    if _is_auto(depth):
        return max(automatic_depth(points) - fast, 2)
    if not (isinstance(depth, Integral) and 1 <= depth <= DEEPEST_SURFACE):
        raise ValueError(f"depth must be 'auto' or a whole number from 1 to {DEEPEST_SURFACE}, got {depth!r}.")
    level = int(depth)
    if points.points_per_cell(level) < _SPARSEST:
        apart = points.size / 2**level / np.sqrt(points.points_per_cell(level))
        warn_user(
            f"cells of depth {level} are {points.size / 2**level:.2g} wide, and points are about {apart:.2g} apart: "
            "that takes long and shows no more than a few levels less."
        )
    return level


def _finite_table(table: Any, name: str) -> np.ndarray:
    """An array (n, d) of finite numbers."""
    table = np.asarray(table, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ValueError(f"{name} must be an array of shape (points, dimensions), got shape {table.shape}.")
    for what, wrong in (("NaN", np.isnan(table)), ("infinity", np.isinf(table))):
        if wrong.any():
            row = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise ValueError(f"{name} contains {what}, first in row {row}: leave such points out.")
    return table
