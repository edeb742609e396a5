"""The best mean of several predictions: non-negative weights with sum 1 that minimise the squared error."""

import numpy as np
from scipy.optimize import nnls


def stack_weights(predictions: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights (m,) for predictions (m, n, k) of Y (n, k).

    Where the weights s sum to 1 the error is |R s|^2, R the errors of the members. Non-negative least squares of
    |R s|^2 + rho (1's - 1)^2 has its solution in the same direction, whatever rho > 0 is.
    """
    m = len(predictions)
    R = ((Y - predictions) * np.sqrt(weights)[:, None]).reshape(m, -1).T
    size = np.sqrt((R**2).sum(axis=0).min())
    if not (size > 0 and np.isfinite(size)):
        return np.eye(m)[np.argmin(np.nan_to_num((R**2).sum(axis=0), nan=np.inf))]
    triangle = np.linalg.qr(R / size, mode="r")
    found = nnls(np.vstack([triangle, np.ones((1, m))]), np.append(np.zeros(len(triangle)), 1.0))[0]
    return found / found.sum()
