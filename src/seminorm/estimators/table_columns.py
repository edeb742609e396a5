"""Tables as numbers: columns with categories and missing values become columns of numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from .settling import with_column_numbers

FROM_DTYPE = "from_dtype"
_FEW_LEVELS = 12  # each has a column of its own up to here; above, a category is its shrunken mean target
_FOLDS = 5
_MISSING = None


class RawColumns(NamedTuple):
    """The columns of X: numbers (n,) of float, or values (n,) of object."""

    columns: list[np.ndarray]
    categorical: np.ndarray  #: bool, per column

    def take(self, rows: np.ndarray) -> RawColumns:
        """Some of the rows."""
        return RawColumns([column[rows] for column in self.columns], self.categorical)

    def keys(self) -> np.ndarray:
        """Numbers (n, .) that differ where rows differ."""
        parts = []
        for column, is_category in zip(self.columns, self.categorical, strict=True):
            if is_category:
                keys = [_key(value) for value in column]
                parts.append(_places(_sorted_levels(keys), keys))
            else:
                parts += [np.nan_to_num(column), np.isnan(column)]
        return np.column_stack(parts).astype(float)


class Encoding(NamedTuple):
    """How one column becomes numbers."""

    column: int
    kind: str  #: "number", "missing", "levels" or "means"
    levels: list  #: values of a category; None is a missing one
    numbers: np.ndarray  #: what replaces a missing number; codes of the levels, or mean targets, and those of others


def read_table(estimator: Any, X: Any, categorical_features: Any, *, reset: bool) -> RawColumns:
    """The columns of X, checked as scikit-learn does, with names and their number kept in the estimator."""
    by_type = categorical_features is None or isinstance(categorical_features, str)
    if by_type and categorical_features not in (None, FROM_DTYPE):
        categorical_features, by_type = [categorical_features], False
    if by_type and not hasattr(X, "columns"):
        return _numbers_only(estimator, X, reset)
    if hasattr(X, "columns"):
        _check_feature_names(estimator, X, reset=reset)
        columns, by_dtype = _frame_columns(X)
    else:
        columns, by_dtype = _array_columns(X)
    if not columns or not len(columns[0]):
        raise ValueError(f"X must have at least one row and one column, got {len(columns)} columns.")
    _check_n_features(estimator, X, reset=reset)
    chosen = by_dtype if by_type else by_dtype | _chosen(estimator, categorical_features)
    ready = [
        column.astype(object) if is_category else _as_numbers(column, _name_of(estimator, j))
        for j, (column, is_category) in enumerate(zip(columns, chosen, strict=True))
    ]
    return RawColumns(ready, chosen)


def _numbers_only(estimator, X, reset: bool) -> RawColumns:
    X = validate_data(estimator, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset)
    return RawColumns(list(X.T), np.zeros(X.shape[1], dtype=bool))


def _chosen(estimator: Any, categorical_features: Any) -> np.ndarray:
    """The columns that the user calls categories, as a mask."""
    d, given = estimator.n_features_in_, categorical_features
    given = with_column_numbers(list(np.atleast_1d(given)), getattr(estimator, "feature_names_in_", None))
    numbers = np.asarray(given)
    if numbers.dtype == bool and numbers.shape == (d,):
        return numbers
    if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= d):
        raise ValueError(
            f"categorical_features must be 'from_dtype', None, a mask with {d} entries, or numbers or names of "
            f"columns, got {categorical_features!r}."
        )
    mask = np.zeros(d, dtype=bool)
    mask[numbers.astype(int)] = True
    return mask


def _name_of(estimator: Any, j: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {j}" if names is None else f"column {names[j]!r}"


def _frame_columns(X: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """The columns of a DataFrame (pandas, polars), and which hold categories or text."""
    series = [X.iloc[:, j] if hasattr(X, "iloc") else X.to_series(j) for j in range(X.shape[1])]
    kinds = [str(column.dtype).lower() for column in series]
    text = np.array([kind.startswith(("category", "categorical", "enum", "str", "object", "utf8")) for kind in kinds])
    columns = []
    for column, kind, is_text in zip(series, kinds, text, strict=True):
        if kind.startswith(("date", "time", "duration", "period")):
            raise ValueError(f"X has dates in column {column.name!r}: give numbers, such as days since a date.")
        columns.append(np.array(column.to_list(), dtype=object if is_text else None))
    for j, column in enumerate(columns):
        text[j] = text[j] and not (kinds[j] == "object" and _are_numbers(column))
    return columns, text


def _array_columns(X: Any) -> tuple[list[np.ndarray], np.ndarray]:
    X = check_array(X, dtype=None, ensure_all_finite=False)
    return list(X.T), np.zeros(X.shape[1], dtype=bool)


def _are_numbers(column: np.ndarray) -> bool:
    return all(isinstance(value, (int, float, np.number)) or value is None for value in column)


def _as_numbers(column: np.ndarray, name: str) -> np.ndarray:
    try:
        if column.dtype == object:
            column = np.array([np.nan if _is_missing(value) else value for value in column])
        numbers = column.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} of X holds values that are no numbers: name it in categorical_features, or make it a category of "
            "the DataFrame."
        ) from error
    if np.isinf(numbers).any():
        raise ValueError(f"{name} of X holds infinity: replace it, or set it to NaN, which counts as missing.")
    return numbers


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


class TableEncoder:
    """What training learned of the columns: :meth:`fit_transform`, :meth:`transform`.

    Numbers stay as they are (missing ones become the mean, and a further column says so); a category of few values has
    a column for each, all of them together with variance 1; one of many values is replaced by the mean targets of its
    values, shrunken to the mean of all, and cross-fitted in training. Unseen values lie at the mean of all.
    """

    def __init__(self, encodings: list[Encoding], n_outputs: int):
        self.encodings, self.n_outputs = encodings, n_outputs

    @classmethod
    def fit_transform(cls, table: RawColumns, Y: np.ndarray, weights: np.ndarray) -> tuple[TableEncoder, np.ndarray]:
        """The encoder, and the encoded rows (n, p)."""
        encodings, blocks = [], []
        for j, (column, is_category) in enumerate(zip(table.columns, table.categorical, strict=True)):
            fitted = _fit_category(j, column, Y, weights) if is_category else _fit_numbers(j, column, weights)
            for encoding, block in fitted:
                if (np.ptp(block, axis=0) > 0).any():  # constant columns tell nothing
                    encodings.append(encoding)
                    blocks.append(block)
        encoder = cls(encodings, Y.shape[1])
        return encoder, np.hstack(blocks) if blocks else np.zeros((len(Y), 1))

    def transform(self, table: RawColumns) -> np.ndarray:
        """Rows (n, p)."""
        blocks = [_encode(encoding, table.columns[encoding.column]) for encoding in self.encodings]
        return np.hstack(blocks) if blocks else np.zeros((len(table.columns[0]), 1))

    @property
    def origin(self) -> np.ndarray:
        """The column of X from which each encoded column comes (p,)."""
        widths = [_width(encoding) for encoding in self.encodings]
        return np.repeat([encoding.column for encoding in self.encodings], widths) if widths else np.zeros(1, dtype=int)

    @property
    def levels(self) -> np.ndarray:
        """Which encoded columns are indicators (p,)."""
        flags = [np.full(_width(e), e.kind == "levels") for e in self.encodings]
        return np.concatenate(flags) if flags else np.zeros(1, dtype=bool)

    def content(self) -> dict[str, Any]:
        """What is saved."""
        return {"n_outputs": self.n_outputs, "encodings": [tuple(encoding) for encoding in self.encodings]}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> TableEncoder:
        """What :meth:`content` gave."""
        return cls([Encoding(*encoding) for encoding in content["encodings"]], content["n_outputs"])


def _width(encoding: Encoding) -> int:
    return encoding.numbers.shape[1] if encoding.kind in ("levels", "means") else 1


def _fit_numbers(j: int, column: np.ndarray, weights: np.ndarray):
    missing = np.isnan(column)
    mean = np.average(column[~missing], weights=weights[~missing]) if not missing.all() else 0.0
    fitted = [Encoding(j, "number", [], np.array([mean]))]
    if missing.any():
        fitted.append(Encoding(j, "missing", [], np.empty(0)))
    return [(encoding, _encode(encoding, column)) for encoding in fitted]


def _fit_category(j: int, column: np.ndarray, Y: np.ndarray, weights: np.ndarray):
    keys = [_key(value) for value in column]
    levels = _sorted_levels(keys)
    places = _places(levels, keys)
    if len(levels) <= _FEW_LEVELS:
        share = np.bincount(places, weights, len(levels)) / weights.sum()
        factor = 1.0 / np.sqrt(max((share * (1.0 - share)).sum(), np.finfo(float).tiny))
        encoding = Encoding(j, "levels", levels, factor * np.vstack([np.eye(len(levels)), share]))
        return [(encoding, _encode(encoding, column))]
    encoding = Encoding(j, "means", levels, _level_means(places, len(levels), Y, weights))
    block = np.empty_like(Y)
    fold = np.random.default_rng(0).permutation(len(Y)) % _FOLDS
    for k in range(_FOLDS):
        inside = fold != k
        block[~inside] = _level_means(places[inside], len(levels), Y[inside], weights[inside])[places[~inside]]
    return [(encoding, block)]


def _level_means(places: np.ndarray, count: int, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean targets of the levels (count + 1, k), shrunken to that of all, which is the last row."""
    mass = np.bincount(places, weights, count)
    total = np.average(Y, axis=0, weights=weights)
    sums = np.stack([np.bincount(places, weights * (y - m), count) for y, m in zip(Y.T, total, strict=True)], axis=1)
    means = sums / np.maximum(mass, np.finfo(float).tiny)[:, None]
    within = np.average((Y - total - means[places]) ** 2, axis=0, weights=weights)
    # the spread of level means exceeds that of their true values by the noise of each mean
    spread, unit = np.average(means**2, axis=0, weights=mass), weights.mean()
    noise = within * unit * np.count_nonzero(mass) / mass.sum()
    between = np.maximum(spread - noise, 1e-3 * (spread + within) + np.finfo(float).tiny)
    shrunken = mass[:, None] / (mass[:, None] + unit * within / between) * means
    return np.vstack([shrunken, np.zeros_like(total)]) + total


def _key(value: Any) -> Any:
    """A level as text or a number that a file can hold."""
    if _is_missing(value):
        return _MISSING
    return float(value) if isinstance(value, (int, float, np.number, bool, np.bool_)) else str(value)


def _sorted_levels(keys: list) -> list:
    """The different keys; numbers, text, and what is missing do not compare."""
    return sorted(set(keys), key=lambda key: (type(key).__name__, 0.0 if key is None else key))


def _places(levels: list, keys: list) -> np.ndarray:
    """The number of each key's level; len(levels) for unseen ones."""
    known = {level: k for k, level in enumerate(levels)}
    return np.array([known.get(key, len(levels)) for key in keys], dtype=int)


def _encode(encoding: Encoding, column: np.ndarray) -> np.ndarray:
    """The columns (n, w) that one encoding makes."""
    if encoding.kind == "number":
        return np.where(np.isnan(column), encoding.numbers[0], column)[:, None]
    if encoding.kind == "missing":
        return np.isnan(column).astype(float)[:, None]
    return encoding.numbers[_places(encoding.levels, [_key(value) for value in column])]
