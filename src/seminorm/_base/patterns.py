"""Tables of patterns that are no rows of numbers: series of unequal length, strings, sets, objects of the user.

A table answers to the few things that a machine asks of its points (n, d): their number, some of the rows, which rows
agree. What patterns mean, only the kernel or the distance knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, validate_data

_Y_OPTIONS = ("multi_output", "y_numeric")
_SHARED_UP_TO = 4000  # patterns for all of which pairs are computed at once, and kept


class _Whole:
    """The patterns that tables choose from, and what was computed for all pairs of them."""

    def __init__(self, items: Sequence[Any]):
        self.items = list(items)
        self.pairs: list[tuple[Any, np.ndarray]] = []

    def __getstate__(self) -> dict:
        return {"items": self.items, "pairs": []}


class PatternTable:
    """Checked patterns, each as the user gave it; ``table[rows]`` is a table again.

    Parameters
    ----------
    items : sequence of patterns
    """

    ndim = 2

    def __init__(self, items: Sequence[Any]):
        self._whole, self._rows = _Whole(items), np.arange(len(items))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of patterns, and 1: a pattern counts as one column."""
        return len(self._rows), 1

    @property
    def items(self) -> list[Any]:
        """The patterns one by one."""
        return [self._whole.items[row] for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Any) -> PatternTable:
        return self._of(self._whole, np.atleast_1d(self._rows[rows]))

    def __repr__(self) -> str:
        return f"<table of {len(self)} patterns>"

    @classmethod
    def _of(cls, whole: _Whole, rows: np.ndarray) -> PatternTable:
        table = cls.__new__(cls)
        table._whole, table._rows = whole, rows
        return table

    def alone(self) -> PatternTable:
        """The same patterns without the others of the table that they were taken from."""
        return PatternTable(self.items) if len(self) else self._of(_Whole(self._whole.items[:1]), self._rows)

    def any_pattern(self) -> PatternTable:
        """A table of one pattern, also where this one is empty."""
        return self._of(self._whole, np.zeros(1, dtype=int))

    def packed(self) -> list[Any]:
        """The patterns as few arrays, for files."""
        items = self.items
        if not all(isinstance(item, (np.ndarray, list, tuple)) and _is_numeric(item) for item in items):
            return items
        arrays = [np.asarray(item, dtype=np.float64) for item in items]
        shapes = np.array([[*array.shape, -1, -1][:2] for array in arrays], dtype=np.int64).reshape(-1, 2)
        return [np.concatenate([array.ravel() for array in arrays] or [np.empty(0)]), shapes]

    @classmethod
    def unpacked(cls, content: list[Any]) -> PatternTable:
        """What :meth:`packed` gave."""
        if not (len(content) == 2 and all(isinstance(part, np.ndarray) for part in content)):
            return cls(content)
        values, shapes = content
        ends = np.cumsum(np.where(shapes[:, 1] < 0, shapes[:, 0], shapes[:, 0] * shapes[:, 1]))
        parts = np.split(values, ends[:-1]) if len(shapes) else []
        return cls([part.reshape(shape[shape >= 0]) for part, shape in zip(parts, shapes, strict=True)])

    def keys(self) -> np.ndarray:
        """A string for each pattern; those of equal patterns are equal."""
        return np.array([_key(item, int(row)) for item, row in zip(self.items, self._rows, strict=True)])

    def groups(self) -> np.ndarray:
        """A number for each pattern; those of equal patterns are equal."""
        return np.unique(self.keys(), return_inverse=True)[1].ravel()

    def pairs(self, measure: Any, pairwise: Callable[..., np.ndarray], other: PatternTable | None) -> np.ndarray:
        """``pairwise(X, Y)`` for the patterns here and those of another table (None: these).

        Where both are parts of one table it is computed once for all pairs of that table, and kept under ``measure``.
        """
        partner = self if other is None else other
        whole = self._whole
        if partner._whole is not whole or len(whole.items) > _SHARED_UP_TO:
            return pairwise(self.items, None if other is None else other.items)
        known = next((matrix for key, matrix in whole.pairs if key == measure), None)
        if known is None:
            known = pairwise(whole.items, None)
            whole.pairs.append((measure, known))
        return known[np.ix_(self._rows, partner._rows)]


def _is_numeric(item: Any) -> bool:
    try:
        return np.asarray(item, dtype=np.float64).ndim in (1, 2)
    except (TypeError, ValueError):
        return False


def _key(item: Any, row: int) -> str:
    if isinstance(item, str):
        return f"s{item}"
    try:
        values = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        words = isinstance(item, (list, tuple)) and all(isinstance(part, (str, int, float)) for part in item)
        return f"w{item!r}" if words else f"o{row}"
    return f"n{values.shape}{(values + 0.0).tobytes().hex()}"


def alone(X: Any) -> Any:
    """X, without what it was taken from if it is a table."""
    return X.alone() if isinstance(X, PatternTable) else X


def is_plain(X: Any) -> bool:
    """Whether X is a dense array: no sparse matrix, no table of patterns."""
    return isinstance(X, np.ndarray)


def as_points(X: Any) -> Any:
    """X as an array of floats, unless it is a table of patterns or a sparse matrix, which becomes a csr array."""
    if isinstance(X, PatternTable):
        return X
    return sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X, dtype=float)


def table_of(X: Any, checked: Any) -> Any:
    """What was checked if it is an array, and otherwise a table of the patterns of X."""
    if isinstance(checked, np.ndarray):
        return checked
    return PatternTable(list(np.asarray(X) if hasattr(X, "columns") else X))


def validated(
    estimator: Any, patterns: Callable[[Any, str], Any] | None, X: Any, y: Any = "no_validation", **options
) -> Any:
    """X, or X and y, as ``sklearn.utils.validation.validate_data`` gives them, after ``patterns(X, name)`` has checked
    what is no table of points: it gives rows, or a :class:`PatternTable`.

    Where patterns are rows of numbers in the end, the rest is as for all points. A table of patterns has no number of
    columns to remember.
    """
    if patterns is not None:
        rows = patterns(X, "X")
        X = X if isinstance(rows, np.ndarray) and _has_rows(X) else rows
    if not isinstance(X, PatternTable):
        return validate_data(estimator, X, y, **options)
    least = options.get("ensure_min_samples", 1)
    if len(X) < least:
        raise ValueError(f"X has n_samples={len(X)} patterns, and at least {least} are needed.")
    if options.get("reset", True):
        vars(estimator).pop("n_features_in_", None)
        vars(estimator).pop("feature_names_in_", None)
    if isinstance(y, str) and y == "no_validation":
        return X
    y = validate_data(estimator, y=y, **{key: value for key, value in options.items() if key in _Y_OPTIONS})
    check_consistent_length(X, y)
    return X, y


def _has_rows(X: Any) -> bool:
    """Whether X is a table of numbers already, whose columns may have names."""
    return getattr(X, "ndim", None) == 2
