"""Fit a field to a survey that lies in many files: they are read one at a time, several times over, and never together.

Memory holds one file, the coefficients of the field and a sample of the points, however many files there are.
"""

from pathlib import Path

import numpy as np

from seminorm import Field, FieldSmoother

FLIGHTS, POINTS, NOISE = 20, 15_000, 3.0


def anomaly(X):
    """Magnetic anomaly in nanotesla over 80 x 50 km: two bodies and a dyke."""
    x, y = X[:, 0], X[:, 1]
    bodies = 120 * np.exp(-((x - 25) ** 2 + (y - 30) ** 2) / 60) - 80 * np.exp(-((x - 60) ** 2 + (y - 15) ** 2) / 30)
    return bodies + 60 / (1 + (y - 0.4 * x - 10) ** 2)


def flight(number):
    """Positions and readings of one flight: a few lines from west to east."""
    rng = np.random.default_rng(number)
    lines = 2.5 * (number + np.sort(rng.random(5)))
    X = np.column_stack([80 * rng.random(POINTS), rng.choice(lines, POINTS) + 0.02 * rng.standard_normal(POINTS)])
    return X, anomaly(X) + NOISE * rng.standard_normal(POINTS)


folder = Path("flights")
folder.mkdir(exist_ok=True)
for number in range(FLIGHTS):
    X, y = flight(number)
    np.savez(folder / f"flight-{number:02}.npz", X=X, y=y)
files = sorted(folder.glob("*.npz"))

# a list of npz files with arrays X, y and perhaps sample_weight, gradients, gradient_weight
model = FieldSmoother(memory_limit=1e9).fit(files)
print(f"{FLIGHTS * POINTS} points in {len(files)} files: {model.function_}")
print(f"alpha {model.alpha_:.3g}, noise {np.sqrt(model.noise_variance_):.2f} nT (true: {NOISE:.2f} nT)")


# or anything that gives the chunks again whenever it is called: a database, a decoder of your own, a simulation
def chunks():
    for number in range(FLIGHTS):
        yield flight(number)


places = np.random.default_rng(0).uniform([0, 0], [80, 50], (2000, 2))
again = FieldSmoother(memory_limit=1e9).fit(chunks)
print(f"from a function: largest difference {np.abs(again.predict(places) - model.predict(places)).max():.1g} nT")

model.function_.save("anomaly.npz")
field = Field.load("anomaly.npz")  # all that is needed to evaluate it anywhere
error = np.sqrt(np.mean((field(places) - anomaly(places)) ** 2))
slope = np.linalg.norm(field.gradient(places), axis=1).max()
print(f"error {error:.2f} nT at random places, steepest gradient {slope:.0f} nT/km")
