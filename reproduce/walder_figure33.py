"""Walder 2008, figure 3.3: the thin-plate inner product of two B3-splines in space, as a function of their distance.

The supports are s_j = 1 and s_k = 1, 5, 10, 100. Blue is the inner product, by the closed form that replaces the
printed code of section C.1, against the distance of the centres; green and dashed red are the two profiles. The
source does not say how the blue line is scaled; here it is divided by its largest value.

Printed: the inner product at distance 0 and where it is least, and the largest difference from numerical integration
relative to the largest value.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import quad
from walder_chapelle_figure1 import output_folder, save

from seminorm.bases.radial_energies import b3_spline, radial_energy

WIDE = (1.0, 5.0, 10.0, 100.0)


def laplacian(r: float, support: float) -> float:
    """Of the spline in space, f'' + 2 f' / r."""
    t = r / support
    if t >= 1.0:
        return 0.0
    return float(b3_spline(t, 2) + (2.0 * b3_spline(t, 1) / t if t > 0 else -24.0)) / support**2


def integrated(distance: float, support: float) -> float:
    """The integral of the product of Laplacians, in bipolar coordinates: the distances r and q from the centres."""

    def over_q(r: float) -> float:
        low, high = abs(distance - r), min(distance + r, support)
        if low >= high:
            return 0.0
        inner = quad(lambda q: laplacian(q, support) * q, low, high, points=_knots(support, low, high), epsrel=1e-11)
        return laplacian(r, 1.0) * r * inner[0]

    ends = sorted({0.0, 0.5, 1.0, *(abs(distance + k) for k in (-support, -support / 2, 0.0))})
    ends = [end for end in ends if end <= 1.0]
    pieces = (quad(over_q, low, high, epsrel=1e-10)[0] for low, high in pairwise(ends))
    return 2.0 * np.pi / distance * sum(pieces)


def _knots(support: float, low: float, high: float) -> list[float] | None:
    return [0.5 * support] if low < 0.5 * support < high else None


def main() -> None:
    folder = output_folder(__doc__)
    figure = Figure(figsize=(10.0, 6.4), layout="constrained")
    print(f"{'s_k':>5} {'at distance 0':>14} {'least':>12} {'at distance':>12} {'against integration':>20}")
    for ax, wide in zip(figure.subplots(2, 2).ravel(), WIDE, strict=True):
        distances = np.linspace(0.0, 1.05 * (1.0 + wide), 4001)
        values = radial_energy(distances, 1.0, wide)
        checked = np.linspace(0.05, 0.98, 12) * (1.0 + wide)
        difference = radial_energy(checked, 1.0, wide) - [integrated(float(R), wide) for R in checked]
        lowest = int(values.argmin())
        print(
            f"{wide:5g} {values[0]:14.6g} {values[lowest]:12.5g} {distances[lowest]:12.4g} "
            f"{np.abs(difference).max() / values[0]:20.1e}"
        )
        ax.plot(distances, values / np.abs(values).max(), color="C0", lw=1.6, label="inner product, scaled")
        ax.plot(distances, b3_spline(distances), color="C2", lw=1.2, label="$s_j = 1$")
        ax.plot(distances, b3_spline(distances / wide), "--", color="C3", lw=1.2, label=f"$s_k = {wide:g}$")
        ax.axhline(0.0, color="0.7", lw=0.6, zorder=0)
        ax.set_xlabel("distance of the centres")
        ax.legend(fontsize=8)
    save(figure, folder / "walder_figure33.png")


if __name__ == "__main__":
    main()
