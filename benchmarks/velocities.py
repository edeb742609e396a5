"""Velocities of stations: the elastic kernel against verde's VectorSpline2D and against thin plates by component.

Root mean square errors at places without stations, over fields of faults and plates with noise of 1 mm a year. The
settings of verde (Poisson's ratio, mindist, damping) are chosen by five-fold cross-validation; ours by their defaults.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import verde

from seminorm import Smoother
from seminorm.kernels import Elastic, ThinPlate

SEEDS, STATIONS, PLACES, FOLDS = 3, 100, 400, 5
RATIOS, DISTANCES, DAMPINGS = (0.5, 1.0), (0.03, 0.1, 0.3), (1e-4, 1e-2, 1e-1, 1.0)


def rotation(X: np.ndarray, rate: float) -> np.ndarray:
    return rate * np.column_stack([-X[:, 1], X[:, 0]])


def locked_fault(X: np.ndarray, angle: float, offset: float, depth: float, rate: float) -> np.ndarray:
    """Slip along a fault that is locked down to a depth."""
    along = np.array([np.cos(angle), np.sin(angle)])
    across = X @ [-along[1], along[0]] - offset
    return rate / np.pi * np.arctan(across / depth)[:, None] * along


def thrust(X: np.ndarray) -> np.ndarray:
    across = np.array([0.3, 0.95]) / np.hypot(0.3, 0.95)
    s = X @ across / 0.12
    return 20 / np.pi * (np.arctan(s) - s / (1 + s**2))[:, None] * across


def source(X: np.ndarray) -> np.ndarray:
    """Away from a source at depth, as above a magma chamber."""
    from_it = X - 0.1
    return 0.25 * from_it / ((from_it**2).sum(axis=1) + 0.15**2)[:, None] ** 1.5


FIELDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "strike-slip fault": lambda X: locked_fault(X, 0.6, 0.0, 0.08, 40) + rotation(X, 5),
    "two faults": lambda X: (
        locked_fault(X, 0.6, -0.15, 0.1, 25) + locked_fault(X, 0.9, 0.25, 0.05, 15) + rotation(X, 8)
    ),
    "thrust": lambda X: thrust(X) + rotation(X, 6),
    "source and fault": lambda X: source(X) + locked_fault(X, 0.6, 0.0, 0.1, 20),
}


def peer(ratio: float, distance: float, damping: float) -> verde.Chain:
    trend = verde.Vector([verde.Trend(1), verde.Trend(1)])
    return verde.Chain(
        [("trend", trend), ("spline", verde.VectorSpline2D(poisson=ratio, mindist=distance, damping=damping))]
    )


def peer_predicts(settings: tuple, X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.column_stack(peer(*settings).fit(tuple(X.T), tuple(y.T)).predict(tuple(Z.T)))


def chosen_settings(X: np.ndarray, y: np.ndarray) -> tuple:
    fold = np.arange(len(X)) % FOLDS

    def error(settings: tuple) -> float:
        parts = (fold == k for k in range(FOLDS))
        return sum(((peer_predicts(settings, X[~out], y[~out], X[out]) - y[out]) ** 2).sum() for out in parts)

    return min(product(RATIOS, DISTANCES, DAMPINGS), key=error)


def errors(field: Callable[[np.ndarray], np.ndarray], seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    X, Z = rng.uniform(-0.5, 0.5, (STATIONS, 2)), rng.uniform(-0.5, 0.5, (PLACES, 2))
    y = field(X) + rng.standard_normal((STATIONS, 2))
    predicted = {
        "Elastic()": Smoother(Elastic()).fit(X, y).predict(Z),
        "ThinPlate()": Smoother(ThinPlate()).fit(X, y).predict(Z),
        "VectorSpline2D": peer_predicts(chosen_settings(X, y), X, y, Z),
    }
    return {name: float(np.sqrt(np.mean((values - field(Z)) ** 2))) for name, values in predicted.items()}


if __name__ == "__main__":
    for name, field in FIELDS.items():
        found = [errors(field, seed) for seed in range(SEEDS)]
        means = {method: np.mean([each[method] for each in found]) for method in found[0]}
        line = "  ".join(f"{method} {mean:.3f}" for method, mean in means.items())
        print(f"{name:>18}: {line}  ratio to verde {means['Elastic()'] / means['VectorSpline2D']:.2f}")
