"""Gestures of two kinds at any pace and with any beginning: a classifier that needs nothing but the series, what it
looked at, and the best alignment of two of them.
"""

import sys

import numpy as np

from seminorm import KernelNeighbors, SeriesClassifier
from seminorm.invariance import ADTW, DTW, DistanceKernel
from seminorm.kernels import Gaussian

rng = np.random.default_rng(0)


def gesture(kind):
    """A hand goes up and down; for kind 1 it hesitates at the top. Between 60 and 90 samples."""
    n = rng.integers(60, 91)
    t = np.sort(rng.random(n)) ** rng.uniform(0.8, 1.25)
    rise = 1 / (1 + np.exp(-40 * (t - 0.3))) - 1 / (1 + np.exp(-40 * (t - 0.7)))
    return rise - 0.25 * kind * np.exp(-(((t - 0.5) / 0.05) ** 2)) + 0.03 * rng.standard_normal(n)


def draw(n):
    kinds = np.arange(n) % 2
    return [gesture(kind) for kind in kinds], kinds


(X, y), (Z, t) = draw(40), draw(200)
model = SeriesClassifier().fit(X, y)
print(f"{'SeriesClassifier':>28}: {model.score(Z, t):.3f} of new gestures are right")
nearest = KernelNeighbors("precomputed_distances").fit(DTW().pairwise(X), y)
print(f"{'nearest neighbour by DTW':>28}: {nearest.score(DTW().pairwise(Z, X), t):.3f}")
kernel = DistanceKernel(Gaussian(2.0), ADTW(0.05))
values = np.linalg.eigvalsh(kernel(X))
print(f"{'a kernel of ADTW':>28}: eigenvalues from {values[0]:.3g} to {values[-1]:.3g}; negative ones are clipped")
order = np.argsort(-model.explain_["weight"])[:3]
for k in order:
    explained = {key: column[k] for key, column in model.explain_.items()}
    print(f"{explained['distance']:>28}: weight {explained['weight']:.2f}, alone {explained['error']:.2f} errors")
if "--picture" in sys.argv:
    from seminorm.plotting import plot_alignment

    plot_alignment(X[0], X[1], ADTW(0.05)).figure.savefig("alignment.png")
