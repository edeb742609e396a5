"""How many threads the compiled loops use.

A process starts with OMP_NUM_THREADS, or one thread per processor it may use. ``threadpoolctl.threadpool_limits``
changes the number for the process, :func:`limited_threads` for the calling thread alone. Results do not depend on it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import threadpoolctl

from .. import _native


def thread_count() -> int:
    """Number of threads of a compiled loop that is started from this thread."""
    return _native.thread_count()


@contextmanager
def limited_threads(number: int | None) -> Iterator[None]:
    """At most so many threads for compiled loops that this thread starts; None leaves everything as it is."""
    before = _native.own_thread_limit()
    if number is not None:
        _native.set_own_thread_limit(number)
    try:
        yield
    finally:
        _native.set_own_thread_limit(before)


class _NativeController(threadpoolctl.LibController):
    """The compiled loops among the libraries that threadpoolctl knows."""

    user_api = "seminorm"
    internal_api = "seminorm"
    filename_prefixes = ("_native",)
    check_symbols = ("seminorm_get_num_threads", "seminorm_set_num_threads")

    def get_num_threads(self) -> int:
        return self.dynlib.seminorm_get_num_threads()

    def set_num_threads(self, num_threads: int) -> None:
        self.dynlib.seminorm_set_num_threads(num_threads)

    def get_version(self) -> None:
        return None

    def set_additional_attributes(self) -> None:
        """Nothing beside the number of threads."""


threadpoolctl.register(_NativeController)
