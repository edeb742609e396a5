"""Sea surface temperature from drifting buoys: two coordinates in kilometres and one in days.

Roughness along time must be made comparable with roughness in space. ``scale`` divides each coordinate: a good choice
is the distance over which the quantity changes as much as it does along the other axes.
"""

import numpy as np

from seminorm import FieldSmoother

NOISE = 0.2


def temperature(X):
    """An eddy of 80 km that drifts west, in a field that warms from south to north and through the month."""
    x, y, day = X.T
    eddy = 3 * np.exp(-((x - 400 + 8 * day) ** 2 + (y - 250) ** 2) / (2 * 80**2))
    return 18 - y / 100 + 0.08 * day + eddy + 0.5 * np.sin(2 * np.pi * day / 10)


rng = np.random.default_rng(0)
start = rng.uniform([0, 0], [600, 500], (50, 2))
days = np.sort(rng.uniform(0, 30, (50, 40)), axis=1)
drift = rng.normal(0, 4, (50, 1, 2)) * days[:, :, None]
X = np.concatenate([start[:, None] + drift, days[:, :, None]], axis=2).reshape(-1, 3)
y = temperature(X) + NOISE * rng.standard_normal(len(X))

inside = rng.uniform([100, 100, 2], [500, 400, 28], (3000, 3))
for kilometers in (100.0, 20.0):  # that count as much as a day
    model = FieldSmoother(scale=[kilometers, kilometers, 1.0], margin=1).fit(X, y)
    error = np.sqrt(np.mean((model.predict(inside) - temperature(inside)) ** 2))
    print(
        f"a day like {kilometers:.0f} km: error {error:.3f} K, noise {np.sqrt(model.noise_variance_):.3f} K "
        f"(true: {NOISE:.3f} K), {model.function_.n_coef} coefficients"
    )

grid = model.grid(spacing=[25.0, 25.0, 5.0], bounds=([0, 0, 0], [600, 500, 30]), names=["x", "y", "day"])
values = grid[1] if isinstance(grid, tuple) else grid.values
print(f"grid of {' x '.join(map(str, values.shape))} values, {values.min():.1f} to {values.max():.1f} degrees")
