"""Ray tracing of shapes given by functions.

Along a ray the function is replaced by its second-order Taylor polynomial, whose first zero is the next point to look
at [Walder 2008, 4.3.1]. Two things are added: no step is longer than a stated length unless a bound on the
gradient allows it, and a zero counts only once a change of sign encloses it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed

from ..clouds.cloud import unit_rows
from ..shapes.implicit import Bounds, Implicit, as_bounds, as_implicit
from ..shapes.primitives import Plane
from .picture import Picture
from .shading import PALETTE, Studio, as_colors

_CHUNK_RAYS = 2**15
_MARGIN = 1e-3  # of the diagonal, added to bounds so that surfaces that touch them are met from outside
_STEPS_ACROSS = 128
_TOL = 1e-7
_GRID, _CAUTION = 24, 2.0
_OVERSHOOT = 1e-3  # steps go this much beyond a predicted zero, so that the sign changes


def trace(
    shape,
    origins,
    directions,
    bounds=None,
    *,
    near=0.0,
    far=np.inf,
    max_step: float | None = None,
    tol: float | None = None,
    threads: int = 1,
) -> np.ndarray:
    """Where rays first cross a surface.

    Parameters
    ----------
    shape : Implicit or function, in three dimensions
    origins, directions : array (n, 3)
        The rays are origin + t direction.
    bounds : pair of points, optional, the box that is searched; by default the bounds of the shape
    near, far : float or array (n,)
        Only t between them are looked at.
    max_step : float, optional
        Longest step: longer pieces of a ray inside (or outside) the shape are never jumped over, and shorter ones are
        mostly found too. By default the resolution of the shape, or 1/128 of the diagonal of the bounds. A known bound
        on the gradient (``shape.lipschitz``) allows longer steps far from the surface without missing anything.
    tol : float, optional
        Accuracy of the crossing, in units of length; 1e-7 of the diagonal by default.
    threads : int
        Threads, for shapes that allow several (``shape.thread_safe``); the result is always the same.

    Returns
    -------
    array (n,), t of the first crossing, into or out of the shape; NaN for rays that cross, or only touch, nothing

    See Also
    --------
    render

    Examples
    --------
    >>> from seminorm.shapes.primitives import Sphere
    >>> from seminorm.rendering.raytracing import trace
    >>> trace(Sphere([0, 0, 0], 1), [[0, 0, 3], [2, 0, 3]], [[0, 0, -1], [0, 0, -1]]).round(6)
    array([ 2., nan])
    """
    shape, bounds = as_implicit(shape), None if bounds is None else as_bounds(bounds)
    origins, directions = _rays(origins, directions)
    lengths = np.linalg.norm(directions, axis=1)
    if not (lengths > 0).all():
        raise ValueError("directions has zero vectors: remove these rays.")
    target = Target.of(shape, bounds, max_step, tol)
    unit = directions / lengths[:, None]
    start, stop = target.interval(origins, unit, near * lengths, far * lengths)

    def chunk(begin: int) -> np.ndarray:
        rows = slice(begin, begin + _CHUNK_RAYS)
        return target.march(origins[rows], unit[rows], start[rows], stop[rows])

    jobs = threads if shape.thread_safe else 1
    pieces = Parallel(jobs, backend="threading")(delayed(chunk)(b) for b in range(0, len(unit), _CHUNK_RAYS))
    return np.concatenate(pieces) / lengths if pieces else np.empty(0)


@dataclass(frozen=True)
class Target:
    """A shape and what a search for its surface needs: the box, longest step, accuracy and bound on the gradient."""

    shape: Implicit
    bounds: Bounds
    max_step: float
    tol: float
    lipschitz: float | None

    @classmethod
    def of(cls, shape: Implicit, bounds: Bounds | None, max_step: float | None, tol: float | None = None) -> "Target":
        """With the defaults of :func:`trace`."""
        bounds = shape.bounds if bounds is None else bounds
        if shape.dimension != 3:
            raise ValueError(f"rays need a shape in 3 dimensions, got {shape.dimension}.")
        if bounds is None:
            raise ValueError(f"{shape!r} has no bounds: pass bounds=(low, high), the box to look at.")
        diagonal = float(np.linalg.norm(bounds[1] - bounds[0]))
        if max_step is None:
            max_step = diagonal / _STEPS_ACROSS if shape.resolution is None else shape.resolution
        tol = _TOL * diagonal if tol is None else tol
        if diagonal > 0 and not (max_step > 0 and tol > 0):
            raise ValueError(f"max_step and tol must be positive, got {max_step} and {tol}.")
        margin = _MARGIN * diagonal
        return cls(shape, (bounds[0] - margin, bounds[1] + margin), float(max_step), float(tol), shape.lipschitz)

    def hurried(self) -> "Target":
        """The same with a bound on the gradient, if there is none, from its size on a grid of points."""
        if self.lipschitz is not None:
            return self
        inside = (np.arange(_GRID) + 0.5) / _GRID
        shares = np.stack(np.meshgrid(inside, inside, inside, indexing="ij"), axis=-1).reshape(-1, 3)
        gradients = self.shape.gradient(self.bounds[0] + shares * (self.bounds[1] - self.bounds[0]))
        steepest = float(np.linalg.norm(gradients, axis=1).max())
        return replace(self, lipschitz=_CAUTION * steepest) if steepest > 0 else self

    def interval(self, origins, directions, near=0.0, far=np.inf) -> tuple[np.ndarray, np.ndarray]:
        """The part of each ray inside the box; start >= stop for those that miss it."""
        moving = directions != 0
        safe = np.where(moving, directions, 1.0)
        first, second = (self.bounds[0] - origins) / safe, (self.bounds[1] - origins) / safe
        within = (origins >= self.bounds[0]) & (origins <= self.bounds[1])
        enter = np.where(moving, np.minimum(first, second), np.where(within, -np.inf, np.inf))
        leave = np.where(moving, np.maximum(first, second), np.where(within, np.inf, -np.inf))
        return np.maximum(enter.max(axis=1), near), np.minimum(leave.min(axis=1), far)

    def march(self, origins, directions, start, stop) -> np.ndarray:
        """t of the first crossing between start and stop on rays of unit direction, NaN for none."""
        result = np.full(len(origins), np.nan)
        rows = np.flatnonzero(start < stop)
        if len(rows) == 0:
            return result
        t, end, patience = start[rows], stop[rows], 200 + 2 * np.max(stop[rows] - start[rows]) / self.max_step
        value, step = self._look(origins[rows], directions[rows], t)
        brackets = []
        iteration = 0
        while len(rows):
            ahead = np.minimum(t + step, end)
            next_value, next_step = self._look(origins[rows], directions[rows], ahead)
            crossed = (value < 0) != (next_value < 0)
            brackets.append([part[crossed] for part in (rows, t, ahead, value, next_value)])
            going = ~crossed & (ahead < end)
            rows, t, end, value, step = rows[going], ahead[going], end[going], next_value[going], next_step[going]
            iteration += 1
            if iteration > patience:  # zeros that crowd: go on with plain steps
                step = np.maximum(step, self.max_step)
        hits, *sides = (np.concatenate(parts) for parts in zip(*brackets, strict=True))
        result[hits] = self._refine(origins[hits], directions[hits], *sides)
        return result

    def _look(self, origins, directions, t) -> tuple[np.ndarray, np.ndarray]:
        """Values at t, and the steps from there; derivatives are only needed near the surface."""
        points = origins + t[:, None] * directions
        value = self.shape._jet(points, 0)[0]
        size = np.abs(value)
        step = np.full(len(t), self.max_step)
        if self.lipschitz is not None:
            np.maximum(step, size / self.lipschitz, out=step)
        near = np.flatnonzero(size < 2 * self.max_step)
        if len(near):
            _, gradient, hessian = self.shape._jet(points[near], 2)
            along, sign = directions[near], np.where(value[near] < 0, -1.0, 1.0)
            slope = sign * (gradient * along).sum(axis=1)
            bend = sign * np.einsum("ni,nij,nj->n", along, hessian, along)
            wanted = self._to_zero(size[near], slope, bend / 2)
            step[near] = np.minimum(step[near], wanted)
        return value, step

    def _to_zero(self, c, b, a) -> np.ndarray:
        """The first zero beyond 0 of c + b t + a t^2, c >= 0, and a little more; infinite if there is none."""
        discriminant = b * b - 4 * a * c
        root = np.sqrt(np.maximum(discriminant, 0.0))
        denominator = np.where(b < 0, root - b, -root - b)  # the zeros are 2 c / denominator and denominator / (2 a)
        one = np.divide(2 * c, denominator, out=np.full_like(c, np.inf), where=denominator != 0)
        two = np.divide(denominator, 2 * a, out=np.full_like(c, np.inf), where=np.abs(a) > 1e-300)
        zero = np.minimum(np.where(one > 0, one, np.inf), np.where(two > 0, two, np.inf))
        missed = discriminant < 0
        safe = np.where(missed, a, 1.0)
        approach = np.maximum(-b / (2 * safe), np.sqrt(np.abs(c / safe)))
        approach = np.maximum(approach, _OVERSHOOT * self.max_step)
        return np.where(missed, approach, zero * (1 + _OVERSHOOT) + 2 * self.tol)

    def _refine(self, origins, directions, low, high, at_low, at_high) -> np.ndarray:
        """The crossing between points of different sign: Chandrupatla's rule, starting with a secant."""
        result = np.empty(len(low))
        rows = np.arange(len(low))
        a, b, fa, fb = low, high, at_low, at_high
        share = np.clip(fa / (fa - fb), 1e-6, 1 - 1e-6)
        for _ in range(200):
            if len(rows) == 0:
                break
            x = a + share * (b - a)
            fx = self.shape._jet(origins[rows] + x[:, None] * directions[rows], 0)[0]
            same = (fx < 0) == (fa < 0)
            c, fc = np.where(same, a, b), np.where(same, fa, fb)
            b, fb = np.where(same, b, a), np.where(same, fb, fa)
            a, fa = x, fx
            width = np.abs(b - a)
            share = _interpolated(a, b, c, fa, fb, fc)
            least = np.minimum(0.5 * self.tol / np.maximum(width, 1e-300), 0.5)
            share = np.clip(share, least, 1 - least)
            done = (width <= self.tol) | (fa == 0)
            result[rows] = np.where(np.abs(fa) < np.abs(fb), a, b)
            rows, a, b, fa, fb, share = (part[~done] for part in (rows, a, b, fa, fb, share))
        return result


def _interpolated(a, b, c, fa, fb, fc) -> np.ndarray:
    """Where between a and b the inverse quadratic through three points vanishes, or 1/2 if that cannot be trusted."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        share = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(share)
    return np.where(trusted, share, 0.5)


@dataclass(frozen=True)
class _Scene:
    """Shapes with their colours, cut by a plane."""

    targets: Sequence[Target]
    colors: Sequence
    clip: Plane | None
    capped: bool

    def first_hit(self, origins, directions, near=0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """t of the first crossing (NaN for none), the number of the shape, and whether the cut is hit."""
        best = np.full(len(origins), np.inf)
        owner = np.zeros(len(origins), dtype=np.int64)
        cut = np.zeros(len(origins), dtype=bool)
        for number, target in enumerate(self.targets):
            start, stop = target.interval(origins, directions, near, np.inf)
            on_cut = np.zeros(len(origins), dtype=bool)
            if self.clip is not None:
                start, stop, on_cut = self._clipped(self.clip, target, origins, directions, start, stop)
            t = target.march(origins, directions, np.where(on_cut, np.inf, start), np.minimum(stop, best))
            t = np.where(on_cut, start, t)
            nearer = t < best
            best[nearer], owner[nearer], cut[nearer] = t[nearer], number, on_cut[nearer]
        return np.where(np.isfinite(best), best, np.nan), owner, cut

    def _clipped(self, clip: Plane, target: Target, origins, directions, start, stop):
        """The part of the rays behind the plane, and the rays that enter the cut shape through the plane."""
        height = clip(origins)
        rate = directions @ clip.normal
        meets = np.divide(-height, rate, out=np.where(height < 0, -np.inf, np.inf), where=rate != 0)
        enters = np.where(rate > 0, -np.inf, meets)
        stop = np.where(rate > 0, np.minimum(stop, meets), stop)
        candidates = np.flatnonzero((enters > start) & (enters < stop)) if self.capped else np.empty(0, dtype=int)
        start = np.maximum(start, enters)
        on_cut = np.zeros(len(origins), dtype=bool)
        if len(candidates):
            points = origins[candidates] + start[candidates, None] * directions[candidates]
            on_cut[candidates] = target.shape.inside(points)
        return start, stop, on_cut

    def surface(self, points, owner, cut) -> tuple[np.ndarray, np.ndarray]:
        """Outward unit normals and colours at hits."""
        normals, colors = np.empty_like(points), np.empty_like(points)
        for number, (target, color) in enumerate(zip(self.targets, self.colors, strict=True)):
            rows = np.flatnonzero(owner == number)
            if len(rows):
                normals[rows] = target.shape.gradient(points[rows])
                colors[rows] = as_colors(color(points[rows]) if callable(color) else color, len(rows))
        if self.clip is not None:
            normals[cut] = self.clip.normal
        return unit_rows(normals), colors

    def lit(self, points, normals, directions, studio: Studio) -> np.ndarray:
        """Which light reaches which point: (lights, n)."""
        size = max(np.linalg.norm(target.bounds[1] - target.bounds[0]) for target in self.targets)
        facing = np.where((normals * directions).sum(axis=1) > 0, -1.0, 1.0)[:, None]
        begin = points + 2e-3 * size * facing * normals
        reaches = np.empty((len(studio.lights), len(points)))
        for number, light in enumerate(studio.lights):
            towards = np.broadcast_to(light.towards(studio.camera), points.shape)
            reaches[number] = np.isnan(self.first_hit(begin, towards)[0])
        return reaches


def render(
    shapes,
    picture: Picture | None = None,
    *,
    colors=None,
    bounds=None,
    clip: Plane | None = None,
    capped: bool = True,
    shadows: bool = False,
    max_step: float | None = None,
    exhaustive: bool = False,
    threads: int = 1,
    verbose: bool = False,
) -> np.ndarray:
    """Draw one or several shapes by ray tracing.

    Parameters
    ----------
    shapes : Implicit or function, or a list of them
    picture : Picture, optional
        Size, view, light, background and smooth edges.
    colors : (3,) or a function X -> (n, 3), from 0 to 1, optional; one of these for each of a list of shapes
    bounds : pair of points, optional, the box that is drawn; by default the bounds of each shape
    clip : Plane, optional
        What lies in front of the plane, where its normal points, is cut off.
    capped : bool
        Whether a cut shape is solid, or a skin that shows its inner side.
    shadows : bool
        Whether shapes cast shadows; one more ray for every light.
    max_step : float, optional
        See :func:`seminorm.rendering.raytracing.trace`.
    exhaustive : bool
        For shapes without a bound on their gradient: True never takes longer steps than ``max_step``. False is faster:
        far from the surface, steps are |f| divided by twice the largest gradient found on a grid of points.
    threads : int
        Threads, if shapes and functions of colours allow several; the picture is always the same.
    verbose : bool
        Show progress.

    Returns
    -------
    uint8 array (height, width, 3), or 4 for a transparent picture

    See Also
    --------
    render_mesh : Draws triangles, much faster.

    Examples
    --------
    >>> from seminorm.rendering import Picture, render
    >>> from seminorm.shapes import Plane, Sphere
    >>> half = render(Sphere([0, 0, 0], 1), Picture(size=(40, 30)), clip=Plane([0, 0, 0], [0, 0, 1]))
    >>> half.shape
    (30, 40, 3)
    """
    picture = Picture() if picture is None else picture
    shapes, colors = _as_lists(shapes, colors)
    bounds = None if bounds is None else as_bounds(bounds)
    targets = [Target.of(shape, bounds, max_step) for shape in shapes]
    if not exhaustive:
        targets = [target.hurried() for target in targets]
    scene = _Scene(targets, colors, clip, capped)
    boxes = [shape.bounds if bounds is None else bounds for shape in shapes]
    studio = picture.studio((np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)))

    def look(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        origins, directions = studio.camera.rays_through(pixels, picture.size)
        t, owner, cut = scene.first_hit(origins, directions)
        hit = np.flatnonzero(np.isfinite(t))
        intensity = np.zeros_like(origins)
        points = origins[hit] + t[hit, None] * directions[hit]
        normals, own_colors = scene.surface(points, owner[hit], cut[hit])
        lit = scene.lit(points, normals, directions[hit], studio) if shadows else None
        intensity[hit] = studio.shade(points, normals, directions[hit], own_colors, lit)
        return intensity, np.isfinite(t)

    jobs = threads if all(shape.thread_safe for shape in shapes) else 1
    return picture.paint(look, jobs, verbose)


def _rays(origins, directions) -> tuple[np.ndarray, np.ndarray]:
    origins, directions = np.asarray(origins, dtype=float), np.asarray(directions, dtype=float)
    if origins.ndim != 2 or origins.shape[1] != 3 or origins.shape != directions.shape:
        raise ValueError(f"origins and directions must have shape (n, 3), got {origins.shape} and {directions.shape}.")
    if not (np.isfinite(origins).all() and np.isfinite(directions).all()):
        raise ValueError("origins or directions have NaN or infinity: remove these rays.")
    return origins, directions


def _as_lists(shapes, colors) -> tuple[list[Implicit], list]:
    if not isinstance(shapes, (list, tuple)):
        return [as_implicit(shapes)], [PALETTE[0] if colors is None else colors]
    if len(shapes) == 0:
        raise ValueError("shapes is empty: give at least one shape.")
    if colors is None:
        colors = [PALETTE[number % len(PALETTE)] for number in range(len(shapes))]
    if callable(colors) or len(colors) != len(shapes):
        raise ValueError(f"colors must be a list with one entry for each of the {len(shapes)} shapes.")
    return [as_implicit(shape) for shape in shapes], list(colors)
