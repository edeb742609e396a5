"""Walder 2008, figure 5.3: one set of data, three machines of the thin plate, as a picture.

Left: the exact machine, linear functions free. Middle: nothing free (beta = 0, expanded on the training points).
Right: the p.d. twin (5.19) of the thin plate, not shifted, here with the constant free. As in the source, pluses and
crosses are the classes, the white line is the zero level and the black lines are the levels -1 and 1; alpha is the same
in all three, and the loss is the squared hinge. The source's data and alpha are not given: the data are those of
walder_chapelle_figure1.py. A fourth machine is only printed: the twin with the shift of walder_table51.py, which takes
the points where its kernel vanishes away from the data and comes close to the exact machine.

The source finds the three "rather similar to one another in the central part of the figure"; how similar is printed, as
the share of the plane where the sign differs from that of the exact machine.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from walder_chapelle_figure1 import BOUNDS, draw, output_folder, save, toy
from walder_table51 import shift

from seminorm import SVC
from seminorm.nullspace import ThinPlateTwin

ALPHA = 0.1


def disagreement(first, second, points: np.ndarray) -> float:
    """Percent of the points where the signs of two machines differ."""
    return 100.0 * float(np.mean(first.predict(points) != second.predict(points)))


def main() -> None:
    folder = output_folder(__doc__)
    X, y = toy()
    machines = {
        "thin plate, linear functions free": SVC(alpha=ALPHA, null_space=1),
        r"thin plate, nothing free ($\beta = 0$)": SVC(alpha=ALPHA, null_space="zero"),
        "p.d. twin (5.19)": SVC(ThinPlateTwin(), alpha=ALPHA),
        f"p.d. twin (5.19), shift {shift(X):.1f}": SVC(ThinPlateTwin(shift(X)), alpha=ALPHA),
    }
    x1, x2 = (np.linspace(*ends, 120) for ends in zip(*BOUNDS, strict=True))
    plane = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    center = plane[(np.abs(plane - np.median(X, axis=0)) < 2.0 * X.std(axis=0)).all(axis=1)]
    figure = Figure(figsize=(12.0, 3.2), layout="constrained")
    axes = [*figure.subplots(1, 3), None]
    exact = None
    print(f"{'machine':<36} {'training errors':>16} {'differs, center':>16} {'differs, all':>13}")
    for ax, (name, machine) in zip(axes, machines.items(), strict=True):
        machine.fit(X, y)
        exact = machine if exact is None else exact
        errors = int((machine.predict(X) != y).sum())
        differs = [f"{disagreement(exact, machine, points):.1f} %" for points in (center, plane)]
        print(f"{name.replace('$', '').replace(chr(92), ''):<36} {errors:16d} {differs[0]:>16} {differs[1]:>13}")
        if ax is not None:
            draw(ax, machine, X, y, ("+", "x"), name)
    save(figure, folder / "walder_figure53.png")


if __name__ == "__main__":
    main()
