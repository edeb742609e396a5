"""``--times``: when each file, or each point, was measured."""

import argparse
import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from .reporting import warn
from .wishes import wants_mesh

NAMES = "names"
_MOST_TIMES = 500  # of the data, that are taken without being asked for
_GAP = 3.0  # times the usual distance of frames: a longer one deserves a word


def times_of_files(given: str, paths: Sequence[Path]) -> list[float] | None:
    """The time of each file: numbers with commas, the numbers in the names, or a file with numbers; None if the word
    must be that of a column."""
    numbers = _numbers(given.split(","))
    if numbers is None and given == NAMES:
        numbers = [_number_in(path) for path in paths]
    elif numbers is None and Path(given).is_file():
        numbers = _read(Path(given), paths)
    elif numbers is None and re.search(r"[,/\\]|\.[A-Za-z]+$", given):
        raise ValueError(
            f"--times {given}: there is no such file, and these are no numbers; give a number per file with commas "
            f"between them, the word {NAMES}, a file with the numbers, or the name of a column."
        )
    if numbers is None:
        return None
    if len(numbers) != len(paths):
        raise ValueError(f"--times has {_counted(len(numbers), 'number')} for {_counted(len(paths), 'file')}.")
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"--times must be finite numbers, got {given!r}.")
    if len(paths) == 1:
        raise ValueError(
            f"--times is for a surface that moves, and {paths[0]} is one frame: give two or more, or leave --times out."
        )
    if min(numbers) == max(numbers):
        raise ValueError(f"--times: all files have the time {numbers[0]:g}; leave it out for a surface at rest.")
    return numbers


def times_wanted(arguments: argparse.Namespace, times: Iterable[float]) -> list[float]:
    """The times of --at or --steps, by default those of the data."""
    known = sorted({float(time) for time in times})
    if arguments.at is not None:
        if arguments.steps is not None:
            raise ValueError("--steps is not allowed with --at: leave out one of them.")
        for time in arguments.at:
            if not known[0] <= time <= known[-1]:
                raise ValueError(f"--at {time:g} is outside the times of the points, {known[0]:g} to {known[-1]:g}.")
        return sorted(set(arguments.at))
    if arguments.steps is not None:
        if arguments.steps < 2:
            raise ValueError("--steps must be 2 or more, from the first frame to the last; --at names one time.")
        width = (known[-1] - known[0]) / (arguments.steps - 1)
        return [min(known[0] + k * width, known[-1]) for k in range(arguments.steps)]
    if len(known) > _MOST_TIMES and wants_mesh(arguments.output):
        raise ValueError(f"the points have {len(known)} different times: say which ones with --at or --steps.")
    return known


def warn_of_gaps(times: Sequence[float]) -> None:
    """Say where frames are much farther apart than usual."""
    moments = sorted(set(times))
    gaps = [later - here for here, later in pairwise(moments)]
    usual = sorted(gaps)[(len(gaps) - 1) // 2]
    widest = max(gaps)
    if widest > _GAP * usual:
        first = moments[gaps.index(widest)]
        warn(
            f"there is no frame between the times {first:g} and {first + widest:g}, {widest / usual:.1f} times as long "
            "as usual: what the surface does there is a guess."
        )


def _numbers(words: Sequence[str]) -> list[float] | None:
    try:
        return [float(word) for word in words if word.strip()] or None
    except ValueError:
        return None


def _number_in(path: Path) -> float:
    found = re.findall(r"\d+(?:\.\d+)?", path.stem)
    if not found:
        raise ValueError(f"--times {NAMES}: there is no number in the name of {path}.")
    return float(found[-1])


def _read(file: Path, paths: Sequence[Path]) -> list[float]:
    """Numbers of a text file: one per file in their order, or lines with the name of a file and its number."""
    lines = [re.split(r"[\s,;]+", line.strip()) for line in file.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line != [""]]
    if (numbers := _numbers([word for line in lines for word in line])) is not None:
        return numbers
    named = {line[0]: value[0] for line in lines if len(line) == 2 and (value := _numbers(line[1:])) is not None}
    found = [named.get(path.name, named.get(path.stem)) for path in paths]
    if None in found:
        raise ValueError(
            f"--times {file} has no time for {paths[found.index(None)]}: it must hold a number per file, in their "
            "order, or lines with the name of a file and its number."
        )
    return [time for time in found if time is not None]


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
