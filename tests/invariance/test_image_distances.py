"""Tangent and distortion distances of images against least squares and plain loops."""

import numpy as np
import pytest
from helpers import case_id
from scipy.ndimage import gaussian_filter, sobel

from seminorm._base.threads import limited_threads
from seminorm.invariance.distances.distortion import ImageDistortion
from seminorm.invariance.distances.tangent import TangentDistance
from seminorm.invariance.transformations.images import seven_deformations

SHAPE = 10, 12
DISTANCES = [
    TangentDistance(SHAPE),
    TangentDistance(SHAPE, sides=1),
    TangentDistance(SHAPE, spring=1e-4),
    ImageDistortion(SHAPE),
    ImageDistortion(SHAPE, gradients=False),
]


def images(n, seed=0):
    noise = np.random.default_rng(seed).standard_normal((n, *SHAPE))
    return gaussian_filter(noise, (0, 1.5, 1.5), mode="constant")


def tangents_by_differences(image, smoothing):
    """Derivatives of the smoothed image under the seven transformations, as differences of resampled images."""
    from scipy.ndimage import map_coordinates

    smooth = gaussian_filter(image, smoothing, mode="constant")
    v, u = np.meshgrid(*(np.arange(s) - (s - 1) / 2 for s in SHAPE), indexing="ij")
    moves = [(0 * u, 1 + 0 * u), (1 + 0 * u, 0 * u), (-u, v), (v, u), (-v, u), (u, v)]
    step = 1e-3

    def moved(dv, du):
        places = [v + dv + (SHAPE[0] - 1) / 2, u + du + (SHAPE[1] - 1) / 2]
        return map_coordinates(smooth, places, order=5, mode="constant")

    slopes = [(moved(step * dv, step * du) - moved(-step * dv, -step * du)) / (2 * step) for dv, du in moves]
    return np.array([slope[3:-3, 3:-3].ravel() for slope in slopes])


def two_planes(x, Tx, y, Ty, spring):
    """min |x + Tx' a - y - Ty' b|^2 + spring (|a|^2 + |b|^2) by least squares."""
    A = np.concatenate([Tx, -Ty]).T
    A = np.vstack([A, np.sqrt(spring) * np.eye(A.shape[1])])
    right = np.concatenate([y - x, np.zeros(A.shape[1])])
    return np.linalg.norm(A @ np.linalg.lstsq(A, right, rcond=None)[0] - right)


def test_seven_tangents_are_derivatives():
    """Each is, up to sign and order, the derivative of resampled images; thickness is the squared slope."""
    X = images(3)
    X[:, :3], X[:, -3:], X[:, :, :3], X[:, :, -3:] = 0.0, 0.0, 0.0, 0.0
    tangents = seven_deformations(SHAPE, 1.5).tangents(X).reshape(3, 7, *SHAPE)
    for row in range(3):
        expected = tangents_by_differences(X[row], 1.5)
        found = tangents[row, :6, 3:-3, 3:-3].reshape(6, -1)
        for one, other in zip(found, expected[[1, 0, 2, 3, 4, 5]], strict=True):
            assert min(np.abs(one - other).max(), np.abs(one + other).max()) < 0.05 * np.abs(other).max()
        np.testing.assert_allclose(tangents[row, 6], (tangents[row, :2] ** 2).sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("spring", [1e-4, 0.1, 3.0])
def test_two_sided_is_the_least_squares_distance(spring):
    distance = TangentDistance(SHAPE, spring=spring)
    x, T = (part.astype(float) for part in distance._planes(distance.patterns(images(12))))
    np.testing.assert_allclose(np.einsum("npd,nqd->npq", T, T), np.tile(np.eye(7), (12, 1, 1)), atol=1e-5)
    D = distance.pairwise(images(12))
    for i in range(12):
        for j in range(i):
            assert D[i, j] == pytest.approx(two_planes(x[i], T[i], x[j], T[j], spring), rel=1e-4)


def test_one_sided_is_the_mean_of_both():
    distance = TangentDistance(SHAPE, spring=0.2, sides=1)
    x, T = (part.astype(float) for part in distance._planes(distance.patterns(images(6))))
    none = np.zeros_like(T[0])
    D = distance.pairwise(images(6))
    for i in range(6):
        for j in range(i):
            one, other = two_planes(x[i], T[i], x[j], none, 0.2), two_planes(x[i], none, x[j], T[j], 0.2)
            assert D[i, j] == pytest.approx(np.sqrt((one**2 + other**2) / 2), rel=1e-4)


def test_distortion_against_plain_loops():
    reach, context = 2, 1
    X = images(4)
    border = reach + context
    padded = np.pad(X, ((0, 0), (border, border), (border, border)))
    slopes = [np.stack([sobel(image, axis=axis, mode="constant") / 8 for axis in (0, 1)]) for image in padded]

    def one_way(a, b):
        total = 0.0
        for r in range(SHAPE[0]):
            for c in range(SHAPE[1]):
                own = a[:, r + reach : r + reach + 3, c + reach : c + reach + 3]
                costs = [
                    ((own - b[:, r + reach + v : r + reach + v + 3, c + reach + u : c + reach + u + 3]) ** 2).sum()
                    for v in range(-reach, reach + 1)
                    for u in range(-reach, reach + 1)
                    if 0 <= r + v < SHAPE[0] and 0 <= c + u < SHAPE[1]
                ]
                total += min(costs)
        return total

    D = ImageDistortion(SHAPE, reach, context).pairwise(X)
    for i in range(4):
        for j in range(i):
            expected = np.sqrt((one_way(slopes[i], slopes[j]) + one_way(slopes[j], slopes[i])) / 2)
            assert D[i, j] == pytest.approx(expected, rel=1e-5)


def test_without_reach_and_context_distortion_is_euclidean():
    X = images(20)
    flat = X.reshape(20, -1)
    D = ImageDistortion(SHAPE, reach=0, context=0, gradients=False).pairwise(X)
    np.testing.assert_allclose(D, np.sqrt(((flat[:, None] - flat) ** 2).sum(axis=2)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("distance", DISTANCES, ids=case_id)
def test_matrices_are_symmetric_and_the_same_in_parts(distance):
    X = images(37)
    D = distance.pairwise(X)
    assert (D == D.T).all()
    assert (np.diag(D) == 0).all()
    assert (D[~np.eye(37, dtype=bool)] > 0).all()
    np.testing.assert_allclose(distance.pairwise(X[:5], X), D[:5], rtol=1e-4, atol=1e-6)
    assert distance.distance(X[3].ravel(), X[3].ravel()) == pytest.approx(0.0, abs=1e-6)
    with limited_threads(1):
        assert (distance.pairwise(X) == D).all()


def test_small_moves_cost_little():
    X = images(8)
    moved = np.roll(X, 1, axis=2)
    plain = np.sqrt(((X - moved) ** 2).sum(axis=(1, 2)))
    assert (np.diag(TangentDistance(SHAPE, spring=1e-3).pairwise(X, moved)) < 0.5 * plain).all()
    distortion = ImageDistortion(SHAPE, context=0, gradients=False)
    assert (np.diag(distortion.pairwise(X, moved)) < 0.4 * plain).all()
    interior = np.zeros((1, *SHAPE))
    interior[0, 4:6, 5:7] = images(1, 5)[0, :2, :2]
    assert ImageDistortion(SHAPE).pairwise(interior, np.roll(interior, (1, -1), (1, 2)))[0, 0] == 0.0


@pytest.mark.parametrize("kind", [TangentDistance, ImageDistortion])
def test_wrong_input(kind):
    flat = images(3).reshape(3, -1)
    with pytest.raises(ValueError, match=r"shape=\(height, width\)"):
        kind().pairwise(flat)
    with pytest.raises(ValueError, match=r"give shape=\(10, 12\)"):
        kind().pairwise(images(3))
    with pytest.raises(ValueError, match="images of shape"):
        kind((5, 5)).pairwise(flat)
    with pytest.raises(ValueError, match="shape must be"):
        kind((0, 5)).pairwise(flat)
    with pytest.raises(ValueError, match="NaN"):
        kind(SHAPE).pairwise(np.where(flat > 0, np.nan, flat))


def test_wrong_parameters():
    for options, said in (({"spring": 0.0}, "spring"), ({"sides": 3}, "sides"), ({"smoothing": 0.0}, "smoothing")):
        with pytest.raises(ValueError, match=said):
            TangentDistance(SHAPE, **options).pairwise(images(2))
    for options, said in (({"reach": -1}, "reach"), ({"context": 1.5}, "context")):
        with pytest.raises(ValueError, match=said):
            ImageDistortion(SHAPE, **options).pairwise(images(2))
