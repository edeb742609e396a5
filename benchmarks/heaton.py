"""Satellite temperatures under clouds: values and error bars of FieldSmoother beside those of a published comparison.

Land surface temperatures on a grid of 500 x 300 pixels, of which 105 569 are given and 42 740 are covered by the clouds
of another day [Heaton 2019]. The published rows are from there, with times on the authors' machines. Ours has
default parameters in degrees of latitude along both axes, and sees no test value before it is scored. All scores are
those of a normal prediction of new observations, noise included; the bands are of 95 %.
"""

import argparse
import time

from _datasets import arrays, require
from _scores import scores
from scattered_data import geographic, middle_of

from seminorm import FieldSmoother

PUBLISHED = {  # RMSE, MAE, CRPS, interval score, coverage, minutes
    "SPDE": (1.53, 1.10, 0.83, None, None, 120.0),
    "NNGP": (1.64, 1.21, 0.85, 7.57, 0.95, 2.0),
    "LatticeKrig": (1.68, 1.22, 0.87, None, None, 28.0),
}


def ours(latitude, **options):
    file = arrays("scattered/heaton_sat.npz")
    middle = middle_of(file) if latitude is None else latitude
    X, Z = (geographic(*file[name].T, middle) for name in ("X", "X_test"))
    y, truth = file["y"], file["y_test"]
    start = time.perf_counter()
    smoother = FieldSmoother(**options).fit(X, y)
    middle = time.perf_counter()
    mean, std = smoother.predict(Z, return_std="observation")
    seconds = time.perf_counter() - start
    print(f"{smoother.function_!r}, noise {smoother.noise_variance_**0.5:.3g}, factor "
          f"{smoother.deviation_factor_:.2f}; fit {middle - start:.1f} s of "
          f"{seconds:.1f} s")  # fmt: skip
    return scores(truth, mean, std), seconds


def show(name, values, minutes):
    cells = ("      -" if value is None else f"{value:7.3f}" for value in values)
    print(f"{name:>16} " + " ".join(cells) + f" {minutes:8.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=48, help="std_samples of FieldSmoother")
    parser.add_argument("--anisotropy", choices=("auto", "rotated"), help="of FieldSmoother; none by default")
    parser.add_argument("--latitude", type=float, help="where a degree of longitude counts as long as it is")
    arguments = parser.parse_args()
    require("scattered/heaton_sat.npz")
    found, seconds = ours(arguments.latitude, std_samples=arguments.draws, anisotropy=arguments.anisotropy)
    print(f"{'':>16} " + " ".join(f"{title:>7}" for title in ("RMSE", "MAE", "CRPS", "score", "cover")) + "  minutes")
    for name, row in PUBLISHED.items():
        show(name, row[:-1], row[-1])
    show("FieldSmoother", found, seconds / 60.0)
