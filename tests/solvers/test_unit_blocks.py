"""Quadratic forms over unit vectors: against brute force, finite differences, and forms whose minimum is known."""

from itertools import product

import numpy as np
import pytest

from seminorm.solvers.unit_blocks import curvature_diagonal, descend, energy, is_global_minimum, leading_blocks
from seminorm.solvers.unit_blocks import unit_blocks as unit


def definite(size, rng, condition=30.0):
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    return basis * np.geomspace(1.0, condition, size) @ basis.T


@pytest.mark.parametrize("d", [2, 3])
def test_descent_ends_where_the_gradient_is_normal(d, rng):
    Q = definite(7 * d, rng)
    found = descend(Q, rng.standard_normal((7, d)), reduction=1e-15)
    assert np.allclose((found**2).sum(axis=1), 1.0)
    slope = (Q @ found.ravel()).reshape(7, d)
    multipliers = (found * slope).sum(axis=1, keepdims=True)
    assert np.abs(slope - multipliers * found).max() < 1e-4 * np.abs(slope).max()


def test_scalars_are_signs(rng):
    """Blocks of one number are signs: all of them can be tried."""
    for _ in range(5):
        Q = definite(9, rng)
        least = min(energy(Q, np.array(signs, float)[:, None]) for signs in product((-1, 1), repeat=9))
        relaxed = descend(Q, rng.standard_normal((9, 1, 5)), reduction=1e-12)
        assert energy(Q, relaxed) <= least * (1 + 1e-9)
        assert energy(Q, leading_blocks(relaxed)) >= least * (1 - 1e-12)


def test_certificate_against_many_starts(rng):
    """What is certified is never beaten; what is beaten clearly is never certified."""
    certified = 0
    for condition in (3.0, 30.0, 300.0):
        Q = definite(24, rng, condition)
        tried = [descend(Q, unit(rng.standard_normal((8, 3))), reduction=1e-14) for _ in range(60)]
        energies = np.array([energy(Q, one) for one in tried])
        for one, own in zip(tried, energies, strict=True):
            sure = is_global_minimum(Q, one, 0.01)
            certified += sure
            assert not (sure and own > energies.min() / (1 - 0.011))
    assert certified > 0


def test_certificate_of_a_known_minimum():
    """Equal vectors attract each other: the minimum of |n_i - n_j|^2 summed is that of equal ones, up to a shift."""
    n, d = 6, 3
    Q = np.kron(n * np.eye(n) - np.ones((n, n)), np.eye(d)) + 0.1 * np.eye(n * d)
    equal = np.tile([0.6, 0.0, 0.8], (n, 1))
    assert is_global_minimum(Q, equal, 1e-6)
    equal[0] *= -1
    assert not is_global_minimum(Q, equal, 0.01)


def test_curvature_is_that_of_the_energy(rng):
    """Against second differences of the energy along great circles, at a minimum."""
    Q = definite(6, rng)
    n = descend(Q, rng.standard_normal((3, 2)), reduction=1e-15)
    tangents = np.stack([-n[:, 1], n[:, 0]], axis=1)
    step, H = 1e-3, np.empty((3, 3))

    def turned(angles):
        return energy(Q, np.cos(angles)[:, None] * n + np.sin(angles)[:, None] * tangents)

    for i, j in product(range(3), repeat=2):
        a, b = step * np.eye(3)[i], step * np.eye(3)[j]
        H[i, j] = (turned(a + b) - turned(a - b) - turned(b - a) + turned(-a - b)) / (8 * step**2)
    assert np.allclose(curvature_diagonal(Q, n), np.diag(np.linalg.inv(H)), rtol=1e-3)


def test_a_linear_part_is_that_of_fixed_vectors(rng):
    """Some vectors are fixed: the energy of the others differs from the whole by a constant."""
    Q, V = definite(18, rng), unit(rng.standard_normal((6, 3)))
    free = np.array([True, True, False, False, True, False])
    loose = np.repeat(free, 3)
    part, linear = Q[np.ix_(loose, loose)], (Q[np.ix_(loose, ~loose)] @ V[~free].ravel()).reshape(-1, 3)
    others = V.copy()
    others[free] = unit(rng.standard_normal((3, 3)))
    change = energy(part, others[free], linear) - energy(part, V[free], linear)
    assert np.isclose(change, energy(Q, others) - energy(Q, V))
    found = descend(part, V[free], linear, reduction=1e-15)
    slope = (part @ found.ravel()).reshape(3, 3) + linear
    assert np.abs(slope - (found * slope).sum(axis=1, keepdims=True) * found).max() < 1e-4 * np.abs(slope).max()
    tried = [unit(rng.standard_normal((3, 3))) for _ in range(2000)]
    least = min(energy(part, one, linear) for one in tried)
    assert min(energy(part, descend(part, one, linear), linear) for one in (V[free], *tried[:5])) <= least
