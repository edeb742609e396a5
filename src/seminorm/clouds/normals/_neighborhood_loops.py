"""Planes and quadrics through the neighbours of points: one point per thread."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_BLOCK = 128  # points that share scratch memory
_TINY = 1e-300
_OUTLYING = 4.685  # of Tukey's biweight, in standard deviations
_MAD_TO_DEVIATION = 1.4826
_LEAST_DEVIATION = 1e-7  # in radii of the neighbourhood
_RIDGE = 1e-6  # on the curvatures, per unit of mass, in radii
_LEAST_FOR_QUADRIC = 8
_LEAST_ON_A_SIDE = 6


@njit(cache=True, parallel=True)
def fit_neighborhoods(
    points, mass, sides, queries, query_sides, neighbors, k, quadric, rounds, normals, height, deviation, slope, width
):
    """Fit a surface to the k nearest points of each query.

    ``neighbors`` (m, >= k) are rows of ``points``, nearest first. If there are ``sides``, unit vectors that look
    outwards roughly, a neighbour counts as much as its side agrees with that of the query.

    Written are unit ``normals`` (m, 3), the ``height`` of the fitted surface over the query along the normal, the
    standard ``deviation`` of the points from the surface, the variance of the ``slope`` in units of that deviation
    squared, and ``width``: 1 if the points extend evenly in the plane and 0 if they lie on a line.
    """
    m = len(queries)
    for block in prange((m + _BLOCK - 1) // _BLOCK):
        local = np.empty((k, 3))
        flat = np.empty((k, 3))
        weight = np.empty(k)
        near = np.empty(k)
        work = np.empty(k)
        frame = np.empty((3, 3))
        system = np.empty((6, 6))
        coef = np.empty(6)
        extents = np.empty(3)
        for i in range(block * _BLOCK, min((block + 1) * _BLOCK, m)):
            radius = 0.0
            for j in range(k):
                row = neighbors[i, j]
                square = 0.0
                for axis in range(3):
                    local[j, axis] = points[row, axis] - queries[i, axis]
                    square += local[j, axis] ** 2
                radius = max(radius, np.sqrt(square))
                near[j] = mass[row]
                work[j] = square
            if radius <= _TINY:
                normals[i, 0], normals[i, 1], normals[i, 2] = 0.0, 0.0, 1.0
                height[i], deviation[i], slope[i], width[i] = 0.0, 0.0, 1.0, 0.0
                continue
            for j in range(k):
                near[j] *= 1.0 - 0.75 * work[j] / radius**2
                weight[j] = near[j]
                for axis in range(3):
                    local[j, axis] /= radius
            if len(sides):
                _keep_side(sides, query_sides[i], neighbors[i], k, near, weight)
            _principal_axes(local, weight, k, frame, extents)
            width[i] = 2.0 * extents[1] / max(extents[1] + extents[2], _TINY)
            spread, variance = _fit_in_frame(
                local, near, weight, k, quadric and k >= _LEAST_FOR_QUADRIC, rounds, frame, flat, work, system, coef
            )
            for axis in range(3):
                normals[i, axis] = frame[2, axis]
            height[i] = coef[0] * radius
            deviation[i] = spread * radius
            slope[i] = variance / radius**2


@njit(cache=True)
def _keep_side(sides, side, neighbors, k, near, weight):
    """Lower the weights of neighbours that look elsewhere, if enough are left."""
    agreeing = 0
    for j in range(k):
        row = neighbors[j]
        dot = side[0] * sides[row, 0] + side[1] * sides[row, 1] + side[2] * sides[row, 2]
        weight[j] = near[j] * max(dot, 0.0)
        agreeing += dot > 0.3
    for j in range(k):
        if agreeing >= _LEAST_ON_A_SIDE:
            near[j] = weight[j]
        weight[j] = near[j]


@njit(cache=True)
def _fit_in_frame(local, near, weight, k, quadric, rounds, frame, flat, work, system, coef):
    """Fit heights over the plane of the frame, which then turns to the tangent plane; outliers lose their weight."""
    size = 6 if quadric else 3
    spread, variance = 0.0, 1.0
    for _ in range(rounds):
        for j in range(k):
            for axis in range(3):
                flat[j, axis] = (
                    local[j, 0] * frame[axis, 0] + local[j, 1] * frame[axis, 1] + local[j, 2] * frame[axis, 2]
                )
        variance = _solve_heights(flat, weight, k, size, system, coef)
        total, squares = 0.0, 0.0
        for j in range(k):
            u, v = flat[j, 0], flat[j, 1]
            residual = flat[j, 2] - coef[0] - coef[1] * u - coef[2] * v
            if quadric:
                residual -= coef[3] * u * u + coef[4] * u * v + coef[5] * v * v
            flat[j, 2] = abs(residual)
            work[j] = abs(residual)
            total += weight[j] * k
            squares += weight[j] * residual**2 * k
        freedom = max(1.0 - size / k, 0.5 / k)
        spread = np.sqrt(squares / max(total * freedom, _TINY))
        limit = _OUTLYING * max(_MAD_TO_DEVIATION * _middle(work, k) / np.sqrt(freedom), _LEAST_DEVIATION)
        for j in range(k):
            ratio = flat[j, 2] / limit
            weight[j] = near[j] * (1.0 - ratio**2) ** 2 if ratio < 1.0 else 0.0
        _turn(frame, coef[1], coef[2])
    return spread, variance


@njit(cache=True)
def _solve_heights(flat, weight, k, size, system, coef):
    """Weighted least squares for the heights; returns the variance of the slope for heights of unit variance."""
    for a in range(size):
        coef[a] = 0.0
        for b in range(size):
            system[a, b] = 0.0
    total = 0.0
    for j in range(k):
        w, u, v, h = weight[j], flat[j, 0], flat[j, 1], flat[j, 2]
        total += w
        wu, wv = w * u, w * v
        system[1, 0] += wu
        system[2, 0] += wv
        system[1, 1] += wu * u
        system[2, 1] += wu * v
        system[2, 2] += wv * v
        coef[0] += w * h
        coef[1] += wu * h
        coef[2] += wv * h
        if size == 6:
            uu, uv, vv = u * u, u * v, v * v
            system[3, 1] += wu * uu
            system[4, 1] += wu * uv
            system[5, 1] += wu * vv
            system[5, 2] += wv * vv
            system[3, 3] += w * uu * uu
            system[4, 3] += w * uu * uv
            system[4, 4] += w * uu * vv
            system[5, 4] += w * uv * vv
            system[5, 5] += w * vv * vv
            coef[3] += w * uu * h
            coef[4] += w * uv * h
            coef[5] += w * vv * h
    system[0, 0] = total
    if size == 6:
        system[3, 0], system[4, 0], system[5, 0] = system[1, 1], system[2, 1], system[2, 2]
        system[3, 2], system[4, 2], system[5, 3] = system[4, 1], system[5, 1], system[4, 4]
    scale = max(total, _TINY)
    for a in range(size):
        system[a, a] += scale * (1e-14 if a < 3 else 0.5 * _RIDGE if a == 4 else _RIDGE)
    for a in range(size):  # Cholesky
        for b in range(a + 1):
            value = system[a, b]
            for c in range(b):
                value -= system[a, c] * system[b, c]
            if a == b:
                system[a, a] = np.sqrt(max(value, 1e-16 * scale))
            else:
                system[a, b] = value / system[b, b]
    variance = 0.0
    for axis in range(1, 3):  # a unit vector through the lower triangle; rows 0 .. axis - 1 give zero
        squares = 0.0
        for a in range(axis, size):
            value = 1.0 if a == axis else 0.0
            for b in range(axis, a):
                value -= system[a, b] * system[0, b]
            value /= system[a, a]
            squares += value * value
            if a > 0:
                system[0, a] = value
        variance += squares
    for a in range(size):
        value = coef[a]
        for b in range(a):
            value -= system[a, b] * coef[b]
        coef[a] = value / system[a, a]
    for a in range(size - 1, -1, -1):
        value = coef[a]
        for b in range(a + 1, size):
            value -= system[b, a] * coef[b]
        coef[a] = value / system[a, a]
    return variance * scale / k


@njit(cache=True)
def _turn(frame, slope_u, slope_v):
    """Turn the frame until its third axis is normal to heights of the given slope."""
    for axis in range(3):
        frame[2, axis] -= slope_u * frame[0, axis] + slope_v * frame[1, axis]
    _complete(frame)


@njit(cache=True)
def _complete(frame):
    """Make the third axis a unit vector and the others an orthonormal basis of its plane."""
    length = np.sqrt(frame[2, 0] ** 2 + frame[2, 1] ** 2 + frame[2, 2] ** 2)
    for axis in range(3):
        frame[2, axis] /= length
    x, y, z = frame[2, 0], frame[2, 1], frame[2, 2]
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    frame[0, 0], frame[0, 1], frame[0, 2] = 1.0 + sign * x * x * a, sign * b, -sign * x
    frame[1, 0], frame[1, 1], frame[1, 2] = b, sign + y * y * a, -y


@njit(cache=True)
def _principal_axes(local, weight, k, frame, extents):
    """The frame whose third axis is the direction of least extent; extents (variances) in increasing order."""
    mean = np.zeros(3)
    total = 0.0
    for j in range(k):
        total += weight[j]
        for axis in range(3):
            mean[axis] += weight[j] * local[j, axis]
    mean /= total
    moment = np.zeros((3, 3))
    for j in range(k):
        for a in range(3):
            for b in range(a + 1):
                moment[a, b] += weight[j] * (local[j, a] - mean[a]) * (local[j, b] - mean[b])
    for a in range(3):
        for b in range(a):
            moment[b, a] = moment[a, b]
    vectors = np.eye(3)
    _diagonalize(moment, vectors)
    order = np.argsort(np.array([moment[0, 0], moment[1, 1], moment[2, 2]]))
    for axis in range(3):
        extents[axis] = max(moment[order[axis], order[axis]], 0.0) / total
        frame[2, axis] = vectors[axis, order[0]]
    _complete(frame)


@njit(cache=True)
def _diagonalize(matrix, vectors):
    """Jacobi rotations of a symmetric matrix (3, 3)."""
    for _ in range(12):
        off = abs(matrix[0, 1]) + abs(matrix[0, 2]) + abs(matrix[1, 2])
        if off <= 1e-15 * (abs(matrix[0, 0]) + abs(matrix[1, 1]) + abs(matrix[2, 2])) + _TINY:
            break
        for p in range(2):
            for q in range(p + 1, 3):
                if matrix[p, q] == 0.0:
                    continue
                theta = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
                t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + np.sqrt(theta * theta + 1.0))
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                for r in range(3):
                    left, right = matrix[r, p], matrix[r, q]
                    matrix[r, p], matrix[r, q] = c * left - s * right, s * left + c * right
                for r in range(3):
                    left, right = matrix[p, r], matrix[q, r]
                    matrix[p, r], matrix[q, r] = c * left - s * right, s * left + c * right
                    left, right = vectors[r, p], vectors[r, q]
                    vectors[r, p], vectors[r, q] = c * left - s * right, s * left + c * right


@njit(cache=True)
def _middle(values, k):
    """The median (upper, if k is even) of the first k values, which are rearranged."""
    low, high, middle = 0, k - 1, k // 2
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break
    return values[middle]
