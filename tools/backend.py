"""The build backend: scikit-build-core, and on machines without a C++ compiler the Clang of the PyPI package ziglang.

``python tools/backend.py`` prints what a build here needs beside scikit-build-core and nanobind, one name per line.
"""

import os
import pathlib
import shutil
import sys

import scikit_build_core.build as _build
from scikit_build_core.build import *  # noqa: F403

_COMPILERS = ("c++", "g++", "clang++", "cl")
# an old C library and a plain processor, so that the result does not depend on this machine
_TARGET = os.environ.get("SEMINORM_ZIG_TARGET", "x86_64-linux-gnu.2.17 -mcpu=baseline")


def _no_compiler() -> bool:
    """Whether to take zig: there is no other compiler, or SEMINORM_ZIG asks for it."""
    if os.environ.get("SEMINORM_ZIG"):
        return True
    return not os.environ.get("CXX") and not any(map(shutil.which, _COMPILERS))


def _with_compiler(requirements: list[str]) -> list[str]:
    return requirements + (["ziglang>=0.13"] if _no_compiler() else [])


def _tools_folder() -> pathlib.Path:
    """Where the scripts for zig stand: beside the environment, whose path zig's own cache depends on."""
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "seminorm-zig"


def _use_zig() -> None:
    """Scripts and a toolchain file for CMake, which wants one path per tool."""
    if not _no_compiler():
        return
    import ziglang

    zig = pathlib.Path(ziglang.__file__).resolve().with_name("zig")
    folder = _tools_folder()
    folder.mkdir(parents=True, exist_ok=True)
    commands = {"c++": f"c++ -target {_TARGET}", "cc": f"cc -target {_TARGET}", "ar": "ar", "ranlib": "ranlib"}
    for name, command in commands.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{zig}" {command} "$@"\n')
        script.chmod(0o755)
    lines = [f'set(CMAKE_CXX_COMPILER "{folder}/c++")', f'set(CMAKE_C_COMPILER "{folder}/cc")']
    for tool in ("AR", "RANLIB"):
        lines.append(f'set(CMAKE_{tool} "{folder}/{tool.lower()}" CACHE FILEPATH "")')
        lines.append(f'set(CMAKE_CXX_COMPILER_{tool} "{folder}/{tool.lower()}" CACHE FILEPATH "")')
    toolchain = folder / "zig.cmake"
    toolchain.write_text("\n".join(lines) + "\n")
    os.environ["CMAKE_TOOLCHAIN_FILE"] = str(toolchain)


def get_requires_for_build_wheel(config_settings=None):
    return _with_compiler(_build.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings=None):
    return _with_compiler(_build.get_requires_for_build_editable(config_settings))


def build_wheel(*arguments, **options):
    _use_zig()
    return _build.build_wheel(*arguments, **options)


def build_editable(*arguments, **options):
    _use_zig()
    return _build.build_editable(*arguments, **options)


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}\n" for name in get_requires_for_build_editable())
