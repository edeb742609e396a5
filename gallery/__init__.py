"""A page that shows what the library does: every picture and number is computed when the page is built."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from seminorm import __version__

from .drawing import look
from .page import Section, page
from .sections import DEMO

_TITLE = "seminorm"
_LEAD = (
    "Smoothing, interpolation and uncertainty with kernels whose regulariser is a semi-norm: it measures how rough "
    "a function is, leaves a space of simple functions free, and respects the symmetries of the data."
)


def run(folder: str | Path = "demo", verbose: bool = True) -> Path:
    """Build the page and its pictures; an older page in the folder is replaced only when everything has succeeded.

    Parameters
    ----------
    folder : path
        Gets ``index.html`` and the pictures; made if it does not exist. Other files in it are left alone.
    verbose : bool
        Show which section is at work.

    Returns
    -------
    Path
        Of the page.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"the output folder {folder} is a file: name another folder.")
    look()  # fails here, with advice, when matplotlib is missing
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as workshop:
        sections = _build(DEMO, Path(workshop), verbose)
        (Path(workshop) / "index.html").write_text(page(_TITLE, _LEAD, sections, _footer()), encoding="utf-8")
        folder.mkdir(exist_ok=True)
        _publish(Path(workshop), folder)
    return folder / "index.html"


def quietly(build: Callable[[Path], Section | None], folder: Path) -> Section | None:
    """What a script returns, in the look of the page and on one thread of BLAS: matrices are small here."""
    with look(), threadpool_limits(1, user_api="blas"):
        return build(folder)


def _build(builders: Sequence[Callable[[Path], Section | None]], workshop: Path, verbose: bool) -> list[Section]:
    sections = []
    with tqdm(builders, unit="section", disable=not verbose) as bar:
        for build in bar:
            name = build.__module__.rpartition(".")[2].replace("_", " ")
            bar.set_description(name)
            sections.append(quietly(build, workshop))
            if sections[-1] is None and verbose:
                bar.write(f"gallery: {name} left out, SEMINORM_DATA names no folder with its data", file=sys.stderr)
    return [section for section in sections if section is not None]


def _publish(workshop: Path, folder: Path) -> None:
    """Move the files, each in one step, the page last: whoever opens it finds its pictures."""
    files = sorted(workshop.iterdir(), key=lambda file: (file.name == "index.html", file.name))
    for file in files:
        os.replace(file, folder / file.name)


def _footer() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "matplotlib"))
    return (
        f"Made by `make demo`, seminorm {__version__}, with Python {platform.python_version()}, {packages}. "
        "Seconds are the fastest of three runs with one thread."
    )
