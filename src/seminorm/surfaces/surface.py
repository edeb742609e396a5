"""Surfaces: implicit functions fitted to points, meshed near the points."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..fields.field import Field
from ..fields.sampling import sample_blocks
from ..fields.tree import Box, Tree
from ..serialization import load_npz, save_npz
from .extraction import component_labels, extract
from .implicit import Implicit
from .mesh import Mesh

_BLOCK = 8
_BORDER = 0.1  # of the longest side: how far beyond the data a surface is followed before it is closed


class Surface(Implicit):
    """The zero set of a field: negative inside, its gradient points outwards, in units of length near the points.

    Parameters
    ----------
    field : Field
    points : array (n, 3)
        The data.
    details : dict, optional
        How the field came about: the parameters that were given or chosen, and what they were chosen from.
    """

    thread_safe = False

    def __init__(self, field: Field, points: np.ndarray, details: dict | None = None):
        self.field, self.points, self.details = field, points, dict(details or {})
        self.dimension = field.dimension
        low, high = points.min(axis=0), points.max(axis=0)
        border = _BORDER * (high - low).max()
        self.bounds = low - border, high + border
        self.resolution = float(field.tree.spacing(field.depth) * field.tree.box.scale[0])

    def __repr__(self):
        return (
            f"<Surface of {len(self.points)} points: depth {self.field.depth}, {self.field.n_coef} coefficients, "
            f"resolution {self.resolution:.3g}>"
        )

    def _jet(self, X, order):
        if order == 0:
            return (self.field(X),)
        values, gradients = self.field.jet(X)
        return (values, gradients) if order == 1 else (values, gradients, self.field.hessian(X))

    def mesh(self, resolution: float | None = None, *, refine: int = 1, verbose: bool = False) -> Mesh:
        """Triangles of the surface, closed at the bounds.

        Parameters
        ----------
        resolution : float, optional
            Side of the cells that the surface is cut into, rounded down to that of the field divided by a power of 2;
            half of the field's finest cells by default.
        refine : int
            Newton steps that bring each vertex onto the surface.
        """
        finer = 1 if resolution is None else max(int(np.ceil(np.log2(self.resolution / resolution) - 1e-9)), 0)
        sampler = _BlockSampler(self, self.field.depth + finer)
        low, high = sampler.bounds
        found = extract(
            sampler, (low, high), sampler.spacing, seeds=self.points, refine=refine, side=_BLOCK, batch=4096,
            verbose=verbose,
        )  # fmt: skip
        mesh = Mesh(found.vertices, found.faces, found.normals)
        labels = component_labels(mesh.faces, len(mesh.vertices))
        if labels.max(initial=0) > 0:
            supported = self._supported(mesh, labels, sampler.spacing * 2**finer)
            mesh = mesh.keep(supported[labels[mesh.faces[:, 0]]])
        return mesh

    def _supported(self, mesh: Mesh, labels: np.ndarray, spacing: float) -> np.ndarray:
        """Components that are more than a few cells large."""
        count = labels.max() + 1
        sizes = np.bincount(labels, minlength=count)
        return sizes >= max(0.002 * sizes.max(), 1)

    def save(self, path) -> Path:
        """Write the mesh (by extension: ply, obj, stl, glb, off) or, as npz, the function itself."""
        path = Path(path)
        if path.suffix.lower() != ".npz":
            return self.mesh().save(path)
        box = self.field.tree.box
        return save_npz(
            path,
            {
                "type": "Surface",
                "low": box.low,
                "scale": box.scale,
                "spacing": box.spacing,
                "cells": box.cells,
                "degree": self.field.tree.degree,
                "order": self.field.order,
                "offset": self.field.offset,
                "levels": [blocks.astype(np.int32) for blocks in self.field.tree.levels],
                "coef": self.field.coef,
                "points": self.points,
                "details": self.details,
            },
        )

    @classmethod
    def load(cls, path) -> Surface:
        """Read a surface written by :meth:`save` as npz; no code of the file is run."""
        content = load_npz(path)
        if content.get("type") != "Surface":
            raise ValueError(f"{path} does not hold a Surface.")
        box = Box(content["low"], content["scale"], content["spacing"], content["cells"])
        tree = Tree(box, content["degree"], content["levels"])
        return cls(
            Field(tree, content["coef"], content["order"], content["offset"]), content["points"], content["details"]
        )


class _BlockSampler:
    """A surface as the extraction wants it: on blocks of the grid of a level."""

    def __init__(self, surface: Surface, level: int):
        self.surface, self.level = surface, level
        box = surface.field.tree.box
        self.spacing = box.spacing / 2.0**level * box.scale[0]
        width = _BLOCK * self.spacing
        low, high = (np.floor((corner - box.low) / width) for corner in surface.bounds)
        self._first = np.maximum(low, 0).astype(np.int64)
        last = np.minimum(high.astype(np.int64) + 1, -(-box.cells * 2**level // _BLOCK))
        self.bounds = box.low + self._first * width, box.low + last * width

    def __call__(self, X):
        return self.surface.field(X)

    def gradient(self, X):
        return self.surface.field.jet(X)[1]

    def jet(self, X, order):
        return self.surface.field.jet(X)

    def sample_blocks(self, blocks, side, origin, spacing):
        return sample_blocks(self.surface.field, self.level, blocks + self._first)
