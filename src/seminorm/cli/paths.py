"""Files that are read and written: their endings, and what can be known to be wrong before the work begins."""

import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .._base.formats import all_formats, check_folder
from .reporting import listed

POINT_SUFFIXES = all_formats.suffixes("read_points")
POINT_OUTPUT_SUFFIXES = all_formats.suffixes("write_points")
MESH_SUFFIXES = all_formats.suffixes("write_mesh")
FACE_SUFFIXES = all_formats.suffixes("read_mesh")
GRID_SUFFIXES = all_formats.suffixes("write_grid")
FUNCTION_SUFFIX = ".npz"  # of surfaces that are written as functions


def check_input(path: Path, suffixes: Sequence[str]) -> None:
    """Raise an error if a file cannot be what is to be read."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} cannot be read: its name must end in {listed(suffixes)}.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty.")


def check_output(path: Path, suffixes: Sequence[str] | None = None) -> None:
    """Raise an error if a file cannot be written, or its ending is none of those that are known."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder.")
    if suffixes is not None and path.suffix.lower() not in suffixes:
        raise ValueError(f"cannot write {path}: its name must end in {listed(suffixes)}.")
    check_folder(path)
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise type(error)(f"cannot write {path}: the folder {path.parent} takes no files.") from error


def check_different(inputs: Iterable[Path], outputs: Mapping[str, Path | None]) -> None:
    """Raise an error if a file is to be read and written, or to be written twice; outputs by the names of options."""
    read = {path.resolve() for path in inputs}
    written: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if path.resolve() in read:
            raise ValueError(f"{path} is to be read and written: name another file for {option}.")
        if path.resolve() in written:
            raise ValueError(f"{written[path.resolve()]} and {option} are both {path}: name two files.")
        written[path.resolve()] = option


def holds_surface(path: Path) -> bool:
    """Whether a file is a surface, as a function, that ``seminorm reconstruct`` wrote."""
    if path.suffix.lower() != FUNCTION_SUFFIX or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return "description.npy" in file.namelist()
