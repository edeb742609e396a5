"""The fit of a surface to oriented points, with what is not given chosen."""

from numbers import Real
from typing import Any

import numpy as np
from tqdm import tqdm

from .._base.memory import NotEnoughMemoryError
from .._base.warnings import warn_user
from ..clouds.sampling import OrientedPoints
from .fitting import SurfaceFit, fit_surface, settle_normals
from .preparation import LARGE, StepClock, choose_model
from .selection import Trial

_STRANGE = 0.75  # mean of one minus the cosine of held-out normals
_ROUNDS = 3  # of fits with their own normals, where these were estimated
_EXACT = 0.4  # smoothness over tolerance: 0.25 at first (order 3), more where trials found the points exact


def chosen_fit(
    points: OrientedPoints, order: int, wanted: dict[str, Any], solver: dict[str, Any], clock: StepClock
) -> tuple[SurfaceFit, list[Trial]]:
    """The fit of the model that :func:`choose_model` finds; of a coarser one, if memory does not allow it."""
    check_solver(solver)
    model, trials = choose_model(points, order, **wanted)
    clock.lap("choose")
    may_be_coarser = wanted["depth"] == "auto" and wanted["resolution"] is None
    with tqdm(total=model.depth + 1, desc="fitting", disable=not wanted["verbose"], leave=False) as bar:

        def report(fit: SurfaceFit) -> None:
            bar.set_postfix_str(f"{fit.tree.size} coefficients")
            bar.update()

        while True:
            try:
                return fit_surface(points, model, report=report, **solver), trials
            except NotEnoughMemoryError as error:
                if not may_be_coarser or model.depth <= 2:
                    raise
                warn_user(f"{error} The surface stays at depth {model.depth - 1}.")
                model = model.on_level(model.depth - 1)


def check_solver(solver: dict[str, Any]) -> None:
    """Refuse options of the solver that are no positive numbers."""
    for name, value in solver.items():
        if not (value is None and name == "memory_limit") and not (isinstance(value, Real) and float(value) > 0):
            raise ValueError(f"{name} must be a positive number, got {value!r}.")


def settled(fit: SurfaceFit, X: np.ndarray, **solver) -> SurfaceFit:
    """The fit with better normals, if they were estimated from few points that count for more than their normals."""
    exact = fit.model.smoothness > _EXACT * fit.model.tolerance
    return settle_normals(fit, X, _ROUNDS, **solver) if exact and len(X) <= LARGE else fit


def warn_of_angles(trials: list[Trial], estimated: bool) -> None:
    """Warn if the best of the trials does not know the normals of points that were held out."""
    angle = min(trials, key=lambda trial: trial.score).angle if trials else 0.0
    if angle > _STRANGE:
        advice = "the points lie on no surface that one could see" if estimated else "leave the normals out"
        warn_user(
            f"normals of points that were held out are not those of the surface (mean cosine {1.0 - angle:.2f}): they "
            f"are wrong, or noise hides the surface; {advice}."
        )


def order_of(order: int | str, second: bool) -> int:
    if isinstance(order, str) and order == "auto":
        return 2 if second else 3
    if order not in (2, 3):
        raise ValueError(f"order must be 2, 3 or 'auto', got {order!r}.")
    return int(order)
