"""What FieldSmoother takes for observations: what can be read, with nothing twice."""

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from .._base.extras import require
from .._base.spacing import repetitions
from ..fields.sources import is_chunk
from ..functions.functionals import Functional, ObservedFunctionals
from .geography import geographic_columns, in_degrees, scale_of_degrees
from .observations import functional_shape, observed_functionals


def is_grid(X: Any) -> bool:
    """Whether X is an xarray.DataArray with coordinates, rather than points."""
    return hasattr(X, "dims") and hasattr(X, "to_dataset") and all(name in X.coords for name in X.dims)


def points_of(grid: Any) -> tuple[Any, np.ndarray]:
    """The nodes of an xarray.DataArray with known values, as a table with the names of its axes; and the values."""
    pandas = require("pandas", "grid")
    values = np.asarray(grid.values, dtype=float)
    axes = [np.asarray(grid[name].values, dtype=float) for name in grid.dims]
    known = np.isfinite(values)
    nodes = np.stack([axis[rows] for axis, rows in zip(axes, np.nonzero(known), strict=True)], axis=1)
    return pandas.DataFrame(nodes, columns=[str(name) for name in grid.dims]), values[known]


def name_of(y: Any) -> str | list[str]:
    """What a column of values is called, or several."""
    if np.ndim(y) == 2 and hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "value"


def axes_like(grid: Any, names: list[str] | None, d: int) -> list[Any]:
    """The names of the axes of a grid of xarray in the order of the coordinates: by their names, else as they stand."""
    if not hasattr(grid, "dims") or not hasattr(grid, "coords"):
        raise TypeError(f"like must be an xarray.DataArray or Dataset with coordinates, got {type(grid).__name__}.")
    dims = [str(name) for name in grid.dims]
    order = names if names is not None and set(names) <= set(dims) else dims
    if len(order) != d or len(dims) != d or any(name not in grid.coords for name in order):
        wanted = f"{d} axes with coordinates" + (f", called {', '.join(names)}" if names else "")
        raise ValueError(f"like must have {wanted}; it has {', '.join(dims)}.")
    return order


def covariates_of(grid: Any, names: list[str], order: list[Any]) -> list[np.ndarray]:
    """The variables of these names of a grid of xarray, with the axes in this order."""
    found = []
    for name in names:
        if name not in grid.coords and name not in getattr(grid, "data_vars", ()):
            raise ValueError(f"like must be an xarray.Dataset with the covariate {name!r} as a variable.")
        if set(grid[name].dims) != set(order):
            dims = ", ".join(map(str, grid[name].dims)) or "none"
            raise ValueError(f"like: the variable {name!r} must have the axes {', '.join(order)}, it has {dims}.")
        found.append(np.asarray(grid[name].transpose(*order).values, dtype=float))
    return found


def column_numbers(columns: Sequence[int | str], names: Any, width: int) -> tuple[int, ...]:
    """The numbers of columns of X, which has so many, given by number or name."""
    if isinstance(columns, str) or not np.iterable(columns):
        raise TypeError(f"null_columns must be a list of columns, got {columns!r}: put it into brackets.")
    numbers = [_column_number(column, None if names is None else list(names), width) for column in columns]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"null_columns must be different columns, got {list(columns)!r}.")
    if not 1 <= width - len(numbers) <= 4:
        raise ValueError(
            f"X has {width} columns, {len(numbers)} of them null_columns: one to four coordinates must be left."
        )
    return tuple(numbers)


def _column_number(column: int | str, names: list[str] | None, width: int) -> int:
    if isinstance(column, str):
        if names is None or column not in names:
            known = "X has no names of columns" if names is None else f"those of X are {', '.join(map(repr, names))}"
            raise ValueError(f"null_columns names {column!r}, and {known}: give a DataFrame with it, or a number.")
        return names.index(column)
    if not isinstance(column, Integral) or not -width <= int(column) < width:
        raise ValueError(f"null_columns must be names or numbers below {width}, the columns of X, got {column!r}.")
    return int(column) % width


def field_functionals(items: Sequence[tuple] | None, dimension: int | None) -> ObservedFunctionals | None:
    """All observed functionals as one."""
    if not items:
        return None
    given, outputs = functional_shape(items)
    dimension = given if dimension is None else dimension
    observed = [observed_functionals(item, dimension, outputs[0] if outputs else 1) for item in items]
    functional = Functional.stack([item.functional for item in observed])
    if dimension > 4:
        raise ValueError(
            f"functionals have {dimension} coordinates, and fields have one to four: use seminorm.Smoother for more."
        )
    if functional.derivative > 1:
        raise ValueError(
            f"functionals of a field take values and first derivatives, got derivatives of order "
            f"{functional.derivative}: use seminorm.Smoother for these."
        )
    return ObservedFunctionals(
        functional,
        np.concatenate([item.targets for item in observed]),
        np.concatenate([item.weights for item in observed]),
    )


def without_repetitions(X: np.ndarray, y: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """Copies of an observation as one with the sum of their weights, and nothing of weight zero: copies do not tell of
    the noise, and a criterion that takes them for independent would interpolate."""
    if np.ndim(weights) == 1 and not (len(weights) == len(X) and np.isfinite(weights).all()):
        return X, y, weights  # what is wrong with them is said elsewhere
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        return X, y, weights
    if np.ndim(weights) == 1 and (weights == 0.0).any() and weights.any():
        kept = np.flatnonzero(weights)
        X, y, weights = X[kept], y[kept], weights[kept]
    found = repetitions(X, y)
    if found is None:
        return X, y, weights
    first, group = found
    each = np.ones(len(X)) if weights is None else np.broadcast_to(weights, len(X))
    return X[first], y[first], np.bincount(group, each)


def check_readable(X: Any) -> None:
    """Refuse what holds nothing, cannot be read twice, or names files that are not there."""
    if isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError(
            f"X is an empty {type(X).__name__}: give points, or chunks or files of points. If it is a list of files, "
            "check the folder and the pattern."
        )
    if hasattr(X, "__next__"):
        raise ValueError(
            f"X is a {type(X).__name__}, which can be read once, and observations are read several times: give a list "
            "of chunks, or a function that returns a fresh iterator each time it is called."
        )
    if isinstance(X, (list, tuple)) and is_chunk(X[0]):
        for number, chunk in enumerate(X):
            existing(chunk, f", item {number} of {len(X)} of X")


def existing(chunk: Any, where: str = "") -> Any:
    """The chunk itself; the path of a file must be that of a file."""
    if (isinstance(chunk, str) or hasattr(chunk, "__fspath__")) and not Path(chunk).is_file():
        state = "is a folder" if Path(chunk).is_dir() else "does not exist"
        raise FileNotFoundError(f"the chunk file {chunk}{where} {state}: give paths of npz files.")
    return chunk


def floats(values: Any) -> np.ndarray | None:
    return None if values is None else np.asarray(values, dtype=np.float64)


def without_unused(y: Any, sample_weight: np.ndarray | None) -> Any:
    """Values of weight 0 may be anything, NaN too: 0 stands for them."""
    if y is None or sample_weight is None or not (sample_weight == 0.0).any():
        return y
    y = np.asarray(y, dtype=np.float64)
    if len(y) != len(sample_weight) or y.ndim > 2:
        return y
    return np.where((sample_weight == 0.0).reshape(-1, *[1] * (y.ndim - 1)), 0.0, y)


def validated(smoother: BaseEstimator, X: Any, y: Any, covariates: int = 0) -> tuple[np.ndarray, np.ndarray | None]:
    """Arrays of an ordinary call, X with so many columns that are no coordinates; a memory-mapped X is checked chunk by
    chunk later.
    """
    for name, part in (("X", X), ("y", y)):
        if np.ma.is_masked(part):
            raise ValueError(
                f"{name} is a masked array, and {np.ma.count_masked(part)} of its numbers are masked: leave these "
                "points out."
            )
    if isinstance(X, np.memmap):
        smoother.n_features_in_ = X.shape[1]
        return X, y
    if y is None:
        X = validate_data(smoother, X, dtype=np.float64)
    else:
        X, y = validate_data(smoother, X, y, dtype=np.float64, y_numeric=True, multi_output=True)
    if X.shape[1] > 4 and not covariates:
        raise ValueError(
            f"X has {X.shape[1]} features, and fields have one to four coordinates: use seminorm.Smoother for more."
        )
    return X, y


def scale_of(smoother: Any, X: Any, periods: dict[int, float] | None) -> Any:
    """What the coordinates of a FieldSmoother are divided by: given, or by columns that are longitude and latitude."""
    if not isinstance(smoother.scale, str):
        return np.asarray(smoother.scale, dtype=float)
    if hasattr(X, "dask") or not hasattr(X, "columns"):
        return np.ones(())
    kept = [k for k in range(X.shape[1]) if k not in smoother._column_numbers]
    columns = geographic_columns([X.columns[k] for k in kept])
    if columns is None:
        return np.ones(())
    points = np.asarray(X, dtype=float)[:, kept]
    if not in_degrees(points, columns):
        return np.ones(())
    return scale_of_degrees(points, columns, columns.longitude in (periods or {}))
