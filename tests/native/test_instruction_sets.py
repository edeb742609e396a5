"""Kernels compiled for several instruction sets: nothing shared between them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from seminorm import _native

_OBJECTS = Path(__file__).parents[2].glob("build/cp*/CMakeFiles/kernels_*.dir/native/*/kernels.cpp.o")


def test_kernels_export_only_their_tables():
    """The linker keeps one copy of a shared symbol, perhaps one that the machine cannot run."""
    nm, objects = shutil.which("nm"), list(_OBJECTS)
    if not nm or not objects:
        pytest.skip("needs nm and the folder build/ of an editable installation")
    for path in objects:
        command = [nm, "--defined-only", "--extern-only", "-C", str(path)]
        rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
        name = re.search(r"kernels_(\w+)\.dir", str(path))[1]
        assert [row for row in rows if row and f"seminorm::{name}::" not in row] == []


def test_unknown_instruction_set():
    with pytest.raises(ValueError, match="this machine has no instruction set 'mmx'"):
        _native.select_instruction_set("mmx")
