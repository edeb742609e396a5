"""A word to the user before Numba compiles, which takes long and happens once on a machine."""

from collections.abc import Callable, Iterable

MESSAGE = "compiling the loops, once on this machine: a minute or two"


def announce_compilation(functions: Iterable, say: Callable[[str], object]) -> bool:
    """Say that a wait is ahead, and return True, if one of the functions (``cache=True``) still has to be compiled."""
    if all(map(_is_compiled, functions)):
        return False
    say(MESSAGE)
    return True


def _is_compiled(function) -> bool:
    """Whether there is code for this processor in memory or in Numba's cache, or no way to know.

    The index of the cache has no public interface. It knows whether it is older than the source or of another Numba.
    """
    if getattr(function, "signatures", True):
        return True
    try:
        index = function._cache._cache_file._load_index()
        processor = function.targetctx.codegen().magic_tuple()
        return any(key[1] == processor for key in index)
    except AttributeError:
        return True
