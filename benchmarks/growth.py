"""Time and memory of FieldSmoother with all defaults, from 10^4 to 10^7 points of the plane, as numbers and a picture.

Every size has a process of its own: CPU time of all threads, wall time, and the growth of the resident size at its
peak, for a fit, and for the fit and 10^5 predictions with deviations. The test function has waves of several lengths
and noise of 5 % of its range. The last column is the time of a draw of the posterior at a million nodes of a
grid. Slopes are those of lines through the logarithms: 1 is proportional growth.
"""

import argparse
import multiprocessing
import time
from pathlib import Path

import numpy as np
from _memory import peak_of

SIZES = tuple(round(10.0 ** (4 + 0.5 * k)) for k in range(7))
NOISE, TARGETS = 0.1, 100_000
NODES, DRAWS = 1000, 4  # along each side of the grid
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "growth.png"
COLUMNS = ("CPU, s", "wall, s", "memory, MB", "with deviations, CPU s", "draw, CPU s")


def data(n):
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    truth = np.sin(12 * X[:, 0]) * np.cos(9 * X[:, 1]) + np.exp(-50 * ((X - 0.3) ** 2).sum(axis=1))
    return X, truth + NOISE * rng.standard_normal(n)


def _measure(n, deviations, queue):
    from seminorm import FieldSmoother

    FieldSmoother().fit(*data(1000))  # what is set up once
    X, y = data(n)
    smoother, wall, cpu = FieldSmoother(), time.perf_counter(), time.process_time()
    growth = peak_of(lambda: smoother.fit(X, y))
    wall, fitted = time.perf_counter() - wall, time.process_time() - cpu
    whole = draw = np.nan
    if deviations:
        smoother.predict(X[:TARGETS], return_std=True)
        whole = time.process_time() - cpu
        axis = np.linspace(0.0, 1.0, NODES)
        nodes = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        cpu = time.process_time()
        smoother.sample(nodes, DRAWS, random_state=0)
        draw = (time.process_time() - cpu) / DRAWS
    queue.put((fitted, wall, growth / 1e6, whole, draw, smoother.function_.n_coef, smoother.function_.depth))


def measure(n, deviations):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_measure, args=(n, deviations, queue))
    process.start()
    process.join()
    return queue.get(timeout=10)


def slopes(sizes, table):
    """Of the logarithms of the columns over those of the sizes."""
    return [np.polyfit(np.log(sizes), np.log(np.maximum(column, 1e-3)), 1)[0] for column in table.T]


def draw(sizes, table, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    labels = ("fit", None, None, f"fit, and deviations at {TARGETS:.0e} points".replace("e+0", "e"))
    for column, label in ((0, labels[0]), (3, labels[3])):
        if np.isfinite(table[:, column]).all():
            axes[0].loglog(sizes, table[:, column], "o-", label=label)
    axes[1].loglog(sizes, table[:, 2] / 1e3, "o-", label="fit")
    for ax, start, unit in ((axes[0], table[0, 0], "CPU seconds"), (axes[1], table[0, 2] / 1e3, "peak memory, GB")):
        ax.loglog(sizes, start * np.array(sizes) / sizes[0], "k:", linewidth=1, label="proportional")
        ax.set(xlabel="points", ylabel=unit)
        ax.legend(frameon=False)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=lambda text: round(float(text)), help="numbers of points")
    parser.add_argument("--no-deviations", action="store_true", help="fits alone")
    parser.add_argument("--picture", type=Path, metavar="PNG", help=f"draw, for instance to {PICTURE.name} in the docs")
    arguments = parser.parse_args()
    sizes = arguments.sizes or SIZES
    print(f"{'points':>9} " + " ".join(f"{name:>22}" for name in COLUMNS) + f" {'coefficients':>13} depth")
    rows = []
    for n in sizes:
        *row, size, depth = measure(n, not arguments.no_deviations)
        rows.append(row)
        print(f"{n:>9} " + " ".join(f"{number:22.2f}" for number in row) + f" {size:>13} {depth:5}", flush=True)
    if len(sizes) > 1:
        table = np.array(rows)
        print(f"{'slope':>9} " + " ".join(f"{slope:22.2f}" for slope in slopes(sizes, table)))
        if arguments.picture:
            draw(sizes, table, arguments.picture)
