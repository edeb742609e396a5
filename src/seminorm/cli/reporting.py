"""Messages to the user: warnings, times, memory, tables; and how many processors are at work."""

import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def one_line(message: object) -> str:
    """A message without line breaks."""
    return " ".join(str(message).split())


def warn(message: object) -> None:
    """Print a warning as one line, above a progress bar if there is one."""
    from tqdm import tqdm

    tqdm.write(f"seminorm: warning: {one_line(message)}", file=sys.stderr)


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Warnings of the library as one line each."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *where: warn(message)
        yield


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Use the given number of threads, or all there are if that is fewer."""
    if number is None:
        yield
        return
    import numba

    from .._base.threads import limited_threads

    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # Numba sets it at run time
    if number > most:
        warn(f"--threads {number}: only {most} can be used here.")
    before = numba.get_num_threads()
    numba.set_num_threads(min(number, most))
    try:
        with limited_threads(min(number, most)):
            yield
    finally:
        numba.set_num_threads(before)


class Stopwatch:
    """Seconds of each stage."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self._start = time.perf_counter()

    @property
    def total(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self._start

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what is done within."""
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start


def peak_memory() -> int | None:
    """Bytes, or None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def listed(words: Sequence[str]) -> str:
    """Words with commas, and "or" before the last one."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def as_size(number: int | None) -> str:
    """A number of bytes in words."""
    if number is None:
        return "unknown"
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}" if number < 1000 * factor else f"{number / factor:.0f} {unit}"
    return f"{number} bytes"


def as_word(value: object) -> str:
    """A value of a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values in two columns."""
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"  {name:{width}}{value}" for name, value in rows)
