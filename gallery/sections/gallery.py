"""Kernels side by side: their profiles, and what they make of the same eight points."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.kernels import (
    BSpline,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    Matern,
    Multiquadric,
    NegativeDistance,
    Polyharmonic,
    ThinPlate,
    Wendland,
)
from seminorm.plotting import plot_kernels
from seminorm.plotting._style import CYCLE, INK

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section, Table, number

_DEFINITE = {
    "Gaussian()": Gaussian(),
    "Matern(1.5)": Matern(1.5),
    "Laplacian()": Laplacian(),
    "InverseMultiquadric()": InverseMultiquadric(),
    "Wendland(2, scale=3)": Wendland(2, scale=3.0),
    "BSpline(3)": BSpline(3),
}
_CONDITIONAL = {
    "ThinPlate()": ThinPlate(),
    "Polyharmonic(2)": Polyharmonic(2),
    "Multiquadric()": Multiquadric(),
    "NegativeDistance()": NegativeDistance(),
}
_INTERPOLATING = {
    **{name: _CONDITIONAL[name] for name in _CONDITIONAL},
    **{name: _DEFINITE[name] for name in ("Matern(1.5)", "Gaussian()")},
}


def interpolate(kernel, x, y):
    return Smoother(kernel, alpha=0).fit(x[:, None], y)


def section(folder: Path) -> Section:
    x = np.array([0.4, 1.1, 2.3, 3.0, 4.6, 5.2, 7.4, 8.3])
    y = np.array([0.2, 0.9, 1.1, 0.3, 0.5, 1.6, 1.3, 1.8])
    models = {name: interpolate(kernel, x, y) for name, kernel in _INTERPOLATING.items()}
    intro = (
        "A kernel says what a function looks like. Its order says what it leaves free: nothing (0), constants (1), "
        "straight lines or planes (2). Kernels can be added, multiplied and scaled, and the order follows."
    )
    return Section(
        "A gallery of kernels",
        [Paragraph(intro), _profiles(folder), Code.of(interpolate), _interpolants(folder, models, x, y), _properties()],
    )


def _profiles(folder: Path) -> Picture:
    figure = new_figure(9.6, 3.8)
    left, right = figure.subplots(1, 2)
    plot_kernels(_DEFINITE, np.linspace(0, 3.2, 321), ax=left).set_title("positive definite")
    plot_kernels(_CONDITIONAL, np.linspace(0, 2, 201), ax=right).set_title("conditionally positive definite")
    without_scale = sum(kernel.for_dimension(1).dilation_degree is not None for kernel in _CONDITIONAL.values())
    caption = (
        "Profiles against distance. The kernels on the left decay, and so do the functions they make. Those on the "
        f"right grow: they are positive once the free functions are set aside, and {without_scale} of the "
        f"{len(_CONDITIONAL)} have no length scale."
    )
    return Picture(save(figure, folder, "kernel-profiles"), "Curves of ten kernels against distance", caption)


def _interpolants(folder: Path, models: dict[str, Smoother], x: np.ndarray, y: np.ndarray) -> Picture:
    figure = new_figure(9.6, 5.0)
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    line = np.linspace(-1.5, 10.5, 600)
    for i, (ax, (name, model)) in enumerate(zip(axes.flat, models.items(), strict=True)):
        ax.plot(line, model.predict(line[:, None]), color=CYCLE[i])
        ax.plot(x, y, "o", color=INK, markersize=4.5)
        ax.set(title=f"{name}, order {model.kernel_.cpd_order}", xlim=(line[0], line[-1]), ylim=(-1.2, 3.2))
    ends = np.array([[-200.0], [200.0]])
    to_zero = [name for name, model in models.items() if np.abs(model.predict(ends)).max() < 1e-6]
    caption = (
        f"The same {len(x)} points, interpolated. Far from the data {' and '.join(to_zero)} return to zero; the others "
        "continue with what they leave free."
    )
    return Picture(save(figure, folder, "interpolants"), "Six interpolants of the same eight points", caption)


def _properties() -> Table:
    rows = [
        [f"`{name}`", *_describe(kernel.for_dimension(1))] for name, kernel in {**_CONDITIONAL, **_DEFINITE}.items()
    ]
    return Table(
        ["kernel", "order", "left free", "dilation degree", "differentiable"],
        rows,
        "What the kernels declare about themselves, on the line. Gradients as data need a kernel that can be "
        "differentiated twice where its arguments coincide.",
    )


def _describe(kernel: Kernel) -> list[str]:
    free = {-1: "nothing", 0: "constants", 1: "lines"}.get(kernel.null_degree, f"degree {kernel.null_degree}")
    degree = "-" if kernel.dilation_degree is None else number(kernel.dilation_degree)
    count = kernel.differentiability
    times = {0: "no", 1: "once", 2: "twice", np.inf: "always"}.get(count, f"{count:g} times")
    return [str(kernel.cpd_order), free, degree, times]
