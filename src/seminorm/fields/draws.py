"""Draws of the posterior of a field by solving for noise.

If a right-hand side has the covariance of the matrix M = alpha F + B' W B of the equations, its solution has the
covariance M^-1 [Papandreou and Yuille 2010]. Such noise is the sum of that of the observations, B' W^(1/2) z with
independent normal z, and that of the energy, made cell by cell.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from .. import _native
from .levels import prolonged
from .sources import Source, scrambled
from .system import CellEnergy, System, dot, gather
from .tree import Tree

_TOGETHER, _NUMBERS = 8, 2**24  # right-hand sides that are made and solved in step; numbers in these, at most


class NoisyObservations(System):
    """The equations of a tree with right-hand sides of noise for each observation, fixed by its number: normal, or
    signs, whose covariance is the same.
    """

    def __init__(self, seed: int, first: int, count: int, like: System, normal: bool = True):
        super().__init__(like.tree, like.energy.roughness, like.mean, probes=count)
        self._seed, self._first, self._normal = seed, first, normal

    def _random(self, numbers: np.ndarray) -> np.ndarray:
        draws = np.arange(self._first, self._first + self.probes, dtype=np.uint64)
        stream = scrambled(draws + scrambled(np.array([self._seed], dtype=np.uint64)))
        mixed = scrambled(numbers)[..., None] + stream
        return _normal(mixed) if self._normal else 1.0 - 2.0 * (scrambled(mixed) >> np.uint64(63))


def _normal(numbers: np.ndarray) -> np.ndarray:
    """A normal number for each integer [Box and Muller 1958]."""
    one = ((scrambled(numbers) >> np.uint64(11)) + 1.0) * 2.0**-53  # in (0, 1]
    other = (scrambled(~numbers) >> np.uint64(11)) * 2.0**-53
    return np.sqrt(-2.0 * np.log(one)) * np.cos(2.0 * np.pi * other)


class Cascade:
    """The equations of a tree and of its coarser levels: right-hand sides are solved from coarse to fine; without
    observations for the coarser ones, on all levels at once.
    """

    def __init__(self, system: System, alpha: float, source: Source | None):
        self.alpha, self.system = alpha, system
        self.systems = [system]
        if source is None:
            return
        box, degree, levels = system.tree.box, system.tree.degree, system.tree.levels
        trees = (Tree(box, degree, levels[: level + 1]) for level in range(system.tree.depth))
        make = partial(System, roughness=system.energy.roughness, mean=system.mean)
        self.systems = [*(source.accumulate(partial(make, tree)).close() for tree in trees), system]

    def solve(self, right: np.ndarray, *, tol: float, max_iter: int) -> np.ndarray:
        """Coefficients of all levels (sides, blocks, functions) for right-hand sides that were gathered from the
        leaves.
        """
        x = np.zeros_like(right[:, :0])
        for system in self.systems:
            x = prolonged(system.tree, x)
            own = np.ascontiguousarray(right[:, : x.shape[1]])
            system.solve_for(self.alpha, own, x, tol=tol, max_iter=max_iter)
        return x

    @property
    def together(self) -> int:
        """How many right-hand sides are solved in step; the solutions do not depend on it."""
        return int(np.clip(_NUMBERS // self.system.tree.active.size, 1, _TOGETHER))

    def inverse_forms(self, right: np.ndarray, *, tol: float, max_iter: int) -> list[float]:
        """right' M^-1 right of each of several, with an error of second order in that of the solution."""
        x = self.solve(right, tol=tol, max_iter=max_iter)
        images = self.system.apply(x, self.alpha)
        return [2.0 * dot(b, own) - dot(own, image) for b, own, image in zip(right, x, images, strict=True)]

    def draws(
        self, source: Source, count: int, seed: int, *, tol: float, max_iter: int, normal: bool = True
    ) -> Iterator[np.ndarray]:
        """Coefficients with the covariance of the inverse matrix, normal, or made of signs: these cost less, and serve
        where only the covariance counts.
        """
        tree = self.system.tree
        for first in range(0, count, self.together):
            number = min(self.together, count - first)
            noisy = source.accumulate(partial(NoisyObservations, seed, first, number, self.system, normal))
            right = noisy.leaf_right[noisy.outputs :]
            for k, own in enumerate(right):
                rng = np.random.default_rng([seed, first + k])
                own += energy_noise(tree, self.system.energy, self.alpha, rng, normal)
            yield from self.solve(gather(tree, right), tol=tol, max_iter=max_iter)


def energy_noise(
    tree: Tree, energy: CellEnergy, alpha: float, rng: np.random.Generator, normal: bool = True
) -> np.ndarray:
    """Numbers whose covariance is alpha times the energy, on the leaves: made cell by cell of normal ones or signs."""
    values, vectors = np.linalg.eigh(energy.cells)
    keep = values > values[:, -1:] * 1e-13
    first = np.flatnonzero(keep.any(axis=0))[0]  # ascending: what all levels have at most
    factors = np.ascontiguousarray((vectors * np.sqrt(np.where(keep, values, 0.0))[:, None])[:, :, first:])
    shape = int(np.count_nonzero(tree.leaf)), factors.shape[2]
    numbers = rng.standard_normal(shape) if normal else _signs(rng, shape)
    noise = np.zeros(tree.active.shape)
    roots = np.sqrt(alpha * energy.factors)
    _native.spread_cells(tree.links, tree.leaf, roots, factors, numbers, noise)
    return noise


def _signs(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    size = shape[0] * shape[1]
    bits = np.unpackbits(rng.integers(0, 256, -(-size // 8), dtype=np.uint8), count=size)
    return (1.0 - 2.0 * bits).reshape(shape)
