"""Writing lines in the plane: SVG pictures, tables, and lines for programs that read OBJ."""

import csv
from pathlib import Path

import numpy as np

from .._base.saving import whole_file
from ..shapes.contours import Contours

_MARGIN = 0.05  # of the longest side
_STROKE = 0.004  # of the longest side
_DIGITS = ".9g"


def write_contours(path: Path, contours: Contours) -> None:
    """Write lines by the ending of the path."""
    writers = {".svg": _svg, ".csv": _csv, ".obj": _obj}
    if not len(contours):
        raise ValueError(f"cannot write {path}: there are no lines.")
    with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        writers[path.suffix.lower()](file, contours)


def _svg(file, contours: Contours) -> None:
    """Closed lines filled, with holes; y upwards."""
    low, high = contours.bounds
    size = float((high - low).max()) or 1.0
    corner = np.array([low[0], -high[1]]) - _MARGIN * size
    box = " ".join(format(number, _DIGITS) for number in (*corner, *(high - low + 2 * _MARGIN * size)))
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">\n')
    stroke = f'stroke="black" stroke-width="{_STROKE * size:{_DIGITS}}" stroke-linejoin="round"'
    for closed in (True, False):
        chosen = [line for line, is_closed in zip(contours.lines, contours.closed, strict=True) if is_closed == closed]
        if chosen:
            fill = 'fill="lightgray" fill-rule="evenodd"' if closed else 'fill="none"'
            file.write(f'<path {fill} {stroke} d="')
            for line in chosen:
                file.write("M" + "L".join(f"{a:{_DIGITS}} {-b:{_DIGITS}}" for a, b in line) + "Z" * closed)
            file.write('"/>\n')
    file.write("</svg>\n")


def _csv(file, contours: Contours) -> None:
    """A row per point: x, y, the number of its line, and whether that is closed."""
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["x", "y", "line", "closed"])
    for number, (line, closed) in enumerate(zip(contours.lines, contours.closed, strict=True)):
        table.writerows([repr(float(x)), repr(float(y)), number, int(closed)] for x, y in line)


def _obj(file, contours: Contours) -> None:
    for x, y in contours.points:
        file.write(f"v {x:.17g} {y:.17g} 0\n")
    begin = 1
    for line, closed in zip(contours.lines, contours.closed, strict=True):
        rows = np.arange(begin, begin + len(line)).tolist() + ([begin] if closed else [])
        file.write("l " + " ".join(map(str, rows)) + "\n")
        begin += len(line)
