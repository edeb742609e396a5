"""Formats of files: their endings, the module that holds their code, and what that code can do.

The table below names modules and imports none of them: a module is loaded when a file of its format is read or written.
So the command line knows every ending without importing NumPy, and layers below ``files`` can read and write files.

A format is a module with one or more of these functions, and one line in the table:

=================================== ============================================================
``read_points(path)``               a :class:`seminorm.clouds.PointCloud`
``open_points(path, chunk)``        a ``PointSource``: points that are read a chunk at a time
``read_mesh(path)``                 a :class:`seminorm.shapes.Mesh`, without faces if there are none
``write_points(path, cloud)``       nothing
``write_mesh(path, mesh)``          nothing
``write_grid(path, grid, notes)``   nothing; see :class:`seminorm.files.grids.Grid`
``write_contours(path, contours)``  nothing; see :class:`seminorm.shapes.Contours`
=================================== ============================================================

A module with ``read_mesh`` alone serves for points, too: these are the vertices.
"""

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .extras import require

_PURPOSES = {
    "read_points": "read",
    "open_points": "read in chunks",
    "read_mesh": "read as a mesh",
    "write_points": "written as points",
    "write_mesh": "written as a mesh",
    "write_grid": "written as a grid",
    "write_contours": "written as lines in the plane",
}
_INSTEAD = {"read_points": "read_mesh"}  # what serves where a function is missing


class FileFormatError(ValueError):
    """A file that is missing, empty, damaged, or not what its ending promises; the message names it.

    See Also
    --------
    read_points, read_mesh
    """


class MissingFileError(FileFormatError, FileNotFoundError):
    """There is no such file."""


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path of a file that exists and is not empty."""
    path = Path(path)
    if path.is_dir():
        raise FileFormatError(f"{path} is a folder, not a file of points.")
    if not path.exists():
        raise MissingFileError(f"there is no file {path}.")
    if path.stat().st_size == 0:
        raise FileFormatError(f"{path} is empty.")
    return path


def check_folder(path: Path) -> None:
    """Raise an error if the folder of a file that is to be written does not exist."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}.")


@dataclass(frozen=True)
class Format:
    """Functions of a module that read or write files with certain endings.

    Parameters
    ----------
    suffixes : tuple of str
        Endings of file names, in lower case and with the dot: ``(".las", ".laz")``.
    module : str
        Full name of the module, which is imported when one of its functions is needed.
    functions : tuple of str
        Which of the functions above the module has.
    options : tuple of str
        Keywords that its writers take besides; writers of other formats do not get them.
    needs : pair of str, optional, a package that must be installed, and the extra of this package that installs it

    See Also
    --------
    read_points, write_mesh

    Examples
    --------
    >>> from seminorm.files import Format
    >>> Format((".dxf",), "my_package.dxf", ("read_mesh", "write_mesh")).suffixes
    ('.dxf',)
    """

    suffixes: tuple[str, ...]
    module: str
    functions: tuple[str, ...]
    options: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        unknown = [name for name in self.functions if name not in _PURPOSES]
        if unknown:
            raise ValueError(f"functions of a format are {', '.join(_PURPOSES)}; got {unknown[0]!r}.")
        for suffix in self.suffixes:
            if not suffix.startswith(".") or suffix != suffix.lower():
                raise ValueError(f"suffixes must start with a dot and be in lower case, got {suffix!r}.")

    def provides(self, name: str) -> bool:
        """Whether there is a function, or one that serves instead."""
        return name in self.functions or _INSTEAD.get(name) in self.functions

    def function(self, name: str) -> Callable[..., Any]:
        """One of the functions, or the one that serves instead; the module is imported."""
        return getattr(importlib.import_module(self.module), name if name in self.functions else _INSTEAD[name])

    def check_installed(self) -> None:
        """Raise an error if the package that the format needs is missing."""
        if self.needs is not None:
            require(*self.needs)


class Suffixes(Sequence[str]):
    """The endings of all formats that have a function; formats that are registered later are among them, too."""

    def __init__(self, formats: "Formats", function: str):
        self._formats, self._function = formats, function

    def _current(self) -> tuple[str, ...]:
        found = (format.suffixes for format in self._formats if format.provides(self._function))
        return tuple(dict.fromkeys(suffix for suffixes in found for suffix in suffixes))

    def __getitem__(self, index):
        return self._current()[index]

    def __len__(self) -> int:
        return len(self._current())

    def __repr__(self) -> str:
        return repr(self._current())


class Formats:
    """The formats that can be read and written.

    A format of your own is a module with the functions above. Once it is registered, ``read_points``, ``write_mesh``,
    ``Mesh.save``, ``reconstruct(path)`` and the command line take its files.

    Examples
    --------
    >>> from seminorm.files import Format, all_formats
    >>> dxf = all_formats.register(Format((".dxf",), "my_package.dxf", ("read_mesh", "write_mesh")))
    >>> ".dxf" in all_formats.suffixes("write_mesh")
    True
    >>> all_formats.unregister(dxf)
    """

    def __init__(self) -> None:
        self._formats: list[Format] = []

    def __iter__(self) -> Iterator[Format]:
        return iter(list(self._formats))

    def __len__(self) -> int:
        return len(self._formats)

    def register(self, format: Format) -> Format:
        """Add a format. Two formats may share an ending if they have different functions."""
        for known in self._formats:
            suffixes = [suffix for suffix in format.suffixes if suffix in known.suffixes]
            functions = [name for name in format.functions if name in known.functions]
            if suffixes and functions and known != format:
                raise ValueError(f"there is already {functions[0]} for {suffixes[0]}: that of {known.module}.")
        if format not in self._formats:
            self._formats.append(format)
        return format

    def unregister(self, format: Format) -> None:
        """Forget a format."""
        self._formats.remove(format)

    def suffixes(self, function: str) -> Suffixes:
        """The endings of the files that a function takes."""
        return Suffixes(self, function)

    def find(self, function: str, path: Path) -> Format | None:
        """The format that has a function for a path's ending, None if there is none."""
        suffix = path.suffix.lower()
        fits = [known for known in self._formats if suffix in known.suffixes and known.provides(function)]
        return next((known for known in fits if function in known.functions), fits[0] if fits else None)

    def get(self, function: str, path: Path) -> Format:
        """The format that has a function for a path's ending; an error that lists the endings if there is none."""
        format = self.find(function, path)
        if format is None:
            ending = f"the ending {path.suffix.lower()!r}" if path.suffix else "no ending"
            known = ", ".join(sorted(self.suffixes(function)))
            raise FileFormatError(
                f"{path} has {ending} and cannot be {_PURPOSES[function]}: the endings for that are {known}."
            )
        return format

    def read(self, function: str, path: str | os.PathLike[str]) -> Any:
        """What is in a file, as ``read_points`` (or ``read_mesh`` instead) or ``read_mesh`` reads it."""
        path = checked_path(path)
        return self.get(function, path).function(function)(path)

    def write(self, function: str, path: str | os.PathLike[str], *content: Any, **options: Any) -> Path:
        """Write a file by one of the functions ``write_...``; returns its path."""
        path = Path(path)
        format = self.get(function, path)
        check_folder(path)
        format.function(function)(path, *content, **{name: options[name] for name in format.options if name in options})
        return path


all_formats = Formats()
for _format in (
    Format((".ply",), "seminorm.files.ply", ("read_points", "open_points", "read_mesh")),
    Format((".ply",), "seminorm.files.ply", ("write_points", "write_mesh"), options=("single",)),
    Format(
        (".xyz", ".txt", ".asc", ".csv", ".xyzn", ".xyzrgb"), "seminorm.files.text", ("read_points", "write_points")
    ),
    Format((".pts", ".pwn"), "seminorm.files.text", ("read_points",)),
    Format((".pcd",), "seminorm.files.pcd", ("read_points",)),
    Format((".pcd",), "seminorm.files.pcd", ("write_points",), options=("single",)),
    Format((".ptx",), "seminorm.files.ptx", ("read_points",)),
    Format((".obj",), "seminorm.files.obj", ("read_points", "read_mesh", "write_mesh")),
    Format((".stl",), "seminorm.files.stl", ("read_points", "read_mesh", "write_mesh")),
    Format((".off",), "seminorm.files.off", ("read_points", "read_mesh", "write_mesh")),
    Format((".3mf",), "seminorm.files.threemf", ("read_points", "read_mesh")),
    Format((".3mf",), "seminorm.files.threemf", ("write_mesh",), options=("single",)),
    Format((".glb", ".gltf"), "seminorm.files.glb", ("write_mesh",)),
    Format((".html",), "seminorm.files.html", ("write_mesh",)),
    Format((".npz",), "seminorm.files.npz", ("read_points", "write_points", "write_grid")),
    Format((".npy",), "seminorm.files.npy", ("read_points", "open_points")),
    Format((".las", ".laz"), "seminorm.files.las", ("read_points",), needs=("laspy", "las")),
    Format((".e57",), "seminorm.files.e57", ("read_points",), needs=("pye57", "e57")),
    Format((".nc",), "seminorm.files.netcdf", ("write_grid",), needs=("xarray", "grid")),
    Format((".csv",), "seminorm.files.text", ("write_grid",)),
    Format((".svg", ".csv", ".obj"), "seminorm.files.contours", ("write_contours",)),
    Format((".tif", ".tiff"), "seminorm.files.geotiff", ("write_grid",)),
):
    all_formats.register(_format)
