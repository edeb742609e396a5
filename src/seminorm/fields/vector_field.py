"""Fields of several outputs: one tree, and coefficients for each output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..functions.protocol import StoredFunction
from .field import Field
from .roughness import Roughness
from .tree import Tree


class VectorField(StoredFunction):
    """Fields on the same tree as one function with k outputs.

    Parameters
    ----------
    components : sequence of Field

    See Also
    --------
    Field : One output.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm import FieldSmoother
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> f = FieldSmoother(alpha=1e-6, depth=5).fit(X, np.column_stack([np.sin(6 * X[:, 0]), X[:, 0]])).function_
    >>> f([[0.25]]).round(3), f.gradient([[0.25]]).shape
    (array([[0.997, 0.25 ]]), (1, 2, 1))
    """

    def __init__(self, components: Sequence[Field]):
        self.components = list(components)

    def __repr__(self) -> str:
        return f"<VectorField of {len(self.components)} outputs: {self.components[0]!r}>"

    @property
    def tree(self) -> Tree:
        """The basis."""
        return self.components[0].tree

    @property
    def roughness(self) -> Roughness:
        """What :meth:`seminorm` measures."""
        return self.components[0].roughness

    @property
    def offset(self) -> np.ndarray:
        """Constants that are added to the values (k,)."""
        return np.array([component.offset for component in self.components])

    @property
    def coef(self) -> np.ndarray:
        """Coefficients (k, blocks, functions)."""
        return np.stack([component.coef for component in self.components])

    @property
    def order(self) -> int:
        """The highest order of derivatives in the semi-norm."""
        return self.roughness.order

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.tree.box.dimension

    @property
    def depth(self) -> int:
        """Number of the finest level; level 0 is one cell across the data."""
        return self.tree.depth

    @property
    def n_coef(self) -> int:
        """Number of basis functions, per output."""
        return self.tree.size

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper corner of the box (2, d)."""
        return self.components[0].bounds

    def jet(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Values (n, k) and gradients (n, k, d) at X, together."""
        values, gradients = zip(*(component.jet(X) for component in self.components), strict=True)
        return np.stack(values, axis=1), np.stack(gradients, axis=1)

    def times(self, factor: float) -> VectorField:
        """The outputs multiplied by a number."""
        return VectorField([component.times(factor) for component in self.components])

    def seminorm(self) -> np.ndarray:
        """|f| of each output (k,)."""
        return np.array([component.seminorm() for component in self.components])

    def content(self) -> dict:
        """What a file holds."""
        return {**self.components[0].content(), "coef": self.coef, "offset": self.offset}

    @classmethod
    def from_content(cls, content: dict, path: Any = "the file") -> Self:
        """The function that :meth:`content` describes."""
        pairs = zip(content["coef"], content["offset"], strict=True)
        return cls([Field.from_content({**content, "coef": c, "offset": offset}, path) for c, offset in pairs])

    def _derivative(self, X: Any, times: int) -> np.ndarray:
        return np.stack([component._derivative(X, times) for component in self.components], axis=1)


def field_of(
    tree: Tree, coef: np.ndarray, roughness: Roughness | int, offset: float | np.ndarray = 0.0
) -> Field | VectorField:
    """The field of coefficients (blocks, functions), or (k, blocks, functions) for k outputs."""
    if coef.ndim == 2:
        return Field(tree, coef, roughness, float(offset))
    return VectorField(
        [Field(tree, c, roughness, b) for c, b in zip(coef, np.broadcast_to(offset, len(coef)), strict=True)]
    )


def scaled(field: Field | VectorField, factors: np.ndarray) -> VectorField:
    """The outputs multiplied by numbers (k,)."""
    pairs = zip(field.components, factors, strict=True)
    return VectorField([component.times(float(factor)) for component, factor in pairs])


def field_from_content(content: dict) -> Field | VectorField:
    """The field of a file, with one output or several."""
    return VectorField.from_content(content) if np.ndim(content["coef"]) == 3 else Field.from_content(content)
