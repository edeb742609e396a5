"""Grids of the values of a fitted field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..fields.vector_field import VectorField
from ..functions.grids import regular_axes, sample_on_grid
from .field_input import axes_like, covariates_of
from .field_uncertainty import FEW, FieldUncertainty


class FieldGrids(FieldUncertainty):
    """Values and deviations of a smoother of fields on regular grids."""

    scale_: Any
    null_columns: Sequence[int | str] | None
    data_bounds_: np.ndarray
    _value_name: str | list[str]

    def grid(
        self,
        spacing: ArrayLike | None = None,
        *,
        bounds: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        value_name: str | Sequence[str] | None = None,
        std: bool = False,
    ) -> Any:
        """Values on a regular grid, as an ``xarray.DataArray`` if xarray is installed, else a tuple of axes and the
        array.

        Parameters
        ----------
        spacing : float or array (d,), optional
            Distance of the grid points; left out, 100 points along the longest side, and the same distance along the
            others, both in coordinates divided by ``scale``.
        bounds : array (2, d), optional
            The lower and the upper corner; left out, the extent of the data.
        names, value_name : list of str, str, optional
            Of the axes and of the values, a list for several outputs; left out, those of the columns of X and of y, if
            they had any.
        std : bool
            Add the standard deviation of the field as ``value_name + "_std"``: then the grid is an ``xarray.Dataset``,
            or the tuple has another array.

        Returns
        -------
        xarray.DataArray, xarray.Dataset or tuple
            Several outputs are the variables of a Dataset.
        """
        check_is_fitted(self)
        if self._features.columns:
            raise ValueError(
                f"null_columns={self.null_columns!r} have no values at the nodes of a grid: use predict_grid(like=...) "
                "with an xarray.Dataset that has variables of these names."
            )
        values = self._names_of_values(value_name)
        names = self._axis_names() if names is None else names
        bounds = self.data_bounds_ if bounds is None else bounds
        axes = regular_axes(
            bounds, self.function_.dimension, spacing, np.broadcast_to(self.scale_, self.function_.dimension)
        )
        functions: dict[Any, Callable[[np.ndarray], np.ndarray]] = {values: self._mean}
        if std:
            deviations = f"{values}_std" if isinstance(values, str) else tuple(f"{name}_std" for name in values)
            functions[deviations] = partial(self._std, exact=prod(map(len, axes)) <= FEW)
        return sample_on_grid(functions, axes, names)

    def predict_grid(self, like: Any) -> Any:
        """Values on the grid of an ``xarray.DataArray`` or ``Dataset``.

        Parameters
        ----------
        like : xarray.DataArray or xarray.Dataset
            Its axes are recognised by the names of the columns of X; where these had none, or others, they stand in the
            order of the coordinates. A Dataset holds the covariates of ``null_columns``, too, as variables of these
            names on these axes; where one is NaN, so is the value.

        Returns
        -------
        xarray.DataArray
            With the axes of ``like``; a Dataset for several outputs.
        """
        check_is_fitted(self)
        order = axes_like(like, self._axis_names(), self.function_.dimension)
        axes = [np.asarray(like[name].values, dtype=float) for name in order]
        columns = covariates_of(like, self._names_of_features(), order)
        function = partial(self._mean_of_parts, len(order)) if columns else self._mean
        values = sample_on_grid({self._names_of_values(): function}, axes, order, columns).transpose(*like.dims)
        return values.assign_coords({name: like[name] for name in order})

    def _mean_of_parts(self, d: int, parts: np.ndarray) -> np.ndarray:
        """Values at coordinates (n, d) and covariates beside them; NaN where a covariate is."""
        X = np.empty_like(parts)
        X[:, self._features.kept(parts.shape[1])] = parts[:, :d]
        X[:, list(self._features.columns)] = parts[:, d:]
        known = np.isfinite(X).all(axis=1)
        values = np.full((len(X), *np.shape(self.noise_variance_)), np.nan)
        values[known] = self._mean(X[known])
        return values

    def _names_of_features(self) -> list[str]:
        """The names of the null_columns."""
        names = getattr(self, "feature_names_in_", None)
        if names is None and self._features.columns:
            raise ValueError(
                f"null_columns={self.null_columns!r} have no names: fit with a DataFrame, or predict at the nodes."
            )
        return [str(names[number]) for number in self._features.columns]  # type: ignore[index]

    def _axis_names(self) -> list[str] | None:
        """The names of the columns of X, if it had any that an axis can have."""
        given = [str(name) for name in getattr(self, "feature_names_in_", ())]
        names = [given[number] for number in self._features.kept(len(given))] if given else []
        values = self._names_of_values()
        return names if names and not {*names} & {*([values] if isinstance(values, str) else values)} else None

    def _names_of_values(self, given: str | Sequence[str] | None = None) -> str | tuple[str, ...]:
        """The name of the values, or a tuple of names for several outputs."""
        names = self._value_name if given is None else given
        if not isinstance(self.function_, VectorField):
            if not isinstance(names, str):
                raise ValueError(f"value_name must be a string for one output, got {names!r}.")
            return names
        k = len(self.function_.components)
        if given is None and isinstance(names, str):
            return tuple(f"{names}{number}" for number in range(k))
        if isinstance(names, str) or len(set(names)) < k or len(names) != k:
            raise ValueError(f"value_name must be {k} different names, one for each output, got {names!r}.")
        return tuple(names)
