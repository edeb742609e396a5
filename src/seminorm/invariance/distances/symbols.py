"""Edit distances of strings and of other sequences of symbols."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from ..._base.memory import require_memory
from .base import Distance, require_matrix
from .elastic import ElasticDistance, TableTerms
from .series import Series

Sequences = list[tuple[Hashable, ...]]
Prices = float | Mapping[Any, float] | Callable[..., float]


class Levenshtein(Distance):
    """The cheapest way to turn one sequence of symbols into another by insertions, deletions and replacements.

    Patterns are strings, or sequences of anything that can be compared and hashed: words, numbers, bases, events. A
    sequence may be empty.

    Parameters
    ----------
    replacement : float, mapping or function, default 1.0
        The price of replacing a symbol by another one: a number, ``{(a, b): price}`` (where (a, b) is missing, (b,
        a), or 1), or a function ``(a, b) -> price``. Prices must be symmetric.
    gap : float, mapping or function, default 1.0
        The price of inserting or deleting a symbol: a number, ``{a: price}`` (1 where it is missing), or a function.
    normalized : bool, default False
        Divide by the longer length: a share between 0 and 1 for prices up to 1.

    See Also
    --------
    EDR, ERP : The same for series of numbers.

    Examples
    --------
    >>> from seminorm.invariance.distances import Levenshtein
    >>> Levenshtein().pairwise(["kitten", "sitting", "mitten"])
    array([[0., 3., 1.],
           [3., 0., 3.],
           [1., 3., 0.]])
    >>> Levenshtein().distance(["the", "cat", "sat"], ["the", "dog", "sat"])
    1.0
    >>> Levenshtein({("a", "e"): 0.25}).distance("gray", "grey")
    0.25
    """

    def __init__(self, replacement: Prices = 1.0, gap: Prices = 1.0, normalized: bool = False):
        self.replacement, self.gap, self.normalized = replacement, gap, normalized

    def patterns(self, X: Any, name: str = "X") -> Sequences:
        if isinstance(X, str) or not isinstance(X, Iterable):
            raise ValueError(f"{name} must be a list of strings or of sequences of symbols, got {X!r}.")
        sequences = [_sequence(x, f"{name}[{i}]") for i, x in enumerate(X)]
        if not sequences:
            raise ValueError(f"{name} has no sequences: give at least one.")
        return sequences

    def to_origin(self, X: Any) -> np.ndarray:
        """Distances (n,) to the empty sequence."""
        return self._pairwise(self.patterns(X), [()])[:, 0]

    def cost_matrix(self, x: Any, y: Any) -> np.ndarray:
        """The table (symbols of x, symbols of y) of prices; both must have symbols."""
        coded, one, other = self._of_two(x, y)
        return coded.cost_matrix(one, other)

    def path(self, x: Any, y: Any) -> np.ndarray:
        """The pairs (i, j) of symbols of x and y that are matched: equal, or replaced; both must have symbols."""
        coded, one, other = self._of_two(x, y)
        return coded.path(one, other)

    def _of_two(self, x: Any, y: Any) -> tuple[_Coded, np.ndarray, np.ndarray]:
        sequences = self.patterns([x], "x") + self.patterns([y], "y")
        if not all(sequences):
            raise ValueError("x and y must not be empty: there is nothing to align.")
        coded, codes = self._coded(sequences)
        return coded, codes[0], codes[1]

    def _pairwise(self, X: Sequences, Y: Sequences | None) -> np.ndarray:
        others = X if Y is None else Y
        require_matrix(len(X), len(others))
        coded, codes = self._coded(X if Y is None else X + Y)
        gaps = np.array([coded.gaps[code].sum() for code in codes])
        rows, columns = gaps[: len(X)], gaps if Y is None else gaps[len(X) :]
        out = np.add.outer(rows, columns)  # right where one of the two is empty
        some, other = (np.array([len(s) > 0 for s in sequences]) for sequences in (X, others))
        if some.any() and other.any():
            own = Series.of([code for code in codes[: len(X)] if len(code)])
            theirs = None if Y is None else Series.of([code for code in codes[len(X) :] if len(code)])
            out[np.ix_(some, other)] = coded._pairwise(own, theirs)
        if self.normalized:
            longer = np.maximum.outer([len(x) for x in X], [len(y) for y in others])
            out /= np.maximum(longer, 1)
        return out

    def _coded(self, sequences: Sequences) -> tuple[_Coded, list[np.ndarray]]:
        """Sequences as numbers of their symbols, and what the symbols cost."""
        alphabet: dict[Hashable, int] = {}
        codes = [np.array([alphabet.setdefault(s, len(alphabet)) for s in x], dtype=np.int64) for x in sequences]
        symbols = list(alphabet)
        n = len(symbols)
        require_memory(8 * n * n, f"A matrix of prices of {n} symbols", "use coarser symbols.")
        gaps = np.array([_price(self.gap, (s,), "gap") for s in symbols])
        if isinstance(self.replacement, int | float):
            prices = np.full((n, n), _price(self.replacement, ("", ""), "replacement"))
        else:
            listed = [_price(self.replacement, (a, b), "replacement") for a in symbols for b in symbols]
            prices = np.reshape(listed, (n, n))
        np.fill_diagonal(prices, 0.0)
        wrong = np.argwhere(prices != prices.T)
        if len(wrong):
            a, b = (symbols[k] for k in wrong[0])
            raise ValueError(f"replacement must be symmetric, but the prices of {(a, b)!r} and {(b, a)!r} differ.")
        return _Coded(prices, gaps), codes


class _Coded(ElasticDistance):
    """The distance of sequences of numbers 0, 1, ... with given prices."""

    _rule = "symbols"
    _matches_only = True

    def __init__(self, prices: np.ndarray, gaps: np.ndarray):
        self.prices, self.gaps = prices, gaps

    def _marks(self, X: Series) -> np.ndarray:
        return self.gaps[X.values[:, 0].astype(int)]

    def _terms(self, longest: int) -> TableTerms:
        return TableTerms(np.ascontiguousarray(self.prices.ravel()), len(self.prices))


def _sequence(x: Any, name: str) -> tuple[Hashable, ...]:
    try:
        symbols = tuple(x.tolist() if isinstance(x, np.ndarray) else x)
        hash(symbols)
    except TypeError:
        raise ValueError(f"{name} must be a string or a sequence of symbols that can be hashed, got {x!r}.") from None
    if any(s != s for s in symbols):
        raise ValueError(f"{name} has NaN, which is no symbol.")
    return symbols


def _price(prices: Prices, symbols: tuple, name: str) -> float:
    if isinstance(prices, Mapping):
        key = symbols if len(symbols) == 2 else symbols[0]
        price = prices.get(key, prices.get(symbols[::-1], 1.0) if len(symbols) == 2 else 1.0)
    else:
        price = prices(*symbols) if callable(prices) else prices
    if not (isinstance(price, int | float) and 0 <= price < np.inf):
        raise ValueError(f"{name} must give prices that are not negative, got {price!r} for {symbols!r}.")
    return float(price)
