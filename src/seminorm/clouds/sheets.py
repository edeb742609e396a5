"""Signs of normals that agree from frame to frame, sheet by sheet.

The points of one frame alone do not show how the signs of two sheets that do not touch belong together, so frames
decide differently. A sheet and itself one frame later lie beside each other, and tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.spatial import cKDTree

from .._base.threads import thread_count
from .normals.estimation import OrientedCloud

_NEIGHBORS = 8
_APART = 3.0  # times the usual distance of neighbours: points farther apart do not touch
_KINK = 0.5  # cosine, below which neighbours are on different sheets
_ALIKE = 0.2  # mean cosine of normals with those of the next frame, from which on sheets tell each other's signs


def signs_of_sheets(frames: Sequence[OrientedCloud]) -> list[np.ndarray]:
    """For each point of each frame whether to keep its normal, 1, or to turn it, -1.

    The links between sheets of neighbouring frames with the largest sums of cosines make a forest. Along it signs
    agree, and in each of its trees most of the points whose frame knows its outside decide.
    """
    valid = [np.flatnonzero(np.isfinite(frame.points).all(axis=1)) for frame in frames]
    labels, first = [], 0
    for frame, rows in zip(frames, valid, strict=True):
        assert frame.normals is not None
        labels.append(first + _sheets(frame.points[rows], frame.normals[rows]))
        first = int(labels[-1].max(initial=first - 1)) + 1
    known = np.concatenate(
        [np.full(len(rows), frame.oriented != "consistent") for frame, rows in zip(frames, valid, strict=True)]
    )
    signs = _forest_signs(_links(frames, valid, labels, first), np.concatenate(labels), known)
    result = []
    for frame, rows, own in zip(frames, valid, labels, strict=True):
        result.append(np.ones(len(frame)))
        result[-1][rows] = signs[own]
    return result


def _sheets(points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """The number of the sheet of each point: neighbours that are near and have like normals are on the same one."""
    n = len(points)
    distance, near = cKDTree(points).query(points, k=min(_NEIGHBORS + 1, n), workers=thread_count())
    usual = float(np.median(distance[:, -1]))
    alike = np.einsum("ij,ikj->ik", normals, normals[near]) > _KINK
    row, column = np.nonzero(alike & (distance <= _APART * usual))
    graph = sparse.coo_array((np.ones(len(row)), (row, near[row, column])), shape=(n, n))
    return connected_components(graph, directed=False)[1]


def _links(frames, valid, labels, size: int) -> sparse.csr_array:
    """For sheets of successive frames the sum of the cosines of normals side by side, where these agree enough."""
    rows, columns, cosines, weights = [], [], [], []
    for (here, own, label), (later, other, later_label) in pairwise(zip(frames, valid, labels, strict=True)):
        near = cKDTree(later.points[other]).query(here.points[own], workers=thread_count())[1]
        weight = here.confidence[own] * later.confidence[other][near]
        rows.append(label)
        columns.append(later_label[near])
        cosines.append(weight * (here.normals[own] * later.normals[other][near]).sum(axis=1))
        weights.append(weight)
    places = np.concatenate(rows), np.concatenate(columns)
    total = sparse.coo_array((np.concatenate(cosines), places), shape=(size, size)).tocsr()
    number = sparse.coo_array((np.concatenate(weights), places), shape=(size, size)).tocsr()
    total.data[np.abs(total.data) < _ALIKE * np.maximum(number.data, 1e-300)] = 0.0
    total.eliminate_zeros()
    return total


def _forest_signs(links: sparse.csr_array, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The sign of each sheet."""
    tree = minimum_spanning_tree(-abs(links))
    size = links.shape[0]
    points, votes = np.bincount(labels, minlength=size), np.bincount(labels, known, minlength=size)
    number, parts = connected_components(tree, directed=False)
    signed = (links + links.T).tocsr()
    signs = np.ones(size)
    for part in range(number):
        members = np.flatnonzero(parts == part)
        order, parent = breadth_first_order(tree, members[0], directed=False)
        for sheet in order[1:]:
            signs[sheet] = signs[parent[sheet]] * np.sign(signed[parent[sheet], sheet])
        counted = votes[members] if votes[members].any() else points[members]
        if counted @ signs[members] < 0:
            signs[members] *= -1.0
    return signs
