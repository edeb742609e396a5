"""Which normals disagree with those around them, and what they should be.

A normal n at a neighbour in the unit direction d tells what the normal here would be on a sphere through both points:
its mirror image n - 2 (d . n) d. This is right on planes and spheres, and across a thin sheet, too, where the neighbour
lies on the other side. The mean of these images is long where the neighbours agree with each other. A normal that then
points elsewhere is wrong; it no longer counts for the others, and the mean takes its place.

A normal that points exactly the wrong way is recognised better by pairs. Two normals belong to one sphere if their sum
is at right angles to the line between their points: of a normal and its opposite, one fits each neighbour on the same
side, and neither those on the other side of a thin sheet. Such a normal is turned round.
"""

import numpy as np
from scipy.spatial import cKDTree

from ..._base.threads import thread_count

_NEIGHBORS = 14, 28, 56  # those whose images are longest count: noise wants more of them
_ROUNDS = 4
_CLEAR = 0.6  # length of the mean image, from which on neighbours can judge
_OPPOSED, _AWAY = -0.5, 0.3  # cosine of a normal to the mean: surely wrong; and wrong, where some are so at random
_SOME = 0.003  # share of surely wrong normals: fewer are chance
_REVERSED, _AT_RANDOM = -0.8, 0.35  # share of those above this cosine, from which on normals are wrong at random
_ONE_SPHERE = 0.3  # what the sum of two normals may have along the line between their points
_TURN = 2.0  # votes for the opposite over those for the normal, that turn it
_FOLLOWED = 0.5  # length of the mean image, from which on it is better than a normal that is wrong
_GLANCE = 6000  # points at which a first look is enough, if nothing is wrong with them
_LOOKS = 2000  # points at which the number of neighbours is chosen
_CHUNK = 2**15


def repaired_normals(points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Unit normals (n, 3) with those that are wrong replaced by what their neighbours make of them.

    Where the neighbours do not agree, a normal stays.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.clouds.normals.repair import repaired_normals
    >>> rng = np.random.default_rng(0)
    >>> sphere = rng.standard_normal((1000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> turned = np.where(rng.random(1000) < 0.05, -1.0, 1.0)[:, None] * sphere
    >>> bool((np.sum(repaired_normals(sphere, turned) * sphere, axis=1) > 0.95).all())
    True
    """
    n = len(points)
    if n <= 2 * _NEIGHBORS[0]:
        return normals
    if n > 2 * _GLANCE:
        some = np.sort(np.random.default_rng(20211).permutation(n)[:_GLANCE])
        if not _opposed(points[some], normals[some], _near(points[some], normals[some]))[0].any():
            return normals
    near = _near(points, normals)
    opposed, cosine = _opposed(points, normals, near)
    if not opposed.any():
        return normals
    if (cosine[opposed] > _REVERSED).mean() < _AT_RANDOM:
        return _turned(points, normals, near)
    away = _away(points, normals, near, _AWAY)[0]
    repaired = normals.copy()
    bad, kept = np.flatnonzero(away), np.flatnonzero(~away)
    k = near.shape[1]
    if not len(bad) or len(kept) <= k:
        return repaired
    lenders = kept[cKDTree(points[kept]).query(points[bad], k=k, workers=thread_count())[1]]
    mean = _mean_images(points, repaired, bad, lenders, np.ones(n))
    length = np.linalg.norm(mean, axis=1)
    followed = length > _FOLLOWED
    repaired[bad[followed]] = mean[followed] / length[followed, None]
    return repaired


def _near(points: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Neighbours (n, k) of each point, as many as make their images agree best."""
    tree = cKDTree(points)
    rows = np.unique(np.linspace(0, len(points) - 1, _LOOKS).astype(np.int64))
    numbers = [k for k in _NEIGHBORS if 2 * k < len(points)]
    near = tree.query(points[rows], k=numbers[-1] + 1, workers=thread_count())[1][:, 1:]
    weight = np.ones(len(points))
    lengths = [np.linalg.norm(_mean_images(points, normals, rows, near[:, :k], weight), axis=1) for k in numbers]
    k = numbers[int(np.argmax([np.median(length) for length in lengths]))]
    return tree.query(points, k=k + 1, workers=thread_count())[1][:, 1:]


def _opposed(points: np.ndarray, normals: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which normals surely point the wrong way (none if they are so few that it may be chance), and all cosines."""
    opposed, cosine = _away(points, normals, near, _OPPOSED)
    return opposed & (opposed.mean() > _SOME), cosine


def _turned(points: np.ndarray, normals: np.ndarray, near: np.ndarray) -> np.ndarray:
    """The normals, those turned round whose opposite fits the neighbours better."""
    turned = normals.copy()
    for _ in range(_ROUNDS):
        opposite = np.concatenate([_fits_opposite(points, turned, rows, near[rows]) for rows in _chunks(len(points))])
        if not opposite.any():
            break
        turned[opposite] *= -1.0
    return turned


def _fits_opposite(points: np.ndarray, normals: np.ndarray, rows: np.ndarray, near: np.ndarray) -> np.ndarray:
    """At which rows the opposite of the normal fits the neighbours (m, k) better."""
    across, other, own = _directions(points, rows, near), normals[near], normals[rows]
    cosine = np.einsum("ia,ija->ij", own, other)
    here, there = np.einsum("ija,ia->ij", across, own), np.einsum("ija,ija->ij", across, other)
    votes = np.exp(-(((here + there) / _ONE_SPHERE) ** 2)) * np.clip(cosine, 0.0, 1.0)
    against = np.exp(-(((there - here) / _ONE_SPHERE) ** 2)) * np.clip(-cosine, 0.0, 1.0)
    return against.sum(axis=1) > np.maximum(_TURN * votes.sum(axis=1), 1.0)


def _away(points: np.ndarray, normals: np.ndarray, near: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Normals whose cosine to the mean image is below the least one that passes, and all cosines; what is away does not
    count for others."""
    n, away = len(points), np.zeros(len(points), dtype=bool)
    for _ in range(_ROUNDS):
        weight, before = (~away).astype(float), away
        parts = [_mean_images(points, normals, rows, near[rows], weight) for rows in _chunks(n)]
        mean = np.concatenate(parts)
        length = np.linalg.norm(mean, axis=1)
        cosine = np.einsum("ij,ij->i", normals, mean) / np.maximum(length, 1e-300)
        away = (length > _CLEAR) & (cosine < least)
        if np.array_equal(away, before):
            break
    return away, cosine


def _mean_images(
    points: np.ndarray, normals: np.ndarray, rows: np.ndarray, near: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Mean (m, 3) of the mirror images, at some rows, of the normals of their neighbours (m, k); 0 if few count."""
    across, given, counts = _directions(points, rows, near), normals[near], weight[near]
    images = given - 2.0 * np.einsum("ija,ija->ij", across, given)[..., None] * across
    total = counts.sum(axis=1)
    mean = np.einsum("ij,ija->ia", counts, images) / np.maximum(total, 1.0)[:, None]
    return np.where((total >= near.shape[1] / 3)[:, None], mean, 0.0)


def _directions(points: np.ndarray, rows: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Unit vectors (m, k, 3) from points to their neighbours; 0 between copies."""
    across = points[near] - points[rows, None]
    return across / np.maximum(np.linalg.norm(across, axis=2, keepdims=True), 1e-300)


def _chunks(n: int) -> list[np.ndarray]:
    return np.array_split(np.arange(n), -(-n // _CHUNK))
