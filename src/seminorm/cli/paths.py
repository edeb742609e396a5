"""Files that are read and written: their endings, and what can be known to be wrong before the work begins."""

import os
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from .._base.formats import all_formats
from .reporting import listed

POINT_SUFFIXES = all_formats.suffixes("read_points")
POINT_OUTPUT_SUFFIXES = all_formats.suffixes("write_points")
MESH_SUFFIXES = all_formats.suffixes("write_mesh")
FACE_SUFFIXES = all_formats.suffixes("read_mesh")
GRID_SUFFIXES = all_formats.suffixes("write_grid")
FUNCTION_SUFFIX = ".npz"  # of surfaces that are written as functions
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z", ".rar", ".tar", ".tgz")


def check_input(path: Path, suffixes: Sequence[str]) -> None:
    """Raise an error if a file cannot be what is to be read."""
    check_there(path)
    if path.suffix.lower() in _PACKED and path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} is compressed: unpack it first.")
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} cannot be read: its name must end in {listed(suffixes)}.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty: was it saved, or copied, to the end?")


def check_there(path: Path) -> None:
    """Raise an error if there is no file that may be read."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file: name the files in it.")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}{_instead_of(path)}")
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} may not be read: change its permissions.")


def check_points(path: Path) -> None:
    """Raise an error if a file cannot hold points."""
    check_input(path, POINT_SUFFIXES)
    if holds_surface(path):
        raise ValueError(
            f"{path} holds a surface that seminorm reconstruct wrote, not points: give the points themselves."
        )


def check_one(inputs: Sequence[Path], advice: str) -> None:
    """Raise an error, with a word of advice, if there is more than one file."""
    stray = next((path for path in inputs[1:] if _is_number(str(path)) and not path.exists()), None)
    if stray is not None:
        raise ValueError(f"there is no file {stray}: several numbers of one option go with commas, such as 6,11,46,48.")
    if len(inputs) > 1:
        raise ValueError(f"{inputs[0]}, {inputs[1]}: this takes one file, and got {len(inputs)}; {advice}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_output(path: Path, suffixes: Sequence[str] | None = None) -> None:
    """Raise an error if a file cannot be written, or its ending is none of those that are known."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder, name a file in it.")
    if suffixes is not None and path.suffix.lower() not in suffixes:
        raise ValueError(f"cannot write {path}: its name must end in {listed(suffixes)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}, make it first.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise type(error)(f"cannot write {path}: the folder {path.parent} takes no files.") from error


def check_different(inputs: Iterable[Path], outputs: Iterable[tuple[str, Path | None]]) -> None:
    """Raise an error if a file is to be read and written, or to be written twice; outputs with the names of options."""
    read = {path.resolve() for path in inputs}
    written: dict[Path, str] = {}
    for option, path in outputs:
        if path is None:
            continue
        if path.resolve() in read:
            raise ValueError(f"{path} is to be read and written: name another file for {option}.")
        if path.resolve() in written:
            raise ValueError(f"{written[path.resolve()]} and {option} are both {path}: name two files.")
        written[path.resolve()] = option


def check_order(inputs: Sequence[Path], output: Path) -> None:
    """Raise an error if what is read and what is written seem to have changed places."""
    missing = next((path for path in inputs if not path.exists()), None)
    if missing is not None and output.is_file() and not _near(missing):
        raise FileNotFoundError(
            f"there is no file {missing}, but {output} is there, and -o names the file to write: are they swapped?"
        )


def _instead_of(path: Path) -> str:
    """What to do about a file that does not exist."""
    if not path.parent.is_dir():
        return f": there is no folder {path.parent} either."
    if any(sign in path.name for sign in "*?["):
        return ": no file has a name of that pattern."
    near = _near(path)
    return f": did you mean {path.with_name(near[0])}?" if near else f" (the current folder is {Path.cwd()})."


def _near(path: Path) -> list[str]:
    """The name in the same folder that is most like that of a path, if one is."""
    names = os.listdir(path.parent) if path.parent.is_dir() else []
    return get_close_matches(path.name, names, n=1, cutoff=0.75)


def holds_motion(path: Path) -> bool:
    """Whether a file that holds a surface holds one that moves."""
    from .._base.saving import saved_type

    return saved_type(path) == "MovingSurface"


def holds_surface(path: Path) -> bool:
    """Whether a file is a surface, as a function, that ``seminorm reconstruct`` wrote."""
    if path.suffix.lower() != FUNCTION_SUFFIX or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return "description.npy" in file.namelist()
