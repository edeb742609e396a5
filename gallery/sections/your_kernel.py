"""A kernel of your own: one formula, and every estimator takes it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Gaussian, Kernel, Polyharmonic, Radial
from seminorm.plotting import plot_kernels
from seminorm.plotting._style import CYCLE, INK

from ..drawing import new_figure, save
from ..page import Code, Paragraph, Picture, Section


class Quartic(Radial):
    """1 / (1 + r^2 / scale^2)^2."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def _h(self, s, k):  # the k-th derivative of the profile in s = r^2 / scale^2
        return (-1) ** k * math.factorial(k + 1) * (1.0 + s) ** (-2 - k)


def section(folder: Path) -> Section:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, 14))
    y = np.sin(x) + 0.3 * np.cos(3 * x)
    kernels: dict[str, Kernel] = {"Quartic(1)": Quartic(1), "Gaussian(1)": Gaussian(1)}
    figure = new_figure(9.6, 3.4)
    left, right = figure.subplots(1, 2)
    plot_kernels(kernels, ax=left)
    line = np.linspace(0, 10, 400)[:, None]
    for (name, kernel), color in zip({**kernels, "Polyharmonic(2)": Polyharmonic(2)}.items(), CYCLE, strict=False):
        right.plot(line, Smoother(kernel, alpha=0).fit(x[:, None], y).predict(line), color=color, label=name)
    right.plot(x, y, "o", color=INK)
    right.legend(loc="upper right")
    right.set(title="interpolation of fourteen points", ylim=(-2.2, 2.2))
    intro = (
        "A radial kernel supplies the derivatives of its profile; values, gradients, Hessians, parameters, "
        "printing and saving follow. `all_kernels.register(Quartic)` puts it among the tested ones. The same "
        "goes for distances, transformations, losses and file formats."
    )
    caption = "Left: the new kernel beside a Gaussian. Right: what they make of the same points."
    alternative = "Profiles of two kernels, and three curves through the same points"
    picture = Picture(save(figure, folder, "your-kernel"), alternative, caption)
    return Section("Add a kernel", [Paragraph(intro), Code.of(Quartic), picture])
