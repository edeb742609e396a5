"""Where the points of one frame go in the next one: a smooth displacement between two oriented clouds.

Nothing says which point belongs to which, so pairs are looked for and the displacement is fitted to them, in turn, from
stiff to soft: the energy of the displacement leaves affine motions free, and falls by a factor from step to step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial import cKDTree

from ..functions.expansion import Expansion
from ..functions.functionals import Functional
from ..kernels.conditional_radial import Multiquadric
from ..nullspace.spaces import Polynomials

_POINTS = 1500  # of each frame that are looked at
_CENTERS = 150
_STIFFNESS = np.geomspace(0.2, 1e-5, 12)  # energy against the mean square of what is left
_ROUNDS = 2  # for each stiffness
_ANGLE = 0.15  # share of the extent that a normal turned by one radian is away
_ALONG = 0.03  # weight of the shift along the surface, beside that of the shift across it
_FAR = 3.0  # times the usual distance of pairs: those farther apart count less and less
_HELD_OUT = 0.2
_MISSED = 0.02  # of the extent: a point that misses its partner by more counts as if it missed it by this
_STEPS = 20  # of the fixed-point iteration
_CLOSE = 1e-5  # of the extent
_SEED = 20211


class Displacement:
    """u, by which the surface moves from a first frame to a second one: places x - u(x) / 2 become x + u(x) / 2.

    Parameters
    ----------
    function : Expansion with three outputs
        u at places half-way.
    extent : float
        Length that tells what is small.
    missed : float
        Mean distance across the surface of points that did not take part in the fit from where they should be.
    spacing : float
        Distance of neighbouring points.

    See Also
    --------
    displacement_between : finds one.
    """

    def __init__(self, function: Expansion, extent: float, missed: float, spacing: float):
        self.function, self.extent = function, float(extent)
        self.missed, self.spacing = float(missed), float(spacing)

    def halfway(self, X: np.ndarray, share: float) -> np.ndarray:
        """Places half-way p of places X (n, 3) that have gone this share of the way: X = p + (share - 1/2) u(p)."""
        places, left = X.copy(), np.arange(len(X))
        for _ in range(_STEPS):
            moved = X[left] - (share - 0.5) * self.function(places[left])
            far = np.abs(moved - places[left]).max(axis=1) > _CLOSE * self.extent
            places[left], left = moved, left[far]
            if not len(left):
                break
        return places

    def content(self) -> dict[str, Any]:
        """For a file."""
        numbers = {"extent": self.extent, "missed": self.missed, "spacing": self.spacing}
        return {"function": self.function.content(), **numbers}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> Displacement:
        """From a file."""
        numbers = (content[name] for name in ("extent", "missed", "spacing"))
        return cls(Expansion.from_content(content["function"]), *numbers)


def displacement_between(first: np.ndarray, first_normals: np.ndarray, second: np.ndarray, second_normals: np.ndarray):
    """The :class:`Displacement` from one oriented cloud (n, 3) to another.

    It minimises stiffness |u|^2 + mean w ((q - p) . n)^2 over pairs of points p, q and their mean normals n, with
    u = sum_j c_j phi(x - z_j) + an affine function. Half-way, a point's partner is the nearest one of the other cloud
    in places and normals. The stiffness is the one whose u predicts the pairs of points that were left out best.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.clouds.displacement import displacement_between
    >>> ball = np.random.default_rng(0).standard_normal((2, 400, 3))
    >>> ball /= np.linalg.norm(ball, axis=2, keepdims=True)
    >>> shift = np.array([0.3, 0.0, 0.0])
    >>> u = displacement_between(ball[0], ball[0], ball[1] + shift, ball[1])
    >>> bool(np.abs(u.function(ball[0]) @ [1, 0, 0] - 0.3).max() < 0.1)
    True
    """
    rng = np.random.default_rng(_SEED)
    sides = [_Side.of(*one, rng) for one in ((first, first_normals), (second, second_normals))]
    return _Matching(sides, rng).best()


class _Side:
    """Some points of a frame, with their normals; those that are left out of the fit come last."""

    def __init__(self, points: np.ndarray, normals: np.ndarray):
        self.points, self.normals = points, normals
        self.n_used = len(points) - int(_HELD_OUT * len(points))

    @classmethod
    def of(cls, points: np.ndarray, normals: np.ndarray, rng: np.random.Generator) -> _Side:
        rows = rng.permutation(len(points))[:_POINTS]
        return cls(points[rows], normals[rows])


class _Matching:
    """Pairs and displacement, in turn."""

    def __init__(self, sides: list[_Side], rng: np.random.Generator):
        self.sides = sides
        both = np.concatenate([side.points for side in sides])
        self.extent = float(np.linalg.norm(np.ptp(both, axis=0)))
        self.spacing = max(float(np.median(cKDTree(side.points).query(side.points, k=2)[0][:, 1])) for side in sides)
        self.centers = both[rng.permutation(len(both))[:_CENTERS]]
        gaps = cKDTree(self.centers).query(self.centers, k=2)[0][:, 1]
        self.kernel = Multiquadric(max(float(np.median(gaps)), 1e-3 * self.extent))
        self.null_space = Polynomials(1).fit(self.centers)
        P = self.null_space(self.centers)
        k, r = P.shape
        self.basis = np.linalg.qr(P, mode="complete")[0][:, r:]  # of the coefficients without moments
        self.energy = np.zeros((k, k))
        # in lengths of the extent: the energy of u / extent, a function of x / extent, is the same for all sizes
        self.energy[: k - r, : k - r] = self.basis.T @ self.kernel(self.centers) @ self.basis
        self.u = self._function(np.zeros((k, 3)))

    def best(self) -> Displacement:
        found, least = self.u, np.inf
        for stiffness in _STIFFNESS:
            for _ in range(_ROUNDS):
                before = self.u
                missed = self._round(stiffness)
                if missed < least:
                    found, least = before, missed
        return Displacement(found, self.extent, least, self.spacing)

    def _round(self, stiffness: float) -> float:
        """Match, note what held-out points miss, fit; the note is about the fit before."""
        now = Displacement(self.u, self.extent, 0.0, self.spacing)
        halves = [self._halfway(now, side, share) for side, share in zip(self.sides, (0.0, 1.0), strict=True)]
        places, normals = zip(*halves, strict=True)
        other, one = self._partners(places, normals)
        n, m = len(places[0]), len(places[1])
        left, right = np.concatenate([np.arange(n), one]), np.concatenate([other, np.arange(m)])
        across = normals[0][left] + normals[1][right]
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
        gap = places[1][right] - places[0][left]
        alike = np.maximum((normals[0][left] * normals[1][right]).sum(axis=1), 0.0)
        away = np.linalg.norm(gap, axis=1)
        usual = max(_FAR * float(np.median(away)), 2.0 * self.spacing)
        weights = (alike / (1.0 + (away / usual) ** 2)) ** 2
        used = np.concatenate([np.arange(n) < self.sides[0].n_used, np.arange(m) < self.sides[1].n_used])
        missed = np.abs((gap * across).sum(axis=1))
        middle = (places[0][left] + places[1][right]) / 2
        self.u = self._fitted(middle[used], gap[used], across[used], weights[used], stiffness)
        return float(np.minimum(missed[~used], _MISSED * self.extent).mean())

    def _halfway(self, now: Displacement, side: _Side, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Points and normals half-way: a plane with normal n becomes one with normal A'n under x -> A^-1 x."""
        places = now.halfway(side.points, share)
        turned = side.normals + (share - 0.5) * np.einsum("ijk,ij->ik", self.u.gradient(places), side.normals)
        return places, turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-9)

    def _partners(self, places, normals) -> tuple[np.ndarray, np.ndarray]:
        rows = [np.column_stack([x, _ANGLE * self.extent * n]) for x, n in zip(places, normals, strict=True)]
        return cKDTree(rows[1]).query(rows[0])[1], cKDTree(rows[0]).query(rows[1])[1]

    def _fitted(self, X: np.ndarray, gap: np.ndarray, across: np.ndarray, weights: np.ndarray, stiffness: float):
        """u that brings what is left of the gap to nothing: across the surface, and a little along it."""
        design = np.column_stack([self.kernel(X, self.centers) @ self.basis, self.null_space(X)])
        target = self.u(X) + gap
        k, share = design.shape[1], weights / max(weights.sum(), 1e-300)
        every = (_ALONG * share[:, None] * design).T @ design + stiffness * self.energy
        right = design.T @ (_ALONG * share[:, None] * target)
        rows = np.hstack([design * across[:, [a]] for a in range(3)]) * np.sqrt(share)[:, None]
        matrix = rows.T @ rows
        for a in range(3):
            matrix[a * k : (a + 1) * k, a * k : (a + 1) * k] += every
        matrix[np.diag_indices_from(matrix)] += 1e-12 * np.trace(matrix) / len(matrix)
        known = rows.T @ (np.sqrt(share) * (target * across).sum(axis=1)) + right.T.ravel()
        return self._function(cho_solve(cho_factor(matrix), known).reshape(3, k).T)

    def _function(self, coef: np.ndarray) -> Expansion:
        free = coef.shape[0] - self.basis.shape[1]
        dual = self.basis @ coef[: len(coef) - free]
        return Expansion(
            self.kernel, [Functional.values(self.centers)], dual, self.null_space, coef[len(coef) - free :]
        )
