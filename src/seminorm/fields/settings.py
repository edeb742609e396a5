"""How a field is fitted."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bases.box import mapped
from .anisotropy import Anisotropy
from .families import Choice
from .roughness import THIN_PLATE, Roughness
from .summary import Summary

_LEVEL_TOL, _CLOSE_TOL = 1e-2, 1e-5


@dataclass(frozen=True)
class Settings:
    """How to fit: see :class:`seminorm.FieldSmoother` for the meaning. ``resolved``: whether cells are made so small
    that a given alpha smooths a small set, and not their size.

    See Also
    --------
    fit_field
    """

    alpha: float | str = "auto"
    criterion: str = "auto"
    roughness: Roughness = THIN_PLATE
    family: str | None = None
    choice: Choice | None = None
    anisotropy: Anisotropy | str | None = None
    degree: int = 2
    depth: int | None = None
    scale: float | np.ndarray = 1.0
    margin: float | None = None
    period: dict[int, float] | None = None
    tol: float = 1e-4
    max_iter: int = 300
    memory_limit: float | None = None
    warns: bool = True
    resolved: bool = False

    @property
    def chosen(self) -> bool:
        """Whether alpha is to be chosen."""
        return isinstance(self.alpha, str)

    @property
    def axes(self) -> np.ndarray | None:
        """The map of scaled coordinates to those of the energy, None for the identity."""
        return self.anisotropy.axes if isinstance(self.anisotropy, Anisotropy) else None

    def coordinates(self, X: np.ndarray) -> np.ndarray:
        """Points in the coordinates of the energy."""
        return X / self.scale if self.axes is None else mapped(X / self.scale, self.axes)

    @property
    def by_likelihood(self) -> bool:
        """Whether alpha is known to be that of the largest likelihood."""
        return self.choice is not None and not self.chosen

    @property
    def level_tol(self) -> float:
        """For coarse levels: once alpha is known, solving them well leaves little to do for the next."""
        return _LEVEL_TOL if self.chosen else max(self.tol, _CLOSE_TOL)

    @property
    def finest(self) -> float:
        """The side of cells below which what is seen was taken for noise when alpha was chosen."""
        return 0.0 if self.choice is None else 1.5 * self.choice.spacing

    @property
    def decisive(self) -> str:
        """The criterion that alpha minimises."""
        return "reml" if self.by_likelihood else self.criterion

    def offset(self, summary: Summary) -> Any:
        """A constant that is taken out of the values first: their mean, if constants are free anyway. A number, or (k,)
        for k outputs.
        """
        centered = self.roughness.lowest > 0 or (self.choice is not None and self.choice.centered)
        return summary.mean if centered else np.zeros(summary.outputs or ())
