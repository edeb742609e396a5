"""What reconstructing surfaces at rest and moving ones share: options that do not go together, and those of the fit."""

import argparse
from pathlib import Path

from .paths import FUNCTION_SUFFIX, MESH_SUFFIXES
from .reporting import as_size, listed, memory_in_use

_ENDS = ("trim", "trim_quantile", "open", "closed", "max_hole")
_SHAPING = (*_ENDS, "faces", "quality", "sharp", "rounded", "mesh_resolution", "deviation")
_COLORLESS = (".stl",)
_COLORS_ALONE = (".obj", ".off", ".3mf", ".glb", ".gltf", ".html")  # besides what has no room for any attribute


def is_given(arguments: argparse.Namespace, option: str) -> bool:
    """Whether an option is there, whatever its value."""
    return getattr(arguments, option) is not None and getattr(arguments, option) is not False


def named(option: str) -> str:
    """An option as it is written."""
    return f"--{option.replace('_', '-')}"


def wants_mesh(output: Path) -> bool:
    """Whether a file is to hold a mesh, rather than the function."""
    return output.suffix.lower() != FUNCTION_SUFFIX


def check_wishes(arguments: argparse.Namespace, output: Path) -> None:
    """Raise an error if options do not go together, or the output cannot hold what is wanted."""
    suffix = output.suffix.lower()
    if not wants_mesh(output):
        for option in (*_SHAPING, "attributes"):
            if is_given(arguments, option):
                shape = f"{named(option)} is for meshes"
                raise ValueError(f"{shape}, and {output} is to hold the function: leave it out, or write a mesh.")
    trims = [named(option) for option in ("trim", "trim_quantile") if is_given(arguments, option)]
    if trims and (arguments.closed or arguments.max_hole is not None):
        other = "--closed" if arguments.closed else "--max-hole"
        raise ValueError(f"{trims[0]} is for open surfaces, and {other} is not: leave out one of them.")
    if arguments.color and suffix in _COLORLESS:
        kept = [suffix for suffix in MESH_SUFFIXES if suffix not in _COLORLESS]
        raise ValueError(f"--color: {suffix} files hold no colours, write {listed(kept)}.")
    if arguments.attributes is not None and suffix in (*_COLORLESS, *_COLORS_ALONE):
        kept = [suffix for suffix in MESH_SUFFIXES if suffix not in (*_COLORLESS, *_COLORS_ALONE)]
        raise ValueError(f"--attributes: {suffix} files hold no attributes of vertices, write {listed(kept)}.")
    if arguments.confidence and arguments.thin is not None:
        raise ValueError("--thin gives all normals the same length, so --confidence finds none: leave out one of them.")


def check_normals(arguments: argparse.Namespace, cloud) -> None:
    """Raise an error if points have, or lack, normals that an option is about."""
    if cloud.normals is None and arguments.confidence:
        raise ValueError("--confidence counts points by their normals, and they have none: leave it out.")
    if cloud.normals is not None and arguments.sensor is not None:
        raise ValueError("--sensor is for points without normals, and these have some: leave it out.")


def fit_options(arguments: argparse.Namespace) -> dict:
    """What the user wants of the fit, in the words of ``reconstruct``."""
    names = ("depth", "resolution", "smoothness", "tolerance", "order")
    wanted = {name: getattr(arguments, name) for name in names}
    wanted |= {
        "confidence": "normals" if arguments.confidence else None,
        "memory_limit": None if arguments.memory is None else _left_of(arguments.memory),
        "fast": arguments.fast or None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _left_of(limit: int) -> int:
    """What a limit for the process leaves to the fit, beside the interpreter and the points."""
    taken = memory_in_use()
    if limit <= taken:
        raise ValueError(
            f"--memory {as_size(limit)}: Python and the points take {as_size(taken)} of memory already: allow more."
        )
    return limit - taken
