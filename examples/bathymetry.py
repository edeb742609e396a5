"""Smooth a synthetic survey: depth soundings along ship tracks, gridded with error bars, and saved for later."""

import numpy as np

from seminorm import Expansion, Smoother

rng = np.random.default_rng(0)
along = rng.random((12, 60)) * 40_000.0  # metres along twelve tracks
tracks = np.stack(
    [along, np.repeat(np.linspace(0, 30_000, 12)[:, None], 60, axis=1) + 200 * rng.standard_normal((12, 60))], -1
)
positions = tracks.reshape(-1, 2) + [430_000.0, 2_850_000.0]  # easting, northing
x, y = (positions - positions.mean(axis=0)).T / 1e4
depth = -1500 + 400 * np.tanh(2 * x) + 250 * np.exp(-4 * (x**2 + y**2)) + 15 * rng.standard_normal(len(positions))

model = Smoother(criterion="reml").fit(positions, depth)
print(
    f"alpha {model.alpha_:.3g}, {model.edf_:.0f} degrees of freedom, noise {np.sqrt(model.noise_variance_):.1f} m "
    "(true: 15.0 m)"
)

grid = np.stack(np.meshgrid(np.linspace(430e3, 470e3, 60), np.linspace(2850e3, 2880e3, 45)), -1)
mean, std = model.predict(grid.reshape(-1, 2), return_std=True)
print(f"error bars from {std.min():.1f} m on the tracks to {std.max():.1f} m between and beyond them")

model.function_.save("depth.npz")
slope = np.linalg.norm(Expansion.load("depth.npz").gradient(grid.reshape(-1, 2)), axis=1)
print(f"steepest slope on the grid: {100 * slope.max():.1f} %")
