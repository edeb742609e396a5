"""Walder 2008, figure 4.4: the embedding function of a curve in the plane, over the whole plane.

Data points are dots, normals arrows, the zero set a black line, the function's value the background; markers are the
centres of the basis functions, one kind for each support (of ours, those near the points). The source's data are not
given: ours lie on a closed curve that is smooth on one side and wrinkled on the other, with a gap. Three functions are
fitted to them:

- with the source's method: radial B3-splines of several supports around the points (Algorithm 3.1 with epsilon = 0 and
  a lower limit), weighed by the thin-plate energy, solved as in (4.13);
- with ours: nested grids of B-splines, the same energy (order 2) and the same weights;
- exactly, in the span of kernels and their gradients (4.4), which needs order 3.

Printed: how well each meets values and normals, how far the curve is from the zero set, where there are data and in the
gap, and how much of the plane has the wrong sign. The source: an "ad-hoc set" of functions, but "well behaved".
"""

from __future__ import annotations

import numpy as np
from _surfaces import centers, options
from matplotlib.figure import Figure
from matplotlib.path import Path
from scipy.spatial import cKDTree
from walder_chapelle_figure1 import save

from seminorm.bases.radial import RadialSplineBasis
from seminorm.clouds.sampling import OrientedPoints
from seminorm.fields.curvature import curvature_centers
from seminorm.fields.fixed_basis import fit_basis
from seminorm.surfaces import fit_exact
from seminorm.surfaces.fitting import Model, fit_surface

POINTS = 120
GAP = 0.62, 1.12  # angles without points
SMOOTHNESS, TOLERANCE = 0.002, 0.05
SUPPORTS = tuple(0.45 / 1.6**k for k in range(4))  # shares of the longest side; the first cover the plane
SPACING = 0.25
BOUNDS = -1.85, 1.85, -1.55, 1.75
LIMIT = 0.8  # value of the full colours
MARKERS = (("*", "#3a2a6b", 55), ("^", "#1f7a4d", 22), ("s", "#b8860b", 13), ("o", "#c0202a", 6))


def curve(angle: np.ndarray) -> np.ndarray:
    """A closed curve, wrinkled around the angle pi."""
    wrinkles = 0.11 * np.sin(15.0 * angle) * np.exp(-2.5 * (1.0 + np.cos(angle)))
    radius = 1.0 + 0.25 * np.cos(3.0 * angle + 0.4) + wrinkles
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, normals, and the length of the curve that each point stands for; the gap stands for none."""
    fine = np.linspace(*np.array([GAP[1], GAP[0] + 2 * np.pi]), 20001)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve(fine), axis=0), axis=1))])
    angle = np.interp((np.arange(n) + 0.5) / n * length[-1], length, fine)
    tangent = curve(angle + 1e-5) - curve(angle - 1e-5)
    normals = np.column_stack([tangent[:, 1], -tangent[:, 0]])
    return curve(angle), normals / np.linalg.norm(normals, axis=1, keepdims=True), np.full(n, length[-1] / n)


def radial(points, normals, lengths):
    """The source's method: the function, and the centres by support."""
    grids = {}
    for finest in SUPPORTS[1:]:
        places, supports = curvature_centers(
            points, tolerance=0.0, support=SUPPORTS[0], shrink=1.6, spacing=SPACING, min_support=0.99 * finest
        )
        grids.update({s: places[supports == s] for s in np.unique(supports)})
    sizes = [len(places) for places in grids.values()]
    basis = RadialSplineBasis(np.concatenate(list(grids.values())), np.repeat(list(grids), sizes))
    f = fit_basis(
        basis, basis.energy(order=2), points, np.zeros(len(points)), alpha=SMOOTHNESS,
        sample_weight=lengths / TOLERANCE**2, gradients=normals, gradient_weight=lengths,
    )  # fmt: skip
    return f, [grids[s] for s in sorted(grids, reverse=True)]


def nested(points, normals, lengths):
    """Our method: the function, and on the last four levels the centres near the points."""
    oriented = OrientedPoints.prepare(points, normals)
    size = oriented.size
    depth = int(np.ceil(np.log2(size / lengths[0])))
    f = fit_surface(oriented, Model(2, 2, SMOOTHNESS / size, TOLERANCE / size, depth), tol=1e-4).field()
    shown = []
    for level in range(depth - 3, depth + 1):
        here = centers(f.tree, level)
        shown.append(here[cKDTree(points).query(here)[0] < size / 2**level])
    return f, shown


def draw_values(ax, f) -> tuple[np.ndarray, float]:
    """Draw the function; the points of its zero set, and the share of the plane where its sign is wrong."""
    x, y = np.linspace(*BOUNDS[:2], 400), np.linspace(*BOUNDS[2:], 360)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    values = f(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.imshow(values, extent=BOUNDS, origin="lower", cmap="RdBu_r", vmin=-LIMIT, vmax=LIMIT, interpolation="bilinear")
    ax.contour(x, y, values, levels=np.arange(-1.5, 1.51, 0.1), colors="0.5", linewidths=0.35, linestyles="solid")
    lines = ax.contour(x, y, values, levels=[0.0], colors="black", linewidths=2.0)
    inside = Path(curve(np.linspace(0.0, 2 * np.pi, 4001))).contains_points(grid.reshape(-1, 2))
    return np.concatenate(lines.allsegs[0]), float(np.mean(inside != (values.ravel() < 0)))


def draw(ax, f, shown, points, normals, title: str) -> tuple[np.ndarray, float]:
    zeros, wrong = draw_values(ax, f)
    for level, (marker, color, size) in zip(shown, MARKERS[: len(shown)], strict=True):
        ax.scatter(*level.T, marker=marker, s=size, color=color, linewidths=0, alpha=0.8)
    ax.quiver(*points.T, *normals.T, color="0.1", width=0.0022, scale=24.0, headwidth=4)
    ax.plot(*points.T, "k.", ms=3.5)
    ax.set(xlim=BOUNDS[:2], ylim=BOUNDS[2:], xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, fontsize=10)
    return zeros, wrong


def main() -> None:
    chosen = options(__doc__)
    points, normals, lengths = data(POINTS // 4 if chosen.quick else POINTS)
    exact = fit_exact(points, normals, smoothness=SMOOTHNESS, tolerance=TOLERANCE, areas=lengths)
    fits = {
        "radial B3-splines, order 2": radial(points, normals, lengths),
        "nested grids, order 2": nested(points, normals, lengths),
        "exact, order 3": (exact, []),
    }
    sizes = [fits["radial B3-splines, order 2"][0].basis.size, fits["nested grids, order 2"][0].n_coef, 3 * len(points)]
    figure = Figure(figsize=(16.0, 5.0), layout="constrained")
    sampled, missing = np.linspace(GAP[1], GAP[0] + 2 * np.pi, 4000), np.linspace(*GAP, 400)
    print("largest distance of the curve from the zero set, and percent of the plane with the wrong sign:")
    print(f"{'function':<27} {'basis':>6} {'mean |f|':>9} {'mean |grad - n|':>16} {'data':>8} {'gap':>7} {'sign':>6}")
    for ax, size, (name, (f, shown)) in zip(figure.subplots(1, 3), sizes, fits.items(), strict=True):
        zeros, wrong = draw(ax, f, shown, points, normals, f"{name}: {size} functions")
        far = [cKDTree(zeros).query(curve(angles))[0].max() for angles in (sampled, missing)]
        slope = np.linalg.norm(f.gradient(points) - normals, axis=1).mean()
        print(
            f"{name:<27} {size:6d} {np.abs(f(points)).mean():9.4f} {slope:16.3f} {far[0]:8.4f} {far[1]:7.4f} "
            f"{100 * wrong:5.2f}%"
        )
    save(figure, chosen.output / "walder_figure44.png")


if __name__ == "__main__":
    main()
