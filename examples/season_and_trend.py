"""A trend plus a season: leave sine and cosine of the year free, and smooth what remains."""

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Polyharmonic
from seminorm.nullspace import Features, Polynomials


def year(t):
    return np.column_stack([np.sin(2 * np.pi * t[:, 0]), np.cos(2 * np.pi * t[:, 0])])


rng = np.random.default_rng(0)
t = np.sort(12 * rng.random(150))[:, None]
signal = 0.02 * t[:, 0] ** 2 + 1.5 * np.sin(2 * np.pi * t[:, 0] + 0.4)
y = signal + 0.3 * rng.standard_normal(150)
future = np.linspace(12, 13, 50)[:, None]
truth = 0.02 * future[:, 0] ** 2 + 1.5 * np.sin(2 * np.pi * future[:, 0] + 0.4)

plain = Smoother(Polyharmonic(2)).fit(t, y)
seasonal = Smoother(Polyharmonic(2), null_space=Polynomials(1) | Features(year)).fit(t, y)
for name, model in (("smoothing spline", plain), ("with a free season", seasonal)):
    error = np.sqrt(np.mean((model.predict(future) - truth) ** 2))
    print(f"{name:>20}: {model.edf_:5.1f} degrees of freedom, error in the year after the data {error:.2f}")
