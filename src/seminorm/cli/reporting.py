"""Messages to the user: warnings, times, memory, tables; and how many processors are at work."""

import json
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .wording import in_options

_EXPECTED = ImportError, MemoryError, OSError, ValueError  # whose messages are for users
_names: dict[str, str] = {}  # what messages call files, by their paths


def call(path: Path, name: str) -> Path:
    """Let messages call a temporary file by a name, also those about errors when it is gone."""
    _names[str(path)] = name
    return path


def shown(message: object) -> str:
    """A message, or a path, with the names of temporary files."""
    text = str(message)
    for path, name in _names.items():
        text = text.replace(path, name)
    return text


def one_line(message: object) -> str:
    """A message without line breaks, in the words of the command line."""
    return in_options(" ".join(shown(message).split()))


def reason_of(error: BaseException) -> str:
    """Why something failed, in one line."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return one_line(f"{error.filename}: {error.strerror.lower()}.")
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory: give a lower --depth, or thin the points."
    if not isinstance(error, _EXPECTED):
        fault = f"{type(error).__name__}: {error}"
        return one_line(f"this is a fault of seminorm ({fault}): please report it with what --traceback shows.")
    return one_line(error)


@contextmanager
def about(names: str) -> Iterator[None]:
    """Errors of the library begin with the files that they are about."""
    try:
        yield
    except ValueError as error:  # also of those that tell of too little memory
        raise ValueError(f"{names}: {error}") from error


def tell_failure(verb: str, error: BaseException, about: str = "") -> None:
    """Print why a verb failed; ``about`` is a file that the reason may not name."""
    reason = reason_of(error)
    print(f"seminorm {verb}: {'' if about in reason else f'{about}: '}{reason}", file=sys.stderr)


def warn(message: object, about: str = "") -> None:
    """Print a warning as one line, above a progress bar if there is one."""
    from tqdm import tqdm

    text = one_line(message)
    tqdm.write(f"seminorm: warning: {'' if about in text else f'{about}: '}{text}", file=sys.stderr)


@contextmanager
def shown_warnings(about: str = "") -> Iterator[None]:
    """Warnings of the library as one line each; ``about`` is a file that they may not name."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *where: warn(message, about)
        yield


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Use at most the given number of threads in compiled loops."""
    from .._base.threads import limited_threads

    with limited_threads(number):
        yield


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


def write_stats(path: Path, stats: object) -> None:
    """Write statistics as JSON."""
    from .._base.saving import whole_file

    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(stats, indent=2) + "\n", encoding="utf-8")


def peak_memory() -> int | None:
    """Bytes, or None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def memory_in_use() -> int:
    """Bytes of the process; the peak, where the system does not say how many are in use now."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, LookupError, AttributeError):
        return peak_memory() or 0


def listed(words: Sequence[str], joint: str = "or") -> str:
    """Words with commas, and "or" before the last one."""
    return f"{', '.join(words[:-1])} {joint} {words[-1]}" if len(words) > 1 else words[0]


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
