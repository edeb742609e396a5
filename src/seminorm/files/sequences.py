"""Files of a sequence: one name for each moment, and all of them appear or none."""

import os
import string
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_DIGITS = 3  # at least, of the numbers in names
_FIELDS = ("", "0", "time")


def is_pattern(path: Path) -> bool:
    """Whether a path has a place for a number or a time."""
    return "{" in str(path)


def sequence_paths(path: Path, times: Sequence[float], suffix: str = ".ply") -> list[Path]:
    """A path for each time: a folder gets frame_000 and so on with the suffix; ``{:03d}`` in a name stands for the
    number, ``{time}`` or ``{time:.2f}`` for the time.

    Examples
    --------
    >>> from pathlib import Path
    >>> from seminorm.files.sequences import sequence_paths
    >>> [path.name for path in sequence_paths(Path("mesh_{:02d}.ply"), [0.0, 0.5])]
    ['mesh_00.ply', 'mesh_01.ply']
    """
    if path.is_dir():
        path = path / f"frame_{{:0{max(_DIGITS, len(str(len(times) - 1)))}d}}{suffix}"
    elif not is_pattern(path) and len(times) == 1:
        return [path]
    paths = [path.with_name(_filled(path.name, number, time)) for number, time in enumerate(times)]
    taken: dict[Path, float] = {}
    for one, time in zip(paths, times, strict=True):
        if one in taken:
            raise ValueError(
                f"times {taken[one]:g} and {time:g} would both be written to {one}: give a name with a number, such as "
                f"{path.with_name('mesh_{:03d}' + path.suffix).name}."
            )
        taken[one] = time
    return paths


def _filled(name: str, number: int, time: float) -> str:
    advice = "{:03d} stands for the number, {time:.2f} for the time"
    try:
        unknown = [field for _, field, *_ in string.Formatter().parse(name) if field not in (None, *_FIELDS)]
        if unknown:
            raise ValueError(f"{name} has {{{unknown[0]}}}: {advice}.")
        return name.format(number, time=time)
    except (ValueError, IndexError, KeyError) as error:
        if "stands for" in str(error):
            raise
        raise ValueError(f"{name} is no name with places for numbers ({error}): {advice}.") from error


@contextmanager
def whole_sequence(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Temporary files that take the places of the paths when all are written, and vanish when something fails."""
    with tempfile.TemporaryDirectory(prefix=".frames-", dir=paths[0].parent) as folder:
        temporary = [Path(folder) / path.name for path in paths]
        yield temporary
        for here, path in zip(temporary, paths, strict=True):
            os.replace(here, path)
