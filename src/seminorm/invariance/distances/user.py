"""Distances that users write as functions of two patterns: in C, or in Python that Numba compiles."""

import ctypes
import re
from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from scipy import LowLevelCallable

from ... import _native
from ..._base.extras import MissingExtraError, require
from ..._base.warnings import warn_user
from .base import Distance, require_equal_patterns, require_matrix

SIGNATURE = "double (double const *, double const *, int64_t, void *)"
_INTEGERS = {"int64_t", "longlong", "Py_ssize_t", "npy_intp"} | (
    {"long"} if ctypes.sizeof(ctypes.c_long) == 8 else set()
)
_CTypesFunction = ctypes.CFUNCTYPE(None).__bases__[0]
_ASYMMETRY = 1e-9


class UserDistance(Distance):
    """A distance given by your own function of two patterns, called for all pairs on all threads.

    The function is compiled code, or code that Numba can compile (``pip install 'seminorm[numba]'``), once per function
    and process; several threads call it at the same time. Any other Python function is called pair by pair, which is
    slow, and a warning says so. It must be symmetric, not negative, and zero between equal patterns: of distances to
    one another only half are computed.

    Parameters
    ----------
    function : callable
        One of

        - a Python function that maps two arrays (d,) of float64 to a number, plain or under ``numba.njit``, written in
          the part of Python and NumPy that Numba understands;
        - a C function ``double (double const *x, double const *y, int64_t d, void *user_data)``: as a function of
          ``ctypes``, a ``numba.cfunc``, a PyCapsule whose name is this signature and whose context is the user data,
          or a ``scipy.LowLevelCallable``.
    compiled : bool, optional
        True: an error instead of the warning. False: plain Python, without a warning; patterns are then whatever the
        function takes, such as graphs, sentences or series of unequal length.

    Notes
    -----
    No exception comes out of a C function. Where a Python function that Numba compiles raises one, the distance is NaN,
    which is then reported as an error. A C function that fails should return NaN as well. Python code under
    ``ctypes.CFUNCTYPE`` works too, one call at a time; its exceptions, Ctrl-C among them, are printed and lost.

    ``ctypes`` functions without ``argtypes`` are taken to have the right arguments: wrong ones end the process. C
    functions cannot be pickled, Python functions of a module can.

    See Also
    --------
    Distance : The base class, for distances that are not functions of one pair at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from seminorm.invariance.distances import UserDistance
    >>> def largest_difference(x, y):
    ...     return np.abs(x - y).max()
    >>> UserDistance(largest_difference).pairwise([[0.0, 0.0], [1.0, 3.0]])
    array([[0., 3.],
           [3., 0.]])
    >>> UserDistance(lambda x, y: len(x ^ y), compiled=False).pairwise([{1, 2}, {2, 3, 4}])
    array([[0., 3.],
           [3., 0.]])
    """

    def __init__(self, function: Any, compiled: bool | None = None):
        self.function, self.compiled = function, compiled

    def __sklearn_clone__(self) -> "UserDistance":
        return type(self)(self.function, self.compiled)  # the same function: pointers cannot be copied

    def patterns(self, X: Any, name: str = "X") -> Any:
        if self.compiled is not False:
            return super().patterns(X, name)
        patterns = list(X)
        if not patterns:
            raise ValueError(f"{name} has no patterns: give at least one.")
        return patterns

    def _pairwise(self, X: Any, Y: Any) -> np.ndarray:
        function = None if self.compiled is False else self._compiled_or_none()
        if function is None:
            return self._in_python(X, Y)
        code = _address_and_data(function, self.function)
        require_equal_patterns(X, Y)
        X = np.ascontiguousarray(X)
        other = X if Y is None else np.ascontiguousarray(Y)
        out = np.zeros((len(X), len(other)))
        _native.user_pairs(X, other, *code, Y is None, out)
        if Y is None and len(X) > 1:
            self._check_symmetry(code, X, out[-1, 0])
        self._check_values(out, Y is None)
        return out

    def _compiled_or_none(self) -> LowLevelCallable | None:
        """The function for the compiled loop; None, with a warning, where there is none and none is asked for."""
        try:
            return _low_level(self.function)
        except (MissingExtraError, _NotCompiledError) as error:
            if self.compiled:
                raise
            warn_user(f"{error} Now it is called pair by pair, in plain Python: slow (compiled=False: no warning).")
            return None

    def _in_python(self, X: Any, Y: Any) -> np.ndarray:
        """All distances by calls of the Python function."""
        if not callable(self.function):
            raise TypeError(f"function must be a function of two patterns, got {self.function!r}.")
        others = X if Y is None else Y
        require_matrix(len(X), len(others))
        out = np.zeros((len(X), len(others)))
        for i, x in enumerate(X):
            for j in range(i) if Y is None else range(len(others)):
                value = self.function(x, others[j])
                if not isinstance(value, Real):
                    raise ValueError(f"the distance {_name(self.function)} must return a number, got {value!r}.")
                out[i, j] = value
                if Y is None:
                    out[j, i] = value
        self._check_values(out, Y is None)
        if Y is None and len(X) > 1:
            self._refuse_asymmetry(len(X) - 1, float(self.function(X[0], X[-1])), out[-1, 0])
        return out

    def _check_values(self, out: np.ndarray, symmetric: bool) -> None:
        wrong = ~((out >= 0) & np.isfinite(out))
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"the distance {_name(self.function)} of X[{i}] and {'X' if symmetric else 'Y'}[{j}] is {out[i, j]}: "
                "distances must be finite and not negative."
            )

    def _check_symmetry(self, code: tuple[int, int], X: np.ndarray, forth: float) -> None:
        """Whether the first and the last pattern have the same distance both ways."""
        out = np.zeros((1, 1))
        _native.user_pairs(X[:1], X[-1:], *code, False, out)
        self._refuse_asymmetry(len(X) - 1, out[0, 0], forth)

    def _refuse_asymmetry(self, last: int, back: float, forth: float) -> None:
        if abs(back - forth) > _ASYMMETRY * max(abs(back), abs(forth)):
            raise ValueError(
                f"the distance {_name(self.function)} is not symmetric: from X[0] to X[{last}] it is "
                f"{back}, the other way {forth}. Use, for instance, the mean of both."
            )


class _NotCompiledError(ValueError):
    """Numba cannot compile a function."""


def _name(function: Any) -> str:
    return getattr(function, "__name__", repr(function))


def _low_level(function: Any) -> LowLevelCallable:
    """Whatever a user may give, as the one form that SciPy knows."""
    if isinstance(function, LowLevelCallable):
        return function
    if type(function).__name__ == "PyCapsule":
        return LowLevelCallable(function)
    if not callable(function):
        raise TypeError(f"function must be a function of two patterns, got {function!r}.")
    if not isinstance(function, _CTypesFunction):
        is_c_function = hasattr(function, "ctypes") and hasattr(function, "native_name")  # of numba.cfunc
        function = (function if is_c_function else _compiled(function)).ctypes
    return LowLevelCallable(function, signature=SIGNATURE if function.argtypes is None else None)


def _address_and_data(function: LowLevelCallable, given: Any) -> tuple[int, int]:
    """Addresses of the code and of the user data, if the signature is right."""
    signature, code, data = _native.capsule_parts(tuple.__getitem__(function, 0))
    result, *arguments = re.split(r"[(,)]", re.sub(r"\bconst\b|\s", "", signature))
    match arguments:
        case ["double*", "double*", integer, "void*", ""] if result == "double" and integer in _INTEGERS:
            return code, data
    raise ValueError(f"the distance {_name(given)} has the signature '{signature}', it must be '{SIGNATURE}'.")


@lru_cache(maxsize=64)
def _compiled(function: Callable) -> Any:
    """A C function, by Numba, of a Python function."""
    numba = require("numba", "numba")
    distance = function if numba.extending.is_jitted(function) else numba.njit(function)

    def wrapped(x, y, d, user_data):
        try:
            return np.float64(distance(numba.carray(x, d), numba.carray(y, d)))
        except Exception:
            return np.nan

    try:
        return numba.cfunc("float64(CPointer(float64), CPointer(float64), int64, voidptr)")(wrapped)
    except numba.core.errors.NumbaError as error:
        raise _NotCompiledError(
            f"Numba cannot compile the distance {_name(function)}: it must take two arrays of float64 and "
            "return a number (numba.njit(function)(X[0], X[1]) shows the error by itself)."
        ) from error
