"""Loops for the signs of normals: agreement along edges, flips, and sums over all points by a tree."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_LEAST_FLAT = 0.05  # weight of edges that run along the normals
_OPENING = 0.6  # nodes are summed as one from distances beyond their radius over this
_DEEP = 128  # nodes that wait in a walk down the tree


@njit(cache=True, parallel=True)
def edge_agreement(points, normals, trust, neighbors, agreement):
    """How far the normals at both ends of an edge agree, in [-1, 1], for the edges to the neighbours (n, k).

    The normal at one end is mirrored in the plane that bisects the edge, so that on circles and spheres, and across the
    gap between facing sheets, agreement is perfect. Edges that run along the normals, from sheet to sheet, count less.
    """
    for i in prange(len(neighbors)):
        for a in range(neighbors.shape[1]):
            j = neighbors[i, a]
            square, along_i, along_j, dot = 0.0, 0.0, 0.0, 0.0
            for axis in range(3):
                step = points[j, axis] - points[i, axis]
                square += step * step
                along_i += step * normals[i, axis]
                along_j += step * normals[j, axis]
                dot += normals[i, axis] * normals[j, axis]
            if j == i or square == 0.0:
                agreement[i, a] = 0.0 if j == i else dot * trust[i] * trust[j]
                continue
            mirrored = dot - 2.0 * along_i * along_j / square
            flat = 1.0 - max(along_i * along_i, along_j * along_j) / square
            agreement[i, a] = mirrored * abs(mirrored) * max(flat, _LEAST_FLAT) * trust[i] * trust[j]


@njit(cache=True)
def improve_signs(indptr, indices, coupling, pull, signs, sweeps):
    """Flip each node that disagrees with its neighbours and the pull on it, one after the other; returns the flips."""
    total = 0
    for _ in range(sweeps):
        flips = 0
        for i in range(len(signs)):
            force = pull[i]
            for a in range(indptr[i], indptr[i + 1]):
                force += coupling[a] * signs[indices[a]]
            if force * signs[i] < 0.0:
                signs[i] = -signs[i]
                flips += 1
        total += flips
        if flips == 0:
            break
    return total


@njit(cache=True)
def walk_lists(centers, radii, children, leaves, counts, far, near, fill):
    """For each leaf, the nodes it sees from afar and the leaves beside it; without ``fill`` only their numbers."""
    waiting = np.empty(_DEEP, dtype=np.int64)
    n_far, n_near = 0, 0
    for a in range(len(leaves)):
        leaf = leaves[a]
        if not fill:
            n_far, n_near = 0, 0
        waiting[0], top = 0, 1
        while top > 0:
            top -= 1
            node = waiting[top]
            square = 0.0
            for axis in range(3):
                square += (centers[node, axis] - centers[leaf, axis]) ** 2
            if (np.sqrt(square) - radii[leaf]) * _OPENING > radii[node]:
                if fill:
                    far[n_far] = node
                n_far += 1
            elif children[node, 0] < 0:
                if fill:
                    near[n_near] = node
                n_near += 1
            else:
                waiting[top], waiting[top + 1] = children[node, 1], children[node, 0]
                top += 2
        if not fill:
            counts[a, 0], counts[a, 1] = n_far, n_near


@njit(cache=True, parallel=True)
def squared_rows(points, widths, spans, centers, leaves, far_from, far, near_from, near, result):
    """Sum over j of |x_j - x_i|^2 / max(|x_j - x_i|, width_i)^6."""
    for a in prange(len(leaves)):
        for i in range(spans[leaves[a], 0], spans[leaves[a], 1]):
            total = 0.0
            for b in range(far_from[a], far_from[a + 1]):
                node = far[b]
                square = 0.0
                for axis in range(3):
                    square += (centers[node, axis] - points[i, axis]) ** 2
                total += (spans[node, 1] - spans[node, 0]) / square**2
            for b in range(near_from[a], near_from[a + 1]):
                for j in range(spans[near[b], 0], spans[near[b], 1]):
                    square = 0.0
                    for axis in range(3):
                        square += (points[j, axis] - points[i, axis]) ** 2
                    total += square / max(square, widths[i] ** 2) ** 3
            result[i] = total


@njit(cache=True, parallel=True)
def winding_moments(points, moments, spans, centers, sums):
    """For each node the sum of the moments (3), and of their products with the distances from its centre (9)."""
    for node in prange(len(spans)):
        for a in range(12):
            sums[node, a] = 0.0
        for j in range(spans[node, 0], spans[node, 1]):
            for a in range(3):
                sums[node, a] += moments[j, a]
                for b in range(3):
                    sums[node, 3 + 3 * a + b] += moments[j, a] * (points[j, b] - centers[node, b])


@njit(cache=True, parallel=True)
def winding_values(points, moments, widths, spans, centers, sums, leaves, far_from, far, near_from, near, result):
    """Sum over j of m_j . (x_j - x_i) / max(|x_j - x_i|, width_i)^3: the winding number at x_i times 4 pi."""
    for a in prange(len(leaves)):
        for i in range(spans[leaves[a], 0], spans[leaves[a], 1]):
            x, y, z = points[i, 0], points[i, 1], points[i, 2]
            total = 0.0
            for b in range(far_from[a], far_from[a + 1]):
                node = far[b]
                s = sums[node]
                u, v, w = centers[node, 0] - x, centers[node, 1] - y, centers[node, 2] - z
                square = u * u + v * v + w * w
                product = (
                    u * (s[3] * u + s[4] * v + s[5] * w)
                    + v * (s[6] * u + s[7] * v + s[8] * w)
                    + w * (s[9] * u + s[10] * v + s[11] * w)
                )
                once = s[0] * u + s[1] * v + s[2] * w + s[3] + s[7] + s[11]
                total += (once - 3.0 * product / square) / (square * np.sqrt(square))
            least = widths[i] ** 2
            for b in range(near_from[a], near_from[a + 1]):
                for j in range(spans[near[b], 0], spans[near[b], 1]):
                    u, v, w = points[j, 0] - x, points[j, 1] - y, points[j, 2] - z
                    square = max(u * u + v * v + w * w, least)
                    total += (moments[j, 0] * u + moments[j, 1] * v + moments[j, 2] * w) / (square * np.sqrt(square))
            result[i] = total


@njit(cache=True, parallel=True)
def source_moments(points, sources, spans, centers, sums):
    """For each node the sum of the sources (1), and of their products with the distances from its centre (3)."""
    for node in prange(len(spans)):
        for a in range(4):
            sums[node, a] = 0.0
        for j in range(spans[node, 0], spans[node, 1]):
            sums[node, 0] += sources[j]
            for b in range(3):
                sums[node, 1 + b] += sources[j] * (points[j, b] - centers[node, b])


@njit(cache=True, parallel=True)
def source_fields(targets, points, sources, widths, spans, centers, radii, children, sums, result):
    """Sum over j of source_j (x - x_j) / max(|x - x_j|, width_j)^3 at the targets x."""
    for i in prange(len(targets)):
        waiting = np.empty(_DEEP, dtype=np.int64)
        x, y, z = targets[i, 0], targets[i, 1], targets[i, 2]
        fx, fy, fz = 0.0, 0.0, 0.0
        waiting[0], top = 0, 1
        while top > 0:
            top -= 1
            node = waiting[top]
            u, v, w = x - centers[node, 0], y - centers[node, 1], z - centers[node, 2]
            square = u * u + v * v + w * w
            if np.sqrt(square) * _OPENING > radii[node]:
                s = sums[node]
                cube = 1.0 / (square * np.sqrt(square))
                along = s[0] + 3.0 * (s[1] * u + s[2] * v + s[3] * w) / square
                fx += (along * u - s[1]) * cube
                fy += (along * v - s[2]) * cube
                fz += (along * w - s[3]) * cube
            elif children[node, 0] >= 0:
                waiting[top], waiting[top + 1] = children[node, 1], children[node, 0]
                top += 2
            else:
                for j in range(spans[node, 0], spans[node, 1]):
                    u, v, w = x - points[j, 0], y - points[j, 1], z - points[j, 2]
                    square = max(u * u + v * v + w * w, widths[j] ** 2)
                    strength = sources[j] / (square * np.sqrt(square))
                    fx += strength * u
                    fy += strength * v
                    fz += strength * w
        result[i, 0], result[i, 1], result[i, 2] = fx, fy, fz
