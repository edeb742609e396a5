"""Better triangles on the vertices that are there: edges are flipped, and vertices slide along the mesh."""

from dataclasses import dataclass

import numpy as np

from ... import _native

_TURN = 0.7  # least cosine of the angle by which a triangle turns
_LARGEST_FAN = 10


@dataclass(frozen=True)
class Shaping:
    """How far triangles are improved whose quality, 4 sqrt(3) area / (sum of the squared sides), is below ``wanted``.

    ``deviation`` is how far the two diagonals of a flip may pass each other. Topology does not change; borders and
    fixed vertices stay. Vertices that slide leave a curved surface a little: they are refined after each of the passes.
    """

    deviation: float
    wanted: float = 0.7
    rounds: int = 2  # of flips and slides in a pass
    passes: int = 1

    def __call__(self, vertices: np.ndarray, faces: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """New vertices and faces; ``fixed`` (v,) stay where they are."""
        vertices, faces = np.array(vertices, dtype=float, order="C"), np.array(faces, order="C")
        limits = self.wanted, self.deviation, _TURN, _LARGEST_FAN, self.rounds
        _native.shape_triangles(vertices, faces, np.ascontiguousarray(fixed), *limits)
        return vertices, faces
