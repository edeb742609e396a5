"""Walder 2008, figure 3.2: Gaussians of norm 1 in the space of the Gaussian kernel of scale 1, on the line.

f(x) = c exp(-x^2 / (2 a^2)) has norm 1 for c = a^-d (2 a^2 - 1)^(d/4), which follows from (3.10); the source prints
the square of this c. It is largest, 1, at a = 1, the kernel itself (red), and goes to 0 on both sides: at
a = 1 / sqrt(2) the functions leave the space, and wide functions are dear because the constant does not belong to it.

Printed: c of the formula, and c from the energy of a basis of one function.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from walder_chapelle_figure1 import output_folder, save

from seminorm.bases.gaussian import GaussianBasis
from seminorm.kernels import Gaussian

SCALES = (0.708, 0.72, 0.75, 0.8, 0.9, 1.0, 1.25, 1.6, 2.2, 3.0, 4.5, 7.0)


def height(a: float, dimension: int = 1) -> float:
    return a**-dimension * (2.0 * a * a - 1.0) ** (0.25 * dimension)


def main() -> None:
    folder = output_folder(__doc__)
    x = np.linspace(-4.0, 4.0, 401)
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    ax = figure.subplots()
    print(f"{'a':>6} {'c, formula':>11} {'c, from the energy':>19}")
    for a in SCALES:
        energy = GaussianBasis([[0.0]], a).energy(Gaussian(1.0))[0, 0]
        print(f"{a:6.3f} {height(a):11.6f} {energy**-0.5:19.6f}")
        style = {"color": "C3", "lw": 2.0, "zorder": 3} if a == 1.0 else {"color": "0.25", "lw": 0.8}
        ax.plot(x, height(a) * np.exp(-0.5 * (x / a) ** 2), **style)
    ax.set(xlabel="x", ylabel="f(x)", title="Gaussians of norm 1; red: the kernel")
    save(figure, folder / "walder_figure32.png")


if __name__ == "__main__":
    main()
