"""The same classes measured in metres and in kilometres: a tuned thin plate does not notice, a tuned Gaussian of
fixed width does.
"""

import time

import numpy as np

from seminorm import SVC
from seminorm.kernels import Gaussian

rng = np.random.default_rng(0)


def two_moons(n):
    y = rng.integers(0, 2, n)
    t = np.pi * rng.random(n)
    X = np.column_stack([np.cos(t) * (1 - 2 * y) + y, np.sin(t) * (1 - 2 * y) + 0.4 * y])
    return X + 0.25 * rng.standard_normal((n, 2)), y


(X, y), (Z, t) = two_moons(400), two_moons(4000)
for name, kernel in (("thin plate", None), ("Gaussian(0.5)", Gaussian(0.5))):
    for unit, s in (("kilometres", 1.0), ("metres", 1000.0)):
        start = time.perf_counter()
        model = SVC(kernel).fit(s * X, y)
        seconds = time.perf_counter() - start
        error = 100 * (1 - model.score(s * Z, t))
        print(
            f"{name:>14} in {unit:<10}: {error:5.2f} % errors, {len(model.support_)} support points, tuned in "
            f"{seconds:.2f} s"
        )
