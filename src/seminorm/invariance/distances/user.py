"""Distances that users write as functions of two patterns: in C, or in Python that Numba compiles."""

import ctypes
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import LowLevelCallable

from ... import _native
from ..._base.extras import require
from .base import Distance, require_equal_patterns

SIGNATURE = "double (double const *, double const *, int64_t, void *)"
_INTEGERS = {"int64_t", "longlong", "Py_ssize_t", "npy_intp"} | (
    {"long"} if ctypes.sizeof(ctypes.c_long) == 8 else set()
)
_CTypesFunction = ctypes.CFUNCTYPE(None).__bases__[0]
_ASYMMETRY = 1e-9


class UserDistance(Distance):
    """A distance given by your own function of two patterns, called for all pairs on all threads.

    The function is compiled code, or code that Numba can compile (``pip install 'seminorm[numba]'``), once per function
    and process. It must be symmetric, not negative, and zero between equal patterns: of distances to one another only
    half are computed. Several threads call it at the same time.

    Parameters
    ----------
    function : callable
        One of

        - a Python function that maps two arrays (d,) of float64 to a number, plain or under ``numba.njit``, written in
          the part of Python and NumPy that Numba understands;
        - a C function ``double (double const *x, double const *y, int64_t d, void *user_data)``: as a function of
          ``ctypes``, a ``numba.cfunc``, a PyCapsule whose name is this signature and whose context is the user data,
          or a ``scipy.LowLevelCallable``.

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
    """

    def __init__(self, function: Any):
        self.function = function

    def __sklearn_clone__(self) -> "UserDistance":
        return type(self)(self.function)  # the same function: pointers cannot be copied

    def _pairwise(self, X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
        function = _low_level(self.function)
        code = _address_and_data(function, self.function)
        require_equal_patterns(X, Y)
        X = np.ascontiguousarray(X)
        other = X if Y is None else np.ascontiguousarray(Y)
        out = np.zeros((len(X), len(other)))
        _native.user_pairs(X, other, *code, Y is None, out)
        if Y is None and len(X) > 1:
            self._check_symmetry(code, X, out[-1, 0])
        wrong = ~((out >= 0) & np.isfinite(out))
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"the distance {_name(self.function)} of X[{i}] and {'X' if Y is None else 'Y'}[{j}] is {out[i, j]}: "
                "distances must be finite and not negative."
            )
        return out

    def _check_symmetry(self, code: tuple[int, int], X: np.ndarray, forth: float) -> None:
        """Whether the first and the last pattern have the same distance both ways."""
        out = np.zeros((1, 1))
        _native.user_pairs(X[:1], X[-1:], *code, False, out)
        back = out[0, 0]
        if abs(back - forth) > _ASYMMETRY * max(abs(back), abs(forth)):
            raise ValueError(
                f"the distance {_name(self.function)} is not symmetric: from X[0] to X[{len(X) - 1}] it is "
                f"{back}, the other way {forth}. Use, for instance, the mean of both."
            )


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
        raise ValueError(
            f"Numba cannot compile the distance {_name(function)}: it must take two arrays of float64 and "
            "return a number (numba.njit(function)(X[0], X[1]) shows the error by itself)."
        ) from error
