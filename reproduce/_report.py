"""What the reproduction scripts share: options, results kept in a file, and tables of "source" beside "ours"."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

ABSENT = "-"


def options(description: str | None, default_jobs: int = -1) -> argparse.ArgumentParser:
    """The options that all tables have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smaller run of a few minutes")
    parser.add_argument("--markdown", metavar="PATH", type=Path, help="also write the table to this Markdown file")
    parser.add_argument(
        "--cache",
        metavar="PATH",
        type=Path,
        help="keep results in this JSON file: an interrupted run continues where it stopped",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=default_jobs,
        help="processes of scikit-learn's grid search (default: all cores); the seconds depend on it",
    )
    return parser


class Results:
    """Results by name, in a JSON file if there is one; what is in it is not computed again."""

    def __init__(self, path: Path | None = None):
        self.path = path
        self.known: dict[str, dict] = {}
        if path is not None and path.is_file():
            self.known = json.loads(path.read_text())

    def get(self, name: str, compute: Callable[[], dict]) -> dict:
        if name not in self.known:
            self.known[name] = compute()
            self._save()
        return self.known[name]

    def _save(self):
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(self.path.name + ".part")
        unfinished.write_text(json.dumps(self.known, indent=1))
        os.replace(unfinished, self.path)


class Table:
    """A table whose rows are printed as they come, and kept for Markdown with the lines printed below it.

    Parameters
    ----------
    title : str
    headings : sequence of str
        The first column is aligned to the left, the others to the right.
    widths : sequence of int
        Of the columns in print; at least that of the heading.
    """

    def __init__(self, title: str, headings: Sequence[str], widths: Sequence[int]):
        self.title, self.headings = title, list(headings)
        self.widths = [max(width, len(heading)) for width, heading in zip(widths, headings, strict=True)]
        self.rows: list[list[str]] = []
        self.notes: list[str] = []
        print(title, flush=True)
        self._print(self.headings)

    def add(self, *cells) -> None:
        """Print one row."""
        self.rows.append([str(cell) for cell in cells])
        self._print(self.rows[-1])

    def note(self, text: str) -> None:
        """Print one line below the table."""
        self.notes.append(text)
        print(text, flush=True)

    def write(self, path: Path | None) -> None:
        """Write the same as Markdown, if there is a path."""
        if path is None:
            return
        lines = [
            f"## {self.title}",
            "",
            _markdown_row(self.headings),
            _markdown_row(["---"] + ["---:"] * (len(self.headings) - 1)),
            *map(_markdown_row, self.rows),
            "",
            *(f"- {note}" for note in self.notes),
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines).rstrip() + "\n")

    def _print(self, cells: Iterable[str]):
        first, *rest = zip(cells, self.widths, strict=True)
        line = f"{first[0]:<{first[1]}}" + "".join(f"  {cell:>{width}}" for cell, width in rest)
        print(line.rstrip(), flush=True)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error (NaN for a single value)."""
    values = np.asarray(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def shown(pair: tuple[float, float] | None, star: bool = False) -> str:
    """ "mean (standard error)" as in the sources, with a star behind the mean if wanted."""
    if pair is None:
        return ABSENT
    mean, error = pair
    behind = "" if np.isnan(error) else f" ({error:.3f})"
    return f"{mean:.3f}{'*' if star else ''}{behind}"


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("*", "\\*") for cell in cells) + " |"
