"""How many threads dense linear algebra may use.

Threaded BLAS collapses when something else wants the cores, and gains little on small matrices: they get one thread.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

_SMALL = 1500


def suited_to(size: int) -> AbstractContextManager:
    """Limit BLAS to one thread for matrices of up to some 1500 rows; leave it alone above."""
    return _controller().limit(limits=1) if size <= _SMALL else nullcontext()


def one_thread() -> AbstractContextManager:
    """Limit BLAS to one thread: sums of long vectors then have the same bits on every machine."""
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
