"""Haasdonk and Burkhardt 2007, Table 1: machines on two rings, without and with rotation in the kernel, 20 draws.

20 training points on each of two concentric rings, 100 test points; a Gaussian kernel, rotations by angles up to pi/2,
by the minimum of distances (IDS) and by integration (TI).

Where the source is silent, or its text is damaged:
- It prints neither radii nor widths nor C. Ours (rings 0.5 to 0.6 and 0.625 to 0.725, Gaussian of scale 0.3, C = 100,
  hinge) come from a random search of 600 settings and a few dozen by hand, on other draws, for one that is near the
  printed table. So it is the ordering that is reproduced; that the numbers are near is by choice.
- How far the ordering depends on the choice is printed below the table, for other scales and C. The trace-margin ratio
  does: with a large C the machine with IDS has a smaller margin on these rings, for the same trace.
- The trace-margin ratio is printed as "2+ tr(K)". We take 4 sqrt(tr K) / (n gamma), the term of the bound that the text
  quotes for it, gamma = 1 / |w|. Of four readings it is the only one under which that search found all rows near the
  printed ones. With sqrt(tr K) / gamma, for one, most points are support vectors without invariance wherever the
  ratio is near as small as printed.
- The standard deviation is that of single draws, as in the source.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from _report import Table

from seminorm import SVC
from seminorm.invariance import DistanceKernel, IntegrationKernel, MinimumDistance, Rotation
from seminorm.kernels import Gaussian, Kernel

HOLDS = "holds"
NAMES = ("none", "IDS", "TI")
INNER_RADII, WIDTH = (0.5, 0.625), 0.1
SCALE, C = 0.3, 100.0
OTHER_SCALES, OTHER_COSTS, OTHER_DRAWS = (0.2, 0.3, 0.4), (10.0, 30.0, 100.0, 300.0), 5
ROTATION = Rotation(np.pi / 2, n_nodes=24)
TRAINING, TEST, DRAWS, QUICK_DRAWS = 20, 50, 20, 5  # points are of each ring

# mean and standard deviation for none, IDS, TI
SOURCE = {
    "test error": ((0.048, 0.037), (0.0, 0.0), (0.001, 0.003)),
    "fraction of SVs": ((0.410, 0.042), (0.085, 0.019), (0.188, 0.025)),
    "trace-margin ratio": ((12.68, 2.25), (10.67, 1.26), (10.17, 1.40)),
}


def kernels(scale: float = SCALE) -> list[Kernel]:
    """The Gaussian, with IDS and with TI."""
    base = Gaussian(scale)
    return [base, DistanceKernel(base, MinimumDistance(ROTATION)), IntegrationKernel(base, ROTATION)]


def rings(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n points spread evenly over the area of each of two rings, and on which they are."""
    inner = np.repeat(INNER_RADII, n)
    radii = np.sqrt(rng.uniform(inner**2, (inner + WIDTH) ** 2))
    angles = rng.uniform(0.0, 2 * np.pi, 2 * n)
    return radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]), np.repeat([0, 1], n)


def machine(kernel: Kernel, X: np.ndarray, y: np.ndarray, cost: float = C) -> SVC:
    return SVC(kernel, alpha=0.5 / cost, loss="hinge").fit(X, y)


def trace_margin_ratio(model: SVC, X: np.ndarray) -> float:
    """4 sqrt(tr K) / (n gamma) with the margin gamma = 1 / |w|."""
    kernel, coefficients = model.kernel_, model.dual_coef_[0]
    squared_norm = coefficients @ kernel(model.support_vectors_) @ coefficients
    return float(4.0 * np.sqrt(kernel.diag(X).sum() * squared_norm) / len(X))


def draw(seed: int, scale: float = SCALE, cost: float = C) -> dict[str, list[float]]:
    """The three quantities for each kernel, on one draw of the data."""
    rng = np.random.default_rng(seed)
    (X, y), (Z, t) = rings(rng, TRAINING), rings(rng, TEST)
    models = [machine(kernel, X, y, cost) for kernel in kernels(scale)]
    return {
        "test error": [1.0 - model.score(Z, t) for model in models],
        "fraction of SVs": [len(model.support_) / len(X) for model in models],
        "trace-margin ratio": [trace_margin_ratio(model, X) for model in models],
    }


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of single values."""
    return float(np.mean(values)), float(np.std(values, ddof=1))


def ordering(means: Sequence[float]) -> str:
    """Whether the kernel without invariance (first) is worse than both others; less is better."""
    return HOLDS if means[0] > max(means[1:]) else "DOES NOT HOLD"


def compare(table: Table, quantity: str, source: Sequence[tuple[float, float]], ours: np.ndarray) -> None:
    """A row of theirs beside ours (repetitions, kernels), and whether the ordering holds."""
    pairs = [spread(column) for column in ours.T]
    cells = [f"{mean:.3f} ({deviation:.3f})" for both in zip(source, pairs, strict=True) for mean, deviation in both]
    table.add(quantity, *cells, ordering([mean for mean, _ in pairs]))


def comparison(title: str) -> Table:
    headings = [f"{name} {whose}" for name in NAMES for whose in ("source", "ours")]
    return Table(title, ["mean (standard deviation)", *headings, "invariance better"], [25, *[15] * 6, 13])


def report_other_settings(table: Table) -> None:
    """For which scales and C the ordering holds, on a few draws each."""
    settings = list(product(OTHER_SCALES, OTHER_COSTS))
    fails: dict[str, list[str]] = {quantity: [] for quantity in SOURCE}
    for scale, cost in settings:
        draws = [draw(seed, scale, cost) for seed in range(OTHER_DRAWS)]
        for quantity, where in fails.items():
            if ordering(np.mean([one[quantity] for one in draws], axis=0)) != HOLDS:
                where.append(f"({scale:g}, {cost:g})")
    for quantity, where in fails.items():
        but = f", not for (scale, C) = {', '.join(where)}" if where else ""
        table.note(f"{quantity}: the ordering holds in {len(settings) - len(where)} of {len(settings)} settings{but}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_DRAWS} draws instead of {DRAWS}")
    parser.add_argument("--markdown", metavar="PATH", type=Path, help="also write the table to this Markdown file")
    arguments = parser.parse_args()
    draws = [draw(seed) for seed in range(QUICK_DRAWS if arguments.quick else DRAWS)]
    table = comparison(f"Haasdonk and Burkhardt 2007, Table 1: SVM on two rings, {len(draws)} draws")
    for quantity, source in SOURCE.items():
        compare(table, quantity, source, np.array([one[quantity] for one in draws]))
    table.note("Trace-margin ratio: 4 sqrt(tr K) / (n gamma), our reading of a damaged formula.")
    if not arguments.quick:
        report_other_settings(table)
    table.write(arguments.markdown)


if __name__ == "__main__":
    main()
