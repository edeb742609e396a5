"""Walder 2008, figure 4.2: the hard-margin machine of (4.2) on points of a curve and labelled points beside it.

Blue dots are the points of the curve, pluses and crosses the points labelled 1 and -1; colour is the value of the
function, the solid line its zero level, the dashed lines the levels -1 and 1. The kernel is a Gaussian, and sigma
(alpha is its square) decreases from top left to bottom right. The source labels the inside 1; here f < 0 inside. Its
data are not given: ours lie on a closed curve that is wrinkled on one side, and the labelled points are made from the
normals.

A second picture compares three ways to a curve from the same points: the machine, plain regression with the invented
targets 0, d and -d at the same points (4.1.4), and the slab machine (4.4.1), which is given neither normals nor labels.

Printed: the mean of |f| at the curve's points in units of the margin, how many labelled points have an influence, the
mean and largest distance of the curve from the zero set, and how much of the plane has the wrong sign.
"""

from __future__ import annotations

import numpy as np
from _report import Table
from _surfaces import options
from matplotlib.figure import Figure
from matplotlib.path import Path
from scipy.spatial import cKDTree
from walder_chapelle_figure1 import save
from walder_surface_2d import curve

from seminorm import Smoother
from seminorm.clouds.off_surface import off_surface_points
from seminorm.estimators.implicit_svm import ImplicitSVM
from seminorm.estimators.slab import SlabMachine
from seminorm.kernels import Gaussian, Polyharmonic

POINTS, DISTANCE = 80, 0.1
SIGMAS = 2.0, 0.3, 0.1, 0.03
KERNEL = Gaussian(0.2)
NOISE = 0.02  # in the second picture
BOUNDS = -1.75, 1.75, -1.5, 1.6
LIMIT = 2.5  # value of the full colours, in margins
WIDTHS = (24, 9, 10, 11, 11, 10)
HEADINGS = ("function", "mean |f|", "influence", "mean dist.", "max dist.", "wrong sign")


def data(n: int, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of the curve at equal distances, moved along their normals at random; labelled points; their labels."""
    fine = np.linspace(0.0, 2 * np.pi, 20001)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve(fine), axis=0), axis=1))])
    angle = np.interp((np.arange(n) + 0.5) / n * length[-1], length, fine)
    tangent = curve(angle + 1e-5) - curve(angle - 1e-5)
    normals = np.column_stack([tangent[:, 1], -tangent[:, 0]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    points = curve(angle) + noise * np.random.default_rng(0).standard_normal((n, 1)) * normals
    return points, *off_surface_points(points, normals, DISTANCE)


def machine(points, Z, labels, **parameters) -> ImplicitSVM:
    """The machine on points of the curve and labelled points."""
    X, y = np.concatenate([points, Z]), np.concatenate([np.zeros(len(points), dtype=int), labels])
    return ImplicitSVM(**parameters).fit(X, y)


def regression(points, Z, labels):
    """Off-surface regression: targets 0 at the points and d, -d at the labelled ones; alpha by cross-validation."""
    X, y = np.concatenate([points, Z]), np.concatenate([np.zeros(len(points)), DISTANCE * labels])
    smoother = Smoother(Polyharmonic(2)).fit(X, y)
    return lambda x: smoother.predict(x) / DISTANCE


def slab(points):
    """The slab machine, scaled so that its largest value on the grid of the picture is like a margin."""
    found = SlabMachine(KERNEL, nu=0.05, delta=0.0).fit(points)
    size = np.abs(found.function_(grid()[2].reshape(-1, 2))).max()
    return lambda x: -LIMIT * found.function_(x) / size


def grid() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y = np.linspace(*BOUNDS[:2], 360), np.linspace(*BOUNDS[2:], 320)
    return x, y, np.stack(np.meshgrid(x, y), axis=-1)


def draw(ax, f, points, Z, labels, title: str):
    """Draw one function; returns the picture for the colour bar, the zero set, and the share of wrong signs."""
    x, y, places = grid()
    values = f(places.reshape(-1, 2)).reshape(places.shape[:2])
    image = ax.imshow(
        values, extent=BOUNDS, origin="lower", cmap="RdBu_r", vmin=-LIMIT, vmax=LIMIT, interpolation="bilinear"
    )
    ax.contour(x, y, values, levels=[-1.0, 1.0], colors="black", linewidths=0.9, linestyles="dashed")
    zero = ax.contour(x, y, values, levels=[0.0], colors="black", linewidths=1.8)
    for label, marker in ((1, "+"), (-1, "x")):
        ax.scatter(*Z[labels == label].T, marker=marker, s=20, color="0.15", linewidths=0.9)
    ax.scatter(*points.T, s=14, color="#1f5fff", edgecolors="white", linewidths=0.4, zorder=3)
    ax.set(xlim=BOUNDS[:2], ylim=BOUNDS[2:], xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, fontsize=10)
    inside = Path(curve(np.linspace(0.0, 2 * np.pi, 4001))).contains_points(places.reshape(-1, 2))
    return image, np.concatenate(zero.allsegs[0]), float(np.mean(inside != (values.ravel() < 0)))


def report(table: Table, name: str, f, points, zeros, wrong: float, influence: str) -> None:
    """One row of the table."""
    far = cKDTree(zeros).query(curve(np.linspace(0.0, 2 * np.pi, 4000)))[0]
    size = np.abs(f(points)).mean()
    table.add(name, f"{size:.3f}", influence, f"{far.mean():.4f}", f"{far.max():.4f}", f"{100 * wrong:.2f}%")


def figure_42(chosen, n: int) -> None:
    points, Z, labels = data(n)
    figure = Figure(figsize=(11.0, 9.4), layout="constrained")
    axes = figure.subplots(2, 2)
    table = Table(f"Figure 4.2: {len(points)} points, {len(Z)} labelled, hard margin", HEADINGS, WIDTHS)
    for ax, sigma in zip(axes.flat, SIGMAS, strict=True):
        found = machine(points, Z, labels, kernel=KERNEL, alpha=sigma**2, margin="hard", null_space=None)
        f = found.function_
        image, zeros, wrong = draw(ax, f, points, Z, labels, f"$\\sigma$ = {sigma:g}")
        influence = f"{np.count_nonzero(found.support_ >= len(points))} of {len(Z)}"
        report(table, f"sigma = {sigma:g}", f, points, zeros, wrong, influence)
    figure.colorbar(image, ax=axes, shrink=0.6, extend="both", label="f, in margins")
    save(figure, chosen.output / "walder_figure42.png")


def comparison(chosen, n: int) -> None:
    points, Z, labels = data(n, NOISE)
    none = np.empty((0, 2)), np.empty(0)
    own = machine(points, Z, labels, margin="hard")
    influence = f"{np.count_nonzero(own.support_ >= len(points))} of {len(Z)}"
    ways = {
        "margin machine": (own.function_, (Z, labels), influence),
        "off-surface regression": (regression(points, Z, labels), (Z, labels), f"{len(Z)} of {len(Z)}"),
        "slab machine, scaled": (slab(points), none, "-"),
    }
    figure = Figure(figsize=(15.0, 4.9), layout="constrained")
    axes = figure.subplots(1, 3)
    table = Table(f"Three ways to a curve, noise {NOISE} along the normals", HEADINGS, WIDTHS)
    for ax, (name, (f, shown, influence)) in zip(axes, ways.items(), strict=True):
        image, zeros, wrong = draw(ax, f, points, *shown, name)
        report(table, name, f, points, zeros, wrong, influence)
    figure.colorbar(image, ax=axes, shrink=0.8, extend="both", label="f, in margins")
    save(figure, chosen.output / "walder_figure42_ways.png")


def main() -> None:
    chosen = options(__doc__)
    n = POINTS // 4 if chosen.quick else POINTS
    figure_42(chosen, n)
    print()
    comparison(chosen, n)


if __name__ == "__main__":
    main()
