"""Walder and Chapelle 2007, figure 1: the thin plate's decision function, from an alpha near 0 to a very large one.

As in the source, circles and boxes are the classes, the white line is the zero level and the black lines are the levels
-1 and 1. With alpha near 0 (data seen from near by) every point is obeyed, with a large alpha (data seen from far away)
only the linear functions, which are free, are left. The source's data are not given; ours are two interlocking arcs
with a small cluster of one class inside the other.

The law behind the picture is measured and printed too: dilating the data by s and alpha by s^2 changes nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from seminorm import SVC
from seminorm.plotting import plot_field

TITLES = {
    1e-5: r"$\alpha = 10^{-5}$ (nearly 0)",
    1.0: r"$\alpha = 1$",
    15.0: r"$\alpha = 15$",
    100.0: r"$\alpha = 100$",
    1e5: r"$\alpha = 10^5$ (nearly $\infty$)",
}
BOUNDS = ((-3.0, -2.5), (4.2, 2.5))
LEVELS = np.linspace(-2.5, 2.5, 21)
# dark enough for white lines and markers, light enough for black ones
COLORS = LinearSegmentedColormap.from_list("margin", ["#1f5f8b", "#5b84a3", "#8a8a8f", "#c07a5f", "#b5442b"])
DEFAULT_OUTPUT = Path(__file__).resolve().parent / "pictures"


def toy(seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Two arcs of 36 points each, and seven points of the first class close together within the second."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0.0, np.pi, (2, 36))
    upper = np.column_stack([1.8 * np.cos(angles[0]), 1.8 * np.sin(angles[0]) - 0.6])
    lower = np.column_stack([1.8 * np.cos(angles[1]) + 1.4, 0.5 - 1.8 * np.sin(angles[1])])
    spread = 0.3 * rng.standard_normal((72, 2))
    cluster = np.array([2.15, -1.0]) + 0.1 * rng.standard_normal((7, 2))
    X = np.concatenate([np.concatenate([upper, lower]) + spread, cluster])
    return X, np.concatenate([np.full(36, -1), np.full(36, 1), np.full(7, -1)])


def draw(ax, machine, X, y, markers: tuple[str, str], title: str) -> None:
    """The decision function with its levels 0 (white), -1 and 1 (black), and the data."""
    plot_field(machine.decision_function, BOUNDS, ax=ax, resolution=260, levels=LEVELS, cmap=COLORS, colorbar=False)
    x1, x2 = (np.linspace(*ends, n) for ends, n in zip(zip(*BOUNDS, strict=True), (260, 200), strict=True))
    grid = np.stack(np.meshgrid(x1, x2), axis=-1)
    values = machine.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.contour(x1, x2, values, levels=[-1.0, 1.0], colors="black", linestyles="solid", linewidths=1.2)
    ax.contour(x1, x2, values, levels=[0.0], colors="white", linewidths=2.4)
    for label, marker, color in zip((-1, 1), markers, ("white", "#ffe14d"), strict=True):
        line = {"linewidths": 0.8, "edgecolors": "black"} if marker in "os" else {"linewidths": 1.6}
        ax.scatter(*X[y == label].T, c=color, marker=marker, s=24, zorder=3, **line)
    ax.set_title(title, fontsize=10)
    ax.set(xticks=[], yticks=[])


def output_folder(description: str | None) -> Path:
    """The folder of the option --output, made if it is not there."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", metavar="FOLDER", type=Path, default=DEFAULT_OUTPUT, help="for the picture (default: pictures here)"
    )
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=150)
    print(f"Written: {path}", flush=True)


def main() -> None:
    folder = output_folder(__doc__)
    X, y = toy()
    figure = Figure(figsize=(16.0, 2.7), layout="constrained")
    law = "data dilated by 3, alpha by 9: difference"
    print(f"{'alpha':>8} {'training errors':>16} {'margin violators':>17} {law:>42}")
    for ax, alpha in zip(figure.subplots(1, len(TITLES)), TITLES, strict=True):
        machine = SVC(alpha=alpha, null_space=1).fit(X, y)
        dilated = SVC(alpha=9.0 * alpha, null_space=1).fit(3.0 * X, y)
        values = machine.decision_function(X)
        difference = np.abs(dilated.decision_function(3.0 * X) - values).max()
        violators = int((y * values < 1.0 - 1e-9).sum())
        print(f"{alpha:8g} {int((y * values <= 0).sum()):16d} {violators:17d} {difference:42.1e}")
        draw(ax, machine, X, y, ("o", "s"), TITLES[alpha])
    save(figure, folder / "walder_chapelle_figure1.png")


if __name__ == "__main__":
    main()
