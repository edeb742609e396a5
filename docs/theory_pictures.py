"""The pictures of the course in docs/theory: python -m docs.theory_pictures writes them to docs/images."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.interpolate import BSpline

from gallery.drawing import look, new_figure
from seminorm import SVC, FieldSmoother, Smoother, reconstruct
from seminorm.invariance import DistanceKernel, IntegrationKernel, MinimumDistance, Rotation
from seminorm.kernels import Gaussian, Matern, Polyharmonic
from seminorm.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Pinball, Squared, SquaredHinge
from seminorm.nullspace import Features, Polynomials
from seminorm.plotting import plot_band, plot_decision, plot_filters, plot_samples
from seminorm.plotting._style import BLUE, CYCLE, GRAY, GREEN, INK, ORANGE, VERMILION

IMAGES = Path(__file__).parent / "images"
_LINE = np.linspace(0, 1, 300)


def semi_norm():
    """Three functions and what their bending costs."""
    figure = new_figure(9.6, 2.7)
    functions = {
        "a straight line": lambda x: 0.4 + 0.5 * x,
        "a gentle curve": lambda x: 0.4 + 0.5 * x + 0.25 * np.sin(np.pi * x) ** 2,
        "a rough one": lambda x: 0.4 + 0.5 * x + 0.12 * np.sin(8 * np.pi * x),
    }
    for ax, (name, f), color in zip(figure.subplots(1, 3, sharey=True), functions.items(), CYCLE, strict=False):
        bending = np.sum(np.diff(f(_LINE), 2).round(12) ** 2) / (_LINE[1] - _LINE[0]) ** 3
        ax.plot(_LINE, f(_LINE), color=color)
        ax.set(title=f"{name}: |f|² = {bending:.3g}", ylim=(0, 1.3))
    return figure


def building_blocks():
    """Cubes of distances, and the combinations of them that die out."""
    x = np.linspace(-4, 4, 400)
    phi = Polyharmonic(2)
    figure = new_figure(9.6, 2.9)
    left, middle, right = figure.subplots(1, 3)
    left.plot(x, phi(x[:, None], np.zeros((1, 1))), color=BLUE)
    left.set_title("phi(x, 0) = |x|³ / 12")
    for ax, a, centers in ((middle, [1, -2, 1], [-1, 0, 1]), (right, [1, -4, 6, -4, 1], [-2, -1, 0, 1, 2])):
        values = phi(x[:, None], np.array(centers, dtype=float)[:, None]) @ np.array(a, dtype=float)
        ax.plot(x, values, color=BLUE)
        ax.plot(centers, np.zeros(len(a)), "o", color=INK, markersize=4)
        ax.set_title(f"coefficients {', '.join(map(str, a))}")
    return figure


def representer():
    """A fit as the sum of its terms."""
    rng = np.random.default_rng(2)
    x = np.sort(rng.random(8))
    y = np.sin(6 * x) + 0.5 * x
    model = Smoother(Polyharmonic(2), alpha=1e-4).fit(x[:, None], y)
    f = model.function_
    figure = new_figure(9.6, 3.0)
    left, right = figure.subplots(1, 2)
    terms = Polyharmonic(2)(_LINE[:, None], x[:, None]) * np.ravel(model.dual_coef_)
    left.plot(_LINE, terms, color=GRAY, linewidth=1)
    left.plot(_LINE, terms.sum(axis=1), color=BLUE, label="their sum")
    left.plot(_LINE, f(_LINE[:, None]) - terms.sum(axis=1), color=ORANGE, label="the free part")
    left.set_title("one term per datum")
    left.legend()
    right.plot(_LINE, f(_LINE[:, None]), color=BLUE)
    right.plot(x, y, "o", color=INK)
    right.set_title("all together")
    return figure


def free_spaces():
    """The same data with more and more left free."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(40))
    y = 1.5 * x + 0.5 * np.sin(20 * x) + 0.1 * rng.standard_normal(40)
    line = np.linspace(-0.2, 1.5, 400)
    wave = Features(lambda Z: np.column_stack([np.sin(20 * Z[:, 0]), np.cos(20 * Z[:, 0])]))
    spaces = {
        "the constant": Polynomials(0),
        "straight lines": Polynomials(1),
        "lines and a wave": Polynomials(1) | wave,
    }
    figure = new_figure(9.6, 2.9)
    for ax, (name, space) in zip(figure.subplots(1, 3, sharey=True), spaces.items(), strict=True):
        model = Smoother(Matern(1.5, 0.3), null_space=space, criterion="reml").fit(x[:, None], y)
        ax.axvspan(1, 1.5, color="#f0f2f4", linewidth=0)
        plot_band(model, line, ax=ax, y=y)
        ax.set_title(f"free: {name}")
        ax.set_ylim(-1.2, 3.4)
    return figure


def criteria():
    """Three criteria along the path of one fit."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(60))
    truth = np.sin(7 * x)
    y = truth + 0.3 * rng.standard_normal(60)
    alphas = np.logspace(-8, 1, 40)
    figure = new_figure(9.6, 3.1)
    left, right = figure.subplots(1, 2)
    for criterion, color in (("loo", BLUE), ("gcv", ORANGE), ("reml", GREEN)):
        model = Smoother(Polyharmonic(2), alpha=alphas, criterion=criterion).fit(x[:, None], y)
        score = np.asarray(model.alpha_path_["score"])
        score = (score - score.min()) / (np.quantile(score, 0.8) - score.min())
        left.semilogx(model.alpha_path_["alpha"], score, color=color, label=criterion)
        left.axvline(model.alpha_, color=color, linestyle=":", linewidth=1.2)
    errors = [
        np.mean((Smoother(Polyharmonic(2), alpha=a).fit(x[:, None], y).predict(x[:, None]) - truth) ** 2)
        for a in alphas
    ]
    left.set(ylim=(-0.1, 1.6), xlabel="alpha", title="criteria, each from its minimum")
    left.legend()
    right.loglog(alphas, np.sqrt(errors), color=VERMILION)
    right.set(xlabel="alpha", title="the error, which only the author knows")
    return figure


def beliefs():
    """Draws before and after the data."""
    x = np.array([0.1, 0.25, 0.4, 0.7, 0.8])
    y = np.sin(6 * x)
    model = Smoother(Polyharmonic(2), alpha=1e-5, prior_variance=40.0).fit(x[:, None], y)
    figure = new_figure(9.6, 3.0)
    left, right = figure.subplots(1, 2, sharey=True)
    plot_samples(_LINE, model.sample(_LINE[:, None], 8, prior=True, random_state=0), ax=left)
    left.set(title="before: anything without much bending", ylim=(-3, 3))
    plot_samples(_LINE, model.sample(_LINE[:, None], 8, random_state=1), ax=right)
    right.plot(x, y, "o", color=INK)
    right.set_title("after five values")
    return figure


def filters():
    """What kernels let through, by frequency."""
    figure = new_figure(7.2, 3.2)
    kernels = {"Polyharmonic(1)": Polyharmonic(1), "Polyharmonic(2)": Polyharmonic(2), "Gaussian(1)": Gaussian(1)}
    plot_filters(kernels, ax=figure.subplots())
    return figure


def invariances():
    """What one point says of its surroundings, by three kernels."""
    side = np.linspace(-2, 2, 121)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    point, base, turns = np.array([[1.2, 0.4]]), Gaussian(0.4), Rotation()
    kernels = {
        "Gaussian": base,
        "averaged over turns": IntegrationKernel(base, turns),
        "distance of nearest turns": DistanceKernel(base, MinimumDistance(turns)),
    }
    figure = new_figure(9.6, 3.2)
    for ax, (name, kernel) in zip(figure.subplots(1, 3, sharey=True), kernels.items(), strict=True):
        ax.contourf(side, side, kernel(grid, point).reshape(121, 121), 12)
        ax.plot(*point[0], "o", color="white", markeredgecolor=INK)
        ax.set(title=name, aspect="equal")
        ax.grid(False)
    return figure


def losses():
    """Losses, and a machine that only some points hold."""
    figure = new_figure(9.6, 3.4)
    left, middle, right = figure.subplots(1, 3)
    f = np.linspace(-2.5, 2.5, 401)
    one, zero = np.ones(401), np.zeros(401)
    for loss in (SquaredHinge(one), Hinge(one), Logistic(one)):
        left.plot(f, loss.value(f), label=loss.name)
    for loss in (Squared(zero), EpsilonInsensitive(zero, 0.5), Huber(zero, 0.5), Pinball(zero, 0.8)):
        middle.plot(f, loss.value(f), label=loss.name)
    for ax, title in ((left, "classes: label 1"), (middle, "values: y = 0")):
        ax.set(title=title, ylim=(-0.1, 4), xlabel="f(x)")
        ax.legend(fontsize=8)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(120) > 0
    model = SVC().fit(X, y)
    plot_decision(model, np.array([[-3, -3], [3, 3]]), ax=right, X=X, y=y, resolution=100)
    right.set_title(f"{len(model.support_)} of 120 points hold it")
    right.grid(False)
    return figure


def nested_grids():
    """Splines on nested grids, their sum, and a curve as a zero set."""
    figure = new_figure(9.6, 3.4)
    left, middle, right = figure.subplots(1, 3)
    x = np.linspace(0, 1, 600)
    for level, color in enumerate((BLUE, ORANGE, GREEN)):
        width = 2.0 ** -(level + 1)
        for k in range(2 ** (level + 1)):
            knots = (k + np.arange(-1, 3)) * width
            left.plot(x, 2 * level + 2 * BSpline.basis_element(knots, False)(x), color=color, linewidth=1)
    left.set(title="B-splines of three levels", yticks=[])
    rng = np.random.default_rng(0)
    t = np.sort(np.concatenate([rng.random(60), 0.6 + 0.1 * rng.random(400)]))
    y = np.sin(6 * t) + 0.5 * np.sin(120 * t) * (abs(t - 0.65) < 0.05) + 0.1 * rng.standard_normal(460)
    model = FieldSmoother(order=2).fit(t[:, None], y)
    middle.plot(t, y, ".", color=GRAY, markersize=2)
    middle.plot(x, model.predict(x[:, None]), color=BLUE, linewidth=1.4)
    middle.set_title("fine where data need it")
    angle = np.sort(rng.uniform(0.6, 2 * np.pi, 60))
    points = np.column_stack([np.cos(angle), 0.7 * np.sin(angle)]) + 0.01 * rng.standard_normal((60, 2))
    normals = np.column_stack([0.7 * np.cos(angle), np.sin(angle)])
    surface = reconstruct(points, normals / np.linalg.norm(normals, axis=1, keepdims=True))
    side = np.linspace(-1.4, 1.4, 120)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    values = surface.value(grid).reshape(120, 120)
    right.contour(side, side, values, levels=np.arange(-1, 2, 0.2), colors=[GRAY], linewidths=0.7)
    right.contour(side, side, values, levels=[0], colors=[BLUE], linewidths=2)
    right.quiver(*points.T, *normals.T, color=VERMILION, width=0.005, scale=14)
    right.set(title="a curve as a zero set", aspect="equal")
    right.grid(False)
    return figure


PICTURES = [
    semi_norm,
    building_blocks,
    representer,
    free_spaces,
    criteria,
    beliefs,
    filters,
    invariances,
    losses,
    nested_grids,
]


def main() -> None:
    """Draw all of them."""
    for draw in PICTURES:
        with look(), mpl.rc_context({"svg.hashsalt": "seminorm", "savefig.dpi": 110}):
            draw().savefig(IMAGES / f"theory-{draw.__name__.replace('_', '-')}.png")


if __name__ == "__main__":
    main()
