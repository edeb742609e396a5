"""Walder 2008, figure 3.4: the centres that Algorithm 3.1 places on a scan, by support.

The parameters are the source's: tolerance 1/50, first support 1/5, ratio 13/10, spacing 1/3. Its scan is not at hand;
ours is a range map of a bust from one side. Each panel shows the points (blue) and the centres of one support (red),
widest first. The source also shows a rendering of the surface that was fitted in this basis.

Where the algorithm stops without a lower limit the source leaves open; here no grid is finer than the points are apart.
"""

from __future__ import annotations

import time

import _data
import numpy as np
from matplotlib.figure import Figure
from walder_chapelle_figure1 import output_folder, save

from seminorm.fields.curvature import curvature_centers

SCAN = "surfaces/points/laurana_rangemap_lato000.npz"
COLUMNS = 4


def draw(points: np.ndarray, centers: np.ndarray, supports: np.ndarray, side: float) -> Figure:
    """The points and the centres, seen along the third axis, one panel for each support."""
    levels = np.unique(supports)[::-1]
    rows = -(-len(levels) // COLUMNS)
    figure = Figure(figsize=(3.0 * COLUMNS, 3.3 * rows), layout="constrained")
    low, high = points[:, :2].min(axis=0) - 0.08 * side, points[:, :2].max(axis=0) + 0.08 * side
    for ax, level in zip(figure.subplots(rows, COLUMNS).ravel(), levels, strict=False):
        shown = supports == level
        ax.scatter(points[::4, 0], points[::4, 1], s=0.8, color="#7aa6d6", linewidths=0)
        ax.scatter(centers[shown, 0], centers[shown, 1], s=2.5, color="C3", linewidths=0)
        ax.set_title(f"support {level / side:.3f}: {shown.sum()} functions", fontsize=9)
        ax.set(aspect="equal", xticks=[], yticks=[], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return figure


def main() -> None:
    folder = output_folder(__doc__)
    _data.require(SCAN)
    with np.load(_data.folder() / SCAN) as arrays:
        points = arrays["points"].astype(float)
    start = time.perf_counter()
    centers, supports = curvature_centers(points, tolerance=1 / 50, support=1 / 5, shrink=13 / 10, spacing=1 / 3)
    seconds = time.perf_counter() - start
    print(f"{len(points)} points, {len(centers)} functions in {seconds:.1f} s")
    levels = np.unique(supports)[::-1]
    side = np.ptp(points, axis=0).max()
    print(f"{'support / side':>14} {'functions':>10}")
    for level in levels:
        print(f"{level / side:14.4f} {np.count_nonzero(supports == level):10d}")
    save(draw(points, centers, supports, side), folder / "walder_figure34.png")


if __name__ == "__main__":
    main()
